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

mod foreign;
mod payload;
mod seed;

pub(crate) use foreign::FAMILY;
pub use seed::{Pair, Seed, Sip};

use crate::hash::side_by_side;
use crate::{ForeignError, Format, chain, limits};
use mayhap::mem::AlignedBuf;
use mayhap::sizing::ClassicShape;
use mayhap::{Classic, MergeError};
use std::f64::consts::LN_2;

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
pub type Chain<B = AlignedBuf> = chain::Chain<ValkeyBloom, B>;

/// One filter of a chain.
pub type Layer<B = AlignedBuf> = chain::Layer<ValkeyBloom, B>;

/// What is said of a chain as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValkeyBloom {
    expansion: u32,
    fpr: f64,
    tightening: f64,
    seed: Seed,
}

impl ValkeyBloom {
    fn new(
        expansion: u32,
        fpr: f64,
        tightening: f64,
        seed: Seed,
    ) -> Result<ValkeyBloom, ForeignError> {
        for (field, rate) in [("rate", fpr), ("tightening ratio", tightening)] {
            if !(rate > 0.0 && rate < 1.0) {
                return Err(ForeignError::field(field, rate, "between 0 and 1"));
            }
        }
        Ok(ValkeyBloom { expansion, fpr, tightening, seed })
    }

    /// How many times as large each filter is as the one before; 0 where the chain does not grow.
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
}

/// What is said of one filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerInfo {
    bytes: u64,
    probes: u32,
    items: u64,
    capacity: u64,
}

impl LayerInfo {
    /// From fields, where they go together.
    fn new(bytes: u64, probes: u32, items: i64, capacity: i64) -> Result<LayerInfo, ForeignError> {
        let range = "1 to 2^63 - 1";
        let made_for = u64::try_from(capacity).ok().filter(|capacity| *capacity > 0);
        let made_for = made_for.ok_or_else(|| ForeignError::field("capacity", capacity, range))?;
        let have = u64::try_from(items).ok().filter(|items| *items <= made_for);
        let have = have.ok_or_else(|| {
            let got = format!("{items} of {capacity}");
            ForeignError::field("items", got, "no more than the capacity")
        })?;
        Ok(LayerInfo { bytes, probes, items: have, capacity: made_for })
    }

    /// An empty filter, as valkey-bloom sizes it.
    fn sized(capacity: u64, fpr: f64) -> Result<LayerInfo, ForeignError> {
        let keys = capacity as f64;
        let bytes = (keys * fpr.ln() / (-8.0 * LN_2 * LN_2)).ceil();
        if !(1.0..=2f64.powi(60)).contains(&bytes) {
            return Err(ForeignError::field("bytes of a filter", bytes, "1 to 2^60"));
        }
        let probes = (8.0 * bytes / keys * LN_2).round().max(1.0);
        let probes = limits::probes(probes as u64)?;
        LayerInfo::new(bytes as u64, probes, 0, i64::try_from(capacity).unwrap_or(-1))
    }
}

impl chain::GrowthRule for ValkeyBloom {
    type Scheme = Sip;
    type Info = LayerInfo;

    #[inline]
    fn hash_bytes(&self, key: &[u8]) -> Pair {
        self.seed.hash(key)
    }

    fn hash_keys(&self, keys: &[&[u8]], hashes: &mut Vec<Pair>) {
        side_by_side(&self.seed, keys, hashes);
    }

    fn filter<B: AsRef<[u8]>>(
        &self,
        info: &LayerInfo,
        bits: B,
    ) -> Result<Classic<Sip, B>, ForeignError> {
        let count = 8 * bits.as_ref().len() as u64;
        let shape = ClassicShape::new(count, info.probes);
        let filter = Sip::new(&self.seed, count)
            .and_then(|scheme| Classic::from_parts(scheme, shape, bits))
            .ok_or_else(|| {
                ForeignError::field("bits of a filter", count, "8 or more, and 1 to 2048 probes")
            })?;
        Ok(filter.with_target(info.capacity, 0.0, info.items))
    }

    fn bytes(info: &LayerInfo) -> u64 {
        info.bytes
    }

    fn items(info: &LayerInfo) -> u64 {
        info.items
    }

    fn capacity(info: &LayerInfo) -> u64 {
        info.capacity
    }

    /// The module refuses a filter with more keys than it was made for.
    fn with_items(info: &LayerInfo, items: u64) -> LayerInfo {
        LayerInfo { items: items.min(info.capacity), ..*info }
    }

    fn next(&self, newest: &LayerInfo, layers: usize) -> Result<LayerInfo, ForeignError> {
        if self.expansion == 0 {
            let what = "the filter is full and made not to grow: reserve a larger one";
            return Err(ForeignError::Refused { format: Format::ValkeyBloom, what });
        }
        let fpr = self.fpr * self.tightening.powi(layers as i32);
        let sized = |growth: u32| {
            let capacity = newest.capacity.checked_mul(growth.into());
            let capacity = capacity.filter(|capacity| *capacity <= i64::MAX as u64);
            let capacity = capacity.ok_or_else(|| {
                ForeignError::field("capacity of the next filter", "2^63 or more", "below")
            })?;
            // As there: no rate falls below the smallest ordinary number.
            LayerInfo::sized(capacity, fpr.max(f64::MIN_POSITIVE))
        };
        limits::next_layer(newest.bytes, self.expansion, sized, |next| next.bytes)
    }

    fn check_hashes_as(&self, other: &ValkeyBloom) -> Result<(), ForeignError> {
        if self.seed.bytes == other.seed.bytes {
            return Ok(());
        }
        let (have, got) = ("one".to_owned(), "another".to_owned());
        Err(MergeError::new("seeds", have, got).into())
    }

    fn check_laid_out_as(ours: &LayerInfo, theirs: &LayerInfo) -> Result<(), ForeignError> {
        if (ours.bytes, ours.probes) == (theirs.bytes, theirs.probes) {
            return Ok(());
        }
        let text = |info: &LayerInfo| format!("{}, {} probes", 8 * info.bytes, info.probes);
        let (have, got) = (text(ours), text(theirs));
        Err(MergeError::new("bits of a filter", have, got).into())
    }
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
        if expansion > 0 && limits::growth(expansion).is_err() {
            return Err(ForeignError::field("expansion", expansion, "0 to 32768"));
        }
        let rule = ValkeyBloom::new(expansion, fpr, 0.5, seed)?;
        let first = Layer::empty(&rule, LayerInfo::sized(capacity, fpr)?)?;
        Chain::of_layers(rule, vec![first])
    }
}
