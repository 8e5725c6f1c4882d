use crate::vectors::{cases, check, rebuild};
use mayhap_foreign::KeyType;
use mayhap_foreign::kevburnsjr;

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("kevburnsjr") {
        let probes = case.params["k"].as_u64().unwrap() as u32;
        check(&case, &kevburnsjr::decode(&case.file, probes).unwrap(), KeyType::Bytes);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("kevburnsjr") {
        let (n, p) = (case.params["n"].as_u64().unwrap(), case.params["p"].as_f64().unwrap());
        rebuild(&case, kevburnsjr::create(n, p).unwrap(), KeyType::Bytes);
    }
}

#[test]
fn buckets_are_whole_and_some() {
    for bytes in [&[][..], &[1, 2, 3], &[1; 5]] {
        assert!(kevburnsjr::decode(bytes, 4).is_err());
    }
    assert!(kevburnsjr::decode(&[0; 4], 0).is_err());
    assert!(!kevburnsjr::decode(&[0; 4], 4).unwrap().contains("a"));
}
