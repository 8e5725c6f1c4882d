//! What a chain says about one of its filters, and the filter that makes.

use super::{Murmur, options};
use crate::ForeignError;
use mayhap::Classic;
use mayhap::sizing::ClassicShape;

/// RedisBloom's own constants: rounding a bit more would give other sizes.
#[expect(clippy::approx_constant, reason = "their constant, not the true one")]
const LN2: f64 = 0.693_147_180_559_945;
const LN2_SQUARED: f64 = 0.480_453_013_918_201;
/// A thousand probes are a rate of 1e-300; RedisBloom itself cannot ask for more.
const MAX_PROBES: u32 = 2048;

/// What a chain says about one of its links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkInfo {
    /// Bytes of its array.
    pub bytes: u64,
    /// Bits of its array. RedisBloom 2.0 and earlier wrote 0 where `n2` says it.
    pub bits: u64,
    /// Keys that were added to it.
    pub items: u64,
    /// The false-positive rate it was made for.
    pub error: f64,
    /// Bits a key.
    pub bits_per_entry: f64,
    /// Probes a key.
    pub hashes: u32,
    /// Keys it was made for; the next one goes to a new link.
    pub entries: u64,
    /// Where not 0, positions are below 2 to this power.
    pub n2: u8,
}

impl LinkInfo {
    /// An empty link for so many keys, as RedisBloom sizes it.
    pub(super) fn sized(entries: u64, error: f64, options: u32) -> Result<LinkInfo, ForeignError> {
        if entries == 0 {
            return Err(ForeignError::field("capacity of a link", entries, "1 or more"));
        }
        if !(error > 0.0 && error < 1.0) {
            return Err(ForeignError::field("error rate", error, "between 0 and 1"));
        }
        let bits_per_entry = error.ln().abs() / LN2_SQUARED;
        let wanted = entries as f64 * bits_per_entry;
        let too_large = || ForeignError::field("bits of a link", wanted, "below 2^62");
        if !(0.0..2f64.powi(62)).contains(&wanted) {
            return Err(too_large());
        }
        let mut info = LinkInfo {
            bytes: 0,
            bits: 0,
            items: 0,
            error,
            bits_per_entry,
            hashes: (LN2 * bits_per_entry).ceil() as u32,
            entries,
            n2: 0,
        };
        let bits = if options & options::ENTS_IS_BITS != 0 {
            // Entries are the power itself; RedisBloom has the option and no command for it.
            info.n2 = u8::try_from(entries).ok().filter(|n2| *n2 < 62).ok_or_else(too_large)?;
            info.entries = ((1u64 << info.n2) as f64 / bits_per_entry) as u64;
            1 << info.n2
        } else if options & options::NOROUND != 0 {
            (wanted as u64).max(1)
        } else {
            // As old filters were: a power of two, and more keys to use it up.
            info.n2 = if wanted < 1.0 { 0 } else { (wanted as u64).ilog2() as u8 + 1 };
            let bits = 1u64 << info.n2;
            let spare = (bits as f64 - wanted) as u64;
            info.entries = entries.saturating_add((spare as f64 / bits_per_entry) as u64);
            bits
        };
        info.bytes = bits.div_ceil(64) * 8;
        info.bits = info.bytes * 8;
        Ok(info)
    }

    /// At least as strict as RedisBloom 2.8.2 and later are when they load a chain; what earlier
    /// ones wrote otherwise is taken where it comes in their layout. Entries and rate are not held
    /// against the bits, for RedisBloom loads headers that others made by their own reckoning; what
    /// grows from them is, when it grows.
    pub(super) fn check(&self, is_old: bool) -> Result<(), ForeignError> {
        if !(self.error > 0.0 && self.error < 1.0) {
            return Err(ForeignError::field("error rate", self.error, "between 0 and 1"));
        }
        let got = || format!("{} for {} bytes", self.bits, self.bytes);
        let have = self.bytes.checked_mul(8).filter(|bits| *bits > 0);
        let Some(have) = have else {
            return Err(ForeignError::field("bits of a link", got(), "eight a byte, and some"));
        };
        let is_by_power = is_old && self.bits == 0 && self.n2 > 0;
        if self.bits != have && !is_by_power {
            return Err(ForeignError::field("bits of a link", got(), "eight a byte, and some"));
        }
        if !(1..=MAX_PROBES).contains(&self.hashes) {
            return Err(ForeignError::field("hashes", self.hashes, "1 to 2048"));
        }
        if f64::from(self.hashes) != (LN2 * self.bits_per_entry).ceil() {
            let got = format!("{} for {} bits an entry", self.hashes, self.bits_per_entry);
            return Err(ForeignError::field(
                "hashes",
                got,
                "the bits an entry times ln 2, rounded up",
            ));
        }
        if self.n2 > 63 || self.n2 != 0 && have >> self.n2 == 0 {
            let got = format!("2^{} of {have}", self.n2);
            return Err(ForeignError::field("bits used", got, "no more than there are"));
        }
        Ok(())
    }
}

impl LinkInfo {
    /// The same, as a RedisBloom of today says it.
    pub(super) fn renewed(self) -> LinkInfo {
        LinkInfo { bits: self.bytes * 8, ..self } // of bytes that are there
    }

    /// The filter over bits that are there; what is said about it has been checked.
    pub(super) fn filter<B: AsRef<[u8]>>(
        &self,
        is_64: bool,
        bits: B,
    ) -> Result<Classic<Murmur, B>, ForeignError> {
        let misfit = || ForeignError::field("link", format!("{self:?}"), "one that fits its bits");
        let bits_there = 8 * bits.as_ref().len() as u64;
        let scheme = Murmur::new(is_64, self.bits, self.n2)
            .filter(|scheme| scheme.range() <= bits_there)
            .ok_or_else(misfit)?;
        let shape = ClassicShape::new(bits_there, self.hashes);
        let filter = Classic::from_parts(scheme, shape, bits).ok_or_else(misfit)?;
        Ok(filter.with_target(self.entries, self.error, self.items))
    }
}
