//! One filter of a chain: what is said about it, and its bits.

use super::{Murmur, options};
use crate::ForeignError;
use mayhap::sizing::ClassicShape;
use mayhap::{Classic, Pages};

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
    /// Bits of its array.
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

    /// At least as strict as RedisBloom 2.8.2 and later are when they load a chain.
    pub(super) fn check(&self) -> Result<(), ForeignError> {
        if !(self.error > 0.0 && self.error < 1.0) {
            return Err(ForeignError::field("error rate", self.error, "between 0 and 1"));
        }
        if self.bits == 0 || self.bytes.checked_mul(8) != Some(self.bits) {
            let got = format!("{} for {} bytes", self.bits, self.bytes);
            return Err(ForeignError::field("bits of a link", got, "eight a byte, and some"));
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
        if self.n2 > 63 || self.n2 != 0 && self.bits >> self.n2 == 0 {
            let got = format!("2^{} of {}", self.n2, self.bits);
            return Err(ForeignError::field("bits used", got, "no more than there are"));
        }
        Ok(())
    }
}

/// One filter of a chain.
#[derive(Clone, Debug)]
pub struct Link<B = Pages> {
    pub(super) filter: Classic<Murmur, B>,
    info: LinkInfo,
}

impl Link {
    /// An empty link.
    pub(super) fn empty(info: LinkInfo, options: u32) -> Result<Link, ForeignError> {
        Link::new(info, options, Pages::zeroed(info.bytes)?)
    }

    pub(super) fn count(&mut self, new: u64) {
        self.info.items = self.info.items.saturating_add(new);
    }

    /// Take in another link's bits. How many keys that makes only the bits can tell.
    pub(super) fn union<C: AsRef<[u8]>>(&mut self, other: &Link<C>) -> Result<(), ForeignError> {
        self.filter.union(&other.filter)?;
        let (ours, theirs) = (self.info.items, other.info.items);
        self.info.items = crate::layers::keys_of_both(self.filter.estimate(), ours, theirs);
        Ok(())
    }
}

impl<B: AsRef<[u8]>> Link<B> {
    /// A link over bits that are there; what is said about it has been checked.
    pub(super) fn new(info: LinkInfo, options: u32, bits: B) -> Result<Self, ForeignError> {
        let misfit = || ForeignError::field("link", format!("{info:?}"), "one that fits its bits");
        let scheme = Murmur::new(options, info.bits, info.n2).ok_or_else(misfit)?;
        let shape = ClassicShape { bits: info.bits, probes: info.hashes };
        let filter = Classic::from_parts(scheme, shape, bits).ok_or_else(misfit)?;
        let filter = filter.made_for(info.entries, info.error, info.items);
        Ok(Link { filter, info })
    }

    /// What the chain says about it.
    pub fn info(&self) -> LinkInfo {
        self.info
    }

    /// The filter.
    pub fn filter(&self) -> &Classic<Murmur, B> {
        &self.filter
    }

    /// How many more keys it was made for.
    pub fn room(&self) -> u64 {
        self.info.entries.saturating_sub(self.info.items)
    }
}
