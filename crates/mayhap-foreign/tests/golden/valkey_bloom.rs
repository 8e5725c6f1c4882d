use crate::vectors::{cases, hex};
use mayhap_foreign::valkey_bloom::{Chain, Layer, Seed};

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("valkey-bloom") {
        let chain = Chain::decode(&case.file).unwrap();
        assert!(case.members.iter().all(|key| chain.contains(key)), "{}", case.name);
        let answers: Vec<bool> = case.probes.iter().map(|key| chain.contains(key)).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        let hashes: Vec<_> = case.probes.iter().map(|key| chain.hash(key)).collect();
        let mut batch = Vec::new();
        Chain::open(&case.file).unwrap().contains_batch(&hashes, &mut batch);
        assert_eq!(batch, case.answers, "{}", case.name);
        assert_eq!(chain.encode(), case.file, "{}", case.name);
        let items: Vec<u64> = chain.layers().iter().map(Layer::items).collect();
        assert_eq!(
            items,
            serde_json::from_value::<Vec<u64>>(case.params["num_items"].clone()).unwrap()
        );
    }
}

#[test]
fn chains_made_and_grown_here_are_those_made_there() {
    for case in cases("valkey-bloom") {
        let number = |name: &str| case.params[name].as_u64().unwrap();
        let mut bytes = [0; 32];
        bytes.copy_from_slice(&hex(case.params["seed_hex"].as_str().unwrap()));
        let seed = Seed { bytes, is_random: false };
        let fpr = case.params["fp_rate"].as_f64().unwrap();
        let expansion = number("expansion") as u32;
        let mut chain = Chain::reserve(number("capacity"), fpr, expansion, seed).unwrap();
        for key in &case.members {
            chain.insert(key).unwrap();
        }
        assert_eq!(chain.encode(), case.file, "{}", case.name);
    }
}

#[test]
fn what_the_numbers_must_not_be_is_refused() {
    let case = &cases("valkey-bloom")[0];
    // Where each field lies, and a value it must not have.
    let front = 1 + 4 + 8 + 8 + 1 + 8;
    let blob = front + 8;
    let bits = 120;
    let wrong: [(usize, &[u8], &str); 13] = [
        (0, &[2], "version is 2"),
        (5, &[0; 8], "rate is 0"),
        (5, &1f64.to_le_bytes(), "rate is 1"),
        (5, &f64::NAN.to_le_bytes(), "rate is NaN"),
        (13, &0f64.to_le_bytes(), "tightening ratio is 0"),
        (21, &[2], "random seed is 2"),
        (22, &[0; 8], "bytes behind the end"),
        (front, &[0xff; 8], "bytes of a blob"),
        (blob, &[9], "version of a blob is 9"),
        (blob + 1, &[0xff; 8], "bytes of a blob"),
        (blob + 9, &[0; 4], "probes is 0"),
        (blob + 45 + bits, &101i64.to_le_bytes(), "items is 101 of 100"),
        (blob + 45 + bits + 8, &0i64.to_le_bytes(), "capacity is 0"),
    ];
    for (at, bytes, message) in wrong {
        let mut payload = case.file.clone();
        payload[at..at + bytes.len()].copy_from_slice(bytes);
        let error = Chain::open(&payload).unwrap_err().to_string();
        assert!(error.contains(message), "{error} instead of {message}");
    }
    for end in 0..case.file.len() {
        assert!(Chain::open(&case.file[..end]).is_err());
    }
}
