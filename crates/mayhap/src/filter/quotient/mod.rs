//! The filter that gives keys up again, counts them and grows: a quotient filter.

mod growth;
mod kind;
mod line;
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
use crate::kernel::quotient::Kernel;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::sizing::{QuotientShape, collision_rate};
use crate::spec::{MAX_CAPACITY, Spec, SpecError};
use growth::full_at;
use side::SideTable;
use std::fmt;
use steps::Unmoved;
use table::{Counts, Table};
use tasks::{ByLayout, fingerprint};

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

    /// Insert a key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> bool {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, once more if it is in already. `true`: it was certainly new.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> bool {
        self.make_room();
        let fingerprint = fingerprint(&self.table, hash);
        self.insert_one(fingerprint)
    }

    #[inline(never)]
    fn insert_one(&mut self, fingerprint: u64) -> bool {
        let table = match &mut self.unmoved {
            Some(unmoved) if fingerprint >= unmoved.from => &mut unmoved.table,
            _ => &mut self.table,
        };
        self.kernel.choose(ByLayout(tasks::Insert(table, fingerprint)))
    }

    /// Insert them all; returns how many were certainly new.
    pub fn insert_batch(&mut self, hashes: &[Hash]) -> u64 {
        let before = self.counts().distinct;
        self.insert_each(hashes, |_| ());
        self.counts().distinct - before
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was certainly new.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], new: &mut Vec<bool>) {
        new.clear();
        new.reserve(hashes.len());
        self.insert_each(hashes, |is_new| new.push(is_new));
    }

    fn insert_each(&mut self, mut hashes: &[Hash], mut report: impl FnMut(bool)) {
        while let [first, rest @ ..] = hashes {
            self.make_room();
            if self.unmoved.is_some() {
                report(self.insert_one(fingerprint(&self.table, *first)));
                hashes = rest;
                continue;
            }
            // So many can be inserted before there is a need to look again.
            let room = self.full_at.saturating_sub(self.table.counts.in_lines).max(1);
            let count = usize::try_from(room).unwrap_or(usize::MAX).min(hashes.len());
            let (now, later) = hashes.split_at(count);
            self.kernel.choose(ByLayout(tasks::Batch(
                tasks::InsertEach(&mut self.table, &mut report),
                now,
            )));
            hashes = later;
        }
    }

    /// Remove one insertion of a key. `false`: it was certainly not in, and nothing changed.
    ///
    /// Remove only what was inserted: see [the promises](Quotient#what-it-promises).
    #[inline]
    pub fn remove(&mut self, key: impl Key) -> bool {
        self.remove_hash(self.hash(key))
    }

    /// Remove one insertion of a hashed key. `false`: it was certainly not in, and nothing changed.
    #[inline]
    pub fn remove_hash(&mut self, hash: Hash) -> bool {
        self.remove_one(fingerprint(&self.table, hash))
    }

    #[inline(never)]
    fn remove_one(&mut self, fingerprint: u64) -> bool {
        let table = match &mut self.unmoved {
            Some(unmoved) if fingerprint >= unmoved.from => &mut unmoved.table,
            _ => &mut self.table,
        };
        self.kernel.choose(ByLayout(tasks::Remove(table, fingerprint)))
    }

    /// Remove them all, one after another; returns how many were not certainly absent.
    pub fn remove_batch(&mut self, hashes: &[Hash]) -> u64 {
        if self.unmoved.is_some() {
            return hashes.iter().map(|hash| u64::from(self.remove_hash(*hash))).sum();
        }
        let before = self.table.counts.keys;
        self.kernel
            .choose(ByLayout(tasks::Batch(tasks::RemoveEach(&mut self.table, |_| ()), hashes)));
        before - self.table.counts.keys
    }

    /// Remove them all, one after another; `removed` is cleared and filled, `false` for each that was
    /// certainly not in.
    pub fn remove_batch_removed(&mut self, hashes: &[Hash], removed: &mut Vec<bool>) {
        removed.clear();
        removed.reserve(hashes.len());
        if self.unmoved.is_some() {
            removed.extend(hashes.iter().map(|hash| self.remove_hash(*hash)));
            return;
        }
        let step = tasks::RemoveEach(&mut self.table, |was_in| removed.push(was_in));
        self.kernel.choose(ByLayout(tasks::Batch(step, hashes)));
    }

    /// Forget everything. It keeps the size that it has grown to.
    pub fn clear(&mut self) {
        self.unmoved = None;
        self.table.bytes.as_mut().fill(0);
        self.table.side = SideTable::default();
        self.table.counts = Counts::default();
        self.full_at = full_at(self.table.shape, self.grows);
    }

    /// Offer the memory of its lines to whoever tidies the heap: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.table.bytes.move_by(memory);
        if let Some(unmoved) = &mut self.unmoved {
            unmoved.table.bytes.move_by(memory);
        }
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

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.contains_one(fingerprint(&self.table, hash))
    }

    #[inline(never)]
    fn contains_one(&self, fingerprint: u64) -> bool {
        if let Some(unmoved) = self.unmoved(fingerprint) {
            return self.kernel.choose(ByLayout(tasks::Contains(unmoved, fingerprint)));
        }
        self.kernel.choose(ByLayout(tasks::Contains(&self.table, fingerprint)))
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        answers.clear();
        if self.unmoved.is_some() {
            answers.extend(hashes.iter().map(|hash| self.contains_hash(*hash)));
            return;
        }
        answers.resize(hashes.len(), false);
        let step = tasks::Answer(&self.table, answers.iter_mut());
        self.kernel.choose(ByLayout(tasks::Batch(step, hashes)));
    }

    /// How often the key may be in: never less than it is, and more only where another key has the
    /// identical fingerprint.
    #[inline]
    pub fn count(&self, key: impl Key) -> u64 {
        self.count_hash(self.hash(key))
    }

    /// How often the hashed key may be in, as for [`count`](Quotient::count).
    #[inline]
    pub fn count_hash(&self, hash: Hash) -> u64 {
        let fingerprint = fingerprint(&self.table, hash);
        match self.unmoved(fingerprint) {
            Some(unmoved) => self.kernel.run(tasks::Count(unmoved, fingerprint)),
            None => self.kernel.run(tasks::Count(&self.table, fingerprint)),
        }
    }

    /// Count all of them at once: `counts` is cleared and filled, one count per hash.
    pub fn count_batch(&self, hashes: &[Hash], counts: &mut Vec<u64>) {
        counts.clear();
        counts.reserve(hashes.len());
        if self.unmoved.is_some() {
            counts.extend(hashes.iter().map(|hash| self.count_hash(*hash)));
            return;
        }
        self.kernel.choose(ByLayout(tasks::Batch(tasks::Tally(&self.table, counts), hashes)));
    }

    /// All fingerprints that are in, in ascending order, each with the number of its copies.
    ///
    /// A fingerprint is a number below the range; hashes in order have fingerprints in order.
    ///
    /// ```
    /// # use mayhap::{Quotient, Spec};
    /// let filter = Quotient::from_keys(Spec::new(1_000, 0.01)?, ["ada", "eve", "ada"])?;
    /// let all: Vec<(u64, u64)> = filter.fingerprints().collect();
    /// assert!(all.is_sorted() && all.len() == 2);
    /// assert!(all.contains(&(filter.fingerprint(filter.hash("ada")), 2)));
    /// # Ok::<(), mayhap::SpecError>(())
    /// ```
    pub fn fingerprints(&self) -> Fingerprints<'_> {
        let moved = Fingerprints::of(&self.table);
        match &self.unmoved {
            Some(unmoved) => moved.then(Fingerprints::from_line(&unmoved.table, unmoved.line)),
            None => moved,
        }
    }

    /// The fingerprint of a hashed key: all that the filter keeps of it.
    pub fn fingerprint(&self, hash: Hash) -> u64 {
        fingerprint(&self.table, hash)
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
