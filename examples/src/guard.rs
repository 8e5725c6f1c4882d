//! A filter in front of a store: absent keys are not looked up there.
//!
//! The one rule that makes it safe: *a key is in the filter before anybody can read it from the
//! store*. So [`Guard::put`] adds first and writes then, both under a lock shared by writers;
//! [`Guard::rebuild`] takes that lock exclusively for an instant, so that every write in progress
//! is finished before it scans the store, and every later one adds to the new filter too. Readers
//! never wait. Without a filter, because it was never built or could not be, everything goes to the
//! store: slower, never wrong.

use mayhap::concurrent::SharedBlocked;
use mayhap::{Blocked, Spec, SpecError};
use std::sync::{Arc, PoisonError, RwLock};

/// The authoritative store. Slow, or it would need no guard.
pub trait Store {
    /// Its error.
    type Error: From<SpecError>;

    /// The value of a key.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Write a value; when this returns, it is visible.
    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Self::Error>;

    /// Remove a key. The filter keeps it until it is rebuilt.
    fn remove(&self, key: &[u8]) -> Result<(), Self::Error>;

    /// The approximate number of keys.
    fn keys(&self) -> Result<u64, Self::Error>;

    /// Visit at least all keys that existed when this was called.
    fn each_key(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error>;
}

/// A store behind a filter of its keys.
#[derive(Debug)]
pub struct Guard<S> {
    store: S,
    fpr: f64,
    filters: RwLock<Filters>,
}

#[derive(Debug, Default)]
struct Filters {
    /// The filter for lookups; `None`: everything goes to the store.
    current: Option<Arc<SharedBlocked>>,
    /// The filter being built.
    next: Option<Arc<SharedBlocked>>,
}

impl<S: Store> Guard<S> {
    /// A guard without a filter yet: everything passes until [`rebuild`](Guard::rebuild).
    pub fn new(store: S, fpr: f64) -> Guard<S> {
        Guard { store, fpr, filters: RwLock::default() }
    }

    /// The value of a key. Absent ones do not reach the store, except for false positives.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        if self.may_have(key) { self.store.get(key) } else { Ok(None) }
    }

    /// Whether the store may have the key; `false` is certain.
    pub fn may_have(&self, key: &[u8]) -> bool {
        let filter = self.filters.read().unwrap_or_else(PoisonError::into_inner).current.clone();
        filter.is_none_or(|filter| filter.contains(key))
    }

    /// Write a value: into the filters first.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), S::Error> {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        for filter in filters.current.iter().chain(&filters.next) {
            filter.insert(key);
        }
        // Still under the lock: a rebuild that missed this key in the filter finds it in the store.
        self.store.put(key, value)
    }

    /// Remove a key from the store.
    pub fn remove(&self, key: &[u8]) -> Result<(), S::Error> {
        self.store.remove(key)
    }

    /// Build a new filter of the store's keys, and swap it in; reads and writes go on. To be called
    /// at the start, and when the old one is full or has too many removed keys.
    pub fn rebuild(&self) -> Result<(), S::Error> {
        let room = self.store.keys()?.saturating_mul(2).max(1_000); // to grow into
        let filter = Arc::new(Blocked::new(Spec::new(room, self.fpr)?)?.into_shared());
        self.write().next = Some(filter.clone());
        let outcome = self.store.each_key(&mut |key| _ = filter.insert(key));
        let mut filters = self.write();
        let next = filters.next.take();
        outcome?; // a half-built filter would deny existing keys: the old one stays
        filters.current = next;
        Ok(())
    }

    /// Whether the filter is over its capacity: time to rebuild.
    pub fn is_full(&self) -> bool {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        filters.current.as_ref().is_some_and(|filter| filter.keys() > filter.spec().capacity())
    }

    /// Continue without a filter.
    pub fn open(&self) {
        self.write().current = None;
    }

    /// The store.
    pub fn store(&self) -> &S {
        &self.store
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Filters> {
        self.filters.write().unwrap_or_else(PoisonError::into_inner)
    }
}
