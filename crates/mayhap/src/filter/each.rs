//! What `AnyFilter` needs of every kind, in one form for all. Users of a kind see its own methods and
//! the traits `Contains`, `Insert` and `Remove`; these here also take the time (which only windows
//! look at), and let a kind refuse what it cannot do.

use super::Moment;
use super::merge::MergeError;
use crate::Key;
use crate::hash::Hash;
use crate::kernel::Mover;
use crate::scheme::Native;

/// Why a kind cannot do something, and what to do instead.
pub(crate) type Reason = &'static str;

/// The half that every kind has.
pub(crate) trait Read {
    fn scheme(&self) -> Option<Native>;
    fn contains_key(&self, key: impl Key, now: Moment) -> bool;
    fn contains_hash(&self, hash: Hash, now: Moment) -> Result<bool, Reason>;
    fn contains_batch(
        &self,
        hashes: &[Hash],
        now: Moment,
        answers: &mut Vec<bool>,
    ) -> Result<(), Reason>;
    /// The keys it was made for (or has grown to) and the rate; zero where nobody said.
    fn target(&self) -> (u64, f64);
    fn keys(&self) -> u64;
    fn bytes(&self) -> u64;
    fn fill(&self) -> f64;
    fn estimate(&self) -> u64;
    fn fpr_now(&self) -> f64;
}

/// The half that a kind may have, if it owns its bytes.
pub(crate) trait Change {
    fn insert_key(&mut self, key: impl Key, now: Moment) -> Result<bool, Reason>;
    fn insert_batch(&mut self, hashes: &[Hash], now: Moment) -> Result<u64, Reason>;
    fn remove_key(&mut self, key: impl Key) -> Result<bool, Reason>;
    fn clear(&mut self) -> Result<(), Reason>;
    fn move_arrays(&mut self, mover: &mut Mover<'_>);
}

/// Merging with the same kind over other bytes. By default there is none.
pub(crate) trait MergeWith<Other> {
    fn union_with(&mut self, _: &Other) -> Result<(), MergeError> {
        Err(placed_by_keys())
    }

    fn intersect_with(&mut self, _: &Other) -> Result<(), MergeError> {
        Err(placed_by_keys())
    }
}

/// Two static filters are never alike.
fn placed_by_keys() -> MergeError {
    let [have, got] = ["placed by its keys", "by others (build one from both)"];
    MergeError { what: "fingerprints", have: have.to_owned(), got: got.to_owned() }
}

pub(super) const NO_REMOVAL: Reason = "cannot give keys up: choose counting or a bitmap";
pub(super) const STATIC: Reason = "is built from all keys at once: build it anew";

/// `Read` by the inherent methods of the same names, for a kind without a clock. What kinds say in
/// different words is given: how it hashes, what it was made for, how long its arrays are.
macro_rules! read_by_name {
    (
        [$($generics:tt)*] $Kind:ty,
        $filter:ident => scheme: $scheme:expr, target: $target:expr, bytes: $bytes:expr
    ) => {
        impl<$($generics)*> $crate::filter::each::Read for $Kind {
            fn scheme(&self) -> Option<$crate::scheme::Native> {
                let $filter = self;
                Some($scheme)
            }

            fn contains_key(&self, key: impl $crate::Key, _: $crate::Moment) -> bool {
                self.contains(key)
            }

            fn contains_hash(&self, hash: $crate::Hash, _: $crate::Moment) -> Result<bool, $crate::filter::each::Reason> {
                Ok(self.contains_hash(hash))
            }

            fn contains_batch(
                &self,
                hashes: &[$crate::Hash],
                _: $crate::Moment,
                answers: &mut Vec<bool>,
            ) -> Result<(), $crate::filter::each::Reason> {
                self.contains_batch(hashes, answers);
                Ok(())
            }

            fn target(&self) -> (u64, f64) {
                let $filter = self;
                $target
            }

            fn keys(&self) -> u64 {
                self.keys()
            }

            fn bytes(&self) -> u64 {
                let $filter = self;
                $bytes
            }

            fn fill(&self) -> f64 {
                self.fill()
            }

            fn estimate(&self) -> u64 {
                self.estimate()
            }

            fn fpr_now(&self) -> f64 {
                self.fpr_now()
            }
        }
    };
}
pub(super) use read_by_name;

/// `Change` by the inherent methods of the same names, for a kind that takes keys at any time; the
/// removal of a key is given.
macro_rules! change_by_name {
    ($Kind:ty, $filter:ident, $key:ident => remove: $remove:expr) => {
        impl $crate::filter::each::Change for $Kind {
            fn insert_key(
                &mut self,
                key: impl $crate::Key,
                _: $crate::Moment,
            ) -> Result<bool, $crate::filter::each::Reason> {
                Ok(self.insert(key))
            }

            fn insert_batch(
                &mut self,
                hashes: &[$crate::Hash],
                _: $crate::Moment,
            ) -> Result<u64, $crate::filter::each::Reason> {
                Ok(self.insert_batch(hashes))
            }

            fn remove_key(
                &mut self,
                $key: impl $crate::Key,
            ) -> Result<bool, $crate::filter::each::Reason> {
                let $filter = self;
                $remove
            }

            fn clear(&mut self) -> Result<(), $crate::filter::each::Reason> {
                self.clear();
                Ok(())
            }

            fn move_arrays(&mut self, mover: &mut $crate::Mover<'_>) {
                self.move_arrays(mover);
            }
        }
    };
}
pub(super) use change_by_name;

/// `Change` for a kind that is built once.
macro_rules! refuse_changes {
    ($Kind:ty, $reason:expr) => {
        impl $crate::filter::each::Change for $Kind {
            fn insert_key(
                &mut self,
                _: impl $crate::Key,
                _: $crate::Moment,
            ) -> Result<bool, $crate::filter::each::Reason> {
                Err($reason)
            }

            fn insert_batch(
                &mut self,
                _: &[$crate::Hash],
                _: $crate::Moment,
            ) -> Result<u64, $crate::filter::each::Reason> {
                Err($reason)
            }

            fn remove_key(
                &mut self,
                _: impl $crate::Key,
            ) -> Result<bool, $crate::filter::each::Reason> {
                Err($reason)
            }

            fn clear(&mut self) -> Result<(), $crate::filter::each::Reason> {
                Err($reason)
            }

            fn move_arrays(&mut self, mover: &mut $crate::Mover<'_>) {
                self.move_arrays(mover);
            }
        }
    };
}
pub(super) use refuse_changes;

/// `MergeWith` by the inherent methods.
macro_rules! merge_by_name {
    ($Kind:ty, $Other:ty) => {
        impl<C: AsRef<[u8]>> $crate::filter::each::MergeWith<$Other> for $Kind {
            fn union_with(&mut self, other: &$Other) -> Result<(), $crate::MergeError> {
                self.union(other)
            }

            fn intersect_with(&mut self, other: &$Other) -> Result<(), $crate::MergeError> {
                self.intersect(other)
            }
        }
    };
}
pub(super) use merge_by_name;
