use super::*;
use crate::Settings;
use mayhap::format::dump::{DumpHead, ShardId};
use mayhap::{Secret, Window};
use proptest::prelude::*;

fn filters() -> Vec<Filter> {
    let secret = Secret::from_bytes([9; 16]);
    let create_spec = CreateSpec { capacity: 50, ..CreateSpec::by(&Settings::DEFAULT, secret) };
    let shapes = [
        Shape::Blocked,
        Shape::Classic,
        Shape::Quotient,
        Shape::Windowed(Window::last_keys(3)),
        Shape::Compat,
    ];
    let mut filters: Vec<Filter> = vec![];
    for shape in shapes {
        let mut filter = CreateSpec { shape, ..create_spec }.make(1 << 20).unwrap();
        for item in 0..40u8 {
            filter.add(&[item], 0, 1 << 20).unwrap();
        }
        filters.push(filter);
    }
    let mut layers = filters[0].try_copy().unwrap();
    layers.merge(&filters[4], true).unwrap();
    filters.push(layers);
    filters
}

fn bytes_of(filter: &Filter) -> (Vec<u8>, Vec<u8>) {
    let mut bodies = vec![];
    dump::write_bodies(filter, &mut bodies).unwrap();
    (head_of(filter).encode(), bodies)
}

#[test]
fn what_is_dumped_is_read_back() {
    for filter in filters() {
        let (head, bodies) = bytes_of(&filter);
        let parts = dump::read(&DumpHead::decode(&head).unwrap(), &bodies).unwrap();
        let back = Filter::from_parts(parts).unwrap();
        assert_eq!(bytes_of(&back), (head, bodies));
        assert!((0..40u8).all(|item| back.contains(&[item], 0).unwrap()));
    }
}

/// Everything of ours is under a checksum; RedisBloom's format has none.
#[test]
fn every_changed_byte_and_every_cut_is_found() {
    for filter in filters().into_iter().take(4) {
        let (head, bodies) = bytes_of(&filter);
        for at in 0..head.len() {
            let mut bad = head.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(DumpHead::decode(&bad).is_err(), "head byte {at}");
        }
        for end in 0..head.len() {
            assert!(DumpHead::decode(&head[..end]).is_err(), "head cut at {end}");
        }
        let head = DumpHead::decode(&head).unwrap();
        for at in 0..bodies.len() {
            let mut bad = bodies.clone();
            bad[at] ^= 1 << (at % 8);
            assert!(dump::read(&head, &bad).is_err(), "body byte {at}");
        }
        for end in (0..bodies.len()).step_by(17) {
            assert!(dump::read(&head, &bodies[..end]).is_err(), "body cut at {end}");
        }
    }
}

/// Filters that are no shards are dumped as earlier releases dump them.
#[test]
fn a_dump_holds_which_shard_it_is() {
    let mut filter = filters().remove(0);
    assert_eq!(bytes_of(&filter).0[8..10], [1, 0]);
    let shard = ShardId::new([7; 16], 2, 5).unwrap();
    filter.set_shard(Some(shard));
    let (head, bodies) = bytes_of(&filter);
    assert_eq!(head[8..10], [2, 0]);
    assert_eq!(DumpHead::decode(&head).unwrap().shard, Some(shard));
    for at in 0..head.len() {
        let mut bad = head.clone();
        bad[at] ^= 1 << (at % 8);
        assert!(DumpHead::decode(&bad).is_err(), "head byte {at}");
        assert!(DumpHead::decode(&head[..at]).is_err(), "head cut at {at}");
    }
    // Chunk by chunk, it has its identity when the last has come, and not before.
    let mut loading_filter = Filter::loading(LoadingFilter::begin(&head, 1 << 20).unwrap());
    let (first, last) = bodies.split_at(9);
    loading_filter.load_chunk(10, first).unwrap();
    assert_eq!(loading_filter.shard(), None);
    loading_filter.load_chunk(bodies.len() as u64 + 1, last).unwrap();
    assert_eq!(loading_filter.shard(), Some(shard));
    assert_eq!(bytes_of(&loading_filter), (head, bodies));
    assert_eq!(loading_filter.try_copy().unwrap().shard, Some(shard));
    loading_filter.clear().unwrap();
    assert_eq!(loading_filter.shard(), None);
}

#[test]
fn chunks_of_any_length_are_the_whole() {
    for filter in filters() {
        let (_, bodies) = bytes_of(&filter);
        for bytes in [1, 7, 4096, 1 << 20] {
            let mut joined = vec![];
            Chunker::new(bytes, |piece: &[u8]| {
                assert!(piece.len() <= bytes);
                joined.extend_from_slice(piece);
            })
            .bodies(&filter);
            assert!(joined == bodies);
        }
    }
}

#[test]
fn every_iterator_goes_on_where_it_points() {
    for filter in filters() {
        let (head, bodies) = bytes_of(&filter);
        let compat = filter.as_compat().is_some();
        assert_eq!(filter.chunk_after(0).unwrap().0, 1);
        if compat {
            continue; // RedisBloom's chunks are those of its own codec
        }
        assert_eq!(filter.chunk_after(0).unwrap().1, head);
        for from in (0..bodies.len()).step_by(13) {
            let (next, chunk) = filter.chunk_after(from as u64 + 1).unwrap();
            assert_eq!(next, bodies.len() as u64 + 1);
            assert!(chunk == bodies[from..], "from {from}");
        }
        for past in [bodies.len() as u64 + 1, u64::MAX] {
            assert_eq!(filter.chunk_after(past).unwrap(), (0, vec![]));
        }
    }
}

#[test]
fn room_is_made_for_what_came_not_for_what_was_announced() {
    let mut bodies = Vec::new();
    reserve_for(&mut bodies, 100, u64::MAX).unwrap();
    assert!(bodies.capacity() <= 64 << 10);
    bodies.resize(1 << 20, 0);
    reserve_for(&mut bodies, 1, u64::MAX).unwrap();
    assert!(bodies.capacity() <= (4 << 20) + 4);
    let mut bodies = Vec::new();
    reserve_for(&mut bodies, 100, 120).unwrap();
    assert_eq!(bodies.capacity(), 120);
}

#[test]
fn what_cannot_be_taken_stays() {
    for filter in filters() {
        let (head, mut bodies) = bytes_of(&filter);
        let head = DumpHead::decode(&head).unwrap();
        // RedisBloom's own bytes have no checksum.
        if filter.as_compat().is_none() {
            bodies[30] ^= 1;
            let before = bodies.clone();
            assert!(take(&head, &mut bodies).is_err());
            assert!(bodies == before);
            bodies[30] ^= 1;
        }
        assert!(take(&head, &mut bodies).is_ok() && bodies.is_empty());
    }
}

#[test]
fn statistics_are_given_back() {
    let before = crate::stats::STATS.rows()[1].1;
    for _ in 0..3 {
        drop(filters());
    }
    // Other tests run beside this one; what leaked here would be there thrice.
    let after = crate::stats::STATS.rows()[1].1;
    assert!(after < before + (64 << 20));
}

proptest! {
    /// Whatever the bytes, reading them ends in an error or in a filter that answers.
    #[test]
    fn mangled_dumps_do_no_harm(which in 0usize..6, at in any::<usize>(), to in any::<u8>()) {
        let filter = filters().remove(which);
        let (head, mut bodies) = bytes_of(&filter);
        let at = at % bodies.len();
        bodies[at] = to;
        if let Ok(parts) = dump::read(&DumpHead::decode(&head).unwrap(), &bodies) {
            let mut filter = Filter::from_parts(parts).unwrap();
            _ = filter.info(5);
            _ = filter.add(b"new", 5, 1 << 20);
            prop_assert!(filter.contains(b"new", 5).is_ok());
        }
    }
}
