//! Other programs' filters through the real program: golden files in, the same bytes out.

use assert_cmd::Command;
use std::fs;
use std::path::PathBuf;

fn golden(name: &str) -> String {
    format!("{}/../../testdata/foreign/{name}", env!("CARGO_MANIFEST_DIR"))
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn list(&self, name: &str, lines: impl IntoIterator<Item = String>) -> String {
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        fs::write(self.0.path().join(name), text).unwrap();
        self.path(name)
    }
}

fn mayhap(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mayhap").unwrap();
    command.args(args);
    command
}

fn stdout(args: &[&str]) -> String {
    let done = mayhap(args).assert().success();
    String::from_utf8(done.get_output().stdout.clone()).unwrap()
}

fn refusal(args: &[&str]) -> String {
    let done = mayhap(args).assert().code(2).stdout("");
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn lines(name: &str, range: std::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(move |i| format!("{name}-{i}"))
}

#[test]
fn a_java_job_s_longs_are_checked() {
    let keys = golden("keys/i64_probes.txt");
    let file = golden("guava/mitz64_long.bin");
    let out = stdout(&["check", "--format", "guava", "--key-type", "i64", "--mark", &file, &keys]);
    let manifest = fs::read_to_string(golden("guava/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let cases = manifest["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == "mitz64_long").unwrap();
    let answers: String =
        out.lines().map(|line| if line.starts_with('+') { '1' } else { '0' }).collect();
    assert_eq!(answers, case["probe_answers"].as_str().unwrap());
    // Detected, too; and the file of a wrong type of keys is not.
    let same = stdout(&["check", "--key-type", "i64", "--mark", &file, &keys]);
    assert_eq!(same, out);
    let error = refusal(&["check", "--format", "leveldb", "--key-type", "i64", &file, &keys]);
    assert!(error.contains("leveldb has no keys of type i64"), "{error}");
}

#[test]
fn every_format_is_built_asked_added_to_and_merged() {
    let folder = Folder::new();
    let (one, two) =
        (folder.list("one", lines("key", 0..500)), folder.list("two", lines("key", 500..1000)));
    let absent_keys = folder.list("absent", lines("an absent key", 0..1000));
    for format in [
        "guava",
        "leveldb",
        "leveldb-old",
        "goleveldb",
        "badger",
        "rocksdb",
        "redisbloom",
        "redisbloom-dump",
        "valkey-bloom",
        "bits-and-blooms",
        "parquet-bitset",
        "spark",
        "dcso",
        "poppy",
        "kevburnsjr",
        "num-base64",
        "bloomfilter-js",
        "bloomfilter-js-old",
        "orc",
    ] {
        let (a, b, both) = (folder.path("a"), folder.path("b"), folder.path("both"));
        let build = |list: &str, out: &str| {
            let args =
                ["build", "-q", "--force", "--format", format, "-n", "1000", "-o", out, list];
            mayhap(&args).assert().success();
        };
        build(&one, &a);
        build(&two, &b);
        let info = ["info", "--json", "--format", format, "--probes", "7", &a];
        let info: serde_json::Value = serde_json::from_str(&stdout(&info)).unwrap();
        assert_eq!(info["format"], format);
        // What the file does not say is told by the one who built it.
        let probes = match format {
            "kevburnsjr" | "num-base64" | "bloomfilter-js" | "bloomfilter-js-old" => "7",
            _ => "1",
        };
        let with = ["--format", format, "--probes", probes];
        let check = |file: &str, list: &str| {
            let done = mayhap(&["check", "-c"]).args(with).args([file, list]).assert();
            let out = String::from_utf8(done.get_output().stdout.clone()).unwrap();
            out.trim().parse::<u32>().unwrap()
        };
        assert_eq!(check(&a, &one), 500, "{format}");
        let most = if format == "badger" { 90 } else { 30 };
        assert!(
            check(&a, &absent_keys) < most,
            "{format}: {} false positives",
            check(&a, &absent_keys)
        );

        mayhap(&["merge", "-q", "--force", "-o", &both])
            .args(with)
            .args([&a, &b])
            .assert()
            .success();
        assert_eq!((check(&both, &one), check(&both, &two)), (500, 500), "{format}");
        mayhap(&["add", "-q"]).args(with).args([&a, &two]).assert().success();
        assert_eq!((check(&a, &one), check(&a, &two)), (500, 500), "{format}");

        // Into our file and back.
        let (ours, back) = (folder.path("ours.may"), folder.path("back"));
        let to_ours = ["convert", "-q", "--to", "mayhap", "-o", &ours, &a];
        mayhap(&to_ours).args(with).assert().success();
        mayhap(&["verify", "-q", &ours]).assert().success();
        let asked = stdout(&["check", "-c", &ours, &two]);
        assert_eq!(asked.trim(), "500", "{format}");
        mayhap(&["convert", "-q", "--force", "--to", format, "-o", &back, &ours])
            .assert()
            .success();
        assert!(fs::read(&a).unwrap() == fs::read(&back).unwrap(), "{format}");
        mayhap(&["add", "-q", &ours, &absent_keys]).assert().success();
        assert_eq!(stdout(&["check", "-c", &ours, &absent_keys]).trim(), "1000", "{format}");
        fs::remove_file(&ours).unwrap();
    }
}

#[test]
fn relatives_become_each_other_and_strangers_do_not() {
    let folder = Folder::new();
    let dump = folder.path("dump");
    let chunks = golden("redisbloom/nonscaling_10.bin");
    mayhap(&["convert", "-q", "--to", "redisbloom-dump", "-o", &dump, &chunks]).assert().success();
    let back = stdout_bytes(&["convert", "--to", "redisbloom", "-o", "-", &dump]);
    assert!(back == fs::read(&chunks).unwrap());

    let error = refusal(&[
        "convert",
        "--to",
        "redisbloom",
        "-o",
        &folder.path("x"),
        &golden("guava/mitz64_str_10.bin"),
    ]);
    assert!(error.contains("guava and redisbloom hash differently"), "{error}");
    assert!(error.contains("mayhap build --format redisbloom"), "{error}");
    assert!(!PathBuf::from(folder.path("x")).exists());
}

fn stdout_bytes(args: &[&str]) -> Vec<u8> {
    mayhap(args).assert().success().get_output().stdout.clone()
}

#[test]
fn what_a_file_does_not_say_is_asked_for() {
    let error = refusal(&["info", &golden("leveldb/leveldb_cpp_1k.bin")]);
    assert!(error.contains("--format leveldb | leveldb-old | goleveldb | badger"), "{error}");
    let error = refusal(&["info", &golden("bloomfilter-js/v21_1k.json")]);
    assert!(error.contains("--format bloomfilter-js | bloomfilter-js-old"), "{error}");
    let list = golden("num-base64-list/list_1k.txt");
    let error = refusal(&["check", &list, &golden("keys/i64_probes.txt")]);
    assert!(error.contains("--probes"), "{error}");
    let ask = ["check", "-c", "--probes", "10", &list, "-"];
    let done = mayhap(&ask).write_stdin("key-0\nkey-999\nkey-1000\n").assert().success();
    done.stdout("2\n");
    // A Parquet file says what its keys are.
    let parquet = golden("parquet/file_pyarrow_i64.parquet");
    let members = golden("keys/i64_members.txt");
    let count = fs::read_to_string(&members).unwrap().lines().count();
    assert_eq!(stdout(&["check", "-c", &parquet, &members]).trim(), count.to_string());
    let error = refusal(&["check", "--column", "nobody", &parquet, &members]);
    assert!(error.contains("nobody"), "{error}");
}

#[test]
fn malformed_files_are_refused_by_name() {
    let folder = Folder::new();
    let file = folder.path("cut");
    let whole = fs::read(golden("guava/mitz64_str_10k.bin")).unwrap();
    fs::write(&file, &whole[..9000]).unwrap();
    let error = refusal(&["info", "--format", "guava", &file]);
    assert!(error.contains("cut off in longs: 8994 of 9128 bytes"), "{error}");
    let error =
        refusal(&["build", "--format", "parquet", "-n", "10", "-o", &folder.path("x"), "-"]);
    assert!(error.contains("as parquet-bitset"), "{error}");
    let error =
        refusal(&["build", "--format", "guava", "--kind", "classic", "-o", &folder.path("x"), "-"]);
    assert!(error.contains("leave out --kind"), "{error}");
}

#[test]
fn integers_and_utf16_are_hashed_as_java_does() {
    let folder = Folder::new();
    let filter = folder.path("chars.guava");
    let list = folder.list("names", ["é".to_owned(), "日本".to_owned()]);
    let utf16 = ["--format", "guava", "--key-type", "utf16"];
    mayhap(&["build", "-q", "-o", &filter]).args(utf16).arg(&list).assert().success();
    mayhap(&["check", "-c"]).args(utf16).args([&filter, &list]).assert().stdout("2\n");
    mayhap(&["check", "-c", &filter, &list]).assert().code(1).stdout("0\n");
    // Our file remembers what the keys are.
    let ours = folder.path("ours.may");
    mayhap(&["convert", "-q", "--to", "mayhap", "-o", &ours, "--key-type", "utf16", &filter])
        .assert()
        .success();
    mayhap(&["check", "-c", &ours, &list]).assert().stdout("2\n");
    let error = refusal(&["check", "--key-type", "i64", &ours, &list]);
    assert!(error.contains("keys are utf16"), "{error}");
}

/// What `info` says of a file that says what it is.
fn info(file: &str) -> serde_json::Value {
    serde_json::from_str(&stdout(&["info", "--json", file])).unwrap()
}

#[test]
fn filters_are_made_as_their_programs_let_one_choose() {
    let folder = Folder::new();
    let list = folder.list("list", lines("key", 0..1000));
    let file = folder.path("made");
    let build = |format: &str, choices: &[&str]| {
        let args = ["build", "-q", "--force", "--format", format, "-o", &file, &list];
        mayhap(&args).args(choices).assert().success();
        let asked = ["check", "-c", "--format", format, "--probes", "7", &file, &list];
        assert_eq!(stdout(&asked).trim(), "1000", "{format} {choices:?}");
        fs::read(&file).unwrap()
    };
    for format in ["redisbloom", "redisbloom-dump", "valkey-bloom"] {
        for (choices, expansion, layers) in [
            (&["-n", "1000"][..], "2", 1),
            (&["-n", "100", "--expansion", "4"], "4", 3),
            (&["-n", "1000", "--nonscaling"], "none", 1),
        ] {
            build(format, choices);
            let info = info(&file);
            assert_eq!(info["details"]["expansion"], expansion, "{format}");
            assert_eq!(info["layers"], layers, "{format} {choices:?}");
        }
    }
    let seed = "00112233445566778899aabbccddeeff".repeat(2);
    let [one, same] = [(); 2].map(|()| build("valkey-bloom", &["--seed", &seed]));
    assert!(one == same && one[1 + 4 + 8 + 8] == 1, "drawn, so the payload says");
    assert!(one != build("valkey-bloom", &["--seed", "random"]));
    build("spark", &["--seed", "-7"]);
    assert_eq!(info(&file)["details"], serde_json::json!({"version": "2", "seed": "-7"}));
    build("spark", &["--variant", "v2"]);
    assert_eq!(info(&file)["details"]["seed"], "0");
    for format in ["leveldb", "leveldb-old", "goleveldb", "badger"] {
        let block = build(format, &["--bits-per-key", "12"]);
        assert_eq!((block.len(), block[1500]), (1501, 8), "{format}");
    }
    let fast = build("rocksdb", &["--bits-per-key", "9.5"]);
    assert_eq!((fast.len() % 64, fast[fast.len() - 5]), (5, 0xff));
    let legacy = build("rocksdb", &["--bits-per-key", "10", "--variant", "legacy"]);
    assert_eq!((legacy.len(), legacy[legacy.len() - 5]), (21 * 64 + 5, 6));
    build("poppy", &["--variant", "speed"]);
    assert_eq!(info(&file)["details"]["optimisation"], "speed");
    let probes = |variant| build("guava", &["-n", "3", "-p", "1%", "--variant", variant])[1];
    assert_eq!((probes("before-33.4"), probes("since-33.4")), (6, 7));
}

#[test]
fn forms_of_writing_become_each_other() {
    let folder = Folder::new();
    let list = folder.list("list", lines("key", 0..100));
    for (format, plain, other) in [("bits-and-blooms", "binary", "json"), ("dcso", "plain", "gzip")]
    {
        let [a, b] = [plain, other].map(|variant| {
            let file = folder.path(variant);
            let args = ["build", "-q", "--format", format, "--variant", variant, "-o", &file];
            mayhap(&args).arg(&list).assert().success();
            file
        });
        let convert = |from: &str, variant: &str| {
            stdout_bytes(&["convert", "--to", format, "--variant", variant, "-o", "-", from])
        };
        assert_ne!(fs::read(&a).unwrap(), fs::read(&b).unwrap());
        assert!(convert(&a, other) == fs::read(&b).unwrap(), "{format}");
        assert!(convert(&b, plain) == fs::read(&a).unwrap(), "{format}");
    }
    let spark = folder.path("spark");
    mayhap(&["build", "-q", "--format", "spark", "-o", &spark, &list]).assert().success();
    let to_v2 = ["convert", "--to", "spark", "-o", &folder.path("x"), "--variant"];
    let error = refusal(&[&to_v2[..], &["v2", &spark]].concat());
    assert!(error.contains("differ in their bits"), "{error}");
    let error = refusal(&[&to_v2[..], &["json", &spark]].concat());
    assert!(error.contains("spark has no variant json: v1, v2"), "{error}");
}

#[test]
fn choices_that_a_format_does_not_leave_are_refused() {
    let folder = Folder::new();
    let out = folder.path("x");
    let build = |args: &[&str]| refusal(&[&["build", "-n", "10", "-o", &out, "-"], args].concat());
    for (args, message) in [
        (&["--format", "guava", "--expansion", "2"][..], "leave out --expansion and --nonscaling"),
        (&["--format", "spark", "--nonscaling"], "spark has no growth to choose"),
        (&["--format", "dcso", "--bits-per-key", "10"], "leave out --bits-per-key"),
        (&["--format", "leveldb", "--bits-per-key", "9.5"], "a whole number"),
        (&["--format", "rocksdb", "--bits-per-key", "0"], "not 0.5 to 1000"),
        (&["--format", "guava", "--seed", "5"], "guava has no seed"),
        (&["--format", "spark", "--seed", "5000000000"], "not an integer of 32 bits"),
        (&["--format", "valkey-bloom", "--seed", "5"], "64 hexadecimal digits"),
        (&["--seed", "random"], "--keyed"),
        (&["--seed", "eleven"], "no number"),
        (&["--variant", "json"], "name one with --format"),
        (&["--format", "rocksdb", "--bits-per-key", "10", "-p", "1%"], "cannot be used with"),
    ] {
        let error = build(args);
        assert!(error.contains(message), "{args:?}: {error}");
    }
    assert!(!PathBuf::from(out).exists());
    // A full one that must not grow says so, and nothing is written.
    let (list, file) = (folder.list("list", lines("key", 0..100)), folder.path("full"));
    let args = ["build", "--format", "redisbloom", "--nonscaling", "-n", "50", "-o", &file, &list];
    assert!(refusal(&args).contains("made not to grow"));
    assert!(!PathBuf::from(file).exists());
}

#[test]
fn filters_of_unlike_keys_do_not_merge() {
    let folder = Folder::new();
    let keys = folder.list("keys", (1..1000).map(|key| key.to_string()));
    for key_type in ["i64", "bytes"] {
        let (raw, wrapped) = (folder.path(key_type), folder.path(&format!("{key_type}.mh")));
        let build = ["build", "-q", "--format", "guava", "--key-type", key_type, "-n", "5000"];
        stdout(&[&build[..], &["-o", &raw, &keys]].concat());
        stdout(&["convert", "-q", &raw, "--to", "mayhap", "--key-type", key_type, "-o", &wrapped]);
    }
    let (longs, bytes) = (folder.path("i64.mh"), folder.path("bytes.mh"));
    let merged = folder.path("merged.mh");
    for pair in [[&longs, &bytes], [&bytes, &longs]] {
        let told = refusal(&["merge", "-o", &merged, pair[0], pair[1]]);
        assert!(told.contains("key type i64") && told.contains("key type bytes"), "{told}");
        assert!(!std::path::Path::new(&merged).exists());
    }
    // A file that does not say what its keys are takes the other's word for it.
    stdout(&["merge", "-q", "-o", &folder.path("raw"), &folder.path("i64"), &longs]);
    stdout(&["merge", "-q", "-o", &merged, &longs, &longs]);
    stdout(&["check", "-q", &merged, &keys]);
}
