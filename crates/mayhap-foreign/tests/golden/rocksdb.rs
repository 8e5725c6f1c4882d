use crate::vectors::{Case, cases, check_edges, edges};
use mayhap_foreign::rocksdb::{self, Filter};

/// The filter block, out of its SST file where it is in one.
fn block(case: &Case) -> &[u8] {
    if rocksdb::is_sst(&case.file) {
        return &case.file[rocksdb::filter_in_sst(&case.file).unwrap()];
    }
    &case.file
}

#[test]
fn members_and_probes_and_bytes() {
    let mut kinds = Vec::new();
    for case in cases("rocksdb") {
        let block = block(&case);
        let filter = Filter::decode(block).unwrap();
        assert!(case.members.iter().all(|key| filter.contains(key)), "{}", case.name);
        let answers: Vec<bool> = case.probes.iter().map(|key| filter.contains(key)).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        let mut batch = Vec::new();
        Filter::open(block).unwrap().contains_batch(&case.probes, &mut batch);
        assert_eq!(batch, case.answers, "{}", case.name);
        assert_eq!(filter.encode(), block, "{}", case.name);
        if let Some(bytes) = case.params["filter_bytes"].as_u64() {
            assert_eq!(block.len() as u64, bytes, "{}", case.name);
        }
        kinds.push(filter.kind());
    }
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, ["RocksDB FastLocalBloom", "RocksDB legacy Bloom", "RocksDB ribbon"]);
}

#[test]
fn rates_are_near_what_a_thousand_probes_find() {
    for case in cases("rocksdb").iter().filter(|case| case.members.len() >= 1000) {
        let filter = Filter::open(block(case)).unwrap();
        let found = case.answers.iter().filter(|answer| **answer).count() as f64 / 1000.0;
        let sigma = (filter.fpr_now() / 1000.0).sqrt();
        let far = (filter.fpr_now() - found).abs() / sigma;
        assert!(far < 4.0, "{}: {} and {found}", case.name, filter.fpr_now());
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    let mut made = 0;
    for case in cases("rocksdb") {
        let bits_per_key = case.params["bits_per_key"].as_f64().unwrap();
        let filter = match Filter::open(block(&case)).unwrap() {
            Filter::FastLocal(_) => rocksdb::create_filter(&case.members, bits_per_key),
            Filter::Legacy(_) => rocksdb::create_legacy_filter(&case.members, bits_per_key),
            Filter::Ribbon(_) => continue,
        };
        // An SST file's keys came in order, which the count of keys depends on only for doubles.
        assert_eq!(filter.unwrap(), block(&case), "{}", case.name);
        made += 1;
    }
    assert_eq!(made, 12);
}

#[test]
fn malformed_blocks_are_refused_and_hide_no_key() {
    check_edges("rocksdb", |bytes| match Filter::open(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
    for edge in edges("rocksdb") {
        assert_eq!(Some(rocksdb::key_may_match("a", &edge.bytes)), edge.answer, "{}", edge.name);
    }
}

#[test]
fn any_damage_to_the_filter_or_the_way_to_it_is_noticed() {
    for case in cases("rocksdb").iter().filter(|case| rocksdb::is_sst(&case.file)) {
        let range = rocksdb::filter_in_sst(&case.file).unwrap();
        let mut file = case.file.clone();
        // The filter, its checksum, and the footer's way to it. (That there are checksums at all
        // the footer says unchecked, before version 6.)
        let tail = file.len() - 53;
        let protected = range.start..range.end + 5;
        for at in protected.step_by(7).chain(tail + 1..tail + 4) {
            for bit in 0..8 {
                file[at] ^= 1 << bit;
                let found = rocksdb::filter_in_sst(&file);
                assert!(found.is_err(), "{}: bit {bit} of byte {at}: {found:?}", case.name);
                file[at] ^= 1 << bit;
            }
        }
        for end in 0..file.len() {
            assert!(rocksdb::filter_in_sst(&file[..end]).is_err());
        }
    }
}
