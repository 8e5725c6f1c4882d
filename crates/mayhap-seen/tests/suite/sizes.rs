//! Bytes per owner, exactly.

use mayhap_seen::{List, Operation, Policy, encode, entry, hash_ids};

fn bytes(ids: usize, policy: &Policy) -> usize {
    let names: Vec<String> = (0..ids).map(|id| format!("article-{id:06}")).collect();
    let mut list = List::default();
    for (at, batch) in names.chunks(20).enumerate() {
        list.apply(
            &Operation::Mark,
            &hash_ids(b"user-1", batch),
            policy,
            1_800_000_000 + 600 * at as u64,
        );
    }
    encode(&list).len()
}

#[test]
fn twenty_ids_cost_two_hundred_bytes_and_five_thousand_eleven_kilobytes() {
    let policy = Policy::default();
    let sizes = [1, 20, 100, 1000, 5000].map(|ids| (ids, bytes(ids, &policy)));
    println!("bytes per owner: {sizes:?}");
    for (ids, most) in [(1, 40), (20, 200), (100, 300), (1000, 1800), (5000, 9000)] {
        let got = bytes(ids, &policy);
        assert!(got <= most, "{ids} ids: {got} bytes, {most} allowed");
    }
    let short = policy.with_exact(0).unwrap();
    assert!(bytes(20, &short) <= 80);
}

#[test]
fn an_entry_of_one_id_costs_seventeen_bytes() {
    let hashes = hash_ids(b"user-1", &["a"]);
    assert_eq!(entry(&Operation::Mark, &hashes, 1_800_000_000).len(), 17);
}
