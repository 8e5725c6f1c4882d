//! A filter that forgets.

mod kind;

use super::layered::{Unresolved, any_contains, chunks, copy_of, part};
use super::{Blocked, MergeError, Moment, Scalable, Window, same, same_scheme, same_target};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::{AlignedBuf, Relocate};
use crate::scheme::{Native, Scheme};
use crate::sizing::{Layer, WindowedShape, any_of};
use crate::spec::{Spec, SpecError};
use std::collections::VecDeque;
use std::fmt;

/// The most layers of a generation: with two more it has room for all keys of the window.
pub const MAX_GENERATION_LAYERS: usize = 3;

/// The filter that forgets: it remembers the most recent keys, or those of the most recent time span.
///
/// A window of `G` generations is `G` + 1 [`Blocked`] filters: keys go into the newest, the
/// oldest is dropped as a whole. The false-positive rate of all of them together meets the [`Spec`].
///
/// * [`Window::last_keys`]: a key is remembered until at least `capacity` more have been written, and
///   forgotten after `capacity` · (1 + 1/G), rounded up to a whole generation. An insert writes nothing
///   if the newest generation holds the key already, so a key that is inserted again and again does not
///   displace others.
/// * [`Window::span`]: a key is remembered for at least `ticks` after its last insert, and
///   forgotten after `ticks` · (1 + 1/G). With at most `capacity` keys in any `ticks`
///   the rate holds however they arrive: a generation that gets more than its share grows by
///   layers, and the memory is freed when it expires. With more keys, the rate rises
///   until they expire; no key inside the window is lost.
///
/// Inside the window there is never a false negative. Inserting a key again renews it.
///
/// Every insert and lookup takes the time, a [`Moment`]: a [`Duration`](std::time::Duration) since
/// an epoch of your choice, a [`SystemTime`](std::time::SystemTime), or ticks of your own. A lookup with an
/// earlier time than that of the last insert uses the time of the last insert; [`Moment::LAST`] always means
/// the time of the last insert or [`advance`](Windowed::advance). Windows of keys ignore the time.
///
/// # Clocks that are wrong
///
/// Inserts follow the clock. If it goes back by up to one window, the window's time stands still until
/// the clock has caught up. If it goes back further, the window continues at the new time, and everything it
/// remembers stays for one more window ([`set_clock`] does this at
/// once, whatever the difference). If it goes forward by more than the window, everything expires, as after a
/// long pause; if that time was wrong, the next insert at the right time
/// sets the window back, and only what had expired is lost.
///
/// If the clock cannot be trusted, call [`check_clock`] first: it is an error in both cases, and the caller
/// decides whether to skip the key or to insert it.
///
/// ```
/// # use mayhap::{Spec, Window, Windowed};
/// # use std::time::Duration;
/// let mut seen = Windowed::new(Spec::new(1_000, 0.001)?, Window::time(Duration::from_secs(3600), 4))?;
/// let at = |seconds: u64| Duration::from_secs(seconds); // since 1970
/// seen.insert("ada", at(1_800_000_000));
/// // Milliseconds where seconds are meant: `check_clock` finds it.
/// let jump = seen.check_clock(at(1_800_000_001_000)).unwrap_err();
/// assert!(!jump.is_back() && seen.contains("ada", at(1_800_000_001)));
/// // Without the check the window is in the far future, until the next insert at the right time.
/// seen.insert("eve", at(1_800_000_001_000));
/// seen.insert("bob", at(1_800_000_002));
/// assert!(seen.contains("bob", at(1_800_003_602)) && seen.contains("eve", at(1_800_003_602)));
/// assert!(!seen.contains("eve", at(1_800_004_502))); // forgotten in time
/// # Ok::<(), mayhap::SpecError>(())
/// ```
///
/// [`check_clock`]: Windowed::check_clock
/// [`set_clock`]: Windowed::set_clock
///
/// ```
/// # use mayhap::window::Moment;
/// # use mayhap::{Spec, Window, Windowed};
/// # use std::time::Duration;
/// // About a thousand visitors an hour; who came in the last hour?
/// let hour = Duration::from_secs(3600);
/// let mut seen = Windowed::new(Spec::new(1_000, 0.001)?, Window::time(hour, 4))?;
/// let now = Duration::from_secs(1_800_000_000); // since 1970; or `SystemTime::now()`
/// assert!(seen.insert("ada", now)); // certainly new
/// assert!(seen.contains("ada", now + hour));
/// assert!(!seen.contains("ada", now + hour + hour / 4)); // forgotten
///
/// // The last thousand, whenever they came.
/// let mut seen = Windowed::new(Spec::new(1_000, 0.001)?, Window::last_keys(4))?;
/// (0..5_000).for_each(|key| _ = seen.insert(key, Moment::LAST));
/// assert!((4_000..5_000).all(|key| seen.contains(key, Moment::LAST)));
/// assert!((0..3_750).filter(|key| seen.contains(key, Moment::LAST)).count() < 20);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone)]
pub struct Windowed<B = AlignedBuf> {
    spec: Spec,
    window: Window,
    /// Newest first; one more than the window has generations.
    ring: VecDeque<Generation<B>>,
    /// The number of the newest generation.
    newest: u64,
    /// The first moment after it.
    until: u64,
}

#[derive(Clone)]
struct Generation<B> {
    /// Has one layer, except after bursts in a window of time.
    filter: Scalable<B>,
    /// Whether it holds any key.
    used: bool,
}

/// How a generation grows: by this factor, up to this many keys, with this share of the rate.
struct Growing {
    fpr: f64,
    growth: u32,
    most: u64,
}

impl Growing {
    fn of(spec: Spec, window: Window) -> Growing {
        let generations = window.generations();
        Growing {
            fpr: spec.fpr() / (f64::from(generations) + 1.0),
            growth: WindowedShape::growth(generations),
            // A generation that counts its keys is replaced when it is full.
            most: if window.ticks().is_some() { spec.capacity() } else { 0 },
        }
    }
}

impl Windowed {
    /// Lets a defragmenting allocator relocate the buffers; no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        let mut ring = Vec::from(std::mem::take(&mut self.ring)); // the same memory
        memory.relocate(&mut ring);
        self.ring = ring.into();
        self.ring.iter_mut().for_each(|generation| generation.filter.relocate(memory));
    }

    /// An empty filter for this spec.
    pub fn new(spec: Spec, window: Window) -> Result<Windowed, SpecError> {
        window.check()?;
        let shape = WindowedShape::for_window(&spec, spec.fpr_of_bits(), window);
        let Growing { fpr, growth, most } = Growing::of(spec, window);
        let generation = |_| {
            let first = part(spec, shape.capacity, fpr, shape.each)?;
            let filter = Scalable::from_first(first, fpr, growth, most);
            Ok(Generation { filter, used: false })
        };
        let ring = (0..shape.count).map(generation).collect::<Result<_, SpecError>>()?;
        Ok(Windowed { spec, window, ring, newest: 0, until: window.start_of(1) })
    }

    /// Drop what is out of the window now. Inserting does this, and lookups ignore it already; it
    /// matters for lookups without a time, see [`Contains`](crate::Contains).
    pub fn advance(&mut self, now: impl Into<Moment>) {
        let now = now.into().to_ticks();
        self.advance_to(now);
    }

    fn advance_to(&mut self, now: u64) {
        if now < self.until && self.is_back(now) {
            return self.set_clock_to(now);
        }
        self.turn(self.generation_at(now) - self.newest);
    }

    /// Continue from this moment: what is remembered stays, as if the newest of it had come now.
    /// For a window that was written with a wrong clock; inserts do this by themselves if the clock
    /// went back by more than the window.
    pub fn set_clock(&mut self, now: impl Into<Moment>) {
        self.set_clock_to(now.into().to_ticks());
    }

    fn set_clock_to(&mut self, now: u64) {
        if let Some(generation) = self.window.generation_at(now) {
            self.start(generation);
        }
    }

    /// Begin the next generation, or a later one, at constant cost.
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
    pub fn insert(&mut self, key: impl Key, now: impl Into<Moment>) -> bool {
        self.insert_hash(self.hash(key), now)
    }

    /// Insert a hashed key now. `true`: it was certainly new in all of the window.
    pub fn insert_hash(&mut self, hash: Hash, now: impl Into<Moment>) -> bool {
        self.advance(now);
        if self.remaining() == 0 {
            return !self.ring[0].filter.contains_hash(hash) && self.insert_next(hash);
        }
        self.write(hash) && !self.older_contain(hash)
    }

    /// Insert them all now; returns how many were certainly new in all of the window.
    pub fn insert_batch(&mut self, hashes: &[Hash], now: impl Into<Moment>) -> u64 {
        let mut new = Vec::new();
        self.insert_batch_new(hashes, now, &mut new);
        new.iter().map(|new| u64::from(*new)).sum()
    }

    /// Insert them all now; `new` is cleared and filled, `true` for each that was certainly new
    /// in all of the window.
    pub fn insert_batch_new(
        &mut self,
        hashes: &[Hash],
        now: impl Into<Moment>,
        new: &mut Vec<bool>,
    ) {
        let now = now.into().to_ticks();
        new.clear();
        new.resize(hashes.len(), false);
        let (mut open, mut written) = (Unresolved::default(), Unresolved::default());
        for (hashes, new) in chunks(hashes, new) {
            self.advance_to(now);
            open.start(hashes);
            self.insert_unresolved(&mut open, &mut written, new);
        }
    }

    /// The newest generation takes them in runs that cannot overfill it; the older ones, which do
    /// not change meanwhile, decide which of those written are new.
    fn insert_unresolved(
        &mut self,
        open: &mut Unresolved,
        written: &mut Unresolved,
        new: &mut [bool],
    ) {
        while !open.is_empty() {
            let remaining = self.remaining();
            if remaining > 0 {
                written.start(&[]);
                self.ring[0].used = true;
                let newest = &mut self.ring[0].filter;
                let insert =
                    |hashes: &[Hash], new: &mut Vec<bool>| newest.insert_batch_new(hashes, new);
                open.insert(remaining, insert, |at, hash| written.push(at, hash));
                for layer in self.ring.iter().skip(1).flat_map(|older| older.filter.layers()) {
                    written.ask(layer, |_, _| ());
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

    /// Insert a key that the newest, full generation does not hold. Whether it is new is looked up
    /// before the oldest is dropped for it.
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

    /// How many more keys the newest generation takes; unlimited in a window of time.
    fn remaining(&self) -> u64 {
        if self.window.ticks().is_some() {
            return u64::MAX;
        }
        let newest = &self.ring[0].filter;
        newest.spec().capacity().saturating_sub(newest.keys())
    }

    /// Make sure now that the next key fits within the target rate: a full generation of time gets
    /// its next layer, or an error says why not.
    pub fn try_grow(&mut self) -> Result<(), SpecError> {
        if self.remaining_before_growth() > 0 {
            return Ok(());
        }
        self.ring[0].filter.try_grow()
    }

    /// Remove all keys. The clock stays.
    pub fn clear(&mut self) {
        for generation in self.ring.iter_mut().filter(|generation| generation.used) {
            generation.filter.clear();
            generation.used = false;
        }
    }

    /// Add everything the other filter remembers, each generation into that of its time. They must
    /// have the same window and shape, and hash alike.
    ///
    /// Generations of time begin at the same moments everywhere, and the later of the two clocks
    /// counts. Windows of keys must have had equally many generations (or one be new): otherwise
    /// "the last thousand" are not the same thousand. As with [`Blocked::union`], the
    /// false-positive rate rises with the number of keys; see [`fpr_now`](Windowed::fpr_now).
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) -> Result<(), MergeError> {
        self.check_like(other)?;
        if !other.is_used() {
            self.intersect_generations(other);
            return Ok(());
        }
        if self.window.ticks().is_none() {
            if !self.is_used() {
                self.start(other.newest);
            }
            same("generations begun", self.newest, other.newest)?;
        }
        self.intersect_generations(other);
        let behind = usize::try_from(self.newest - other.newest).unwrap_or(usize::MAX);
        for (ours, theirs) in self.ring.iter_mut().skip(behind).zip(&other.ring) {
            ours.filter.union_layers(&theirs.filter)?;
            ours.used |= theirs.used;
        }
        Ok(())
    }

    /// Keep only bits that both filters have. They must have the same window and shape, and hash
    /// alike.
    ///
    /// What both remember stays in, for as long as it would have here. A key may be in an older
    /// generation here than there, so each is compared with all of the other's together: what only
    /// one remembers is rarely removed if there are many full generations. The false-positive rate
    /// never rises. Windows with a generation that grew for a burst are rejected: a key in both may
    /// be in another layer here than there, and would be lost.
    pub fn intersect<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) -> Result<(), MergeError> {
        self.check_like(other)?;
        same("layers of a generation, of which there must be one,", 1, self.most_layers())?;
        same("layers of a generation, of which there must be one,", 1, other.most_layers())?;
        let mut theirs = other.live(self.window.start_of(self.newest));
        let Some(first) = theirs.next() else {
            self.intersect_generations(other);
            self.clear();
            return Ok(());
        };
        let mut all = copy_of(first)?;
        for generation in theirs {
            all.union(generation)?;
        }
        self.intersect_generations(other);
        for generation in self.ring.iter_mut().filter(|generation| generation.used) {
            for layer in generation.filter.layers_mut() {
                layer.intersect(&all)?;
            }
        }
        Ok(())
    }

    /// Advance to the other's clock; windows of keys have none.
    fn intersect_generations<C: AsRef<[u8]>>(&mut self, other: &Windowed<C>) {
        if self.window.ticks().is_some() {
            self.turn(other.newest.saturating_sub(self.newest));
        }
    }
}

impl<B: AsRef<[u8]>> Windowed<B> {
    /// Fails where bits or generations do not mean the same.
    pub(super) fn check_like<C: AsRef<[u8]>>(&self, other: &Windowed<C>) -> Result<(), MergeError> {
        same_scheme(&self.spec.scheme(), &other.spec.scheme())?;
        same("windows", self.window, other.window)?;
        for place in 0..self.most_layers().min(other.most_layers()) {
            let (Some(ours), Some(theirs)) = (self.layer_at(place), other.layer_at(place)) else {
                continue;
            };
            same_target(self.spec, other.spec, ours.shape() == theirs.shape())?;
            ours.check_like(theirs)?;
        }
        Ok(())
    }

    /// A filter over existing generations, newest first, each with its layers, oldest first;
    /// `newest` is the number that [`newest`](Windowed::newest) returned. `None` if the window is
    /// invalid, or there are not one more than its generations, all of equal layers and hashed as
    /// the spec says, or one has more than [`MAX_GENERATION_LAYERS`], counts more keys than its
    /// bits can hold or states a capacity at which it does not keep its rate.
    pub fn from_parts(
        spec: Spec,
        window: Window,
        newest: u64,
        generations: Vec<Vec<Blocked<B>>>,
    ) -> Option<Self> {
        window.check().ok()?;
        let tallest = generations.iter().max_by_key(|layers| layers.len())?;
        let most = if window.ticks().is_some() { MAX_GENERATION_LAYERS } else { 1 };
        let want: Vec<_> = tallest.iter().map(|layer| (layer.shape(), layer.spec())).collect();
        let belongs = |layers: &Vec<Blocked<B>>| {
            let same =
                |(layer, want): (&Blocked<B>, &(_, _))| (layer.shape(), layer.spec()) == *want;
            !layers.is_empty()
                && layers.iter().zip(&want).all(same)
                && layers.iter().all(|layer| layer.scheme() == spec.scheme())
        };
        let count = generations.len() as u64;
        if count != u64::from(window.generations()) + 1
            || tallest.len() > most
            || !generations.iter().all(belongs)
        {
            return None;
        }
        let Growing { fpr, growth, most } = Growing::of(spec, window);
        let ring = generations.into_iter().map(|layers| {
            let filter = Scalable::from_layers(spec.optimize(), fpr, growth, most, layers)?;
            // Decided by the bits: a wrong count of zero would keep the keys forever.
            let is_set = |layer: &Blocked<B>| layer.as_bytes().iter().any(|byte| *byte != 0);
            let used = filter.layers().len() > 1 || filter.layers().iter().any(is_set);
            Some(Generation { filter, used })
        });
        let until = window.start_of(newest.saturating_add(1));
        Some(Windowed { spec, window, ring: ring.collect::<Option<_>>()?, newest, until })
    }

    /// How many keys the newest generation takes before it needs another layer; unlimited if it
    /// never does: in a window of keys, and if it has capacity for all keys of the window.
    pub fn remaining_before_growth(&self) -> u64 {
        self.ring.front().map_or(u64::MAX, |newest| newest.filter.remaining())
    }

    /// The layer that a burst would add to the newest generation now, for callers that must know
    /// its size beforehand. `None` if there will be no more.
    pub fn next_layer(&self) -> Option<Layer> {
        self.ring.front()?.filter.next_layer()
    }

    /// Layers in the generation that has most of them: one, except after bursts.
    pub fn most_layers(&self) -> usize {
        self.ring.iter().map(|generation| generation.filter.layers().len()).max().unwrap_or(0)
    }

    /// A layer at this index, of any generation that has it: they are alike.
    fn layer_at(&self, place: usize) -> Option<&Blocked<B>> {
        self.ring.iter().find_map(|generation| generation.filter.layers().get(place))
    }

    /// Whether the clock went back by more than the window since the newest generation began.
    #[inline]
    fn is_back(&self, now: u64) -> bool {
        let ticks = self.window.ticks().unwrap_or(u64::MAX);
        now.saturating_add(ticks) < self.window.start_of(self.newest)
    }

    /// Fails if the clock is more than a window away from the last insert or advance: if an insert
    /// now would find all keys expired, or the clock so far back that it must have been wrong. Any
    /// time is valid for an empty window, and for windows of keys.
    pub fn check_clock(&self, now: impl Into<Moment>) -> Result<(), ClockJump> {
        let now = now.into().to_ticks();
        let Some(ticks) = self.window.ticks() else { return Ok(()) };
        let gone = self.generation_at(now) - self.newest > u64::from(self.window.generations());
        if self.is_used() && (gone || self.is_back(now)) {
            return Err(ClockJump { now, last: self.window.start_of(self.newest), ticks });
        }
        Ok(())
    }

    /// The number of the generation of a moment, never before the newest.
    #[inline]
    fn generation_at(&self, now: u64) -> u64 {
        if now < self.until {
            return self.newest;
        }
        self.window.generation_at(now).unwrap_or(0).max(self.newest)
    }

    /// The number of generations inside the window at this moment.
    #[inline]
    fn live_generations(&self, now: u64) -> usize {
        let passed = self.generation_at(now) - self.newest;
        let passed = usize::try_from(passed).unwrap_or(usize::MAX);
        self.ring.len().saturating_sub(passed)
    }

    /// The layers of those generations, newest first.
    #[inline]
    fn live(&self, now: u64) -> impl Iterator<Item = &Blocked<B>> + Clone {
        let live = self.ring.iter().take(self.live_generations(now));
        live.flat_map(|generation| generation.filter.layers().iter().rev())
    }

    fn is_used(&self) -> bool {
        self.ring.iter().any(|generation| generation.used)
    }

    /// Whether the key may have been inserted inside the window; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key, now: impl Into<Moment>) -> bool {
        self.contains_hash(self.hash(key), now)
    }

    /// Whether the hashed key may have been inserted inside the window; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash, now: impl Into<Moment>) -> bool {
        let now = now.into().to_ticks();
        self.live(now).any(|generation| generation.contains_hash(hash))
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per hash.
    pub fn contains_batch(&self, hashes: &[Hash], now: impl Into<Moment>, answers: &mut Vec<bool>) {
        let now = now.into().to_ticks();
        any_contains(self.live(now), hashes, answers);
    }

    /// Hash a key once, for lookups and inserts later.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.spec.scheme().hash(key)
    }

    /// How keys are hashed.
    pub fn scheme(&self) -> Native {
        self.spec.scheme()
    }

    /// Its spec: the keys of one window, the false-positive rate of all generations together.
    pub fn spec(&self) -> Spec {
        self.spec
    }

    /// Its window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// The number of the newest generation: how many have begun since tick 0, or in a window of
    /// keys since the filter was created.
    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// The generations, newest first, as of the last insert or advance: the layers of each, oldest
    /// first, one except after bursts.
    pub fn generations(&self) -> impl Iterator<Item = &[Blocked<B>]> {
        self.ring.iter().map(|generation| generation.filter.layers())
    }

    /// The age of the oldest possible answer: in ticks, or in a window of keys how many were
    /// written since. A "maybe" for anything older is a false positive. If the clock went back, as
    /// of the beginning of the newest generation.
    pub fn oldest(&self, now: impl Into<Moment>) -> u64 {
        let now = now.into();
        if self.window.ticks().is_none() {
            return self.keys(now);
        }
        let now = now.to_ticks();
        let live = self.live_generations(now);
        let used = self.ring.iter().take(live).rposition(|generation| generation.used);
        let Some(back) = used else { return 0 };
        let start = self.window.start_of(self.newest.saturating_sub(back as u64));
        now.max(self.window.start_of(self.newest)).saturating_sub(start)
    }

    /// Writes of keys into the generations inside the window: a key that was inserted again counts
    /// again (after a merge: an estimate).
    pub fn keys(&self, now: impl Into<Moment>) -> u64 {
        let now = now.into().to_ticks();
        self.live(now).map(Blocked::keys).fold(0, u64::saturating_add)
    }

    /// Bytes in the arrays of all generations.
    pub fn bytes(&self) -> u64 {
        self.ring.iter().map(|generation| generation.filter.bytes()).sum()
    }

    /// The share of set bits, counting those out of the window as clear.
    pub fn fill(&self, now: impl Into<Moment>) -> f64 {
        let now = now.into().to_ticks();
        let bytes = |layer: &Blocked<B>| layer.as_bytes().len() as f64;
        let ones: f64 = self.live(now).map(|layer| layer.fill() * bytes(layer)).sum();
        ones / self.bytes() as f64 + 0.0
    }

    /// How many keys are inside the window, estimated from the bits alone; one that was inserted
    /// again in a later generation counts in each.
    pub fn estimate(&self, now: impl Into<Moment>) -> u64 {
        let now = now.into().to_ticks();
        self.live(now).map(Blocked::estimate).fold(0, u64::saturating_add)
    }

    /// The current false-positive rate, from the bits.
    pub fn fpr_now(&self, now: impl Into<Moment>) -> f64 {
        let now = now.into().to_ticks();
        any_of(self.live(now).map(Blocked::fpr_now))
    }
}

/// A clock that is more than a whole window away from the last insert of a [`Windowed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClockJump {
    /// The time of the clock.
    pub now: u64,
    /// When the generation written last began.
    pub last: u64,
    /// The span of the window.
    pub ticks: u64,
}

impl ClockJump {
    /// Whether it went back.
    pub fn is_back(&self) -> bool {
        self.now < self.last
    }
}

impl fmt::Display for ClockJump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClockJump { now, last, ticks } = self;
        let (apart, where_to) = (now.abs_diff(*last), if self.is_back() { "back" } else { "on" });
        write!(
            f,
            "the clock went {where_to} by {apart} ticks, from {last} to {now}: more than the {ticks} that the window spans"
        )
    }
}

impl std::error::Error for ClockJump {}

impl<B: AsRef<[u8]>> fmt::Display for Windowed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "windowed: {} keys, made for {} in {}, {} bytes, rate {:.3e} now, {:.3e} at capacity",
            self.keys(Moment::LAST),
            self.spec.capacity(),
            self.window,
            self.bytes(),
            self.fpr_now(Moment::LAST),
            self.spec.fpr(),
        )
    }
}

#[cfg(test)]
mod tests;
