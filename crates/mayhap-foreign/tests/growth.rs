//! No number of a dump is trusted before it is checked against the bits that are there: whatever a
//! header says, a few more keys never make a chain of a few hundred bytes allocate gigabytes.

use mayhap_foreign::redisbloom::{Chain, Scaling, dump};
use mayhap_foreign::valkey_bloom::{self, Seed};

/// What a chain of a few hundred bytes may become by a few keys: the largest growth that there is
/// makes 80 keys a few million.
const MAX_BITS: u64 = 8 * (64 << 20);

fn keys() -> Vec<String> {
    (0..300).map(|i| format!("another {i}")).collect()
}

/// Every place of the header, with the values that are at the edges of its fields there.
fn mutations(file: &[u8], header_bytes: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut values: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
    for number in [0, 1, 1 << 16, 1 << 31, u32::MAX] {
        values.push(number.to_le_bytes().to_vec());
    }
    for number in [0, 1, 1 << 31, 1 << 32, 1 << 40, 1 << 62, 1 << 63, u64::MAX] {
        values.push(number.to_le_bytes().to_vec());
    }
    for number in [0.0, 1.0, -1.0, 0.999_999_999, 1e-300, 1e300, f64::NAN, f64::INFINITY, 64.0] {
        values.push(number.to_le_bytes().to_vec());
    }
    (0..header_bytes).flat_map(move |at| {
        values.clone().into_iter().filter_map(move |value| {
            let mut changed = file.to_vec();
            changed.get_mut(at..at + value.len())?.copy_from_slice(&value);
            Some(changed)
        })
    })
}

fn filled(capacity: u64, scaling: Scaling) -> Chain {
    let mut chain = Chain::reserve(capacity, 0.01, scaling).unwrap();
    (0..2 * capacity).for_each(|i| _ = chain.insert(format!("key {i}")));
    chain
}

#[test]
fn redisbloom_chains_grow_by_what_is_there() {
    let keys = keys();
    let mut taken = 0;
    for capacity in [1, 5, 8, 11, 20] {
        let chain = filled(capacity, Scaling::By(2));
        let file = chain.encode();
        for changed in mutations(&file, chain.header().encode().len()) {
            let Ok(mut chain) = Chain::decode(&changed) else { continue };
            taken += 1;
            let hashes: Vec<_> = keys.iter().map(|key| chain.hash(key)).collect();
            _ = chain.insert_batch(&hashes); // an error is fine
            let (bits, header) = (chain.bits(), chain.header());
            assert!(bits < MAX_BITS, "{bits} bits, {header:?}");
            // What it wrote is what it reads.
            assert!(bits > 1 << 20 || Chain::decode(&chain.encode()).is_ok(), "{header:?}");
        }
    }
    assert!(taken > 1000, "{taken}");
}

#[test]
fn valkey_bloom_chains_grow_by_what_is_there() {
    let keys = keys();
    let mut taken = 0;
    for capacity in [1, 20] {
        let mut chain = valkey_bloom::Chain::reserve(capacity, 0.01, 2, Seed::FIXED).unwrap();
        (0..2 * capacity).for_each(|i| _ = chain.insert(format!("key {i}")));
        let file = chain.encode();
        for changed in mutations(&file, file.len()) {
            let Ok(mut chain) = valkey_bloom::Chain::decode(&changed) else { continue };
            taken += 1;
            let hashes: Vec<_> = keys.iter().map(|key| chain.hash(key)).collect();
            _ = chain.insert_batch(&hashes);
            assert!(chain.bits() < MAX_BITS, "{} bits, {:?}", chain.bits(), chain.rule());
        }
    }
    assert!(taken > 1000, "{taken}");
}

/// Options, growth, entries and rates, each by itself: what is rejected, and with which text.
#[test]
fn what_cannot_be_followed_says_so() {
    let refused = |chain: Result<Chain, mayhap_foreign::ForeignError>| -> String {
        let mut chain = match chain {
            Ok(chain) => chain,
            Err(error) => return error.to_string(),
        };
        let error = (0..1000).find_map(|i| chain.insert(format!("new {i}")).err());
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let header = filled(20, Scaling::By(2)).header();
    let with = |change: &dyn Fn(&mut mayhap_foreign::redisbloom::Header)| {
        let mut changed = header.clone();
        change(&mut changed);
        refused(Chain::load_header(&changed.encode(), 1 << 20))
    };
    let last = header.links.len() - 1;
    let full = |header: &mut mayhap_foreign::redisbloom::Header, entries| {
        (header.links[last].entries, header.links[last].items) = (entries, entries);
    };
    for (error, part) in [
        (with(&|header| header.options |= 2), "a power of two"),
        (with(&|header| header.growth = 0), "growth of a full filter is 0"),
        (with(&|header| header.growth = 32_769), "growth of a full filter is 32769"),
        (with(&|header| header.links[last].entries *= 1 << 10), ""), // not full yet
        (with(&|header| full(header, 1 << 30)), "bytes of the next layer"),
        (with(&|header| full(header, 1 << 63)), "capacity of the next link"),
        (with(&|header| header.links[last].error = 1e-300), "bytes of the next layer"),
        (with(&|header| header.growth = 32_768), ""),
    ] {
        assert!(error.contains(part) && error.is_empty() == part.is_empty(), "{part}: {error}");
    }
    // A rate near 1 has many entries in few bits, and the next link has half the rate.
    let error = with(&|header| {
        let link = &mut header.links[last];
        link.error = 0.999_999;
        link.bits_per_entry = link.error.ln().abs() / 0.480_453_013_918_201;
        (link.hashes, link.entries, link.items) = (1, 1 << 20, 1 << 20);
    });
    assert!(error.contains("bytes of the next layer"), "{error}");
    assert!(Chain::reserve(20, 0.01, Scaling::By(32_769)).is_err());
    assert!(valkey_bloom::Chain::reserve(20, 0.01, 32_769, Seed::FIXED).is_err());
}

/// The bounds reject nothing that the programs write: rates from nearly 0 to nearly 1, any growth.
#[test]
fn whatever_is_made_is_read() {
    for error in [1e-300, 1e-9, 0.01, 0.5, 0.9, 0.95, 0.99, 0.999_999] {
        for capacity in [1, 2, 7, 64, 1000, 100_000] {
            for scaling in [Scaling::Fixed, Scaling::By(1), Scaling::By(2), Scaling::By(32_768)] {
                let mut chain = Chain::reserve(capacity, error, scaling).unwrap();
                assert!(Chain::open(&chain.encode()).is_ok(), "{capacity} at {error}");
                let payload = dump::encode(&chain, dump::Options::default());
                assert!(dump::open(&payload).is_ok(), "{capacity} at {error}");
                if capacity <= 64 && scaling != Scaling::Fixed && error > 1e-300 {
                    (0..3 * capacity).for_each(|i| _ = chain.insert(i.to_string()).unwrap());
                    assert!(Chain::open(&chain.encode()).is_ok(), "{capacity} at {error}, grown");
                }
            }
            if error < 0.9 {
                for expansion in [0, 1, 2, 32_768] {
                    let made =
                        valkey_bloom::Chain::reserve(capacity, error, expansion, Seed::FIXED);
                    let Ok(mut chain) = made else { continue };
                    if capacity <= 64 && expansion > 0 && error > 1e-300 {
                        (0..3 * capacity).for_each(|i| _ = chain.insert(i.to_string()).unwrap());
                    }
                    let read = valkey_bloom::Chain::open(&chain.encode()).map(drop);
                    assert!(read.is_ok(), "{capacity} at {error}: {read:?}");
                }
            }
        }
    }
}
