//! Known answers: `testdata/foreign/hash_known_answers.json`.

use super::*;
use crate::bloomfilter_js::Generation;
use crate::flat::FlatFormat;
use crate::kevburnsjr::Kevburnsjr;
use crate::spark::Spark;
use crate::valkey_bloom::Seed;
use mayhap::scheme::Scheme;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;
use siphasher::sip::SipHasher13;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// Each length with the name of a hash and its answer in hex.
fn known_answers(name: &str) -> Vec<(Vec<u8>, Value)> {
    let file =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/foreign/hash_known_answers.json");
    let file: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert!(cases.len() > 20);
    let key = |len: u64| (0..len).map(|j| (j * j + 3 * j + 200) as u8).collect();
    cases.iter().map(|case| (key(case["len"].as_u64().unwrap()), case[name].clone())).collect()
}

/// Every known answer of `name` is what `hash` gives.
pub(super) fn check(name: &str, hash: impl Fn(&[u8]) -> u64) {
    for (key, answer) in known_answers(name) {
        let answer = u64::from_str_radix(answer.as_str().unwrap(), 16).unwrap();
        assert_eq!(hash(&key), answer, "{name} of {} bytes", key.len());
    }
}

#[test]
fn murmur3_128_answers() {
    for (key, answer) in known_answers("murmur3_128") {
        let half = |i: usize| u64::from_str_radix(answer[i].as_str().unwrap(), 16).unwrap();
        assert_eq!(murmur3_128(&key, 0), (half(0), half(1)), "{} bytes", key.len());
    }
}

#[test]
fn murmur2_answers() {
    check("murmur64a_seed_c6a4a7935bd1e995", |key| murmur64a(key, 0xc6a4_a793_5bd1_e995));
    check("murmur2_32_seed_9747b28c", |key| murmur2_32(key, 0x9747_b28c).into());
}

#[test]
fn leveldb_answers() {
    check("ldbhash_unsigned", |key| ldbhash(key, Tail::Unsigned).into());
    check("ldbhash_signed", |key| ldbhash(key, Tail::Signed).into());
}

#[test]
fn fnv_answers() {
    check("fnv1_64", fnv1_64);
    check("fnv1a32_mixed_seed0", |key| fnv1a_32_mixed(key.iter().copied(), 0).into());
    check("fnv1a32_mixed_seed1576284489", |key| {
        fnv1a_32_mixed(key.iter().copied(), 1_576_284_489).into()
    });
}

#[test]
fn spark_answers() {
    check("spark_murmur3_seed0", |key| spark_murmur3(key, 0).into());
}

#[test]
fn orc_answers() {
    check("orc_murmur3_64", orc_bytes);
}

#[test]
fn wyhash_answers() {
    check("wyhash05_poppy_seed", |key| wyhash(key, 0x706f_7070_7953_3d42));
}

#[test]
fn xxh64_answers() {
    check("xxh64", |key| xxhash_rust::xxh64::xxh64(key, 0));
}

#[test]
fn xxph3_answers() {
    check("xxph3", xxph3);
}

/// Keys hashed by these formats all at once, and one by one.
fn check_all_at_once(keys: &[Vec<u8>]) {
    fn same<F: FlatFormat<Scheme: Scheme<Hash: PartialEq + Debug>>>(frame: F, keys: &[&[u8]]) {
        let scheme = frame.scheme(6400).unwrap();
        let mut hashes = Vec::new();
        F::hash_keys(&scheme, keys, &mut hashes);
        let want: Vec<_> = keys.iter().map(|key| scheme.hash_bytes(key)).collect();
        assert_eq!(hashes, want, "{:?} of {:?}", frame.format(), keys);
    }
    let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    same(Kevburnsjr::Raw, &keys);
    same(Generation::UpTo18, &keys);
    same(Generation::Since19, &keys);
    same(Spark::V1, &keys);
    same(Spark::V2 { seed: -7 }, &keys);
    let (seed, mut pairs) = (Seed::random(std::array::from_fn(|i| (i * 37) as u8)), Vec::new());
    side_by_side(&seed, &keys, &mut pairs);
    let want: Vec<_> = keys.iter().map(|key| seed.hash_one(key)).collect();
    assert_eq!(pairs, want, "valkey-bloom of {keys:?}");
}

#[test]
fn every_length_is_hashed_alike_all_at_once() {
    // Past what is laid in rows, in words of either length.
    for bytes in (0..=300).chain(500..530) {
        for ascii in [0xff, 0x7f] {
            let byte = |key: usize, at: usize| (at * 31 + key * 7 + bytes) as u8 & ascii;
            let key = |key: usize| (0..bytes).map(|at| byte(key, at)).collect();
            check_all_at_once(&(0..19).map(key).collect::<Vec<_>>());
        }
    }
}

proptest! {
    #[test]
    fn mixed_lengths_are_hashed_alike_all_at_once(
        mut keys in vec(vec(any::<u8>(), 0..=200), 0..70),
        long in proptest::option::weighted(0.1, (0..70usize, vec(any::<u8>(), 0..=600))),
    ) {
        if let Some((at, long)) = long {
            keys.insert(at.min(keys.len()), long);
        }
        check_all_at_once(&keys);
        keys.iter_mut().flatten().for_each(|byte| *byte &= 0x7f);
        check_all_at_once(&keys);
    }

    #[test]
    fn side_by_side_is_one_by_one(keys: [Vec<u8>; LANES], seeds: [u32; 2]) {
        let keys = keys.each_ref().map(Vec::as_slice);
        prop_assert_eq!(fnv1_64_of_each(keys), keys.map(fnv1_64));
        let units = |key: &[u8]| fnv1a_64(key.iter().map(|byte| u16::from(*byte)));
        prop_assert_eq!(fnv1a_64_of_each(keys), keys.map(units));
        let twice = |key: &[u8]| seeds.map(|seed| fnv1a_32_mixed(key.iter().copied(), seed));
        prop_assert_eq!(keys.map(|key| fnv1a_32_mixed_twice(key, seeds)), keys.map(twice));
    }

    #[test]
    fn all_at_once_is_one_by_one(keys in vec(any::<Vec<u8>>(), 0..10)) {
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut hashes = vec![7];
        in_lanes(&keys, &mut hashes, fnv1_64_of_each, fnv1_64);
        prop_assert_eq!(hashes, keys.iter().map(|key| fnv1_64(key)).collect::<Vec<_>>());
    }

    #[test]
    fn a_byte_more_is_a_longer_key(key in vec(any::<u8>(), 0..70), byte: u8, seed: u64) {
        let longer = [&key[..], &[byte]].concat();
        let want = [murmur3_128(&key, seed), murmur3_128(&longer, seed)];
        prop_assert_eq!(murmur3_128_and_with(&key, byte, seed), want);
    }

    /// The crate that most Rust programs have it from is the known answer.
    #[test]
    fn slices_are_hashed_as_rust_does(bytes: Vec<u8>, keys: [[u8; 16]; 2]) {
        let want = keys.map(|key| {
            let mut hasher = SipHasher13::new_with_key(&key);
            bytes.as_slice().hash(&mut hasher);
            hasher.finish()
        });
        prop_assert_eq!(sip13_of_slice_twice(&bytes, &keys), want);
    }
}
