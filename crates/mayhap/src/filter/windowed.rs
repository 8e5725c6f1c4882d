//! A filter that forgets.

mod kind;
use super::layered::{Open, any_contains, chunks, copy_of, is_plausible, part};
use super::{Blocked, Contains, MergeError, Window, same, same_scheme};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{Mover, Pages};
use crate::scheme::{Native, Scheme};
use crate::sizing::{WindowedShape, any_of};
use crate::spec::{Spec, SpecError};
use std::collections::VecDeque;
use std::fmt;

/// The filter that forgets: it remembers the last keys, or the last while, and no more.
///
/// A window of `G` generations is `G` + 1 [`Blocked`] filters: keys go into the newest, the
/// oldest is forgotten as a whole. The rate over all of them together meets the [`Spec`].
///
/// * [`Window::last_keys`]: a key is remembered until `capacity` more have been written at the
///   least, and forgotten when `capacity` · (1 + 1/G) have, or the few more that make generations
///   whole. An insert writes unless the newest generation holds the key already, so one key that
///   comes again and again pushes nothing out.
/// * [`Window::span`]: a key is remembered for `ticks` after its last insert at the least, and
///   forgotten when `ticks` · (1 + 1/G) have passed. The capacity is the number of keys expected
///   in `ticks`; should more come, the rate climbs until they are forgotten, and nothing else
///   breaks.
///
/// Inside the window there is never a false negative. A key inserted again is remembered anew.
///
/// Whoever asks or inserts says what time it is, `now`, in ticks since whenever. A clock that
/// goes back is taken to stand still, so `now` = 0 always means "as of the last insert or
/// [`advance`](Windowed::advance)"; windows of keys do not look at it at all.
///
/// ```
/// # use mayhap::{Spec, Window, Windowed};
/// // About a thousand visitors an hour; who came in the last hour?
/// let mut seen = Windowed::new(Spec::new(1_000, 0.001)?, Window::span(3600, 4))?;
/// assert!(seen.insert("ada", 10_000)); // certainly new
/// assert!(seen.contains("ada", 10_000 + 3600));
/// assert!(!seen.contains("ada", 10_000 + 3600 + 900)); // forgotten
///
/// // The last thousand, whenever they came.
/// let mut seen = Windowed::new(Spec::new(1_000, 0.001)?, Window::last_keys(4))?;
/// (0..5_000).for_each(|key| _ = seen.insert(key, 0));
/// assert!((4_000..5_000).all(|key| seen.contains(key, 0)));
/// assert!((0..3_750).filter(|key| seen.contains(key, 0)).count() < 20);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Windowed<B = Pages> {
    spec: Spec,
    window: Window,
    /// Newest first; one more than the window has generations.
    ring: VecDeque<Generation<B>>,
    /// The number of the newest generation.
    newest: u64,
    /// The first moment after it.
    until: u64,
}

#[derive(Clone, Debug)]
struct Generation<B> {
    filter: Blocked<B>,
    /// Whether there is anything to forget.
    used: bool,
}

impl Windowed {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        self.ring.iter_mut().for_each(|generation| generation.filter.move_arrays(mover));
    }

    /// An empty filter to this wish.
    pub fn new(spec: Spec, window: Window) -> Result<Windowed, SpecError> {
        window.check()?;
        let shape = WindowedShape::for_rate(spec.capacity(), spec.fpr(), window.generations());
        let fpr = spec.fpr() / f64::from(shape.count);
        let generation = |_| {
            let filter = part(spec, shape.capacity, fpr, shape.each)?;
            Ok(Generation { filter, used: false })
        };
        let ring = (0..shape.count).map(generation).collect::<Result<_, SpecError>>()?;
        Ok(Windowed { spec, window, ring, newest: 0, until: window.start_of(1) })
    }

    /// Forget what is out of the window now. Inserting does this, and asking looks as if it had
    /// been done; it matters to whoever asks without a clock, see [`Contains`].
    pub fn advance(&mut self, now: u64) {
        self.turn(self.generation_at(now) - self.newest);
    }

    /// Begin the next generation, or the one so many after: costs no more for a thousand years.
    fn turn(&mut self, generations: u64) {
        if generations == 0 {
            return;
        }
        let count = self.ring.len();
        let gone = usize::try_from(generations).map_or(count, |gone| gone.min(count));
        self.ring.rotate_right(gone);
        for generation in self.ring.iter_mut().take(gone).filter(|generation| generation.used) {
            generation.filter.clear();
            generation.used = false;
        }
        self.start(self.newest.saturating_add(generations));
    }

    fn start(&mut self, newest: u64) {
        self.newest = newest;
        self.until = self.window.start_of(newest.saturating_add(1));
    }

    /// Insert a key now. `true`: it was certainly new in all of the window.
    #[inline]
    pub fn insert(&mut self, key: impl Key, now: u64) -> bool {
        self.insert_hash(self.hash(key), now)
    }

    /// Insert a hashed key now. `true`: it was certainly new in all of the window.
    pub fn insert_hash(&mut self, hash: Hash, now: u64) -> bool {
        self.advance(now);
        if self.room() == 0 {
            return !self.ring[0].filter.contains_hash(hash) && self.insert_next(hash);
        }
        self.write(hash) && !self.older_contain(hash)
    }

    /// Insert them all now; returns how many were certainly new in all of the window.
    pub fn insert_batch(&mut self, hashes: &[Hash], now: u64) -> u64 {
        let mut new = Vec::new();
        self.insert_batch_new(hashes, now, &mut new);
        new.iter().map(|new| u64::from(*new)).sum()
    }

    /// Insert them all now; `new` is cleared and filled, `true` for each that was certainly new
    /// in all of the window.
    pub fn insert_batch_new(&mut self, hashes: &[Hash], now: u64, new: &mut Vec<bool>) {
        new.clear();
        new.resize(hashes.len(), false);
        let (mut open, mut written) = (Open::default(), Open::default());
        for (hashes, new) in chunks(hashes, new) {
            self.advance(now);
            open.start(hashes);
            self.insert_open(&mut open, &mut written, new);
        }
    }

    /// The newest generation takes them in runs that cannot overfill it; the older ones, which
    /// do not change meanwhile, tell which of those written are new.
    fn insert_open(&mut self, open: &mut Open, written: &mut Open, new: &mut [bool]) {
        while !open.is_empty() {
            let room = self.room();
            if room > 0 {
                written.start(&[]);
                self.ring[0].used = true;
                let newest = &mut self.ring[0].filter;
                open.insert(room, newest, |at, hash| written.push(at, hash));
                for generation in self.ring.iter().skip(1) {
                    written.ask(&generation.filter, |_, _| ());
                }
                while let Some((at, _)) = written.pop() {
                    new[at] = true;
                }
                continue;
            }
            let Some((at, hash)) = open.pop() else { return };
            if !self.ring[0].filter.contains_hash(hash) {
                new[at] = self.insert_next(hash);
            }
        }
    }

    /// Insert a key that the newest generation, which is full, does not hold. Whether it is new
    /// is asked before the oldest is forgotten for it.
    fn insert_next(&mut self, hash: Hash) -> bool {
        let new = !self.older_contain(hash);
        self.turn(1);
        self.write(hash);
        new
    }

    /// Whether the newest generation did not hold it.
    fn write(&mut self, hash: Hash) -> bool {
        self.ring[0].used = true;
        self.ring[0].filter.insert_hash(hash)
    }

    fn older_contain(&self, hash: Hash) -> bool {
        self.ring.iter().skip(1).any(|generation| generation.filter.contains_hash(hash))
    }

    /// How many keys the newest generation takes yet: time alone ends that of a span.
    fn room(&self) -> u64 {
        if self.window.ticks().is_some() {
            return u64::MAX;
        }
        let newest = &self.ring[0].filter;
        newest.spec().capacity().saturating_sub(newest.keys())
    }

    /// Forget everything. Time goes on.
    pub fn clear(&mut self) {
        for generation in self.ring.iter_mut().filter(|generation| generation.used) {
            generation.filter.clear();
            generation.used = false;
        }
    }

    /// Take in everything the other filter remembers, each generation into that of its time.
    /// They must have the same window, be of one shape and hash alike.
    ///
    /// Spans have their generations at the same moments everywhere, and the later of the two
    /// clocks counts. Windows of keys must have turned equally often (or one be new): elsewhere
    /// "the last thousand" are not the same thousand. As with [`Blocked::union`], the rate climbs
    /// with what is in; [`fpr_now`](Windowed::fpr_now) tells.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) -> Result<(), MergeError> {
        self.same_kind(other)?;
        if !other.is_used() {
            self.meet(other);
            return Ok(());
        }
        if self.window.ticks().is_none() {
            if !self.is_used() {
                self.start(other.newest);
            }
            same("generations begun", self.newest, other.newest)?;
        }
        self.meet(other);
        let behind = usize::try_from(self.newest - other.newest).unwrap_or(usize::MAX);
        for (ours, theirs) in self.ring.iter_mut().skip(behind).zip(&other.ring) {
            ours.filter.union(&theirs.filter)?;
            ours.used |= theirs.used;
        }
        Ok(())
    }

    /// Keep only bits that both filters have. They must have the same window, be of one shape
    /// and hash alike.
    ///
    /// What both remember stays in, for as long as it would have here. A key may be in an older
    /// generation here than there, so each is compared with all of the other's together: what
    /// only one remembers goes seldom where there are many generations and they are full. Never
    /// is the rate higher than before.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) -> Result<(), MergeError> {
        self.same_kind(other)?;
        let mut theirs = other.live(self.window.start_of(self.newest));
        let Some(first) = theirs.next() else {
            self.meet(other);
            self.clear();
            return Ok(());
        };
        let mut all = copy_of(first)?;
        for generation in theirs {
            all.union(generation)?;
        }
        self.meet(other);
        for generation in self.ring.iter_mut().filter(|generation| generation.used) {
            generation.filter.intersect(&all)?;
        }
        Ok(())
    }

    fn same_kind<C: AsRef<[u8]>>(&self, other: &Windowed<C>) -> Result<(), MergeError> {
        same("windows", self.window, other.window)?;
        let (ours, theirs) = (self.ring[0].filter.shape(), other.ring[0].filter.shape());
        same("lines", ours.lines, theirs.lines)?;
        same("lines a key", ours.lines_per_key, theirs.lines_per_key)?;
        same("probes a line", ours.probes_per_line, theirs.probes_per_line)?;
        same_scheme(&self.spec.scheme(), &other.spec.scheme())
    }

    /// Be as late as the other; windows of keys know no late.
    fn meet<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) {
        if self.window.ticks().is_some() {
            self.turn(other.newest.saturating_sub(self.newest));
        }
    }
}

impl<B: AsRef<[u8]>> Windowed<B> {
    /// A filter of generations that are already there, newest first, the newest of the number
    /// that [`newest`](Windowed::newest) told. `None` where the window is not one, or there are
    /// not one more than its generations, all alike and hashing as the spec says, or one counts
    /// more keys than it has room for bits.
    pub fn from_parts(
        spec: Spec,
        window: Window,
        newest: u64,
        generations: Vec<Blocked<B>>,
    ) -> Option<Self> {
        window.check().ok()?;
        let first = generations.first()?;
        let (shape, capacity) = (first.shape(), first.spec().capacity());
        let belongs = |generation: &Blocked<B>| {
            generation.scheme() == spec.scheme()
                && generation.shape() == shape
                && generation.spec().capacity() == capacity
                && is_plausible(generation)
        };
        let count = generations.len() as u64;
        if count != u64::from(window.generations()) + 1 || !generations.iter().all(belongs) {
            return None;
        }
        // Told from the bits: a count that says "none" of some would keep them for ever.
        let ring = generations.into_iter().map(|filter| {
            let used = filter.as_bytes().iter().any(|byte| *byte != 0);
            Generation { filter, used }
        });
        let until = window.start_of(newest.saturating_add(1));
        Some(Windowed { spec, window, ring: ring.collect(), newest, until })
    }

    /// The number of the generation that a moment falls into, never before the newest.
    #[inline]
    fn generation_at(&self, now: u64) -> u64 {
        if now < self.until {
            return self.newest;
        }
        self.window.generation_at(now).unwrap_or(0).max(self.newest)
    }

    /// The generations that are not out of the window at this moment, newest first.
    #[inline]
    fn live(&self, now: u64) -> impl Iterator<Item = &Blocked<B>> + Clone {
        let passed = self.generation_at(now) - self.newest;
        let passed = usize::try_from(passed).unwrap_or(usize::MAX);
        let live = self.ring.len().saturating_sub(passed);
        self.ring.iter().take(live).map(|generation| &generation.filter)
    }

    fn is_used(&self) -> bool {
        self.ring.iter().any(|generation| generation.used)
    }

    /// Whether the key may have been inserted inside the window; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key, now: u64) -> bool {
        self.contains_hash(self.hash(key), now)
    }

    /// Whether the hashed key may have been inserted inside the window; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash, now: u64) -> bool {
        self.live(now).any(|generation| generation.contains_hash(hash))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[Hash], now: u64, answers: &mut Vec<bool>) {
        any_contains(self.live(now), hashes, answers);
    }

    /// Hash a key once, to ask or insert it later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// What it was made for: the keys of one window, the rate of all generations together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// What it remembers.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The number of the newest generation: how many were begun since tick 0, or in a window of
    /// keys since the filter was made.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The generations, newest first, as of the last insert or advance.
    pub fn generations(&self) -> impl Iterator<Item = &Blocked<B>> {
        self.ring.iter().map(|generation| &generation.filter)
    }

    /// How old the oldest possible answer is: in ticks, or in a window of keys how many were
    /// written since. A "maybe" for anything older is a false positive. For a clock that went
    /// back, as of the beginning of the newest generation.
    pub fn oldest(&self, now: u64) -> u64 {
        if self.window.ticks().is_none() {
            return self.keys(now);
        }
        let live = self.live(now).count();
        let used = self.ring.iter().take(live).rposition(|generation| generation.used);
        let Some(back) = used else { return 0 };
        let start = self.window.start_of(self.newest.saturating_sub(back as u64));
        now.max(self.window.start_of(self.newest)).saturating_sub(start)
    }

    /// Writes of keys into the generations that are inside the window: a key remembered anew
    /// counts again (after a merge: an estimate).
    pub fn keys(&self, now: u64) -> u64 {
        self.live(now).map(Blocked::keys).fold(0, u64::saturating_add)
    }

    /// Bytes in the arrays of all generations.
    pub fn bytes(&self) -> u64 {
        self.generations().map(|generation| generation.as_bytes().len() as u64).sum()
    }

    /// The share of bits that are set, those out of the window taken for clear.
    pub fn fill(&self, now: u64) -> f64 {
        self.live(now).map(Blocked::fill).sum::<f64>() / self.ring.len() as f64 + 0.0
    }

    /// How many keys are inside the window, told from the bits alone; one that was remembered
    /// anew in a later generation counts in each.
    pub fn estimate(&self, now: u64) -> u64 {
        self.live(now).map(Blocked::estimate).fold(0, u64::saturating_add)
    }

    /// The false-positive rate as the bits stand now.
    pub fn fpr_now(&self, now: u64) -> f64 {
        any_of(self.live(now).map(Blocked::fpr_now))
    }
}

/// Answers as of the last insert or [`advance`](Windowed::advance): a question without a clock.
///
/// There is no [`Insert`](crate::Insert): a key inserted without the time would be forgotten
/// too soon.
impl<B: AsRef<[u8]>> Contains for Windowed<B> {
    type Hash = Hash;

    fn hash(&self, key: impl Key) -> Hash {
        self.hash(key)
    }

    fn contains_hash(&self, hash: Hash) -> bool {
        self.contains_hash(hash, 0)
    }

    fn contains_batch(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.contains_batch(hashes, 0, answers);
    }
}

impl<B: AsRef<[u8]>> fmt::Display for Windowed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "windowed: {} keys, made for {} in {}, {} bytes, rate {:.3e} now, {:.3e} at capacity",
            self.keys(0),
            self.spec.capacity(),
            self.window,
            self.bytes(),
            self.fpr_now(0),
            self.spec.fpr(),
        )
    }
}

#[cfg(test)]
mod tests;
