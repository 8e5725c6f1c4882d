//! What `AnyFilter` needs of every kind, in one form for all. Users of a kind see its own methods and
//! the traits `Contains`, `Insert` and `Remove`; these here also take the time (which only windows
//! look at), and let a kind refuse what it cannot do.

use super::merge::MergeError;
use super::stats::{LayerStats, WindowStats};
use super::{KindSpec, Moment};
use crate::Key;
use crate::hash::Hash;
use crate::kernel::Relocate;
use crate::scheme::Native;
use crate::spec::{Spec, SpecError};

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
    /// The keys it was made for (or has grown to) and the rate; 0 if unknown.
    fn target(&self) -> (u64, f64);
    fn keys(&self, now: Moment) -> u64;
    fn bytes(&self) -> u64;
    fn fill(&self, now: Moment) -> f64;
    fn estimate(&self, now: Moment) -> u64;
    fn fpr_now(&self, now: Moment) -> f64;

    /// Filters that a lookup may check, one after another.
    fn layer_count(&self) -> u64 {
        1
    }

    /// What each layer is like; `None` for a kind of one array with no one number of probes.
    fn layers(&self) -> Option<Vec<LayerStats>> {
        None
    }

    /// What its capacity is multiplied by when it is full; `None` where it does not grow.
    fn growth(&self) -> Option<u32> {
        None
    }

    /// What it remembers, where it forgets.
    fn window(&self, _: Moment) -> Option<WindowStats> {
        None
    }
}

/// A pass over all hashes, which are handed to the callback.
pub(crate) type Pass<'a> = &'a mut dyn FnMut(&mut (dyn FnMut(Hash) + Send));

/// How a kind comes into being. What a kind cannot do is an error that says so.
pub(crate) trait Create: Sized {
    /// With nothing in. With `bits` it is laid out to use these, whatever the rate would need.
    fn create(kind: &KindSpec, spec: Spec, bits: Option<u64>) -> Result<Self, SpecError>;

    /// With all keys in.
    fn from_hashes(kind: &KindSpec, spec: Spec, hashes: &mut [Hash]) -> Result<Self, SpecError>;

    /// With all keys in, of which at most `max_hashes` are held at a time. Every pass must give
    /// the same hashes, in any order.
    fn from_passes(
        kind: &KindSpec,
        spec: Spec,
        _max_hashes: usize,
        pass: Pass<'_>,
    ) -> Result<Self, SpecError> {
        let mut hashes = Vec::new();
        pass(&mut |hash| hashes.push(hash));
        Self::from_hashes(kind, spec, &mut hashes)
    }
}

/// The half that a kind may have, if it owns its bytes.
pub(crate) trait Change {
    fn insert_key(&mut self, key: impl Key, now: Moment) -> Result<bool, Reason>;
    fn insert_batch(&mut self, hashes: &[Hash], now: Moment) -> Result<u64, Reason>;
    fn insert_batch_new(
        &mut self,
        hashes: &[Hash],
        now: Moment,
        new: &mut Vec<bool>,
    ) -> Result<(), Reason>;
    fn remove_key(&mut self, key: impl Key) -> Result<bool, Reason>;
    fn clear(&mut self) -> Result<(), Reason>;
    fn relocate(&mut self, memory: &mut Relocate<'_>);
}

/// Merging with the same kind over other bytes. By default there is none.
pub(crate) trait MergeWith<Other> {
    fn union_with(&mut self, _: &Other) -> Result<(), MergeError> {
        Err(MergeError::of_static_kinds())
    }

    fn intersect_with(&mut self, _: &Other) -> Result<(), MergeError> {
        Err(MergeError::of_static_kinds())
    }
}

/// Whether two filters can be merged. By default they cannot.
pub(crate) trait LikeWith<Other> {
    fn is_like(&self, _: &Other) -> bool {
        false
    }
}

pub(super) const NO_REMOVAL: Reason = "cannot give keys up: choose quotient or a bitmap";
pub(super) const STATIC: Reason = "is built from all keys at once: build it again";

/// `Read` by the inherent methods of the same names, for a kind without a clock. What kinds say in
/// different words is given: how it hashes, what it was made for, how long its arrays are.
macro_rules! read_by_name {
    (
        [$($generics:tt)*] $Kind:ty,
        $filter:ident => scheme: $scheme:expr, target: $target:expr, bytes: $bytes:expr
        $(; $($more:item)*)?
    ) => {
        impl<$($generics)*> $crate::filter::each::Read for $Kind {
            fn scheme(&self) -> Option<$crate::scheme::Native> {
                let $filter = self;
                Some($scheme)
            }

            fn contains_key(&self, key: impl $crate::Key, _: $crate::window::Moment) -> bool {
                self.contains(key)
            }

            fn contains_hash(&self, hash: $crate::Hash, _: $crate::window::Moment) -> Result<bool, $crate::filter::each::Reason> {
                Ok(self.contains_hash(hash))
            }

            fn contains_batch(
                &self,
                hashes: &[$crate::Hash],
                _: $crate::window::Moment,
                answers: &mut Vec<bool>,
            ) -> Result<(), $crate::filter::each::Reason> {
                self.contains_batch(hashes, answers);
                Ok(())
            }

            fn target(&self) -> (u64, f64) {
                let $filter = self;
                $target
            }

            fn keys(&self, _: $crate::window::Moment) -> u64 {
                self.keys()
            }

            fn bytes(&self) -> u64 {
                let $filter = self;
                $bytes
            }

            fn fill(&self, _: $crate::window::Moment) -> f64 {
                self.fill()
            }

            fn estimate(&self, _: $crate::window::Moment) -> u64 {
                self.estimate()
            }

            fn fpr_now(&self, _: $crate::window::Moment) -> f64 {
                self.fpr_now()
            }

            $($($more)*)?
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
                _: $crate::window::Moment,
            ) -> Result<bool, $crate::filter::each::Reason> {
                Ok(self.insert(key))
            }

            fn insert_batch(
                &mut self,
                hashes: &[$crate::Hash],
                _: $crate::window::Moment,
            ) -> Result<u64, $crate::filter::each::Reason> {
                Ok(self.insert_batch(hashes))
            }

            fn insert_batch_new(
                &mut self,
                hashes: &[$crate::Hash],
                _: $crate::window::Moment,
                new: &mut Vec<bool>,
            ) -> Result<(), $crate::filter::each::Reason> {
                self.insert_batch_new(hashes, new);
                Ok(())
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

            fn relocate(&mut self, memory: &mut $crate::mem::Relocate<'_>) {
                self.relocate(memory);
            }
        }
    };
}
pub(super) use change_by_name;

/// `Change` for a kind that is built once.
macro_rules! unsupported_changes {
    ($Kind:ty, $reason:expr) => {
        impl $crate::filter::each::Change for $Kind {
            fn insert_key(
                &mut self,
                _: impl $crate::Key,
                _: $crate::window::Moment,
            ) -> Result<bool, $crate::filter::each::Reason> {
                Err($reason)
            }

            fn insert_batch(
                &mut self,
                _: &[$crate::Hash],
                _: $crate::window::Moment,
            ) -> Result<u64, $crate::filter::each::Reason> {
                Err($reason)
            }

            fn insert_batch_new(
                &mut self,
                _: &[$crate::Hash],
                _: $crate::window::Moment,
                _: &mut Vec<bool>,
            ) -> Result<(), $crate::filter::each::Reason> {
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

            fn relocate(&mut self, memory: &mut $crate::mem::Relocate<'_>) {
                self.relocate(memory);
            }
        }
    };
}
pub(super) use unsupported_changes;

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

/// `Create` for a kind that keys are inserted into, by how an empty one is made.
macro_rules! create_empty {
    ($Kind:ty, $kind:ident, $spec:ident, $bits:ident => $create:expr) => {
        impl $crate::filter::each::Create for $Kind {
            fn create(
                $kind: &$crate::KindSpec,
                $spec: $crate::Spec,
                $bits: Option<u64>,
            ) -> Result<Self, $crate::SpecError> {
                $create
            }

            fn from_hashes(
                kind: &$crate::KindSpec,
                spec: $crate::Spec,
                hashes: &mut [$crate::Hash],
            ) -> Result<Self, $crate::SpecError> {
                let mut filter = Self::create(kind, spec, None)?;
                $crate::filter::each::Change::insert_batch(
                    &mut filter,
                    hashes,
                    $crate::window::Moment::LAST,
                )
                .map_err(|what| $crate::SpecError::Kind { kind: kind.kind(), what })?;
                Ok(filter)
            }
        }
    };
}
pub(super) use create_empty;

/// `Create` by the inherent methods, for a kind that is built from all hashes at once.
macro_rules! create_static {
    ($Kind:ty) => {
        impl $crate::filter::each::Create for $Kind {
            fn create(
                kind: &$crate::KindSpec,
                _: $crate::Spec,
                _: Option<u64>,
            ) -> Result<Self, $crate::SpecError> {
                let what = $crate::filter::each::STATIC;
                Err($crate::SpecError::Kind { kind: kind.kind(), what })
            }

            fn from_hashes(
                _: &$crate::KindSpec,
                spec: $crate::Spec,
                hashes: &mut [$crate::Hash],
            ) -> Result<Self, $crate::SpecError> {
                Self::from_hashes(spec, hashes)
            }

            fn from_passes(
                _: &$crate::KindSpec,
                spec: $crate::Spec,
                max_hashes: usize,
                pass: $crate::filter::each::Pass<'_>,
            ) -> Result<Self, $crate::SpecError> {
                Self::build(spec, max_hashes, pass)
            }
        }
    };
}
pub(super) use create_static;
