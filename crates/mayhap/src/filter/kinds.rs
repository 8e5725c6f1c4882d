//! The list of kinds: what there is, under which number and name. A new kind is one row here, beside
//! its own module; enums, conversions, files and tests follow from the list.

use std::fmt;

/// Calls a macro with the list of kinds. A row is: the kind, its number in files (frozen), its name,
/// its type's parameters before the bytes, what it is for.
///
/// `in_place` kinds can be used over borrowed bytes, a mapped file for example; `copied` ones own
/// what they hold, and may depend on a feature.
macro_rules! for_each_kind {
    ($callback:ident) => {
        $callback! {
            in_place {
                Classic = 1 "classic" [Native,] "the textbook layout: the fewest bits of the kinds that keys can be added to";
                Blocked = 2 "blocked" [] "one or two cache lines per key: the fastest, and the default";
                Counting = 3 "counting" [] "counters instead of bits: keys can be removed";
                Scalable = 4 "scalable" [] "grows in layers: the number of keys need not be known";
                Windowed = 5 "windowed" [] "forgets: only the newest keys, by number or by time";
                Fuse = 6 "fuse" [] "static: built once from all keys, quickly, and small";
                Cascade = 8 "cascade" [] "static: exact on two lists of keys";
                Sharded = 9 "sharded" [] "in parts for the nodes of a cluster";
                Ribbon = 10 "ribbon" [] "static: built once from all keys, the smallest";
            }
            copied {
                Bitmap = 7 "bitmap" "bitmap" "exact: a compressed set of integers";
            }
        }
    };
}
pub(crate) use for_each_kind;

macro_rules! define_kind {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal $copied_about:literal;)* }
    ) => {
        /// The kinds of filter. Their numbers are written in files: frozen and append-only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Kind {
            $(#[doc = concat!("[`", stringify!($Kind), "`](crate::", stringify!($Kind), "): ", $about, ".")] $Kind = $id,)*
            $(#[doc = concat!("`", stringify!($Copied), "`: ", $copied_about, ".")] $Copied = $copied_id,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Kind] = &[$(Kind::$Kind,)* $(Kind::$Copied,)*];

            /// The name shown to people.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Kind::$Kind => $name,)*
                    $(Kind::$Copied => $copied_name,)*
                }
            }

            /// What it is for, in a few words.
            pub const fn about(self) -> &'static str {
                match self {
                    $(Kind::$Kind => $about,)*
                    $(Kind::$Copied => $copied_about,)*
                }
            }
        }
    };
}

for_each_kind!(define_kind);

impl Kind {
    /// The number written in files.
    pub const fn id(self) -> u16 {
        self as u16
    }

    /// The kind with this number.
    pub fn from_id(id: u16) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.id() == id)
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
