//! Golden files of RocksDB, Redis, Valkey and Parquet with bytes changed, removed and inserted, and
//! random bytes: nothing panics, and what is accepted is written back unchanged.

mod damage;

use damage::{Change, damage};
use mayhap_foreign::parquet::{self, File};
use mayhap_foreign::redisbloom::{Chain, ChunkLoader, dump};
use mayhap_foreign::rocksdb::{self, Filter};
use mayhap_foreign::valkey_bloom;
use proptest::collection::vec;
use proptest::prelude::*;
use std::sync::LazyLock;

static GOLDEN: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign");
    let mut files = Vec::new();
    for folder in ["rocksdb", "redisbloom", "valkey-bloom", "parquet"] {
        for entry in std::fs::read_dir(format!("{root}/{folder}")).unwrap() {
            let path = entry.unwrap().path();
            let file = std::fs::read(&path).unwrap();
            if path.extension().is_none_or(|ext| ext != "json") && file.len() < 30_000 {
                files.push(file);
            }
        }
    }
    assert!(files.len() > 30);
    files
});

/// Everything that reads bytes; what it accepts must be written back unchanged.
fn read_as_all(bytes: &[u8]) {
    rocksdb::key_may_match("ada", bytes);
    if let Ok(filter) = Filter::open(bytes) {
        filter.contains("ada");
        assert!((0.0..=1.0).contains(&filter.fpr_now()));
        assert_eq!(filter.encode(), bytes);
    }
    if let Ok(range) = rocksdb::filter_in_sst(bytes) {
        rocksdb::key_may_match("ada", &bytes[range]);
    }
    if let Ok(mut chain) = Chain::decode(bytes) {
        chain.contains("ada");
        assert!((0.0..=1.0).contains(&chain.fpr_now()));
        assert_eq!(chain.encode(), bytes);
        // A link to come may be of any size.
        if chain.links().last().is_some_and(|link| link.room() > 0 || link.info().entries < 1000) {
            let was_in = chain.contains("bob");
            match chain.insert("bob") {
                Ok(new) => assert!(new != was_in && chain.contains("bob")),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
    }
    if let Ok(chain) = Chain::load_header(bytes, 1 << 20) {
        assert_eq!(chain.header().encode(), bytes);
    }
    if let Ok(incoming) = ChunkLoader::begin(bytes, 1 << 20) {
        assert_eq!(incoming.progress().0, 0);
    }
    if let Ok((chain, options)) = dump::decode_with_options(bytes) {
        chain.contains("ada");
        // Lengths have several encodings, so the bytes may differ; the chain may not.
        let again = dump::encode(&chain, options);
        assert_eq!(dump::decode(&again).unwrap().encode(), chain.encode());
    }
    if let Ok(chain) = valkey_bloom::Chain::open(bytes) {
        chain.contains("ada");
        assert_eq!(chain.encode(), bytes);
    }
    if let Ok(filter) = parquet::open(bytes) {
        filter.contains("ada");
        assert_eq!(filter.encode().unwrap(), bytes);
    }
    if let Ok(file) = File::read(bytes) {
        for found in file.filters() {
            found.filter(&bytes[found.bits.clone()]).unwrap().contains("ada");
        }
    }
}

fn damaged(at: usize, changes: &[Change]) -> Vec<u8> {
    damage(GOLDEN[at % GOLDEN.len()].clone(), changes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var("MAYHAP_SOAK").is_ok() {
        100_000
    } else {
        2_000
    }))]

    #[test]
    fn damage_is_refused_or_harmless(
        at: usize,
        changes in vec((any::<prop::sample::Index>(), any::<u8>(), any::<u8>()), 0..4),
    ) {
        let bytes = damaged(at, &changes);
        read_as_all(&bytes);
        // The checksum would catch nearly all of it, so behind it too.
        if dump::is_dump(&bytes) && bytes.len() > 10 {
            let value = &bytes[..bytes.len() - 10];
            read_as_all(&[value, &dump::footer(value, 9)[..]].concat());
        }
    }

    #[test]
    fn noise_is_refused_or_harmless(bytes in vec(any::<u8>(), 0..300)) {
        read_as_all(&bytes);
        read_as_all(&[&bytes[..], &dump::footer(&bytes, 9)[..]].concat());
    }

    /// What was inserted is found, after any number of links, and after a round trip.
    #[test]
    fn chains_never_forget(
        keys in vec(any::<Vec<u8>>(), 0..300),
        capacity in 1..50u64,
        error in 0.0001..0.9f64,
        growth in 1..5u32,
    ) {
        let scaling = mayhap_foreign::redisbloom::Scaling::By(growth);
        let mut chain = Chain::reserve(capacity, error, scaling).unwrap();
        let mut batch = chain.clone();
        for key in &keys {
            chain.insert(key).unwrap();
        }
        let hashes: Vec<_> = keys.iter().map(|key| batch.hash(key)).collect();
        batch.insert_batch(&hashes).unwrap();
        prop_assert_eq!(batch.encode(), chain.encode());
        for again in [Chain::decode(&chain.encode()), dump::decode(&dump::encode(&chain, Default::default()))] {
            let again = again.unwrap();
            prop_assert!(keys.iter().all(|key| again.contains(key)));
            prop_assert_eq!(again.items(), chain.items());
        }

        let seed = valkey_bloom::Seed::random([7; 32]);
        let mut valkey = valkey_bloom::Chain::reserve(capacity, error, growth, seed).unwrap();
        for key in &keys {
            valkey.insert(key).unwrap();
        }
        let again = valkey_bloom::Chain::decode(&valkey.encode()).unwrap();
        prop_assert!(keys.iter().all(|key| again.contains(key)));
    }

    /// Both halves of a union are found in it, whichever is longer.
    #[test]
    fn unions_hold_both(
        ours in vec(any::<[u8; 8]>(), 0..200),
        theirs in vec(any::<[u8; 8]>(), 0..200),
        capacity in 1..50u64,
    ) {
        let scaling = mayhap_foreign::redisbloom::Scaling::By(2);
        let of = |keys: &[[u8; 8]]| {
            let mut chain = Chain::reserve(capacity, 0.01, scaling).unwrap();
            keys.iter().for_each(|key| _ = chain.insert(*key).unwrap());
            let seed = valkey_bloom::Seed::FIXED;
            let mut valkey = valkey_bloom::Chain::reserve(capacity, 0.01, 2, seed).unwrap();
            keys.iter().for_each(|key| _ = valkey.insert(*key).unwrap());
            let rocks = rocksdb::create_filter([[1u8; 8]; 10], 100.0).unwrap();
            let mut rocks = Filter::decode(&rocks).unwrap();
            keys.iter().for_each(|key| _ = rocks.insert(*key).unwrap());
            (chain, valkey, rocks)
        };
        let (mut chain, mut valkey, mut rocks) = of(&ours);
        let (other_chain, other_valkey, other_rocks) = of(&theirs);
        chain.union(&other_chain).unwrap();
        valkey.union(&other_valkey).unwrap();
        rocks.union(&other_rocks).unwrap();
        for key in ours.iter().chain(&theirs) {
            prop_assert!(chain.contains(*key) && valkey.contains(*key) && rocks.contains(*key));
        }
        // And can go on: numbers still add up.
        prop_assert!(Chain::decode(&chain.encode()).is_ok());
        prop_assert!(valkey_bloom::Chain::decode(&valkey.encode()).is_ok());
    }
}
