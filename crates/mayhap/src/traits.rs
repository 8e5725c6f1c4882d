//! What filters have in common, for code that does not care which one it has.

use crate::Key;
#[cfg(feature = "alloc")]
use alloc::{boxed::Box, rc::Rc, sync::Arc, vec::Vec};
use core::fmt;

/// Looks up keys. Every filter of this crate implements it, and so do pointers to filters: `&F`, `Box<F>`,
/// `Rc<F>`, `Arc<F>`.
///
/// A function that takes any filter:
///
/// ```
/// use mayhap::{Blocked, Contains, Fuse};
///
/// fn known<'a>(words: &[&'a str], filter: impl Contains) -> Vec<&'a str> {
///     words.iter().copied().filter(|word| filter.contains(word)).collect()
/// }
///
/// let mut seen = Blocked::with_rate(1_000, 0.001)?;
/// seen.insert("ada");
/// let list = Fuse::from_keys(0.001, ["bob"])?;
/// assert_eq!(known(&["ada", "bob"], &seen), ["ada"]);
/// assert_eq!(known(&["ada", "bob"], list), ["bob"]);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
///
/// Filters of different kinds side by side:
///
/// ```
/// # use mayhap::{Blocked, Contains, Fuse};
/// # let seen = Blocked::with_rate(1_000, 0.001)?;
/// # let list = Fuse::from_keys(0.001, ["bob"])?;
/// let filters: Vec<Box<dyn Contains>> = vec![Box::new(seen), Box::new(list)];
/// assert!(filters.iter().any(|filter| filter.contains("bob")));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
///
/// A window of time uses the time of its last insert, since these methods do not take the time. Filters of
/// other programs (a [`Classic`](crate::Classic) with their scheme) do not implement it: their keys are bytes,
/// and a typed value would be encoded differently there.
pub trait Contains {
    /// Whether the key of these bytes may be in; `false` is certain.
    fn contains_bytes(&self, key: &[u8]) -> bool;

    /// Look up all of these keys: `answers` is cleared and filled, one answer per key.
    #[cfg(feature = "alloc")]
    fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        answers.clear();
        answers.extend(keys.iter().map(|key| self.contains_bytes(key)));
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    fn contains(&self, key: impl Key) -> bool
    where
        Self: Sized,
    {
        self.contains_bytes(key.key_bytes().as_ref())
    }
}

/// Takes keys one after another.
///
/// What a filter cannot take is an error and changes nothing: a static kind in an
/// [`AnyFilter`](crate::AnyFilter), a window of time (which must be told the time), text for a set of
/// integers. The kinds that take every key have an `insert` of their own that cannot fail.
///
/// ```
/// use mayhap::{Blocked, Insert, Scalable, Unsupported};
///
/// fn fill(filter: &mut dyn Insert, words: &[&str]) -> Result<usize, Unsupported> {
///     let mut new = 0;
///     for word in words {
///         new += usize::from(filter.try_insert_bytes(word.as_bytes())?);
///     }
///     Ok(new)
/// }
///
/// let mut seen = Blocked::with_rate(1_000, 0.001)?;
/// assert_eq!(fill(&mut seen, &["ada", "bob", "ada"]), Ok(2));
/// // A shared filter is written through a shared reference:
/// let shared = seen.into_shared();
/// assert_eq!(fill(&mut &shared, &["ada", "eve"]), Ok(1));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub trait Insert: Contains {
    /// Insert the key of these bytes. `true`: it was certainly new.
    fn try_insert_bytes(&mut self, key: &[u8]) -> Result<bool, Unsupported>;

    /// Insert a key. `true`: it was certainly new.
    #[inline]
    fn try_insert(&mut self, key: impl Key) -> Result<bool, Unsupported>
    where
        Self: Sized,
    {
        self.try_insert_bytes(key.key_bytes().as_ref())
    }
}

/// Keys can be removed.
pub trait Remove: Insert {
    /// Remove the key of these bytes, which was inserted. `false`: it was certainly not in, nothing
    /// changed.
    fn try_remove_bytes(&mut self, key: &[u8]) -> Result<bool, Unsupported>;

    /// Remove a key that was inserted. `false`: it was certainly not in, nothing changed.
    #[inline]
    fn try_remove(&mut self, key: impl Key) -> Result<bool, Unsupported>
    where
        Self: Sized,
    {
        self.try_remove_bytes(key.key_bytes().as_ref())
    }
}

/// Whatever points at a filter answers for it.
macro_rules! contains_by_pointer {
    ($($Pointer:ty),*) => {$(
        impl<F: Contains + ?Sized> Contains for $Pointer {
            #[inline]
            fn contains_bytes(&self, key: &[u8]) -> bool {
                (**self).contains_bytes(key)
            }

            #[cfg(feature = "alloc")]
            fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
                (**self).contains_bytes_batch(keys, answers);
            }
        }
    )*};
}

/// Whatever points at a filter and may change it.
macro_rules! change_by_pointer {
    ($($Pointer:ty),*) => {$(
        impl<F: Insert + ?Sized> Insert for $Pointer {
            #[inline]
            fn try_insert_bytes(&mut self, key: &[u8]) -> Result<bool, Unsupported> {
                (**self).try_insert_bytes(key)
            }
        }

        impl<F: Remove + ?Sized> Remove for $Pointer {
            #[inline]
            fn try_remove_bytes(&mut self, key: &[u8]) -> Result<bool, Unsupported> {
                (**self).try_remove_bytes(key)
            }
        }
    )*};
}

contains_by_pointer!(&F, &mut F);
change_by_pointer!(&mut F);
#[cfg(feature = "alloc")]
contains_by_pointer!(Box<F>, Rc<F>, Arc<F>);
#[cfg(feature = "alloc")]
change_by_pointer!(Box<F>);

/// A filter was asked for something it cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsupported {
    kind: &'static str,
    what: &'static str,
}

impl Unsupported {
    /// A filter of this kind cannot do something: "a fuse filter" and then the reason.
    pub const fn new(kind: &'static str, what: &'static str) -> Unsupported {
        Unsupported { kind, what }
    }

    /// The name of the kind of filter.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What it cannot do, and what to do instead.
    pub fn reason(&self) -> &'static str {
        self.what
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} filter {}", self.kind, self.what)
    }
}

impl core::error::Error for Unsupported {}
