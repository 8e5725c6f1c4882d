//! Layers that many threads write while new ones are added: how a key finds its layer.
//!
//! Keys go into the newest layer; the older ones are sealed, and nobody writes them. Layers are only ever
//! added, at the end, by one thread under a lock: it makes the new layer, seals the newest (which waits for
//! writers inside of it), and publishes the new count. Lookups take no lock. A thread that still knows the
//! list without the new layer finds the one before sealed, and looks at the list again.
//!
//! Generic over its parts, so that `loom` can try every interleaving of this very file.

/// A place that is filled once.
pub(crate) trait Slot<T>: Default {
    /// What it holds, with all that was written before it was filled.
    fn get(&self) -> Option<&T>;
    /// Fill it. Called once for each place.
    fn fill(&self, value: T);
}

/// How many places are filled: stores release what came before, loads acquire it.
pub(crate) trait Count: Default {
    /// The number.
    fn get(&self) -> usize;
    /// Another number.
    fn set(&self, count: usize);
}

/// One holder at a time.
pub(crate) trait Lock: Default {
    /// Do this while nobody else does such.
    fn while_locked<T>(&self, work: impl FnOnce() -> T) -> T;
}

/// What a layer did with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It may have been in before.
    Known,
    /// It was certainly new, and is in.
    New,
    /// It is not in: the layer is full or sealed.
    Closed,
}

/// A filter that is written through `&self`, until it is sealed.
pub(crate) trait Layer {
    /// A hashed key.
    type Hash: Copy;
    /// Whether it may be in.
    fn contains(&self, hash: Self::Hash) -> bool;
    /// Insert it, unless further keys belong into another layer; `beyond_full`: only where it is sealed.
    fn insert(&self, hash: Self::Hash, beyond_full: bool) -> Outcome;
    /// Let nobody write any more. Once this returns, all writes have been made.
    fn seal(&self);
}

/// The layers, oldest first.
pub(crate) struct Layers<S, C, K> {
    slots: Box<[S]>,
    count: C,
    lock: K,
}

impl<S, C: Count, K: Lock> Layers<S, C, K> {
    /// These layers, at least one, and places for `more`.
    pub fn new<L: Layer>(layers: Vec<L>, more: usize) -> Self
    where
        S: Slot<L>,
    {
        let slots: Box<[S]> = (0..layers.len() + more).map(|_| S::default()).collect();
        let count = layers.len();
        for (at, (layer, slot)) in layers.into_iter().zip(&slots).enumerate() {
            if at + 1 < count {
                layer.seal();
            }
            slot.fill(layer);
        }
        let layers = Layers { slots, count: C::default(), lock: K::default() };
        layers.count.set(count);
        layers
    }

    /// Those there are now, newest first: all but the first are sealed.
    #[inline]
    pub fn newest_first<'a, L: 'a>(&'a self) -> impl Iterator<Item = &'a L> + Clone
    where
        S: Slot<L>,
    {
        self.slots[..self.count.get()].iter().rev().filter_map(S::get)
    }

    /// Whether any of them may hold the hash.
    #[inline]
    pub fn contains<L: Layer>(&self, hash: L::Hash) -> bool
    where
        S: Slot<L>,
    {
        self.newest_first().any(|layer: &L| layer.contains(hash))
    }

    /// Insert a hash; whether it was certainly new. The `asked` oldest layers are known not to hold it.
    /// `next` makes the layer after those it is given, or says that there is none to be had: then the
    /// newest takes the hash, full or not.
    #[inline]
    pub fn insert<L: Layer>(
        &self,
        hash: L::Hash,
        mut asked: usize,
        next: impl Fn(&Self) -> Option<L>,
    ) -> bool
    where
        S: Slot<L>,
    {
        let mut beyond_full = false;
        loop {
            let count = self.count.get();
            let Some((newest, older)) = self.slots[..count].split_last() else { return false };
            let Some(newest) = newest.get() else { return false };
            // A key that any layer answers for needs no second place, and these do not change.
            let older_contains = |slot: &S| slot.get().is_some_and(|layer| layer.contains(hash));
            if older.iter().skip(asked).rev().any(older_contains) {
                return false;
            }
            asked = older.len();
            match newest.insert(hash, beyond_full) {
                Outcome::Known => return false,
                Outcome::New => return true,
                Outcome::Closed => beyond_full = !self.grow(count, &next),
            }
        }
    }

    /// Add a layer to these `count`, unless somebody else has. `false` where there is none to be had.
    #[cold]
    fn grow<L: Layer>(&self, count: usize, next: impl Fn(&Self) -> Option<L>) -> bool
    where
        S: Slot<L>,
    {
        self.lock.while_locked(|| {
            if self.count.get() != count {
                return true;
            }
            let (Some(slot), Some(layer)) = (self.slots.get(count), next(self)) else {
                return false;
            };
            self.newest_first().take(1).for_each(L::seal);
            slot.fill(layer);
            self.count.set(count + 1);
            true
        })
    }

    /// The layers by themselves, oldest first.
    pub fn into_slots(self) -> impl Iterator<Item = S> {
        self.slots.into_vec().into_iter()
    }
}
