//! The real implementations: a filter written here is read there, and the reverse.
//!
//! Run by `cargo xtask test --live`, which installs what they need; by themselves these tests are
//! ignored. The little programs in other languages are in `programs/`; what they write stays in
//! `target/live/` for a look.

mod program;
mod redis;

use mayhap_foreign::{Bytes, Foreign, Format, KeyType, Options, leveldb, parquet};
use program::{Program, Work};

/// Enough for false positives, and some with difficult encodings.
fn members() -> Vec<String> {
    let odd = ["ключ", "鍵", "clé", "🔑🗝", "a b\tc", "'quoted'", "\u{7f}", "~"].map(str::to_owned);
    (0..1000).map(|i| format!("key-{i}")).chain(odd).collect()
}

fn absent_keys(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("probe-{i}-ß")).collect()
}

/// Decimal numbers, from end to end.
fn numbers(first: i64, count: i64) -> Vec<String> {
    let ends = [i64::MIN, i64::MAX, -1].map(|end| end.wrapping_add(first));
    (0..count).map(|i| first + 7 * i).chain(ends).map(|number| number.to_string()).collect()
}

/// Our filter of these keys.
fn made(format: Format, fpr: f64, options: &Options, keys: &[String]) -> Vec<u8> {
    let mut filter = mayhap_foreign::create(format, keys.len() as u64, fpr, options).unwrap();
    let keys = spelled(format, options, keys);
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    filter.insert_batch(&keys, &mut Vec::new()).unwrap();
    let mut file = Vec::new();
    filter.write_as(format, &mut file).unwrap();
    file
}

fn spelled(format: Format, options: &Options, keys: &[String]) -> Vec<Vec<u8>> {
    let key = |text: &String| options.key_type.key(format, text.as_bytes()).unwrap().into_owned();
    keys.iter().map(key).collect()
}

fn opened(format: Format, options: &Options, file: Vec<u8>) -> Box<dyn Foreign> {
    mayhap_foreign::open(format, &Bytes::new(file), options).unwrap()
}

/// Our answers, a 0 or 1 per key.
fn answers(filter: &dyn Foreign, keys: &[Vec<u8>]) -> String {
    let mut answers = Vec::new();
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    filter.contains_batch(&keys, &mut answers);
    answers.iter().map(|answer| if *answer { '1' } else { '0' }).collect()
}

/// What both must agree on: every member is in, and the same false positives, but not all and some.
struct Agreement<'a> {
    format: Format,
    options: &'a Options,
    members: Vec<String>,
    absent_keys: Vec<String>,
}

impl Agreement<'_> {
    fn check(&self, work: &Work, file: &str, theirs: impl Fn(&str, &str) -> String) {
        let (format, options) = (self.format, self.options);
        let filter = opened(format, options, work.read(file));
        let all = "1".repeat(self.members.len());
        assert_eq!(answers(filter.as_ref(), &spelled(format, options, &self.members)), all);
        work.write("keys.txt", lines(&self.members));
        assert_eq!(theirs(file, "keys.txt"), all, "{file}: members");
        let ours = answers(filter.as_ref(), &spelled(format, options, &self.absent_keys));
        work.write("absent.txt", lines(&self.absent_keys));
        assert_eq!(theirs(file, "absent.txt"), ours, "{file}: absent keys");
        assert!(ours.contains('1') && ours.contains('0'), "{file}: {ours}");
    }
}

fn lines(keys: &[String]) -> Vec<u8> {
    keys.iter().flat_map(|key| [key.as_bytes(), b"\n"].concat()).collect()
}

#[test]
#[ignore = "needs Guava: cargo xtask test --live"]
fn guava() {
    let work = Work::new("guava");
    let java =
        Program::new("java").arg("-cp").arg("/usr/share/java/guava.jar").source("Guava.java");
    for (key_type, kind) in [(KeyType::Bytes, "string"), (KeyType::I64, "long")] {
        let options = Options::new().with_key_type(key_type);
        let (members, absent_keys) = match key_type {
            KeyType::I64 => (numbers(-3000, 1000), numbers(1_000_003, 5000)),
            _ => (members(), absent_keys(5000)),
        };
        let count = members.len().to_string();
        let ours = made(Format::Guava, 0.01, &options, &members);
        work.write("ours.bin", ours.clone());
        work.write("members.txt", lines(&members));
        java.run(&work, &["make", "theirs.bin", "members.txt", &count, "0.01", kind]);
        assert_eq!(work.read("theirs.bin"), ours, "byte for byte");
        let agreement =
            Agreement { format: Format::Guava, options: &options, members, absent_keys };
        for file in ["ours.bin", "theirs.bin"] {
            agreement.check(&work, file, |file, keys| java.run(&work, &["ask", file, keys, kind]));
        }
    }
}

#[test]
#[ignore = "needs goleveldb: cargo xtask test --live"]
fn goleveldb() {
    let work = Work::new("goleveldb");
    let go = Program::go("goleveldb.go");
    let options = Options::new();
    for bits in ["4", "10", "16"] {
        let members = members();
        let bits_per_key = bits.parse().unwrap();
        let ours = leveldb::Policy::new(leveldb::Program::Goleveldb, bits_per_key);
        let ours = ours.create_filter(&members);
        work.write("ours.bin", ours.clone());
        work.write("members.txt", lines(&members));
        go.run(&work, &["make", "theirs.bin", "members.txt", bits]);
        assert_eq!(work.read("theirs.bin"), ours, "byte for byte");
        let format = Format::Goleveldb;
        let agreement =
            Agreement { format, options: &options, members, absent_keys: absent_keys(9000) };
        for file in ["ours.bin", "theirs.bin"] {
            agreement.check(&work, file, |file, keys| go.run(&work, &["ask", file, keys]));
        }
    }
}

#[test]
#[ignore = "needs willf/bloom: cargo xtask test --live"]
fn willf_bloom() {
    let work = Work::new("willf");
    let go = Program::go("willf.go");
    let options = Options::new();
    let members = members();
    let count = members.len().to_string();
    let ours = made(Format::BitsAndBlooms, 0.01, &options, &members);
    work.write("ours.bin", ours.clone());
    work.write("members.txt", lines(&members));
    go.run(&work, &["make", "theirs.bin", "members.txt", &count, "0.01"]);
    assert_eq!(work.read("theirs.bin"), ours, "byte for byte");
    go.run(&work, &["make", "theirs.json", "members.txt", &count, "0.01"]);
    // Their JSON read here and written again, for them to read.
    let json = opened(Format::BitsAndBlooms, &options, work.read("theirs.json"));
    let mut again = Vec::new();
    json.write_as(Format::BitsAndBlooms, &mut again).unwrap();
    assert_eq!(again, work.read("theirs.json"), "byte for byte");
    let (format, absent_keys) = (Format::BitsAndBlooms, absent_keys(5000));
    let agreement = Agreement { format, options: &options, members, absent_keys };
    for file in ["ours.bin", "theirs.bin", "theirs.json"] {
        agreement.check(&work, file, |file, keys| go.run(&work, &["ask", file, keys]));
    }
}

#[test]
#[ignore = "needs DCSO's bloom: cargo xtask test --live"]
fn dcso() {
    let work = Work::new("dcso");
    let bloom = Program::new("bloom");
    let options = Options::new();
    let members = members();
    let count = members.len().to_string();
    work.write("ours.bloom", made(Format::Dcso, 0.01, &options, &members));
    work.write("members.txt", lines(&members));
    work.remove("theirs.bloom");
    bloom.run(&work, &["create", "-p", "0.01", "-n", &count, "theirs.bloom"]);
    bloom.run_on(&work, &["insert", "theirs.bloom"], "members.txt");
    assert_eq!(work.read("theirs.bloom"), work.read("ours.bloom"), "byte for byte");
    let (format, absent_keys) = (Format::Dcso, absent_keys(5000));
    let agreement = Agreement { format, options: &options, members, absent_keys };
    for file in ["ours.bloom", "theirs.bloom"] {
        agreement.check(&work, file, |file, keys| {
            // It prints the keys that are in.
            let found = bloom.run_on(&work, &["check", file], keys);
            let mut found = found.lines().peekable();
            let text = String::from_utf8(work.read(keys)).unwrap();
            text.lines()
                .map(|key| if found.next_if_eq(&key).is_some() { '1' } else { '0' })
                .collect()
        });
    }
}

/// Files are made by their writers only, so for the way there our bits take the place of theirs.
#[test]
#[ignore = "needs pyarrow and DuckDB: cargo xtask test --live"]
fn parquet_files() {
    let work = Work::new("parquet");
    let python = Program::new(program::tool("venv/bin/python")).source("parquet.py");
    for (key_type, kind) in [(KeyType::Bytes, "string"), (KeyType::I64, "long")] {
        let (members, absent_keys) = match key_type {
            KeyType::I64 => (numbers(-3000, 1000), numbers(1_000_003, 600)),
            _ => (members(), absent_keys(600)),
        };
        let options = Options::new().with_column("c").with_key_type(key_type);
        work.write("members.txt", lines(&members));
        let ask = |file: &str, keys: &str| python.run(&work, &["ask", file, keys, kind]);
        for writer in ["pyarrow", "duckdb"] {
            let file = format!("{writer}-{kind}.parquet");
            python.run(&work, &[&format!("make-{writer}"), &file, "members.txt", kind]);
            let (members, absent_keys) = (members.clone(), absent_keys.clone());
            let format = Format::Parquet;
            let agreement = Agreement { format, options: &options, members, absent_keys };
            agreement.check(&work, &file, ask);

            // Every filter's bits rebuilt here, from other keys of the same type.
            let mut bytes = work.read(&file);
            let others: Vec<String> = match key_type {
                KeyType::I64 => numbers(5_000_001, 700),
                _ => (0..700).map(|i| format!("other-{i}-ü")).collect(),
            };
            let found = parquet::File::read(&bytes).unwrap();
            for found in found.of_column("c").unwrap() {
                let mut filter = parquet::decode(&bytes[found.bits.clone()]).unwrap();
                filter.clear();
                for key in spelled(format, &options, &others) {
                    filter.insert(key);
                }
                bytes[found.bits.clone()].copy_from_slice(filter.as_bytes());
            }
            let file = format!("{writer}-{kind}-ours.parquet");
            work.write(&file, bytes);
            let agreement = Agreement { members: others, ..agreement };
            agreement.check(&work, &file, ask);
        }
    }
}

#[test]
#[ignore = "needs npm's bloomfilter: cargo xtask test --live"]
fn bloomfilter_js() {
    let work = Work::new("bloomfilter-js");
    for (format, package) in [
        (Format::BloomfilterJsOld, "bloomfilter-0.0.18"),
        (Format::BloomfilterJs, "bloomfilter-0.0.21"),
    ] {
        let module = program::tool(&format!("node/node_modules/{package}/bloomfilter.js"));
        let node = Program::new("node").env("BLOOMFILTER", &module).source("bloomfilter.cjs");
        let members = members();
        let options = Options::new();
        let ours = made(format, 0.01, &options, &members);
        let probes = mayhap_foreign::create(format, members.len() as u64, 0.01, &options);
        let summary = probes.unwrap().summary();
        let (bits, probes) = (summary.bits.to_string(), summary.probes.to_string());
        work.write("ours.json", ours.clone());
        work.write("members.txt", lines(&members));
        node.run(&work, &["make", "theirs.json", "members.txt", &bits, &probes]);
        assert_eq!(work.read("theirs.json"), ours, "byte for byte");
        let options = Options::new().with_probes(summary.probes);
        let agreement =
            Agreement { format, options: &options, members, absent_keys: absent_keys(5000) };
        for file in ["ours.json", "theirs.json"] {
            agreement
                .check(&work, file, |file, keys| node.run(&work, &["ask", file, keys, &probes]));
        }
    }
}
