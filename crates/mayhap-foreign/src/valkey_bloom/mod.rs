//! valkey-bloom: what its `BF.LOAD` takes, as found in the rewritten AOF of a Valkey server.
//!
//! `u8` version 1, then bincode 1.3's fixed widths, little-endian: `u32` expansion (0: does not
//! grow), `f64` rate, `f64` tightening ratio, `u8` whether the seed is a random one, `u64` number of
//! filters, and for each `u64` length of a blob, the blob, `i64` items, `i64` capacity. The blob is
//! the `bloomfilter` crate's: `u8` 1, `u64` bytes, `u32` probes, 32 bytes of seed, the bits, the first
//! in the lowest place of the first byte.
//! Source: valkey-bloom `src/bloom/utils.rs` and crate `bloomfilter` 3. Golden files, and what wrote
//! them: `testdata/foreign/valkey-bloom/`. RDB files of the two modules are not alike.
//!
//! The seed is in the payload: it keeps keys from being chosen badly as long as the payload, and
//! whoever can read the server's files, keeps it.

mod any;

pub(crate) use any::{create_any, from_kept, open_any};

use crate::layers::{self, Layered};
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use mayhap::sizing::ClassicShape;
use mayhap::{Classic, Key, MergeError, Pages, Scheme, SchemeId};
use siphasher::sip::SipHasher13;
use std::f64::consts::LN_2;
use std::hash::Hasher;
use std::io::{self, Write};
use std::ops::Range;

/// The version of the payload, and that of the blobs in it.
const VERSION: u8 = 1;
const BLOB_VERSION: u8 = 1;
/// A blob's bytes before its bits.
const BLOB_FRONT_BYTES: u64 = 1 + 8 + 4 + 32;
/// Later probes are taken modulo this prime, the largest below 2⁶⁴, before modulo the bits.
const PRIME: u64 = 0xffff_ffff_ffff_ffc5;

/// What keeps its hashes from being foreseen: two SipHash keys, the same for all filters of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The keys, one behind the other.
    pub bytes: [u8; 32],
    /// Whether the server drew it at random, which it does unless told otherwise.
    pub is_random: bool,
}

impl Seed {
    /// The one that servers use where random seeds are turned off. Anybody can foresee it.
    pub const FIXED: Seed = Seed {
        bytes: [
            89, 15, 245, 34, 234, 120, 17, 218, 167, 20, 216, 9, 59, 62, 123, 217, 29, 137, 138,
            115, 62, 152, 136, 135, 48, 127, 151, 205, 40, 7, 51, 131,
        ],
        is_random: false,
    };

    /// One drawn at random by the caller.
    pub const fn random(bytes: [u8; 32]) -> Seed {
        Seed { bytes, is_random: true }
    }

    fn key(&self, half: usize) -> [u8; 16] {
        let mut key = [0; 16];
        key.copy_from_slice(&self.bytes[16 * half..][..16]);
        key
    }

    fn hash(&self, key: &[u8]) -> Pair {
        let half = |half| {
            let mut hasher = SipHasher13::new_with_key(&self.key(half));
            // As Rust hashes a slice of bytes on a 64-bit machine.
            hasher.write(&(key.len() as u64).to_le_bytes());
            hasher.write(key);
            hasher.finish()
        };
        Pair { first: half(0), second: half(1) }
    }
}

/// SipHash-1-3 under two keys, and double hashing modulo a prime and the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sip {
    seed: Seed,
    bits: Modulus,
}

/// A key's two hashes: the same for every filter of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    first: u64,
    second: u64,
}

impl Scheme for Sip {
    type Hash = Pair;

    fn id(&self) -> SchemeId {
        ids::VALKEY_BLOOM
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> Pair {
        self.seed.hash(bytes)
    }

    #[inline]
    fn positions(&self, hash: Pair, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let Pair { first, second } = hash;
        (0..u64::from(probes)).map(move |i| {
            let x = match i {
                0 => first,
                1 => second,
                _ => {
                    let x = first.wrapping_add(i.wrapping_mul(second));
                    if x < PRIME { x } else { x - PRIME }
                }
            };
            self.bits.rem(x)
        })
    }
}

/// One filter of a chain.
#[derive(Clone, Debug)]
pub struct Layer<B = Pages> {
    filter: Classic<Sip, B>,
    items: u64,
    capacity: u64,
}

impl Layer {
    /// An empty filter, as valkey-bloom sizes it.
    fn sized(capacity: u64, fpr: f64, seed: Seed) -> Result<Layer, ForeignError> {
        let keys = capacity as f64;
        let bytes = (keys * fpr.ln() / (-8.0 * LN_2 * LN_2)).ceil();
        let too_large = || ForeignError::field("bytes of a filter", bytes, "1 to 2^60");
        if !(1.0..=2f64.powi(60)).contains(&bytes) {
            return Err(too_large());
        }
        let probes = (8.0 * bytes / keys * LN_2).round().max(1.0);
        let bits = Pages::zeroed(bytes as u64)?;
        Layer::new(seed, limits::probes(probes as u64)?, bits, 0, capacity)
    }
}

impl<B: AsRef<[u8]>> Layer<B> {
    fn new(
        seed: Seed,
        probes: u32,
        bits: B,
        items: u64,
        capacity: u64,
    ) -> Result<Self, ForeignError> {
        let count = 8 * bits.as_ref().len() as u64;
        let scheme = Modulus::new(count).map(|bits| Sip { seed, bits });
        let shape = ClassicShape { bits: count, probes };
        let filter = scheme.and_then(|scheme| Classic::from_parts(scheme, shape, bits));
        let filter = filter.ok_or_else(|| {
            ForeignError::field("bits of a filter", count, "8 or more, and 1 to 2048 probes")
        })?;
        Ok(Layer { filter: filter.made_for(capacity, 0.0, items), items, capacity })
    }

    /// The filter.
    pub fn filter(&self) -> &Classic<Sip, B> {
        &self.filter
    }

    /// Keys that were added to it.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Keys it was made for; the next one goes to a new filter.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }
}

/// valkey-bloom's filter: filters of growing size, asked newest first.
///
/// It answers, counts and grows exactly as the module does (its limit of memory aside).
///
/// ```
/// use mayhap_foreign::valkey_bloom::{Chain, Seed};
/// let mut chain = Chain::reserve(1_000, 0.01, 2, Seed::FIXED)?;
/// assert!(chain.insert("ada")?);
/// let payload = chain.encode(); // BF.LOAD key <payload>
/// assert!(Chain::open(&payload)?.contains("ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chain<B = Pages> {
    expansion: u32,
    fpr: f64,
    tightening: f64,
    seed: Seed,
    /// One at least.
    layers: Vec<Layer<B>>,
}

impl Chain {
    /// An empty chain, as `BF.RESERVE` makes it with the default tightening of one half. With an
    /// expansion of 0 it does not grow.
    pub fn reserve(
        capacity: u64,
        fpr: f64,
        expansion: u32,
        seed: Seed,
    ) -> Result<Chain, ForeignError> {
        check_rates(fpr, 0.5)?;
        check_counts(0, i64::try_from(capacity).unwrap_or(-1))?;
        let layers = vec![Layer::sized(capacity, fpr, seed)?];
        Ok(Chain { expansion, fpr, tightening: 0.5, seed, layers })
    }

    /// Read a payload into memory of its own.
    pub fn decode(payload: &[u8]) -> Result<Chain, ForeignError> {
        Chain::read(payload, |range| Ok(Pages::copy_of(&payload[range])?))
    }

    /// Insert a key. `true`: it was certainly new. An error where the chain is full and may not
    /// grow, and where no memory is left to grow into.
    pub fn insert(&mut self, key: impl Key) -> Result<bool, ForeignError> {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, likewise.
    pub fn insert_hash(&mut self, hash: Pair) -> Result<bool, ForeignError> {
        Ok(self.insert_batch(&[hash])? == 1)
    }

    /// Insert them all; returns how many were certainly new. After an error those before the first
    /// that did not fit are in.
    pub fn insert_batch(&mut self, hashes: &[Pair]) -> Result<u64, ForeignError> {
        let mut new = Vec::new();
        self.insert_batch_new(hashes, &mut new)?;
        Ok(new.iter().map(|new| u64::from(*new)).sum())
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new. After
    /// an error it ends before the first that did not fit.
    pub fn insert_batch_new(
        &mut self,
        hashes: &[Pair],
        new: &mut Vec<bool>,
    ) -> Result<(), ForeignError> {
        layers::insert_batch_new(self, hashes, new)
    }

    /// Take in everything the other chain holds. Both must have one seed, and filters that are alike
    /// as far as both have them; what the other has more is appended.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Chain<C>) -> Result<(), ForeignError> {
        if self.seed.bytes != other.seed.bytes {
            let text = |text: &str| text.to_owned();
            return Err(
                MergeError { what: "seeds", have: text("one"), got: text("another") }.into()
            );
        }
        for (ours, theirs) in self.layers.iter().zip(&other.layers) {
            let (ours, theirs) = (ours.filter.shape(), theirs.filter.shape());
            if ours != theirs {
                let text = |shape: ClassicShape| format!("{}, {} probes", shape.bits, shape.probes);
                let (have, got) = (text(ours), text(theirs));
                return Err(MergeError { what: "bits of a filter", have, got }.into());
            }
        }
        let mut more = Vec::new();
        for theirs in other.layers.iter().skip(self.layers.len()) {
            let bits = Pages::copy_of(theirs.filter.as_bytes())?;
            let probes = theirs.filter.shape().probes;
            more.push(Layer::new(self.seed, probes, bits, theirs.items, theirs.capacity)?);
        }
        for (ours, theirs) in self.layers.iter_mut().zip(&other.layers) {
            // They differ at most in whether their equal seeds were drawn.
            let as_ours = Layer::new(
                self.seed,
                theirs.filter.shape().probes,
                theirs.filter.as_bytes(),
                theirs.items,
                theirs.capacity,
            )?;
            ours.filter.union(&as_ours.filter)?;
            let estimate = ours.filter.estimate();
            let items = layers::keys_of_both(estimate, ours.items, theirs.items);
            ours.items = items.min(ours.capacity);
        }
        self.layers.extend(more);
        Ok(())
    }
}

impl Layered for Chain {
    type Scheme = Sip;

    fn older(&self) -> Vec<&Classic<Sip>> {
        self.layers.iter().rev().skip(1).map(Layer::filter).collect()
    }

    fn newest(&self) -> &Classic<Sip> {
        &self.newest_layer().filter
    }

    fn room(&self) -> u64 {
        self.newest_layer().capacity.saturating_sub(self.newest_layer().items)
    }

    fn grow(&mut self) -> Result<(), ForeignError> {
        if self.expansion == 0 {
            let what = "the filter is full and made not to grow: reserve a larger one";
            return Err(ForeignError::Refused { format: Format::ValkeyBloom, what });
        }
        let capacity = self.newest_layer().capacity.checked_mul(self.expansion.into());
        let capacity = capacity.filter(|capacity| *capacity <= i64::MAX as u64);
        let capacity = capacity.ok_or_else(|| {
            ForeignError::field("capacity of the next filter", "2^63 or more", "below")
        })?;
        let fpr = self.fpr * self.tightening.powi(self.layers.len() as i32);
        // As there: no rate falls below the smallest ordinary number.
        let layer = Layer::sized(capacity, fpr.max(f64::MIN_POSITIVE), self.seed)?;
        self.layers.push(layer);
        Ok(())
    }

    fn insert_newest(&mut self, hashes: &[Pair], new: &mut Vec<bool>) {
        let newest = self.layers.len() - 1;
        let newest = &mut self.layers[newest];
        newest.filter.insert_batch_new(hashes, new);
        newest.items += new.iter().map(|new| u64::from(*new)).sum::<u64>();
    }
}

impl<'a> Chain<&'a [u8]> {
    /// Query a payload where it lies.
    pub fn open(payload: &'a [u8]) -> Result<Chain<&'a [u8]>, ForeignError> {
        Chain::read(payload, |range| Ok(&payload[range]))
    }
}

impl<B: AsRef<[u8]>> Chain<B> {
    /// Take a payload apart; `part` makes what holds the bytes of a range of it.
    pub fn read(
        payload: &[u8],
        mut part: impl FnMut(Range<usize>) -> Result<B, ForeignError>,
    ) -> Result<Self, ForeignError> {
        let mut fields = Reader::new(payload);
        let version = fields.u8("version")?;
        if version != VERSION {
            return Err(ForeignError::field("version", version, "1"));
        }
        let expansion = fields.u32_le("expansion")?;
        let (fpr, tightening) = (fields.f64_le("rate")?, fields.f64_le("tightening ratio")?);
        check_rates(fpr, tightening)?;
        let is_random = match fields.u8("random seed")? {
            0 => false,
            1 => true,
            other => return Err(ForeignError::field("random seed", other, "0 or 1")),
        };
        let count = fields.u64_le("number of filters")?;
        let mut seed = None;
        let mut layers = Vec::new();
        for _ in 0..count {
            let (blob_seed, probes, bits) = blob(&mut fields)?;
            let blob_seed = Seed { bytes: blob_seed, is_random };
            if *seed.get_or_insert(blob_seed) != blob_seed {
                return Err(ForeignError::field("seed", "another", "that of the first filter"));
            }
            let (items, capacity) = (fields.i64_le("items")?, fields.i64_le("capacity")?);
            let (items, capacity) = check_counts(items, capacity)?;
            layers.push(Layer::new(blob_seed, probes, part(bits)?, items, capacity)?);
        }
        fields.end()?;
        let seed = seed.ok_or_else(|| ForeignError::field("number of filters", 0, "1 or more"))?;
        Ok(Chain { expansion, fpr, tightening, seed, layers })
    }

    /// Whether the key may be in; `false` is certain.
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: Pair) -> bool {
        self.layers.iter().rev().any(|layer| layer.filter.contains_hash(hash))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Pair], answers: &mut Vec<bool>) {
        layers::any_contains(&self.newest_first(), hashes, answers);
    }

    /// Hash a key once, to ask or insert it (in this and every chain of the same seed) later.
    pub fn hash(&self, key: impl Key) -> Pair {
        self.seed.hash(key.key_bytes().as_ref())
    }

    fn newest_first(&self) -> Vec<&Classic<Sip, B>> {
        self.layers.iter().rev().map(Layer::filter).collect()
    }

    fn newest_layer(&self) -> &Layer<B> {
        &self.layers[self.layers.len() - 1]
    }

    /// The filters, oldest first.
    pub fn layers(&self) -> &[Layer<B>] {
        &self.layers
    }

    /// How many times as large each filter is as the one before; 0 where it does not grow.
    pub fn expansion(&self) -> u32 {
        self.expansion
    }

    /// The rate the first filter was made for.
    pub fn fpr(&self) -> f64 {
        self.fpr
    }

    /// Each filter's rate over that of the one before.
    pub fn tightening(&self) -> f64 {
        self.tightening
    }

    /// What its hashes depend on.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// Keys that were added.
    pub fn items(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.items))
    }

    /// Keys the filters were made for, all together.
    pub fn capacity(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.capacity))
    }

    /// The share of bits that are set, over all filters.
    pub fn fill(&self) -> f64 {
        layers::fill(&self.newest_first())
    }

    /// The false-positive rate as the bits stand now: that any filter is wrong.
    pub fn fpr_now(&self) -> f64 {
        layers::fpr_now(&self.newest_first())
    }

    /// The payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        match self.write_to(&mut payload) {
            Ok(()) => payload,
            Err(_) => unreachable!("a vector takes all bytes"),
        }
    }

    /// Write the payload.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&[VERSION])?;
        out.write_all(&self.expansion.to_le_bytes())?;
        out.write_all(&self.fpr.to_le_bytes())?;
        out.write_all(&self.tightening.to_le_bytes())?;
        out.write_all(&[self.seed.is_random.into()])?;
        out.write_all(&(self.layers.len() as u64).to_le_bytes())?;
        for Layer { filter, items, capacity } in &self.layers {
            let bytes = filter.as_bytes();
            out.write_all(&(BLOB_FRONT_BYTES + bytes.len() as u64).to_le_bytes())?;
            out.write_all(&[BLOB_VERSION])?;
            out.write_all(&(bytes.len() as u64).to_le_bytes())?;
            out.write_all(&filter.shape().probes.to_le_bytes())?;
            out.write_all(&self.seed.bytes)?;
            out.write_all(bytes)?;
            out.write_all(&items.to_le_bytes())?;
            out.write_all(&capacity.to_le_bytes())?;
        }
        Ok(())
    }
}

/// Seed, probes and bits of one filter.
fn blob(fields: &mut Reader<'_>) -> Result<([u8; 32], u32, Range<usize>), ForeignError> {
    let declared = fields.u64_le("bytes of a blob")?;
    let version = fields.u8("version of a blob")?;
    if version != BLOB_VERSION {
        return Err(ForeignError::field("version of a blob", version, "1"));
    }
    let bytes = fields.u64_le("bytes of a filter")?;
    if bytes.checked_add(BLOB_FRONT_BYTES) != Some(declared) {
        let got = format!("{declared} around {bytes}");
        return Err(ForeignError::field("bytes of a blob", got, "45 more than its bits have"));
    }
    let probes = limits::probes(fields.u32_le("probes")?.into())?;
    let seed = fields.array("seed")?;
    Ok((seed, probes, fields.skip("bits", bytes)?))
}

fn check_rates(fpr: f64, tightening: f64) -> Result<(), ForeignError> {
    for (field, rate) in [("rate", fpr), ("tightening ratio", tightening)] {
        if !(rate > 0.0 && rate < 1.0) {
            return Err(ForeignError::field(field, rate, "between 0 and 1"));
        }
    }
    Ok(())
}

fn check_counts(items: i64, capacity: i64) -> Result<(u64, u64), ForeignError> {
    let range = "1 to 2^63 - 1";
    let count = u64::try_from(capacity).ok().filter(|capacity| *capacity > 0);
    let count = count.ok_or_else(|| ForeignError::field("capacity", capacity, range))?;
    let items_in = u64::try_from(items).ok().filter(|items| *items <= count);
    let items_in = items_in.ok_or_else(|| {
        let got = format!("{items} of {capacity}");
        ForeignError::field("items", got, "no more than the capacity")
    })?;
    Ok((items_in, count))
}
