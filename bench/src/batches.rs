//! Kinds that take or answer batches of hashes, for measurements that are the same for all.

use mayhap::window::Moment;
use mayhap::{Blocked, Classic, Counting, Fuse, Hash, Quotient, Ribbon, Scalable, Windowed};

/// Answers batches.
pub trait Lookups {
    /// `answers` is cleared and filled, one answer per hash.
    fn lookup(&self, hashes: &[Hash], answers: &mut Vec<bool>);
}

/// Takes batches.
pub trait Inserts {
    /// All of them.
    fn insert_all(&mut self, hashes: &[Hash]);
}

macro_rules! lookups {
    ($($Kind:ty),*) => {$(
        impl Lookups for $Kind {
            fn lookup(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
                self.contains_batch(hashes, answers);
            }
        }
    )*};
}

macro_rules! inserts {
    ($($Kind:ty),*) => {$(
        impl Inserts for $Kind {
            fn insert_all(&mut self, hashes: &[Hash]) {
                self.insert_batch(hashes);
            }
        }
    )*};
}

lookups!(Blocked, Classic, Counting, Fuse, Quotient, Ribbon, Scalable);
inserts!(Blocked, Classic, Counting, Quotient, Scalable);

impl Lookups for Windowed {
    fn lookup(&self, hashes: &[Hash], answers: &mut Vec<bool>) {
        self.contains_batch(hashes, Moment::LAST, answers);
    }
}
