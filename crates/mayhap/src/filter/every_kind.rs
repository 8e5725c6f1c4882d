//! What every kind has, written once: comparing, printing in one line, being empty, being made for a
//! number of keys. What the list of kinds does not give is asked for in each kind's `kind.rs`.

#[cfg(feature = "bitmap")]
use super::Bitmap;
use super::each::{LikeWith, Read};
use super::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Moment, Quotient, Ribbon, Scalable,
    Sharded, SharedBlocked, SharedClassic, SharedScalable, Windowed, for_each_kind,
};
use crate::format::{Array, Codec, FileLayout};
use crate::scheme::Native;
use std::fmt;

/// Whether two filters would be written as the same file, their notes left aside.
fn same_file(a: &FileLayout<'_>, b: &FileLayout<'_>) -> bool {
    let alike = |(a, b): (&Array<'_>, &Array<'_>)| a.params == b.params && a.bytes == b.bytes;
    (a.kind, a.scheme, a.seed_or_key_check) == (b.kind, b.scheme, b.seed_or_key_check)
        && (a.capacity, a.fpr, a.keys) == (b.capacity, b.fpr, b.keys)
        && (a.scheme_data, &a.params) == (b.scheme_data, &b.params)
        && a.arrays.len() == b.arrays.len()
        && a.arrays.iter().zip(&b.arrays).all(alike)
}

/// One line, and nothing that takes long to find out.
pub(crate) fn debug(name: &str, filter: &impl Read, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (keys, bytes, (capacity, fpr)) =
        (filter.keys(Moment::LAST), filter.bytes(), filter.target());
    write!(f, "{name} {{ keys: {keys}, capacity: {capacity}, fpr: {fpr}, bytes: {bytes} }}")
}

macro_rules! every_kind {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        $(
            /// Equal filters have one shape, hash alike and hold the same bits and count: saved, they
            /// are the same file. It does not matter where their bytes are.
            impl<B: AsRef<[u8]>, C: AsRef<[u8]>> PartialEq<$Kind<$($param,)* C>> for $Kind<$($param,)* B> {
                fn eq(&self, other: &$Kind<$($param,)* C>) -> bool {
                    same_file(&Codec::<B>::layout(self), &Codec::<C>::layout(other))
                }
            }

            impl<B: AsRef<[u8]>> $Kind<$($param,)* B> {
                /// Whether nothing is in: every answer is "certainly absent".
                pub fn is_empty(&self) -> bool {
                    Read::keys(self, Moment::LAST) == 0 && Read::fill(self, Moment::LAST) == 0.0
                }
            }
        )*

        // Filters go to other threads, and are read by several at a time.
        const _: () = {
            const fn is_send_and_sync<T: Send + Sync>() {}
            $(is_send_and_sync::<$Kind<$($param,)* $crate::mem::AlignedBuf>>();)*
            $(#[cfg(feature = $feature)] is_send_and_sync::<$Copied>();)*
            is_send_and_sync::<AnyFilter<$crate::mem::AlignedBuf>>();
        };

        impl<B: AsRef<[u8]>> fmt::Debug for AnyFilter<B> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(AnyFilter::$Kind(filter) => filter.fmt(f),)*
                    $(#[cfg(feature = $feature)] AnyFilter::$Copied(filter) => filter.fmt(f),)*
                }
            }
        }

        impl<B: AsRef<[u8]>> AnyFilter<B> {
            /// Whether [`union`](AnyFilter::union) can take the other in: they are of one kind that
            /// can be merged, hash alike and their bits mean the same.
            pub fn is_compatible<C: AsRef<[u8]>>(&self, other: &AnyFilter<C>) -> bool {
                match (self, other) {
                    $((AnyFilter::$Kind(ours), AnyFilter::$Kind(theirs)) => ours.is_like(theirs),)*
                    $(
                        #[cfg(feature = $feature)]
                        (AnyFilter::$Copied(ours), AnyFilter::$Copied(theirs)) => ours.is_like(theirs),
                    )*
                    _ => false,
                }
            }

            /// Whether nothing is in: every answer is "certainly absent".
            pub fn is_empty(&self) -> bool {
                match self {
                    $(AnyFilter::$Kind(filter) => filter.is_empty(),)*
                    $(#[cfg(feature = $feature)] AnyFilter::$Copied(filter) => filter.is_empty(),)*
                }
            }
        }
    };
}

for_each_kind!(every_kind);

impl<B: AsRef<[u8]>, C: AsRef<[u8]>> PartialEq<AnyFilter<C>> for AnyFilter<B> {
    fn eq(&self, other: &AnyFilter<C>) -> bool {
        same_file(&self.layout(), &other.layout())
    }
}

macro_rules! debug_of {
    ($($Kind:ident $(<$($param:ident),*>)?),*) => {$(
        impl<$($($param,)*)? B: AsRef<[u8]>> std::fmt::Debug for $Kind<$($($param,)*)? B> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::filter::every_kind::debug(stringify!($Kind), self, f)
            }
        }
    )*};
}
pub(super) use debug_of;

#[cfg(feature = "bitmap")]
impl fmt::Debug for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bitmap {{ keys: {}, bytes: {} }}", self.keys(), self.bytes())
    }
}

#[cfg(feature = "bitmap")]
impl Bitmap {
    /// Whether nothing is in.
    pub fn is_empty(&self) -> bool {
        self.keys() == 0
    }
}

/// Whether a union is possible, found out beforehand.
macro_rules! is_compatible {
    ($($Kind:ident [$($param:ty,)*], $ours:ident, $theirs:ident => $like:expr;)*) => {$(
        impl<B: AsRef<[u8]>> $Kind<$($param,)* B> {
            /// Whether [`union`](Self::union) can take the other in: they hash alike and their bits
            /// mean the same.
            pub fn is_compatible<C: AsRef<[u8]>>(&self, other: &$Kind<$($param,)* C>) -> bool {
                let ($ours, $theirs) = (self, other);
                $like
            }
        }

        impl<B: AsRef<[u8]>, C: AsRef<[u8]>> $crate::filter::each::LikeWith<$Kind<$($param,)* C>> for $Kind<$($param,)* B> {
            fn is_like(&self, other: &$Kind<$($param,)* C>) -> bool {
                self.is_compatible(other)
            }
        }
    )*};
}
pub(super) use is_compatible;

#[cfg(feature = "bitmap")]
impl LikeWith<Bitmap> for Bitmap {
    fn is_like(&self, _: &Bitmap) -> bool {
        true
    }
}

/// Made for a number of keys and a rate, and nothing else.
macro_rules! with_rate {
    ($($Kind:ident),*) => {$(
        impl $Kind {
            /// An empty filter for this many keys at a false-positive rate of `fpr`: 0.01 is one in a
            /// hundred. For no keys at all there is a filter too. More can be said with a
            /// [`Spec`](crate::Spec).
            pub fn with_rate(keys: u64, fpr: f64) -> Result<$Kind, $crate::SpecError> {
                $Kind::new($crate::Spec::new(keys, fpr)?)
            }
        }
    )*};
}
pub(super) use with_rate;

const _: () = {
    const fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<SharedBlocked>();
    is_send_and_sync::<SharedClassic>();
    is_send_and_sync::<SharedScalable>();
};
