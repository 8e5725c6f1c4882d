//! The kinds of filter by the names that flags take.

use clap::ValueEnum;
use mayhap::sizing::Layout;

/// Generations of a window unless said otherwise: forgets to within a quarter.
pub const GENERATIONS: u32 = 4;
/// What a growing filter's capacity is multiplied by, as the engine's default.
pub const GROWTH: u32 = 4;

/// A kind of filter, or the choice left to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Blocked where the number of keys is known, scalable where it is not
    Auto,
    /// One cache line a key, or a few: the fastest
    Blocked,
    /// The textbook's: the fewest bits among those that can be added to
    Classic,
    /// Keys can be removed again; four times the size
    Counting,
    /// Grows as keys come; nobody need know how many
    Scalable,
    /// Forgets: remembers the last keys, or the last while
    Windowed,
    /// The smallest; made once of all keys, never added to
    Fuse,
    /// Exact, for integers
    Bitmap,
    /// Exact on two lists, --include and --exclude; at the rate for keys in neither
    Cascade,
}

impl KindArg {
    /// The kinds whose bits can be planned, in the order they are shown.
    pub const PLANNED: [KindArg; 6] = [
        KindArg::Blocked,
        KindArg::Classic,
        KindArg::Fuse,
        KindArg::Scalable,
        KindArg::Windowed,
        KindArg::Counting,
    ];

    /// The name as a flag takes it.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// How its bits are laid out; `None` for a bitmap, whose size depends on its ids, and for a
    /// cascade, whose size depends on two lists.
    pub fn layout(self, generations: u32) -> Option<Layout> {
        Some(match self {
            KindArg::Auto | KindArg::Blocked => Layout::Blocked,
            KindArg::Classic => Layout::Classic,
            KindArg::Counting => Layout::Counting,
            KindArg::Scalable => Layout::Scalable { growth: GROWTH },
            KindArg::Windowed => Layout::Windowed { generations },
            KindArg::Fuse => Layout::Fuse,
            KindArg::Bitmap | KindArg::Cascade => return None,
        })
    }
}

/// What a kind can do beside answering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Takes more keys than it was made for at the same rate.
    pub grows: bool,
    /// Gives keys up again.
    pub deletes: bool,
    /// Becomes one with another of its kind.
    pub merges: bool,
    /// Never errs.
    pub exact: bool,
}

impl From<KindArg> for Abilities {
    fn from(kind: KindArg) -> Abilities {
        Abilities {
            grows: matches!(kind, KindArg::Scalable | KindArg::Bitmap),
            deletes: matches!(kind, KindArg::Counting | KindArg::Bitmap),
            merges: !matches!(kind, KindArg::Fuse | KindArg::Cascade),
            exact: kind == KindArg::Bitmap,
        }
    }
}
