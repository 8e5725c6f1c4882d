//! A list as a backend returns it, ready for lookups.

#[cfg(feature = "redis")]
use crate::go_list::GoList;
use crate::list::{Explanation, List};
use crate::policy::{Policy, Seconds};
use crate::{SeenError, record};
use mayhap::Hash;

/// A list as a backend returns it.
#[derive(Clone, Debug)]
pub enum View {
    /// Mayhap's own.
    List(List),
    /// In the layout of the Go package.
    #[cfg(feature = "redis")]
    Go(GoList),
}

impl Default for View {
    fn default() -> View {
        View::List(List::default())
    }
}

impl View {
    /// Encoded, unless it is empty.
    pub(crate) fn export(&self) -> Result<Option<Vec<u8>>, SeenError> {
        match self {
            View::List(list) => Ok((!list.is_empty()).then(|| record::encode(list))),
            #[cfg(feature = "redis")]
            View::Go(_) => Err(SeenError::Layout {
                what: "a list of Go filters has nothing to export: only they know their ids; ask both stores while the old lists expire",
            }),
        }
    }

    /// Bytes it takes in a store after compaction.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            View::List(list) if list.is_empty() => 0,
            View::List(list) => record::encode(list).len() as u64,
            #[cfg(feature = "redis")]
            View::Go(list) => list.bytes(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            View::List(list) => list.is_empty(),
            #[cfg(feature = "redis")]
            View::Go(list) => list.is_empty(),
        }
    }

    /// Why this id is hidden, if it is.
    pub(crate) fn explain(&self, id: &[u8], hash: Hash) -> Explanation {
        match self {
            View::List(list) => {
                _ = id;
                list.explain(hash)
            }
            #[cfg(feature = "redis")]
            View::Go(list) => list.explain(id, hash),
        }
    }

    /// Statistics; `bytes` is what it takes in the store.
    pub(crate) fn stats(&self, policy: &Policy, bytes: u64) -> ListStats {
        match self {
            View::List(list) => ListStats {
                ids: list.ids(),
                slices: list.slices() as u64,
                offered: list.offered(),
                bytes,
                false_positive_rate: list.false_positive_rate(),
                oldest: list.oldest(),
                expires: if list.is_empty() { None } else { list.expires(policy) },
            },
            #[cfg(feature = "redis")]
            View::Go(list) => {
                let (ids, slices, false_positive_rate) = list.numbers();
                let offered = list.offers().offered();
                ListStats {
                    ids,
                    slices,
                    offered,
                    bytes,
                    false_positive_rate,
                    oldest: None,
                    expires: None,
                }
            }
        }
    }
}

/// Statistics of one owner's list.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ListStats {
    /// Ids in all slices; one that was marked again in a later slice counts in both.
    pub ids: u64,
    /// Slices.
    pub slices: u64,
    /// Ids on offer.
    pub offered: u64,
    /// Bytes of the list in the store, without the store's overhead.
    pub bytes: u64,
    /// The false-positive rate.
    pub false_positive_rate: f64,
    /// When the first id of the oldest slice came, if known.
    pub oldest: Option<Seconds>,
    /// When the list expires, unless something new comes.
    pub expires: Option<Seconds>,
}
