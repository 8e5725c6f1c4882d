//! poppy (Rust), version 2, little-endian: `u8` 2, `u8` optimisation, six zeros, `u64` capacity, `f64`
//! rate, `u64` probes, `u64` keys, `u64` bits of the cache, the cache, `u64` buckets, 4096 bytes a bucket,
//! and whatever the maker appended. Source: poppy `src/v2.rs`, crate poppy-filters 0.2.1.
//!
//! A key has one bucket, and all its probes there; a filter made for speed also has a cache, one bit a
//! key, that is asked first. Version 1 is [DCSO's](crate::dcso) format.
//! Golden files: `testdata/foreign/poppy/`.

mod foreign;
mod scheme;

pub(crate) use foreign::FAMILY;
pub use scheme::{Buckets, Cache, hash_key};

use crate::{ForeignError, Format, Reader, limits};
use mayhap::Classic;
use mayhap::key::{ByteKeys, KeyOf};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use mayhap::sizing::ClassicShape;
use scheme::{BUCKET_BITS, BUCKET_BYTES};
use std::f64::consts::LN_2;
use std::io::Write;
use std::ops::Range;

/// What a filter was made to be good at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Optimisation {
    /// Nothing in particular.
    #[default]
    None = 0,
    /// Size.
    Space = 1,
    /// Speed: a cache, and a power of two of buckets.
    Speed = 2,
    /// Both: a cache.
    Best = 3,
}

impl Optimisation {
    fn read(r: &mut Reader<'_>) -> Result<Optimisation, ForeignError> {
        match r.u8("optimisation")? {
            0 => Ok(Optimisation::None),
            1 => Ok(Optimisation::Space),
            2 => Ok(Optimisation::Speed),
            3 => Ok(Optimisation::Best),
            other => Err(ForeignError::field("optimisation", other, "0 to 3")),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Optimisation::None => "none",
            Optimisation::Space => "space",
            Optimisation::Speed => "speed",
            Optimisation::Best => "best",
        }
    }
}

/// What a file has beside its bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    optimisation: Optimisation,
    capacity: u64,
    fpr: f64,
    probes: u32,
    keys: u64,
    appended: Vec<u8>,
}

/// poppy's filter: buckets, and for some a cache in front of them.
///
/// ```
/// use mayhap_foreign::poppy::{Optimisation, Poppy};
/// let mut filter = Poppy::create(10_000, 0.01, Optimisation::None)?;
/// assert!(filter.insert("ada"));
/// assert!(Poppy::decode(&filter.encode()?)?.contains("ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Poppy<B = AlignedBuf> {
    head: Head,
    cache: Option<Classic<Cache, B>>,
    buckets: Classic<Buckets, B>,
}

/// Where the bits of a file are.
struct ProbePositions {
    cache: Range<usize>,
    buckets: Range<usize>,
}

fn read(bytes: &[u8]) -> Result<(Head, ProbePositions), ForeignError> {
    let mut r = Reader::new(bytes);
    let version = r.u8("version")?;
    if version != 2 {
        return Err(ForeignError::field("version", version, "2 (version 1 is format dcso)"));
    }
    let optimisation = Optimisation::read(&mut r)?;
    if r.array::<6>("padding")? != [0; 6] {
        return Err(ForeignError::field("padding", "not zero", "zero"));
    }
    let (capacity, fpr) = (r.u64_le("capacity")?, r.f64_le("rate")?);
    if !(fpr > 0.0 && fpr < 1.0) {
        return Err(ForeignError::field("rate", fpr, "between 0 and 1"));
    }
    let probes = limits::probes(r.u64_le("probes")?)?;
    let keys = r.u64_le("keys")?;
    if keys > 1 << 56 {
        return Err(ForeignError::field("keys", keys, "at most 2^56"));
    }
    let cache_bits = r.u64_le("bits of the cache")?;
    if !cache_bits.is_multiple_of(8) {
        return Err(ForeignError::field("bits of the cache", cache_bits, "a multiple of 8"));
    }
    let cache = r.skip("cache", cache_bits / 8)?;
    let count = r.u64_le("buckets")?;
    let buckets = r.skip("buckets", count.saturating_mul(BUCKET_BYTES))?;
    let appended = r.rest().to_vec();
    let head = Head { optimisation, capacity, fpr, probes, keys, appended };
    Ok((head, ProbePositions { cache, buckets }))
}

/// Whether bytes are such a file, told without reading its bits.
pub(crate) fn matches_magic(bytes: &[u8]) -> bool {
    read(bytes).is_ok()
}

impl<B: AsRef<[u8]>> Poppy<B> {
    fn assemble(head: Head, cache: Option<B>, buckets: B) -> Result<Poppy<B>, ForeignError> {
        let bits = |bytes: &B| bytes.as_ref().len() as u64 * 8;
        let shape = ClassicShape::new(bits(&buckets), head.probes);
        let buckets = Buckets::new(shape.bits / BUCKET_BITS)
            .filter(|_| shape.bits.is_multiple_of(BUCKET_BITS))
            .and_then(|scheme| Classic::from_parts(scheme, shape, buckets))
            .ok_or_else(|| ForeignError::field("buckets", shape.bits, "at least one, and whole"))?;
        let cache = cache.filter(|cache| !cache.as_ref().is_empty()).map(|cache| {
            let shape = ClassicShape::new(bits(&cache), 1);
            Cache::new(shape.bits)
                .and_then(|scheme| Classic::from_parts(scheme, shape, cache))
                .ok_or_else(|| {
                    ForeignError::field("bits of the cache", shape.bits, "a power of two")
                })
        });
        Ok(Poppy { head, cache: cache.transpose()?, buckets })
    }

    /// Whether the key may be in; `false` is certain.
    pub fn contains(&self, key: impl KeyOf<ByteKeys>) -> bool {
        self.contains_hash(self.buckets.scheme().hash(key))
    }

    fn contains_hash(&self, hash: u64) -> bool {
        self.cache.as_ref().is_none_or(|cache| cache.contains_hash(hash))
            && self.buckets.contains_hash(hash)
    }

    fn contains_batch(&self, hashes: &[u64], answers: &mut Vec<bool>) {
        let Some(cache) = &self.cache else {
            return self.buckets.contains_batch(hashes, answers);
        };
        cache.contains_batch(hashes, answers);
        let open: Vec<u64> =
            hashes.iter().zip(&*answers).filter_map(|(hash, yes)| yes.then_some(*hash)).collect();
        let mut of_open = Vec::new();
        self.buckets.contains_batch(&open, &mut of_open);
        let mut of_open = of_open.into_iter();
        for answer in answers.iter_mut().filter(|answer| **answer) {
            *answer = of_open.next().unwrap_or(false);
        }
    }

    /// The keys counted in.
    pub fn keys(&self) -> u64 {
        self.head.keys
    }

    /// The keys and the rate it was made for.
    pub fn target(&self) -> (u64, f64) {
        (self.head.capacity, self.head.fpr)
    }

    /// The buckets.
    pub fn buckets(&self) -> &Classic<Buckets, B> {
        &self.buckets
    }

    /// The cache, if there is one.
    pub fn cache(&self) -> Option<&Classic<Cache, B>> {
        self.cache.as_ref()
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self) -> f64 {
        self.cache.as_ref().map_or(1.0, Classic::fpr_now) * self.buckets.fpr_now()
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Result<Vec<u8>, ForeignError> {
        let mut file = Vec::new();
        self.write_to(&mut file)?;
        Ok(file)
    }

    /// Write its file.
    pub fn write_to(&self, to: &mut dyn Write) -> Result<(), ForeignError> {
        let Head { optimisation, capacity, fpr, probes, keys, appended } = &self.head;
        to.write_all(&[2, *optimisation as u8, 0, 0, 0, 0, 0, 0])?;
        for field in [*capacity, fpr.to_bits(), (*probes).into(), *keys] {
            to.write_all(&field.to_le_bytes())?;
        }
        let cache = self.cache.as_ref().map_or(&[][..], Classic::as_bytes);
        to.write_all(&(cache.len() as u64 * 8).to_le_bytes())?;
        to.write_all(cache)?;
        let buckets = self.buckets.as_bytes();
        to.write_all(&(buckets.len() as u64 / BUCKET_BYTES).to_le_bytes())?;
        to.write_all(buckets)?;
        Ok(to.write_all(appended)?)
    }
}

impl Poppy {
    /// Read a filter of version 2.
    pub fn decode(bytes: &[u8]) -> Result<Poppy, ForeignError> {
        let (head, places) = read(bytes)?;
        let copy = |range: Range<usize>| AlignedBuf::copy_of(bytes.get(range).unwrap_or_default());
        let cache = (!places.cache.is_empty()).then(|| copy(places.cache)).transpose()?;
        Poppy::assemble(head, cache, copy(places.buckets)?)
    }

    /// An empty filter, sized as poppy sizes it.
    pub fn create(
        capacity: u64,
        fpr: f64,
        optimisation: Optimisation,
    ) -> Result<Poppy, ForeignError> {
        let capacity = limits::check_target(capacity, fpr)?.max(1);
        let bucket_bits = BUCKET_BITS as f64;
        let bucket_keys = (bucket_bits * LN_2 * LN_2 / fpr.ln().abs()) as u64;
        let Some(mut buckets) = Some(bucket_keys).filter(|n| *n > 0).map(|n| capacity.div_ceil(n))
        else {
            return Err(ForeignError::field("rate", fpr, "so high that a bucket holds a key"));
        };
        let fast = matches!(optimisation, Optimisation::Speed | Optimisation::Best);
        if optimisation == Optimisation::Speed {
            buckets = buckets.next_power_of_two();
        }
        let mut probes = (LN_2 * bucket_bits / bucket_keys as f64).ceil();
        let mut cache = None;
        if fast {
            let cache_bits = capacity.next_power_of_two();
            let (n, c) = (capacity as f64, cache_bits as f64);
            let cache_probes = (LN_2 * c / n).ceil();
            let passes = (1.0 - (-cache_probes * n / c).exp()).powf(cache_probes);
            let per_key = limits::round(bucket_bits / bucket_keys as f64) as f64;
            probes = (LN_2 * passes * per_key).ceil();
            cache = Some(AlignedBuf::zeroed(cache_bits.div_ceil(8))?);
        }
        let probes = limits::probes((probes as u64).max(1))?;
        let head = Head { optimisation, capacity, fpr, probes, keys: 0, appended: Vec::new() };
        let buckets = AlignedBuf::zeroed(buckets.saturating_mul(BUCKET_BYTES))?;
        Poppy::assemble(head, cache, buckets)
    }

    /// Insert a key. `true`: it was certainly new.
    pub fn insert(&mut self, key: impl KeyOf<ByteKeys>) -> bool {
        self.insert_hash(self.buckets.scheme().hash(key))
    }

    fn insert_hash(&mut self, hash: u64) -> bool {
        let in_cache = self.cache.as_mut().is_some_and(|cache| cache.insert_hash(hash));
        let new = self.buckets.insert_hash(hash) | in_cache;
        self.head.keys = (self.head.keys + u64::from(new)).min(1 << 56);
        new
    }

    /// Take in everything the other filter holds. They must be of one shape.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Poppy<C>) -> Result<(), ForeignError> {
        let (ours, theirs) = (bits_of(&self.cache), bits_of(&other.cache));
        if ours != theirs {
            let (have, got) = (format!("{ours} bits"), format!("{theirs} bits"));
            return Err(mayhap::MergeError::new("caches", have, got).into());
        }
        // The larger first: where it refuses, nothing has changed yet.
        self.buckets.union(&other.buckets)?;
        if let (Some(ours), Some(theirs)) = (&mut self.cache, &other.cache) {
            ours.union(theirs)?;
        }
        self.head.keys = self.buckets.estimate();
        Ok(())
    }
}

/// Bits of a cache; 0 where there is none.
fn bits_of<B: AsRef<[u8]>>(cache: &Option<Classic<Cache, B>>) -> u64 {
    cache.as_ref().map_or(0, |cache| cache.shape().bits)
}

/// The format's name, for messages.
pub(crate) const FORMAT: Format = Format::Poppy;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_merge_changes_nothing() {
        let make = |keys, optimisation| Poppy::create(keys, 0.01, optimisation).unwrap();
        let mut ours = make(4_000, Optimisation::Best);
        ours.insert("ada");
        let before = ours.encode().unwrap();
        // Another size of cache, none at all, and the same cache before other buckets.
        for (keys, optimisation) in
            [(9_000, Optimisation::Best), (4_000, Optimisation::None), (2_100, Optimisation::Best)]
        {
            let mut theirs = make(keys, optimisation);
            theirs.insert("eve");
            assert!(ours.union(&theirs).is_err(), "{keys}, {optimisation:?}");
            assert!(ours.encode().unwrap() == before, "{keys}, {optimisation:?}");
        }
        let mut theirs = make(4_000, Optimisation::Best);
        theirs.insert("eve");
        ours.union(&theirs).unwrap();
        assert!(ours.contains("ada") && ours.contains("eve"));
    }
}
