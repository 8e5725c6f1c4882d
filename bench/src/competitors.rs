//! The competitors, each used as its own documentation shows.
//!
//! Filters that take hashes instead of keys (`sbbf-rs-safe`, `xorf`) get the same hash as Mayhap's,
//! including its cost. `sbbf-rs-safe` takes whole bits per key, with which its rate is higher than what was
//! asked for: beside it stands one that has as many bits as the rate needs.

use crate::alloc_counter;
use crate::candidate::{Candidate, Mode};
use crate::keys::Keys;
use mayhap::scheme::{Native, Scheme};
use std::collections::hash_map::DefaultHasher;
use xorf::Filter as _;

/// A filter with functions that insert a key, look one up and return its memory.
struct Competitor<F, I, C> {
    name: &'static str,
    filter: F,
    /// Its memory when created; what it allocates while it is filled is added.
    bits: u64,
    insert: I,
    contains: C,
}

impl<K: Keys, F, I, C> Candidate<K> for Competitor<F, I, C>
where
    I: Fn(&mut F, &K::Key),
    C: Fn(&F, &K::Key) -> bool,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn insert(&mut self, _: Mode, chunk: &K) {
        let Competitor { filter, insert, .. } = self;
        let before = alloc_counter::held();
        chunk.keys().for_each(|key| insert(filter, key));
        self.bits += 8 * alloc_counter::held().saturating_sub(before);
    }

    fn contains(&mut self, _: Mode, chunk: &K) -> u64 {
        let Competitor { filter, contains, .. } = self;
        chunk.keys().map(|key| u64::from(contains(filter, key))).sum()
    }

    fn bits(&self) -> u64 {
        self.bits
    }
}

/// A filter that is built from all hashes at once.
struct Static<F> {
    name: &'static str,
    hashes: Vec<u64>,
    filter: Option<F>,
    build: fn(&[u64]) -> F,
    bits: fn(&F) -> u64,
}

impl<K: Keys, F: xorf::Filter<u64>> Candidate<K> for Static<F> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn insert(&mut self, _: Mode, chunk: &K) {
        self.hashes.extend(chunk.hashes().iter().map(|hash| hash.to_u64()));
    }

    fn contains(&mut self, _: Mode, chunk: &K) -> u64 {
        let Some(filter) = &self.filter else { return 0 };
        chunk.keys().map(|key| u64::from(filter.contains(&hash(key)))).sum()
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, self.bits)
    }

    fn insert_ways(&self) -> &'static [Mode] {
        &[]
    }

    fn finish(&mut self) {
        let hashes = std::mem::take(&mut self.hashes);
        self.filter = Some((self.build)(&hashes));
    }
}

#[inline(always)]
fn hash(key: &(impl mayhap::Key + ?Sized)) -> u64 {
    Native::default().hash(key).to_u64()
}

/// The competitors that matter at every size.
pub fn fast<K: Keys>(keys: u64, fpr: f64) -> Vec<Box<dyn Candidate<K>>> {
    let items = keys as usize;
    let fold = fastbloom::BloomFilter::with_false_pos(fpr)
        .hasher(foldhash::fast::FixedState::with_seed(1))
        .expected_items(items);
    let sip = fastbloom::BloomFilter::with_false_pos(fpr).seed(&1).expected_items(items);
    // It takes whole bits per key: as many as Mayhap's needs, rounded.
    let sbbf_bits = if fpr < 0.005 { 15 } else { 10 };
    let sbbf = sbbf_rs_safe::Filter::new(sbbf_bits, items);
    let equal = sbbf_rs_safe::Filter::new(1, (split_block_bits(fpr) * keys as f64) as usize);
    vec![
        Box::new(Competitor {
            name: "sbbf-rs-safe (equal rate)",
            bits: 8 * equal.as_bytes().len() as u64,
            filter: equal,
            insert: |f: &mut sbbf_rs_safe::Filter, key: &K::Key| _ = f.insert_hash(hash(key)),
            contains: |f: &sbbf_rs_safe::Filter, key: &K::Key| f.contains_hash(hash(key)),
        }),
        Box::new(Competitor {
            name: "fastbloom (foldhash)",
            bits: fold.num_bits() as u64,
            filter: fold,
            insert: |f: &mut fastbloom::BloomFilter<_>, key: &K::Key| _ = f.insert(key),
            contains: |f: &fastbloom::BloomFilter<_>, key: &K::Key| f.contains(key),
        }),
        Box::new(Competitor {
            name: "fastbloom (default)",
            bits: sip.num_bits() as u64,
            filter: sip,
            insert: |f: &mut fastbloom::BloomFilter<_>, key: &K::Key| _ = f.insert(key),
            contains: |f: &fastbloom::BloomFilter<_>, key: &K::Key| f.contains(key),
        }),
        Box::new(Competitor {
            name: "sbbf-rs-safe",
            bits: 8 * sbbf.as_bytes().len() as u64,
            filter: sbbf,
            insert: |f: &mut sbbf_rs_safe::Filter, key: &K::Key| _ = f.insert_hash(hash(key)),
            contains: |f: &sbbf_rs_safe::Filter, key: &K::Key| f.contains_hash(hash(key)),
        }),
        fuse(fpr),
    ]
}

/// Bits per key at which a split-block filter has this rate: blocks of 256 bits, eight words of 32 with a
/// bit of each key, by the Poisson mixture over their loads.
fn split_block_bits(fpr: f64) -> f64 {
    let rate = |bits_per_key: f64| -> f64 {
        let mean = 256.0 / bits_per_key;
        let mut chance = (-mean).exp();
        (1..400)
            .map(|load| {
                chance *= mean / f64::from(load);
                chance * (1.0 - (31.0f64 / 32.0).powi(load)).powi(8)
            })
            .sum()
    };
    let (mut low, mut high) = (2.0, 200.0);
    for _ in 0..50 {
        let middle = (low + high) / 2.0;
        if rate(middle) > fpr { low = middle } else { high = middle }
    }
    high
}

/// The narrowest of xorf's that meets the rate.
fn fuse<K: Keys>(fpr: f64) -> Box<dyn Candidate<K>> {
    if fpr < 1.0 / 256.0 {
        Box::new(Static {
            name: "xorf BinaryFuse16",
            hashes: Vec::new(),
            filter: None,
            build: |hashes| xorf::BinaryFuse16::try_from(hashes).expect("distinct hashes"),
            bits: |filter| 16 * filter.len() as u64,
        })
    } else {
        Box::new(Static {
            name: "xorf BinaryFuse8",
            hashes: Vec::new(),
            filter: None,
            build: |hashes| xorf::BinaryFuse8::try_from(hashes).expect("distinct hashes"),
            bits: |filter| 8 * filter.len() as u64,
        })
    }
}

/// The others: slower, and left out of the largest size by default.
pub fn slow<K: Keys>(keys: u64, fpr: f64) -> Vec<Box<dyn Candidate<K>>> {
    let items = keys as usize;
    let seed = std::array::from_fn(|i| i as u8); // equal halves would be one hash, not two
    let bloom = bloomfilter::Bloom::<K::Key>::new_for_fp_rate_with_seed(items, fpr, &seed)
        .expect("a sane size");
    let poppy = poppy_filters::v2::BloomFilter::with_capacity(keys, fpr).expect("a sane size");
    let growable = growable_bloom_filter::GrowableBloom::new(fpr, items);
    let cuckoo = cuckoofilter::CuckooFilter::<DefaultHasher>::with_capacity(items);
    let quotient = qfilter::Filter::new(keys, fpr).expect("a sane size");
    vec![
        Box::new(Competitor {
            name: "bloomfilter",
            bits: bloom.len(),
            filter: bloom,
            insert: |f: &mut bloomfilter::Bloom<K::Key>, key: &K::Key| f.set(key),
            contains: |f: &bloomfilter::Bloom<K::Key>, key: &K::Key| f.check(key),
        }),
        Box::new(Competitor {
            name: "poppy-filters",
            bits: 8 * poppy.size_in_bytes() as u64,
            filter: poppy,
            insert: |f: &mut poppy_filters::v2::BloomFilter, key: &K::Key| {
                _ = f.insert_bytes(mayhap::Key::key_bytes(key));
            },
            contains: |f: &poppy_filters::v2::BloomFilter, key: &K::Key| {
                f.contains_bytes(mayhap::Key::key_bytes(key))
            },
        }),
        Box::new(Competitor {
            name: "growable-bloom-filter",
            bits: 0, // it reports nothing, and allocates when first filled
            filter: growable,
            insert: |f: &mut growable_bloom_filter::GrowableBloom, key: &K::Key| _ = f.insert(key),
            contains: |f: &growable_bloom_filter::GrowableBloom, key: &K::Key| f.contains(key),
        }),
        Box::new(Competitor {
            name: "cuckoofilter",
            bits: 8 * cuckoo.memory_usage() as u64,
            filter: cuckoo,
            insert: |f: &mut cuckoofilter::CuckooFilter<_>, key: &K::Key| _ = f.add(key),
            contains: |f: &cuckoofilter::CuckooFilter<_>, key: &K::Key| f.contains(key),
        }),
        Box::new(Competitor {
            name: "qfilter",
            bits: 8 * quotient.memory_usage() as u64,
            filter: quotient,
            insert: |f: &mut qfilter::Filter, key: &K::Key| _ = f.insert(key),
            contains: |f: &qfilter::Filter, key: &K::Key| f.contains(key),
        }),
    ]
}
