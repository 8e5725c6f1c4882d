//! What a filter tells about itself: how much is in, the rate, and its bytes.

use super::{Quotient, side};
use std::fmt;

impl<B: AsRef<[u8]>> Quotient<B> {
    /// Inserts less removals: exact.
    pub fn keys(&self) -> u64 {
        self.counts().keys
    }

    /// Distinct fingerprints that are in: exact.
    pub fn distinct_fingerprints(&self) -> u64 {
        self.counts().distinct
    }

    /// The keys it has room for as it is laid out now, copies counted: up to three of each key.
    pub fn capacity(&self) -> u64 {
        self.table.shape.capacity()
    }

    /// How many more keys it takes before it grows, or is full if it must not: then it holds as many
    /// as its spec says, copies counted.
    pub fn room(&self) -> u64 {
        match self.grows {
            true => self.full_at.saturating_sub(self.counts().in_lines),
            false => self.spec.capacity().saturating_sub(self.keys()),
        }
    }

    /// The bytes of its lines once it has grown; `None` where it cannot. While it grows, these are
    /// needed beside those that it has.
    pub fn grown_bytes(&self) -> Option<u64> {
        Some(self.table.shape.grown()?.bits() / 8)
    }

    /// The distinct keys up to which it has the rate of its spec, however often it grows.
    pub fn keys_at_fpr(&self) -> u64 {
        (-(-self.spec.fpr()).ln_1p() * self.table.shape.range as f64) as u64
    }

    /// The share of slots that are taken: [`load`](Quotient::load) by the name that other kinds have.
    pub fn fill(&self) -> f64 {
        self.load()
    }

    /// The share of slots that are taken. Above 0.95 inserts take longer.
    pub fn load(&self) -> f64 {
        self.counts().in_lines as f64 / self.table.shape.slots() as f64
    }

    /// Fingerprints in the side table, 16 bytes each.
    pub fn side_entries(&self) -> u64 {
        let unmoved = self.unmoved.as_ref().map_or(0, |unmoved| unmoved.table.side.entries());
        (self.table.side.entries() + unmoved) as u64
    }

    /// How many distinct keys are in, told from the fingerprints: some share one.
    pub fn estimate(&self) -> u64 {
        self.table.shape.keys_at(self.counts().distinct).round() as u64
    }

    /// The false-positive rate as it stands now, exactly: the share of fingerprints that are taken.
    pub fn fpr_now(&self) -> f64 {
        self.counts().distinct as f64 / self.table.shape.range as f64
    }

    /// Bytes that it takes: lines and side table, while it grows in steps also the old ones.
    pub fn bytes(&self) -> u64 {
        let unmoved = self.unmoved.as_ref().map_or(0, |unmoved| unmoved.table.bytes.as_ref().len());
        (self.as_bytes().len() + unmoved) as u64 + side::ENTRY_BYTES as u64 * self.side_entries()
    }

    /// The lines, 64 bytes each, little-endian. While it [grows in steps](Quotient::grow_in_steps), of
    /// what has been moved; a file has everything at any time.
    pub fn as_bytes(&self) -> &[u8] {
        self.table.bytes.as_ref()
    }

    /// The side table: fingerprints in order, each of eight bytes with a count of eight more,
    /// little-endian.
    pub fn side_bytes(&self) -> Vec<u8> {
        self.table.side.to_bytes()
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Quotient<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape();
        write!(
            f,
            "quotient: {} of {} keys, {} bytes, {} lines of {} slots, {} entries aside, rate {:.3e} now, {:.3e} at {} keys",
            self.keys(),
            self.capacity(),
            self.as_bytes().len(),
            shape.lines(),
            shape.layout().slots,
            self.side_entries(),
            self.fpr_now(),
            self.spec.fpr(),
            self.keys_at_fpr(),
        )
    }
}
