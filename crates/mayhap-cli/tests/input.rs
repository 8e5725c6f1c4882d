//! What goes in: filters that others write to, files that are no lists of keys, lines without a key.
#![cfg(unix)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::{TempDir, tempdir};

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn mayhap(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mayhap"));
        command.current_dir(self.path()).env("NO_COLOR", "1").args(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &str, input: &[u8]) -> Said {
        self.run_args(&args.split_whitespace().collect::<Vec<_>>(), input)
    }

    fn run_args(&self, args: &[&str], input: &[u8]) -> Said {
        let mut child = self.mayhap(args).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || _ = stdin.write_all(input));
            Said::from(child.wait_with_output().unwrap())
        })
    }
}

#[derive(Debug)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Said { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }
}

fn numbers(range: std::ops::Range<u32>) -> Vec<u8> {
    range.map(|n| format!("{n}\n")).collect::<String>().into_bytes()
}

/// Run `check` on a pipe; once its first answers are there, `change` the filter's file, then send
/// the rest.
fn check_while(folder: &Folder, change: impl FnOnce(&Path)) -> Said {
    folder.write("keys", numbers(0..200_000));
    assert_eq!(folder.run("build -q -o f keys", b"").code, Some(0));
    let mut child = folder.mayhap(&["check", "--line-buffered", "f", "-"]).spawn().unwrap();
    let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    to.write_all(&numbers(0..10)).unwrap();
    from.read_exact(&mut [0; 20]).unwrap();
    change(&folder.path().join("f"));
    let rest = std::thread::spawn(move || _ = to.write_all(&numbers(10..200_000)));
    let mut out = String::new();
    from.read_to_string(&mut out).unwrap();
    rest.join().unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    Said { out, ..said }
}

fn truncate(file: &Path, bytes: u64) {
    fs::File::options().write(true).open(file).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_filter_truncated_in_use_ends_with_a_message() {
    let folder = Folder::new();
    for bytes in [0, 4096, 100_000] {
        let said = check_while(&folder, |file| truncate(file, bytes));
        assert_eq!(said.code, Some(2), "{bytes}: {said:?}");
        assert!(said.err.starts_with("error: f: another program truncated"), "{said:?}");
        assert!(said.err.contains("\nhint: "), "{said:?}");
    }
}

/// Behind the new end, and up to the end of its page, a map reads zeros: certain absences that
/// are none.
#[test]
fn a_filter_cut_or_written_to_in_place_is_noticed() {
    let folder = Folder::new();
    let cut = |file: &Path| truncate(file, file.metadata().unwrap().len() - 1);
    let overwrite = |file: &Path| {
        let mut file = fs::File::options().write(true).open(file).unwrap();
        file.write_all(&[0; 100]).unwrap();
    };
    for change in [&cut as &dyn Fn(&Path), &overwrite] {
        let said = check_while(&folder, change);
        assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{}", said.err);
        assert!(said.err.contains("f was written to in place while it was in use"), "{said:?}");
    }
}

#[test]
fn a_filter_replaced_or_removed_in_use_answers_as_before() {
    let folder = Folder::new();
    let replace = |file: &Path| {
        let other = file.with_extension("new");
        fs::write(&other, b"other").unwrap();
        fs::rename(other, file).unwrap();
    };
    let build = |_: &Path| {
        assert_eq!(folder.run("build -q --force -o f -n 10 -", b"x\n").code, Some(0));
    };
    let remove = |file: &Path| fs::remove_file(file).unwrap();
    for change in [&replace as &dyn Fn(&Path), &build, &remove] {
        let said = check_while(&folder, change);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_eq!(said.out.lines().count(), 200_000 - 10);
        _ = fs::remove_file(folder.path().join("f"));
    }
}

/// A bus error that is none of ours still is one.
#[test]
fn other_bus_errors_end_the_process_as_before() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::new();
    folder.run("build -q -o f -n 10 -", b"x\n");
    let mut child = folder.mayhap(&["check", "--line-buffered", "f", "-"]).spawn().unwrap();
    let mut to = child.stdin.take().unwrap();
    to.write_all(b"x\n").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 2]).unwrap();
    let sent = Command::new("kill").args(["-BUS", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    assert_eq!(child.wait().unwrap().signal(), Some(7));
}

fn golden(path: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign").join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Whatever verb writes, a table or a Parquet file keeps its bytes.
#[test]
fn what_holds_more_than_a_filter_is_read_only() {
    let folder = Folder::new();
    let sst = golden_sst();
    folder.write("keys", "ada\neve\n");
    assert_eq!(folder.run("build -q -o f -n 10 keys", b"").code, Some(0));
    folder.run("build -q -o g -n 10 keys", b"");
    let said = folder.run("build -q --format guava -o guava -n 10 keys", b"");
    assert_eq!(said.code, Some(0), "{said:?}");
    let mut tar = vec![0; 1024];
    tar[257..262].copy_from_slice(b"ustar");
    for (name, bytes) in [
        ("t.sst", sst),
        ("t.parquet", golden("parquet/file_pyarrow_str_1k.parquet")),
        ("t.rdb", b"REDIS0011\xfa\x09redis-ver\x05\x37.2.0\0".to_vec()),
        ("t.tar", tar),
        ("t.sqlite", b"SQLite format 3\0rest".to_vec()),
    ] {
        for args in [
            "add NAME keys",
            "remove NAME keys",
            "merge --force -o NAME f g",
            "merge --force -o NAME NAME NAME",
            "convert --force NAME -o NAME --to mayhap",
            "convert --force guava -o NAME --to mayhap",
            "build --force -n 10 -o NAME keys",
            "build --force --format guava -n 10 -o NAME keys",
            "build -n 10 -o NAME keys",
            "add --format leveldb NAME keys",
        ] {
            folder.write(name, &bytes);
            let said = folder.run(&args.replace("NAME", name), b"");
            assert_eq!(said.code, Some(2), "{args} {name}: {said:?}");
            assert!(said.err.contains("error: ") && said.err.contains(name), "{args}: {said:?}");
            assert!(fs::read(folder.path().join(name)).unwrap() == bytes, "{args} {name}");
        }
    }
    folder.write("t.sst", golden_sst());
    let said = folder.run("add t.sst keys", b"");
    assert!(
        said.err.contains("t.sst is a RocksDB table") && said.err.contains("hint: "),
        "{said:?}"
    );
}

fn golden_sst() -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign/rocksdb");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sst = files.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("sst"));
    let sst = sst.map(|path| fs::read(path).unwrap()).find(|bytes| bytes.len() > 1000);
    sst.expect("a table among the golden files")
}

const JSON: &[u8] = b"{\"id\": 1}\n{\"no\": 2}\nnot json\n{\"id\": 3}\n{\"id\": 1}\n";

#[test]
fn lines_without_a_key_are_counted_and_no_keys() {
    let folder = Folder::new();
    let said = folder.run("build --json -o f -n 10 --json-key /id -", JSON);
    assert_eq!(said.code, Some(0), "{said:?}");
    let facts: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (&facts["lines"], &facts["missing"], &facts["keys"]),
        (&5.into(), &2.into(), &2.into())
    );
    assert!(said.err.contains("2 lines without the JSON value asked for: no key"), "{said:?}");

    // Neither in nor certainly not in.
    for (args, want) in [
        ("check f --json-key /id", "{\"id\": 1}\n{\"id\": 3}\n{\"id\": 1}\n"),
        ("check -v f --json-key /id", ""),
        ("check -c f --json-key /id", "3\n"),
        (
            "check --mark f --json-key /id",
            "+\t{\"id\": 1}\n?\t{\"no\": 2}\n?\tnot json\n+\t{\"id\": 3}\n+\t{\"id\": 1}\n",
        ),
        ("check -v --on-missing line f --json-key /id", "{\"no\": 2}\nnot json\n"),
    ] {
        assert_eq!(folder.run(args, JSON).out, want, "{args}");
    }
    let said = folder.run("check f --on-missing fail --json-key /id", JSON);
    assert_eq!(said.code, Some(2));
    assert!(said.err.contains("- has no key in line 2"), "{said:?}");
    let said = folder.run("build -o g -n 10 --on-missing fail --key-type i64 -", b"1\ntwo\n");
    assert!(said.err.contains("line 2: it is without a decimal number"), "{said:?}");
    assert!(!folder.path().join("g").exists());

    // A line without a key is no repeat: it is not dropped unless that was said.
    let said = folder.run("dedup --json-key /id", JSON);
    assert_eq!(said.out, "{\"id\": 1}\n{\"no\": 2}\nnot json\n{\"id\": 3}\n", "{said:?}");
    assert!(said.err.contains("2 lines without the JSON value asked for: no key, printed"));
    let said = folder.run("dedup --on-missing skip --json-key /id", JSON);
    assert_eq!(said.out, "{\"id\": 1}\n{\"id\": 3}\n", "{said:?}");
}

#[test]
fn binary_input_is_refused_by_name() {
    let folder = Folder::new();
    folder.write("keys", "ada\n");
    folder.run("build -q -o f -n 10 keys", b"");
    folder.write("p.parquet", golden("parquet/file_pyarrow_str_1k.parquet"));
    for (file, what) in [("p.parquet", "a Parquet file"), ("f", "is a filter")] {
        for verb in ["check f", "build -o g -n 10", "add f", "dedup"] {
            let said = folder.run(&format!("{verb} {file}"), b"");
            assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{verb}: {said:?}");
            assert!(said.err.contains(what) && said.err.contains("hint: "), "{said:?}");
        }
        let said = folder.run(&format!("dedup --binary -n 1000 {file}"), b"");
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    // The same through a pipe.
    let said = folder.run("dedup -n 1000", &golden("parquet/file_pyarrow_str_1k.parquet"));
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("- is a Parquet file, not a list of keys"), "{said:?}");
}

#[test]
fn inputs_that_are_missing_are_told_and_the_others_read() {
    let folder = Folder::new();
    folder.write("a", "ada\nx\n");
    folder.write("b", "bob\nada\n");
    folder.run("build -q -o f -n 10 a", b"");
    let said = folder.run("check f nowhere a . b", b"");
    assert_eq!((said.code, said.out.as_str()), (Some(2), "ada\nx\nada\n"), "{said:?}");
    assert!(said.err.contains("cannot open nowhere") && said.err.contains(". is a directory"));
    assert_eq!(folder.run("check -q f nowhere a", b"").code, Some(0));
    assert_eq!(folder.run("check f nowhere", b"").code, Some(2));
    // What is built is built of all there is, or not at all.
    assert_eq!(folder.run("build -o g a nowhere", b"").code, Some(2));
    assert!(!folder.path().join("g").exists());
    // The head of a table comes once, whichever file is the first that can be read.
    folder.write("1.csv", "id,v\nada,1\n");
    folder.write("2.csv", "id,v\nx,2\n");
    assert_eq!(folder.run("check f --csv id nowhere 1.csv 2.csv", b"").out, "id,v\nada,1\nx,2\n");
}

#[test]
fn lines_are_named_and_numbered_as_grep_does() {
    let folder = Folder::new();
    folder.write("a", "no\nada\n");
    folder.write("b", "ada\n");
    folder.run("build -q -o f -n 10 b", b"");
    for (args, want) in [
        ("check f a b", "ada\nada\n"),
        ("check -n f a", "2:ada\n"),
        ("check -n f a b", "a:2:ada\nb:1:ada\n"),
        ("check -n --no-filename f a b", "2:ada\n1:ada\n"),
        ("check -H f a", "a:ada\n"),
        ("check -Hn f -", "(standard input):2:ada\n"),
        ("check -Hc f a b", "a:1\nb:1\n"),
        ("check -c f a b", "2\n"),
    ] {
        assert_eq!(folder.run(args, b"no\nada\n").out, want, "{args}");
    }
    let said = folder.run("check --json f a b", b"");
    let lines: Vec<serde_json::Value> =
        said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let places: Vec<_> = lines.iter().map(|line| (&line["file"], &line["line"])).collect();
    assert_eq!(places, [(&"a".into(), &2.into()), (&"b".into(), &1.into())]);
}

#[test]
fn fields_and_columns_may_be_several() {
    let folder = Folder::new();
    folder.run("build -q -o f -n 10 --field 2-3 --delimiter , -", b"1,a,b,x\n2,a\n");
    let said = folder.run("check f --csv b,c", b"c,b,z\nb,a,9\na,b,9\n");
    assert_eq!(said.out, "c,b,z\nb,a,9\n", "{said:?}");
    let said =
        folder.run_args(&["check", "f", "--csv", "b", "--csv", "\"c,d\""], b"\"c,d\",b\nb,a\n");
    assert_eq!(said.out, "\"c,d\",b\nb,a\n", "{said:?}");
    let said = folder.run("check f --field 3-2", b"");
    assert!(said.code == Some(2) && said.err.contains("\"3-2\" is no field"), "{said:?}");
    assert_eq!(folder.run("check f --delimiter , --field 1-2", b"a,b\nb,a\n").out, "a,b\n");
}

#[test]
fn the_last_column_of_a_table_may_end_with_a_carriage_return() {
    let folder = Folder::new();
    folder.run("build -q -o f -n 10 -", b"x\ny\n");
    let table = "id,url\r\n1,x\r\n2,\"y\"\r\n3,z\r\n";
    let said = folder.run("check f --csv url", table.as_bytes());
    assert_eq!(said.out, "id,url\r\n1,x\r\n2,\"y\"\r\n", "{said:?}");
    folder.run("build -q -o g -n 10 --csv url -", table.as_bytes());
    assert_eq!(folder.run("check g", b"x\ny\nz\nx\r\n").out, "x\ny\nz\n");
    let said = folder.run("dedup --csv url", b"id,url\r\n1,x\r\n2,x\n3,\"x\"\r\n");
    assert_eq!(said.out, "id,url\r\n1,x\r\n", "{said:?}");
}

#[test]
fn a_quote_that_is_never_closed_is_told() {
    let folder = Folder::new();
    let rows: String = (2..1000).map(|n| format!("{n},y\n")).collect();
    folder.write("u.csv", format!("id,n\n1,\"x\n{rows}"));
    for args in
        ["build --csv id -o g u.csv", "build -n 10 --csv id -o g u.csv", "dedup --csv id u.csv"]
    {
        let said = folder.run(args, b"");
        assert_eq!(said.code, Some(2), "{args}: {said:?}");
        assert!(said.err.contains("u.csv has a quote in line 2 that is never closed"), "{said:?}");
        assert!(said.err.contains("\nhint: "), "{said:?}");
        assert!(!folder.path().join("g").exists());
    }
}

#[test]
fn words_that_cannot_be_are_gone() {
    let folder = Folder::new();
    let said = folder.run("build -o f -n 10 -p 1 -", b"ada\n");
    assert!(said.code == Some(2) && said.err.contains("1% is 0.01 or 1%"), "{said:?}");
    let said = folder.run("build -o f -n 10 -", b"ada\n");
    assert!(said.err.contains(": 1 line, 1 key, "), "{said:?}");
    let said = folder.run("build -q -o h -n 10 --hex-keys --key-type bytes -", b"616461\n");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(folder.run("check h --hex-keys", b"616461\n").out, "616461\n");
    let said = folder.run("build -o h -n 10 --hex-keys --key-type i64 -", b"1\n");
    assert!(said.code == Some(2) && said.err.contains("--hex-keys are bytes"), "{said:?}");

    // Where every bit is set nobody knows how many keys are in.
    folder.write("full", [0xff; 32]);
    for args in ["info --format parquet-bitset full", "info --json --format parquet-bitset full"] {
        let said = folder.run(args, b"");
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(!said.out.contains("18,446") && !said.out.contains("18446"), "{said:?}");
    }
    // A dash is no file's name.
    for args in [
        "check - f",
        "add - f",
        "remove -",
        "info -",
        "verify -",
        "merge -o - f f",
        "merge -o g - f",
        "convert - -o g --to mayhap",
        "check f -F - f",
        "check f --key-file - f",
        "redis load redis://127.0.0.1:1 k -",
        "redis save redis://127.0.0.1:1 k -",
    ] {
        let said = folder.run(args, b"");
        assert_eq!(said.code, Some(2), "{args}: {said:?}");
        assert!(said.err.contains("not standard input or output"), "{args}: {said:?}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}

/// A directory that may be written to but not listed: the file is replaced, and that is no error.
#[test]
fn a_directory_that_cannot_be_read_is_written_to() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = Folder::new();
    let inside = folder.path().join("dropbox");
    fs::create_dir(&inside).unwrap();
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o300)).unwrap();
    // A superuser may read everything, so it becomes somebody else.
    let mut command = folder.mayhap(&["build", "-o", "dropbox/f", "-n", "10", "-"]);
    if fs::metadata(&inside).unwrap().uid() == 0 {
        std::os::unix::fs::chown(&inside, Some(65534), Some(65534)).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        other.arg(command.get_program()).args(command.get_args());
        other.current_dir(folder.path()).env("NO_COLOR", "1");
        other.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command = other;
    }
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"ada\n").unwrap();
    let said = Said::from(child.wait_with_output().unwrap());
    fs::set_permissions(&inside, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.starts_with("built dropbox/f"), "{said:?}");
    assert!(inside.join("f").exists());
}
