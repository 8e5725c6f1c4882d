//! What verbs print with `--json`, compared with what they printed before: names, values and order
//! of fields, and exit codes. `MAYHAP_BLESS=1` writes the file anew, for changes that are meant.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::tempdir;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/json_output.json");

/// Fields that differ from run to run.
const VOLATILE: [&str; 3] = ["seconds", "created", "threads"];

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").canonicalize().unwrap()
}

/// Every file that is a filter, or could be one, relative to the test data.
fn filters(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            filters(&path, found);
        } else {
            let name = path.strip_prefix(testdata()).unwrap().to_str().unwrap().to_owned();
            let skipped = ["keys/", "README", "manifest", "words", "seen/", ".answers", "urls-"];
            if !skipped.iter().any(|part| name.contains(part)) {
                found.push(name);
            }
        }
    }
}

/// The flags a file of this name needs to be opened.
fn flags(name: &str) -> &'static str {
    match name {
        _ if name.contains("raw_10k") => " --format kevburnsjr --probes 7",
        _ if name.contains("kevburnsjr/") => " --format kevburnsjr --probes 10",
        _ if name.contains("num-base64") => " --probes 10",
        _ if name.contains("js/v18") => " --format bloomfilter-js-old --probes 10",
        _ if name.contains("js/v21") => " --format bloomfilter-js --probes 10",
        _ if name.contains("leveldb/badger") => " --format badger",
        _ if name.contains("leveldb/goleveldb") => " --format goleveldb",
        _ if name.contains("leveldb/") => " --format leveldb",
        _ if name.ends_with(".filter") => " --format rocksdb",
        _ if name.ends_with(".bitset") => " --format parquet-bitset",
        _ => "",
    }
}

/// The commands, in an order in which files are there when they are needed.
fn commands() -> Vec<String> {
    let mut commands: Vec<String> = [
        // Building, of every kind.
        "build -o blocked.may list",
        "build -o classic.may --kind classic -n 1000 -p 0.1% list",
        "build -o counting.may --kind counting list",
        "build -o scalable.may --kind scalable -n 10 list",
        "build -o window.may --window 10 list",
        "build -o day.may --window 24h -n 100 --generations 3 list",
        "build -o fuse.may --kind fuse list",
        "build -o bitmap.may --kind bitmap ids",
        "build -o cascade.may --include list --exclude other",
        "build -o cascade-blocked.may --include list --exclude other --first-layer blocked",
        "build -o sharded.may --shards 4 list",
        "build -o keyed.may --keyed --key-file secret.key list",
        "build -o sized.may --memory 1kB list",
        "build -o sized-classic.may --memory 1kB -p 1% --kind classic list",
        "build -o seeded.may --seed 7 --meta of=keys --normalize lower list",
        "build -o integers.may --key-type i64 ids",
        "build -o overfull.may -n 5 -p 1% list",
        "build -o overfull.may -n 5 -p 1% --strict list",
        "build -o tail.may - < list",
        "build -o piped-fuse.may --kind fuse - < list",
        "build -o hex.may --hex-keys hex",
        "build -o refused.may --kind windowed list",
        "build -o list list",
        // Other programs' filters.
        "build -o guava.bin --format guava list",
        "build -o leveldb.bin --format leveldb --bits-per-key 10 list",
        "build -o redisbloom.bin --format redisbloom -n 5 list",
        "build -o valkey.bin --format valkey-bloom --nonscaling list",
        "build -o spark.bin --format spark --variant v2 --seed -3 list",
        "build -o orc.bin --format orc --key-type i64 ids",
        "build -o badger.bin --format badger -n 3 list",
        "build -o parquet.bin --format parquet list",
        // Adding and removing.
        "add blocked.may other",
        "add scalable.may other",
        "add window.may other",
        "add day.may other",
        "add bitmap.may other",
        "add fuse.may other",
        "add cascade.may other",
        "add cascade.may --stash more",
        "add guava.bin other",
        "add redisbloom.bin other",
        "add keyed.may --key-file secret.key other",
        "add keyed.may other",
        "remove counting.may list",
        "remove bitmap.may ids",
        "remove blocked.may list",
        "remove cascade.may --stash more",
        // Asking.
        "check blocked.may list more",
        "check blocked.may --mark -n list more",
        "check blocked.may -c list more",
        "check blocked.may -c -H list more",
        "check blocked.may -F classic.may --which list more",
        "check cascade.may --mark --which list other more",
        "check blocked.may --except other list other",
        "check bitmap.may ids more",
        "check guava.bin list more",
        "check guava.bin -F blocked.may --which list more",
        "check keyed.may --key-file secret.key list more",
        "check seeded.may -F blocked.may list",
        "check blocked.may --no-verify list",
        "check blocked.may missing list",
        "check hex.may hex list",
        "check integers.may --key-type i32 ids",
        "check day.may list",
        // Merging and converting.
        "build -o one.may -n 100 list",
        "build -o two.may -n 100 other",
        "merge -o both.may one.may two.may",
        "merge -o common.may --op intersect one.may two.may",
        "merge -o wrong.may one.may classic.may",
        "merge -o wrong.may fuse.may fuse.may",
        "merge -o wrong.may one.may guava.bin",
        "merge -o wrong.bin guava.bin one.may",
        "build -o g1.bin --format guava -n 100 list",
        "build -o g2.bin --format guava -n 100 other",
        "merge -o g3.bin --force g1.bin g2.bin",
        "merge -o g4.bin --op intersect g1.bin g2.bin",
        "convert guava.bin -o guava.may --to mayhap",
        "convert guava.may -o again.bin --to guava",
        "convert guava.bin -o spark2.bin --to spark",
        "convert blocked.may -o nothing.may --to guava",
        "convert leveldb.bin -o badger2.bin --format leveldb --to badger",
        "check guava.may list more",
        "add guava.may more",
        // Whole, damaged, no filter at all.
        "verify blocked.may fuse.may cascade.may bitmap.may keyed.may guava.may",
        "verify damaged.may",
        "verify list blocked.may",
        "verify missing.may",
        "dedup --exact --state exact.max list",
        "verify exact.max",
        // Planning.
        "plan -n 1M",
        "plan -n 1M -p 0.1% --kind fuse",
        "plan -n 1M --memory 500kB",
        "plan --memory 1MB --kind classic",
        "plan -n 1M --kind windowed --generations 8",
        "plan",
        // Looking.
        "info --no-verify keyed.may",
        "info keyed.may",
        "info keyed.may --key-file secret.key",
        "info damaged.may",
        "info list",
        "info missing.may",
        "info ambiguous.bin",
        "info bitmap.may --measure=1000",
        "info guava.bin --format spark",
    ]
    .map(str::to_owned)
    .to_vec();
    for made in "blocked classic counting scalable window day fuse bitmap cascade cascade-blocked \
                 sharded sized sized-classic seeded integers overfull tail hex both common guava"
        .split(' ')
        .filter(|made| !made.is_empty())
    {
        commands.push(format!("info {made}.may"));
        commands.push(format!("info --no-verify {made}.may"));
    }
    let mut found = Vec::new();
    filters(&testdata(), &mut found);
    found.sort();
    for name in found {
        commands.push(format!("info {}{}", Path::new("DATA").join(&name).display(), flags(&name)));
    }
    commands
}

fn lists(folder: &Path) {
    let numbers = |range: std::ops::Range<u32>, word: &str| {
        range.map(|i| format!("{word}{i}\n")).collect::<String>()
    };
    fs::write(folder.join("list"), numbers(0..40, "Key ")).unwrap();
    fs::write(folder.join("other"), numbers(100..120, "other ")).unwrap();
    fs::write(folder.join("more"), numbers(200..205, "more ")).unwrap();
    fs::write(folder.join("ids"), numbers(0..30, "") + "x\n").unwrap();
    fs::write(folder.join("hex"), "00ff\nabcd\nzz\n").unwrap();
    fs::write(folder.join("ambiguous.bin"), [0x80; 64]).unwrap();
    fs::write(folder.join("secret.key"), "000102030405060708090a0b0c0d0e0f\n").unwrap();
}

/// Exit code, and what was printed, run in a folder.
fn run(folder: &Path, command: &str, is_json: bool) -> Value {
    let (args, input) = command.split_once(" < ").unwrap_or((command, ""));
    let data = testdata();
    let args = args.split(' ').map(|arg| arg.replace("DATA", data.to_str().unwrap()));
    let mut mayhap = Command::new(env!("CARGO_BIN_EXE_mayhap"));
    mayhap.args(args).current_dir(folder).env("NO_COLOR", "1");
    if is_json {
        mayhap.arg("--json");
    }
    if !input.is_empty() {
        mayhap.stdin(fs::File::open(folder.join(input)).unwrap());
    }
    let output = mayhap.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().replace(data.to_str().unwrap(), "DATA");
    let mut printed = Vec::new();
    let values = serde_json::Deserializer::from_str(&text).into_iter::<Value>();
    if let Ok(mut values) = values.collect::<Result<Vec<_>, _>>()
        && is_json
    {
        values.iter_mut().for_each(settle);
        printed = values;
    } else {
        let lines = text.lines().filter(|line| !line.starts_with("created"));
        printed.extend(lines.map(Value::from));
    }
    json!({"exit": output.status.code(), "printed": printed})
}

/// Without what differs from run to run, and numbers to ten digits: the parser rounds the last.
fn settle(value: &mut Value) {
    if let Some(number) = value.as_f64().filter(|_| value.is_f64()) {
        *value = format!("{number:.9e}").into();
    }
    if let Value::Array(values) = value {
        values.iter_mut().for_each(settle);
    }
    let Value::Object(fields) = value else { return };
    for (name, value) in fields {
        if VOLATILE.contains(&name.as_str()) {
            *value = "…".into();
        }
        settle(value);
    }
}

#[test]
fn json_is_as_it_was() {
    let folder = tempdir().unwrap();
    let folder = folder.path();
    lists(folder);
    let mut now = serde_json::Map::new();
    for command in commands() {
        if command.contains("damaged.may") && !folder.join("damaged.may").exists() {
            let mut bytes = fs::read(folder.join("blocked.may")).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(folder.join("damaged.may"), bytes).unwrap();
        }
        now.insert(command.clone(), run(folder, &command, true));
        if command.starts_with("info") || command.starts_with("verify") {
            now.insert(format!("{command} (text)"), run(folder, &command, false));
        }
    }
    if std::env::var_os("MAYHAP_BLESS").is_some() {
        let lines: Vec<String> =
            now.iter().map(|(command, now)| format!("{}: {now}", json!(command))).collect();
        return fs::write(GOLDEN, format!("{{\n{}\n}}\n", lines.join(",\n"))).unwrap();
    }
    let before: Value = serde_json::from_str(&fs::read_to_string(GOLDEN).unwrap()).unwrap();
    let before = before.as_object().unwrap();
    for (command, now) in &now {
        let before = before.get(command).unwrap_or_else(|| panic!("{command}: not there before"));
        // As text, because the order of fields counts.
        assert_eq!(format!("{now:#}"), format!("{before:#}"), "mayhap {command}");
    }
    assert_eq!(before.len(), now.len());
}
