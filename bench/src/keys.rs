//! Chunks of keys, generated before the clock starts: every turn of every filter gets keys that
//! were not looked up before, and pays for hashing them but not for generating them.

use crate::splitmix::{below, splitmix};
use crate::urls::{SEED, Urls};
use mayhap::scheme::{Native, Scheme};
use std::hash::Hash;
use std::ops::Range;

/// Numbers of keys that are in no filter start here.
const ABSENT: u64 = 1 << 40;

/// A chunk of keys of one sort.
pub trait Keys {
    /// Their name in tables.
    const NAME: &'static str;
    /// The key type that a filter gets.
    type Key: Hash + mayhap::Key + ?Sized + 'static;

    /// An empty chunk.
    fn new() -> Self;
    /// Replace the keys by those with these numbers.
    fn fill(&mut self, ids: impl Iterator<Item = u64>);
    /// The keys, one after another.
    fn keys(&self) -> impl Iterator<Item = &Self::Key>;
    /// Hash some of them, as a caller with a slice would: `hashes` is cleared and filled.
    fn hash(&self, scheme: Native, some: Range<usize>, hashes: &mut Vec<mayhap::Hash>);
    /// Their hashes under the default scheme, for measuring what follows hashing.
    fn hashes(&self) -> &[mayhap::Hash];

    /// Fill with members of 0..`keys`, spread evenly; `draw` differs from chunk to chunk.
    fn fill_present(&mut self, keys: u64, draw: u64, count: u64) {
        self.fill((draw * count..(draw + 1) * count).map(|i| below(keys, i)));
    }

    /// Fill with absent keys.
    fn fill_absent(&mut self, draw: u64, count: u64) {
        self.fill(ABSENT + draw * count..ABSENT + (draw + 1) * count);
    }
}

/// Shuffled integers.
pub struct Numbers {
    numbers: Vec<u64>,
    hashes: Vec<mayhap::Hash>,
}

impl Keys for Numbers {
    const NAME: &'static str = "u64";
    type Key = u64;

    fn new() -> Numbers {
        Numbers { numbers: Vec::new(), hashes: Vec::new() }
    }

    fn fill(&mut self, ids: impl Iterator<Item = u64>) {
        self.numbers.clear();
        self.numbers.extend(ids.map(splitmix));
        self.hashes.clear();
        self.hashes.extend(self.numbers.iter().map(|key| Native::default().hash(key)));
    }

    fn keys(&self) -> impl Iterator<Item = &u64> {
        self.numbers.iter()
    }

    fn hash(&self, scheme: Native, some: Range<usize>, hashes: &mut Vec<mayhap::Hash>) {
        scheme.hash_batch(&self.numbers[some], hashes);
    }

    fn hashes(&self) -> &[mayhap::Hash] {
        &self.hashes
    }
}

/// URLs of about 60 bytes, concatenated.
pub struct UrlKeys {
    urls: Urls,
    text: String,
    ends: Vec<u32>,
    hashes: Vec<mayhap::Hash>,
}

impl UrlKeys {
    fn some(&self, some: Range<usize>) -> impl Iterator<Item = &str> {
        let mut start = if some.start == 0 { 0 } else { self.ends[some.start - 1] as usize };
        self.ends[some].iter().map(move |end| {
            let url = &self.text[start..*end as usize];
            start = *end as usize;
            url
        })
    }
}

impl Keys for UrlKeys {
    const NAME: &'static str = "URL";
    type Key = str;

    fn new() -> UrlKeys {
        UrlKeys { urls: Urls::new(SEED), text: String::new(), ends: vec![], hashes: vec![] }
    }

    fn fill(&mut self, ids: impl Iterator<Item = u64>) {
        self.ends.clear();
        self.hashes.clear();
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        bytes.clear();
        for id in ids {
            let url = self.urls.url(id);
            bytes.extend_from_slice(url);
            self.ends.push(bytes.len() as u32);
            self.hashes.push(Native::default().hash(url));
        }
        self.text = String::from_utf8(bytes).expect("URLs are ASCII");
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.some(0..self.ends.len())
    }

    fn hash(&self, scheme: Native, some: Range<usize>, hashes: &mut Vec<mayhap::Hash>) {
        hashes.clear();
        hashes.extend(self.some(some).map(|url| scheme.hash(url)));
    }

    fn hashes(&self) -> &[mayhap::Hash] {
        &self.hashes
    }
}
