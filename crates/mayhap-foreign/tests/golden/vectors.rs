//! The golden files and the rules of their keys.

use mayhap_foreign::KeyType;
use mayhap_foreign::flat::{FlatFilter, FlatFormat};
use serde_json::Value;
use std::path::PathBuf;

/// One golden file.
pub struct Case {
    pub name: String,
    pub file: Vec<u8>,
    pub key_type: String,
    pub params: Value,
    pub members: Keys,
    pub probes: Keys,
    pub answers: Vec<bool>,
}

/// Keys as encoded by their type: bytes, or the texts of numbers.
pub type Keys = Vec<Vec<u8>>;

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign"))
}

pub fn read(file: &str) -> Vec<u8> {
    std::fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// All cases of a folder.
pub fn cases(folder: &str) -> Vec<Case> {
    let manifest: Value =
        serde_json::from_slice(&read(&format!("{folder}/manifest.json"))).unwrap();
    let cases: Vec<Case> = manifest["cases"].as_array().unwrap().iter().map(case).collect();
    assert!(!cases.is_empty(), "{folder}");
    cases
}

fn case(case: &Value) -> Case {
    let text = |field: &str| case[field].as_str().unwrap().to_owned();
    let file = read(&text("file"));
    assert_eq!(file.len() as u64, case["size"].as_u64().unwrap());
    let answers: Vec<bool> = text("probe_answers").chars().map(|answer| answer == '1').collect();
    let (members, probes) = (keys(&case["members"]), keys(&case["probes"]));
    assert_eq!(probes.len(), answers.len());
    assert!(case["all_members_answer"].as_bool().unwrap());
    let (name, key_type, params) = (text("name"), text("key_type"), case["params"].clone());
    Case { name, file, key_type, params, members, probes, answers }
}

fn keys(rule: &Value) -> Keys {
    let number = |field: &str| rule[field].as_i64().unwrap();
    let prefix = rule["prefix"].as_str().unwrap_or_default();
    match rule["rule"].as_str().unwrap() {
        "decimal" => (number("start")..number("start") + number("count"))
            .map(|i| format!("{prefix}{i}").into_bytes())
            .collect(),
        "arith" => (0..number("count"))
            .map(|i| (number("start") + i * number("step")).to_string().into_bytes())
            .collect(),
        "padded" => {
            let lengths = rule["lengths"].as_array().unwrap();
            let padded = |i: usize| {
                let mut key = format!("{prefix}{i}:").into_bytes();
                let length = lengths[i % lengths.len()].as_u64().unwrap() as usize;
                for j in key.len()..length {
                    key.push((7 * i + j * j + 3 * j) as u8);
                }
                key
            };
            (0..number("count") as usize).map(padded).collect()
        }
        "file" => {
            let file = rule["file"].as_str().unwrap();
            let text = String::from_utf8(read(file)).unwrap();
            let key = |line: &str| if file.ends_with(".hex") { hex(line) } else { line.into() };
            text.lines().map(key).collect()
        }
        other => panic!("no rule {other}"),
    }
}

pub fn hex(text: &str) -> Vec<u8> {
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes().chunks(2).map(pair).collect()
}

/// Malformed bytes, and what the real implementation makes of them.
pub struct Edge {
    pub implementation: String,
    pub name: String,
    pub bytes: Vec<u8>,
    /// Its answer for the key "a", or `None` for an error or a panic.
    pub answer: Option<bool>,
}

/// The malformed inputs of a format.
pub fn edges(format: &str) -> Vec<Edge> {
    let edges: Vec<Value> = serde_json::from_slice(&read("edge/edge.json")).unwrap();
    let edges: Vec<Edge> = edges
        .iter()
        .filter(|edge| edge["format"] == format)
        .map(|edge| Edge {
            implementation: edge["implementation"].as_str().unwrap().to_owned(),
            name: edge["case"].as_str().unwrap().to_owned(),
            bytes: hex(edge["bytes_hex"].as_str().unwrap()),
            answer: edge["result"].as_str().unwrap().parse().ok(),
        })
        .collect();
    assert!(!edges.is_empty(), "{format}");
    edges
}

/// Mayhap may be stricter than the real implementation, never looser: what it rejects we reject,
/// and where both answer they agree.
pub fn check_edges(format: &str, answer: impl Fn(&[u8]) -> Result<bool, String>) {
    for edge in edges(format) {
        match (answer(&edge.bytes), edge.answer) {
            (Ok(ours), Some(theirs)) => assert_eq!(ours, theirs, "{}", edge.name),
            (Ok(_), None) => panic!("{}: {} refuses it", edge.name, edge.implementation),
            (Err(message), _) => assert!(!message.is_empty()),
        }
    }
}

/// The type of a case's keys, but for Guava's, whose funnels say more.
pub fn key_type(case: &Case) -> KeyType {
    match case.key_type.as_str() {
        "i64" => KeyType::I64,
        "i32" => KeyType::I32,
        "bytes" | "utf8" => KeyType::Bytes,
        other => panic!("no type {other}"),
    }
}

/// Members, probes and bytes of a filter decoded from its golden file.
pub fn check<F: FlatFormat>(case: &Case, filter: &FlatFilter<F>, keys: KeyType) {
    let format = filter.frame().format();
    let key = |text: &Vec<u8>| keys.key(format, text).unwrap().into_owned();
    assert!(case.members.iter().all(|text| filter.contains(key(text))), "{}", case.name);
    let answers: Vec<bool> = case.probes.iter().map(|text| filter.contains(key(text))).collect();
    assert_eq!(answers, case.answers, "{}", case.name);
    assert!(filter.encode().unwrap() == case.file, "{}: other bytes", case.name);
}

/// A filter built here is byte-identical to the golden file.
pub fn rebuild<F: FlatFormat>(
    case: &Case,
    mut empty: FlatFilter<F>,
    keys: KeyType,
) -> FlatFilter<F> {
    let format = empty.frame().format();
    for text in &case.members {
        empty.insert(keys.key(format, text).unwrap().into_owned());
    }
    assert!(empty.encode().unwrap() == case.file, "{}: other bytes", case.name);
    empty
}
