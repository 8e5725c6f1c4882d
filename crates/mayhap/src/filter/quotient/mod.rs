//! The filter that gives keys up again, counts them and grows: a quotient filter.

mod change;
mod describe;
mod growth;
mod insert;
mod kind;
mod line;
mod lookup;
mod near;
mod remove;
mod side;
mod steps;
mod stream;
mod table;
mod tasks;
#[cfg(test)]
mod tests;
mod validate;

pub use stream::Fingerprints;
pub use validate::QuotientError;

use crate::Key;
use crate::hash::{Hash, reduce};
use crate::kernel::AlignedBuf;
use crate::kernel::quotient::Kernel;
use crate::scheme::{Native, Scheme};
use crate::sizing::{QuotientShape, collision_rate};
use crate::spec::{MAX_CAPACITY, Spec, SpecError};
use growth::full_at;
use side::SideTable;
use steps::Unmoved;
use table::Table;

/// A filter with a `remove`: a sorted multiset of fingerprints, packed into cache lines (a quotient
/// filter).
///
/// It takes 9.5 bits per key at 1%, where [`Counting`](crate::Counting) takes 38, and never fails to
/// take a key. Copies are counted, two filters with the same range merge into the multiset of both,
/// and it grows and shrinks without the keys: [`insert`](Quotient::insert) doubles it when it is full.
/// A lookup costs one cache miss, or two neighbouring ones. Where nothing is ever removed,
/// [`Blocked`](crate::Blocked) is several times as fast.
///
/// # What it promises
///
/// * **No false negative**, as long as no key is removed more often than it was inserted.
/// * **`remove` of a key that is certainly absent changes nothing** and says so.
/// * Removing a key that was never inserted, but answers "maybe", takes one copy of its fingerprint:
///   keys of the identical fingerprint can be lost, and no others. Only whoever holds the keys can
///   know; ask them first.
/// * **Insert-if-absent and `remove` do not go together**, in this and every such filter: a key whose
///   insert was left out because the filter said "maybe" must never be removed. Insert every key, and
///   remove it as often as it was inserted.
/// * The false-positive rate is the share of fingerprints that are taken:
///   [`fpr_now`](Quotient::fpr_now) is exact. It depends on the range that the filter was made with
///   and the keys that are in; growing does not change it. A filter made for growth
///   ([`with_growth`](Quotient::with_growth)) has the rate it was asked for until it has grown so
///   much; beyond that the rate rises with the keys.
/// * Its capacity counts copies, up to three of each key; further ones cost a counter only.
/// * With a public hash, somebody who chooses the keys can crowd them into a few lines and make them
///   slow. A [`Secret`](crate::Secret) takes the choice from them.
///
/// ```
/// # use mayhap::{Quotient, Spec};
/// let mut queued = Quotient::new(Spec::new(1_000, 0.01)?)?;
/// assert!(queued.insert("job 1")); // certainly new
/// assert!(!queued.insert("job 1")); // a second time
/// assert_eq!(queued.count("job 1"), 2);
/// assert!(queued.remove("job 1"));
/// assert!(queued.contains("job 1")); // one is left
/// assert!(queued.remove("job 1"));
/// assert!(!queued.contains("job 1"));
/// assert!(!queued.remove("job 1")); // certainly absent: nothing changed
///
/// // Ten times the keys it was made for:
/// for job in 0..10_000u64 {
///     queued.insert(job);
/// }
/// assert!((0..10_000u64).all(|job| queued.contains(job)));
/// assert!(queued.capacity() >= 10_000 && queued.fpr_now() > 0.01); // nobody expected so many
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Quotient<B = AlignedBuf> {
    table: Table<B>,
    kernel: Kernel,
    spec: Spec,
    /// Grow when so many are in the lines.
    full_at: u64,
    grows: bool,
    /// Whether the lines are known to be sound: made here, or walked over once.
    checked: bool,
    /// What has not been moved yet, while it grows in steps.
    unmoved: Option<Box<Unmoved>>,
}

impl Quotient {
    /// An empty filter for the keys and the rate of a spec.
    ///
    /// Rates above 1.67% cost as much as that one. With more keys than the spec says it grows, and
    /// its false-positive rate rises: see [`with_growth`](Quotient::with_growth).
    pub fn new(spec: Spec) -> Result<Quotient, SpecError> {
        Quotient::with_growth(spec, 0)
    }

    /// An empty filter that is expected to double `doublings` times: with `capacity << doublings`
    /// keys it has the rate of the spec, and with fewer a lower one. Each doubling costs one bit per
    /// key from the start.
    ///
    /// ```
    /// # use mayhap::{Quotient, Spec};
    /// let mut seen = Quotient::with_growth(Spec::new(1_000, 0.01)?, 4)?;
    /// for key in 0..16_000u64 {
    ///     seen.insert(key);
    /// }
    /// assert!((0..16_000u64).all(|key| seen.contains(key)));
    /// assert!(seen.fpr_now() <= 0.01);
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn with_growth(spec: Spec, doublings: u32) -> Result<Quotient, SpecError> {
        let grown = 1u64.checked_shl(doublings).unwrap_or(u64::MAX).saturating_mul(spec.capacity());
        if grown > MAX_CAPACITY {
            return Err(SpecError::Capacity { got: grown });
        }
        let floor = collision_rate(grown);
        if spec.fpr() < 2.0 * floor {
            return Err(SpecError::BelowHash { got: spec.fpr(), floor });
        }
        let shape = QuotientShape::for_growth(spec.capacity(), spec.fpr(), doublings);
        Quotient::with_shape(spec, shape)
    }

    /// An empty filter of exactly this shape; the spec tells what to compare the rate with.
    pub fn with_shape(spec: Spec, shape: QuotientShape) -> Result<Quotient, SpecError> {
        if !shape.is_valid() {
            return Err(SpecError::Range {
                range: shape.range,
                remainder_bits: shape.remainder_bits,
            });
        }
        let lines = AlignedBuf::zeroed(shape.bits() / 8)?;
        Ok(Quotient::over(spec, Table::empty(shape, lines)))
    }

    /// A filter of all these hashes, built at once: they are sorted and laid out in order, which
    /// takes less time than inserting them.
    ///
    /// ```
    /// # use mayhap::scheme::{Native, Scheme};
    /// # use mayhap::{Quotient, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let mut hashes: Vec<_> = (0..1_000u64).map(|key| spec.scheme().hash(key)).collect();
    /// let mut known = Quotient::from_hashes(spec, &mut hashes)?;
    /// assert_eq!(known.keys(), 1_000);
    /// assert!(known.contains(7u64) && known.remove(7u64));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_hashes(spec: Spec, hashes: &mut [Hash]) -> Result<Quotient, SpecError> {
        let shape = QuotientShape::for_fpr(spec.capacity(), spec.fpr());
        Quotient::from_hashes_in(spec, shape, hashes)
    }

    /// The same in this shape, or what it grows to.
    fn from_hashes_in(
        spec: Spec,
        mut shape: QuotientShape,
        hashes: &mut [Hash],
    ) -> Result<Quotient, SpecError> {
        while shape.capacity() < hashes.len() as u64 {
            let Some(grown) = shape.grown() else { break };
            shape = grown;
        }
        hashes.sort_unstable();
        let fingerprint = |hash: &Hash| reduce(hash.0, shape.range);
        let runs = hashes.chunk_by(|a, b| fingerprint(a) == fingerprint(b));
        let counted = runs.map(|run| (fingerprint(&run[0]), run.len() as u64));
        Ok(Quotient::over(spec, stream::collect(shape, counted)?))
    }

    /// A filter of all these keys, built at once, as [`from_hashes`](Quotient::from_hashes) does.
    pub fn from_keys<K: Key>(
        spec: Spec,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Quotient, SpecError> {
        let mut hashes: Vec<Hash> = keys.into_iter().map(|key| spec.scheme().hash(key)).collect();
        Quotient::from_hashes(spec, &mut hashes)
    }

    /// Whether inserts grow it when it is full, which they do unless told otherwise.
    ///
    /// A full filter that must not grow takes further keys too: each moves ever more lines, and in
    /// the end goes into a side table of 16 bytes and more per key. Nothing is lost.
    pub fn set_auto_grow(&mut self, grows: bool) {
        self.set_growing(grows);
    }
}

impl<B: AsRef<[u8]>> Quotient<B> {
    /// A filter over a table whose counts are right.
    fn over(spec: Spec, table: Table<B>) -> Quotient<B> {
        let full_at = full_at(table.shape, true);
        Quotient {
            table,
            kernel: Kernel::detect(),
            spec,
            full_at,
            grows: true,
            checked: true,
            unmoved: None,
        }
    }

    /// A filter over lines and a side table that [`as_bytes`](Quotient::as_bytes) and
    /// [`side_bytes`](Quotient::side_bytes) gave: a file's, mapped or read.
    ///
    /// Every line and entry is checked, and the keys are counted on the way, so no search can leave
    /// the bytes and nothing about them is taken on trust. That they hold the right keys only a
    /// checksum can tell.
    ///
    /// ```
    /// # use mayhap::{Quotient, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let built = Quotient::from_keys(spec, 0..1000u64)?;
    /// let (lines, side) = (built.as_bytes(), built.side_bytes());
    /// let opened = Quotient::from_bytes(spec, built.shape(), lines, &side).unwrap();
    /// assert!((0..1000u64).all(|key| opened.contains(key)));
    /// assert_eq!((opened.keys(), opened.fpr_now()), (1000, built.fpr_now()));
    /// let mut damaged = lines.to_vec();
    /// damaged[63] = 1; // an offset that nothing before it explains
    /// assert!(Quotient::from_bytes(spec, built.shape(), &damaged, &side).is_err());
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn from_bytes(
        spec: Spec,
        shape: QuotientShape,
        lines: B,
        side: B,
    ) -> Result<Quotient<B>, QuotientError> {
        let mut table = Quotient::unread(shape, lines, Some(side))?;
        table.counts = validate::count(&table)?;
        Ok(Quotient::over(spec, table))
    }

    fn set_growing(&mut self, grows: bool) {
        self.grows = grows;
        self.full_at = full_at(self.table.shape, grows);
    }

    /// Whether inserts grow it when it is full.
    pub fn auto_grow(&self) -> bool {
        self.grows
    }

    /// A table over bytes that are as long as they must be; nothing else about them is known.
    fn unread(shape: QuotientShape, lines: B, side: Option<B>) -> Result<Table<B>, QuotientError> {
        validate::check_lengths(shape, &lines, side.as_ref())?;
        let mut table = Table::empty(shape, lines);
        if let Some(side) = side {
            table.side = SideTable::Bytes(side);
        }
        Ok(table)
    }

    /// Check every line and every entry of the side table, and that they hold as much as was said.
    /// Filters that were opened in place are usable without: whatever their bytes, a lookup stays
    /// inside of them. One walk over everything.
    pub(crate) fn check_lines(&self) -> Result<(), QuotientError> {
        if self.checked {
            return Ok(());
        }
        let counts = validate::count(&self.table)?;
        if counts != self.table.counts {
            let what = "the lines and the side table hold another number of keys than is stated";
            return Err(QuotientError { what, at: counts.keys });
        }
        Ok(())
    }

    /// Hash a key once, to look up, insert or remove it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme_ref().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// What it was made for.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// How it is laid out now.
    pub fn shape(&self) -> QuotientShape {
        self.table.shape
    }
}
