//! Filters that RedisBloom wrote: loaded, answering alike, grown on, and given back.

use mayhap_testkit::{Client, Server, Value, makes, root};
use std::fs;

fn manifest() -> Vec<serde_json::Value> {
    let path = root().join("testdata/foreign/redisbloom/manifest.json");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    manifest["cases"].as_array().unwrap().clone()
}

fn load_chunks(client: &mut Client, case: &serde_json::Value, key: &str) -> Value {
    let file = root().join("testdata/foreign").join(case["file"].as_str().unwrap());
    let bytes = fs::read(file).unwrap();
    let mut at = 0;
    for chunk in case["params"]["chunks"].as_array().unwrap() {
        let (iterator, count) =
            (chunk["iter"].to_string(), chunk["len"].as_u64().unwrap() as usize);
        let words =
            [&b"BF.LOADCHUNK"[..], key.as_bytes(), iterator.as_bytes(), &bytes[at..at + count]];
        let got = client.call(&words);
        if got != Value::ok() {
            return got;
        }
        at += count;
    }
    Value::ok()
}

/// What comes out by chunks is what RedisBloom wrote, so that it can be loaded there again.
fn assert_chunks(client: &mut Client, case: &serde_json::Value, key: &str) {
    let file = root().join("testdata/foreign").join(case["file"].as_str().unwrap());
    let (bytes, mut at, mut iterator) = (fs::read(file).unwrap(), 0, 0);
    for chunk in case["params"]["chunks"].as_array().unwrap() {
        let got = client.say(&format!("BF.SCANDUMP {key} {iterator}")).array();
        iterator = got[0].int();
        assert_eq!(Some(iterator), chunk["iter"].as_i64(), "{key}");
        let count = chunk["len"].as_u64().unwrap() as usize;
        assert!(got[1].clone().bytes() == bytes[at..at + count], "{key}: chunk {iterator}");
        at += count;
    }
    assert_eq!(client.say(&format!("BF.SCANDUMP {key} {iterator}")).array()[0], Value::Int(0));
}

/// The keys of a rule, but for those of padded ones.
fn keys_of(rule: &serde_json::Value) -> Option<Vec<Vec<u8>>> {
    match rule["rule"].as_str()? {
        "decimal" => {
            let (start, count) = (rule["start"].as_u64()?, rule["count"].as_u64()?);
            let prefix = rule["prefix"].as_str()?;
            Some((start..start + count).map(|key| format!("{prefix}{key}").into_bytes()).collect())
        }
        "file" => {
            let file = root().join("testdata/foreign").join(rule["file"].as_str()?);
            let hex = |line: &str| {
                let byte = |at| u8::from_str_radix(&line[at..at + 2], 16).unwrap();
                (0..line.len()).step_by(2).map(byte).collect()
            };
            Some(fs::read_to_string(file).unwrap().lines().map(hex).collect())
        }
        _ => None,
    }
}

/// The answers as a row of 0 and 1.
fn ask(client: &mut Client, name: &str, keys: &[Vec<u8>]) -> String {
    let mut words: Vec<&[u8]> = vec![b"BF.MEXISTS", name.as_bytes()];
    words.extend(keys.iter().map(Vec::as_slice));
    client.call(&words).array().iter().map(|answer| answer.int().to_string()).collect()
}

#[test]
fn redisblooms_filters_go_on_here() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        let (mut loaded, mut compared) = (0, 0);
        for case in manifest() {
            let name = case["name"].as_str().unwrap();
            assert_eq!(load_chunks(&mut client, &case, name), Value::ok(), "{name}");
            loaded += 1;
            let dump = root().join("testdata/foreign/redisbloom").join(format!("{name}.dump"));
            let payload = fs::read(dump).unwrap();
            let key = format!("{name}-restored");
            let words: [&[u8]; 4] = [b"RESTORE", key.as_bytes(), b"0", &payload];
            assert_eq!(client.call(&words), Value::ok(), "{name}");
            // Both ways in, one filter; and the way out is the way in.
            let ours = client.say(&format!("DUMP {name}")).bytes();
            assert!(ours == client.say(&format!("DUMP {key}")).bytes(), "{name}");
            assert_chunks(&mut client, &case, name);
            let items = case["params"]["bf_info"]["Number of items inserted"].as_i64();
            if let Some(items) = items {
                assert_eq!(client.say(&format!("BF.CARD {name}")), Value::Int(items), "{name}");
            }
            if let Some(members) = keys_of(&case["members"]) {
                let found = ask(&mut client, name, &members);
                assert!(found.bytes().all(|found| found == b'1'), "{name}");
            }
            // False positives are exactly RedisBloom's.
            if let Some(probes) = keys_of(&case["probes"]) {
                let want = case["probe_answers"].as_str().unwrap();
                assert!(ask(&mut client, name, &probes) == want, "{name}");
                compared += 1;
            }
        }
        assert!(compared >= 6);
        assert!(loaded >= 7);
        // Grown on, as RedisBloom would have it: the next link has half the rate.
        let links = client.say("BF.INFO default_scaling_10k FILTERS").array()[0].int();
        for item in 0..30_000 {
            client.say(&format!("BF.ADD default_scaling_10k more{item}"));
        }
        assert!(client.say("BF.INFO default_scaling_10k FILTERS").array()[0].int() > links);
        assert_eq!(client.say("BF.EXISTS default_scaling_10k more7"), Value::Int(1));
        super::persistence::copy_by_chunks(&mut client, "default_scaling_10k", "again");
        let [a, b] = ["default_scaling_10k", "again"].map(|key| client.say(&format!("DUMP {key}")));
        assert!(a == b);
        // Merged with one of ours it is RedisBloom's no more, and is saved all the same.
        client.say("BF.ADD mine x");
        assert_eq!(client.say("BF.MERGE again mine LAYERS"), Value::ok());
        client.say("DEBUG RELOAD");
        assert_eq!(client.say("BF.EXISTS again x"), Value::Int(1));
        assert_eq!(client.say("BF.EXISTS again more7"), Value::Int(1));
    }
}
