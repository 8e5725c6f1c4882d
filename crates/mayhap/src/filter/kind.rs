//! The kinds there are, by number and by name.

use std::fmt;

/// The kinds of filter. Their numbers are written in files: frozen and append-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u16)]
pub enum Kind {
    /// [`Classic`](crate::Classic).
    Classic = 1,
    /// [`Blocked`](crate::Blocked).
    Blocked = 2,
    /// [`Counting`](crate::Counting).
    Counting = 3,
    /// [`Scalable`](crate::Scalable).
    Scalable = 4,
    /// [`Windowed`](crate::Windowed).
    Windowed = 5,
    /// [`Fuse`](crate::Fuse).
    Fuse = 6,
    /// `Bitmap`, an exact set of integers.
    Bitmap = 7,
    /// [`Cascade`](crate::Cascade).
    Cascade = 8,
    /// [`Sharded`](crate::Sharded).
    Sharded = 9,
}

impl Kind {
    /// Every kind, in the order of their numbers.
    pub const ALL: [Kind; 9] = [
        Kind::Classic,
        Kind::Blocked,
        Kind::Counting,
        Kind::Scalable,
        Kind::Windowed,
        Kind::Fuse,
        Kind::Bitmap,
        Kind::Cascade,
        Kind::Sharded,
    ];

    /// The number written in files.
    pub const fn id(self) -> u16 {
        self as u16
    }

    /// The kind with this number.
    pub fn from_id(id: u16) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.id() == id)
    }

    /// The name shown to people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Classic => "classic",
            Kind::Blocked => "blocked",
            Kind::Counting => "counting",
            Kind::Scalable => "scalable",
            Kind::Windowed => "windowed",
            Kind::Fuse => "fuse",
            Kind::Bitmap => "bitmap",
            Kind::Cascade => "cascade",
            Kind::Sharded => "sharded",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
