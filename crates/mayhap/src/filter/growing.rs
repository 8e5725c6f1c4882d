//! Layers that many threads write while new ones are added: how a key finds its layer.
//!
//! Layers are only ever added, at the end, under a lock; lookups and inserts take none. A thread that
//! still knows the list without the newest layer inserts into the one before: everybody asks that one
//! too, so nothing is lost, it only holds a key more than planned.
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

/// A filter that is written through `&self`.
pub(crate) trait Layer {
    /// A hashed key.
    type Hash: Copy;
    /// Whether it may be in.
    fn contains(&self, hash: Self::Hash) -> bool;
    /// Insert it; whether it was certainly new.
    fn insert(&self, hash: Self::Hash) -> bool;
    /// Whether further keys belong into another layer.
    fn is_full(&self) -> bool;
}

/// The layers, oldest first.
pub(crate) struct Layers<S, C, K> {
    slots: Box<[S]>,
    count: C,
    lock: K,
}

impl<S, C: Count, K: Lock> Layers<S, C, K> {
    /// These layers, at least one, and places for `more`.
    pub fn new<L>(layers: Vec<L>, more: usize) -> Self
    where
        S: Slot<L>,
    {
        let slots: Box<[S]> = (0..layers.len() + more).map(|_| S::default()).collect();
        let count = layers.len();
        layers.into_iter().zip(&slots).for_each(|(layer, slot)| slot.fill(layer));
        let layers = Layers { slots, count: C::default(), lock: K::default() };
        layers.count.set(count);
        layers
    }

    /// Those there are now, newest first.
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

    /// Insert a hash; whether it was certainly new. `next` makes the layer after those it is given,
    /// or says that there is none to be had: then the newest takes the hash, full or not.
    #[inline]
    pub fn insert<L: Layer>(&self, hash: L::Hash, next: impl Fn(&Self) -> Option<L>) -> bool
    where
        S: Slot<L>,
    {
        loop {
            let count = self.count.get();
            let mut layers = self.slots[..count].iter().rev().filter_map(S::get);
            let Some(newest) = layers.next() else { return false };
            // A key that any layer answers for needs no second place.
            if layers.any(|layer| layer.contains(hash)) {
                return false;
            }
            if !newest.is_full() {
                return newest.insert(hash);
            }
            if newest.contains(hash) {
                return false;
            }
            if !self.grow(count, &next) {
                return newest.insert(hash);
            }
        }
    }

    /// Add a layer to these `count`, unless somebody else has. `false` where there is none to be had.
    #[cold]
    fn grow<L>(&self, count: usize, next: impl Fn(&Self) -> Option<L>) -> bool
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
