//! Why a filter cannot be changed.

use super::{HostError, OpenError};
use crate::budget::OverBudget;
use crate::map::MapError;
use mayhap::format::{FormatError, MetadataError};
use mayhap::{Kind, MergeError, Unsupported};
use mayhap_foreign::ForeignError;

/// Why a filter cannot be changed. Its file stays as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Keys could not be read.
    #[error("{0}")]
    Source(#[from] HostError),
    /// With so many keys it would take more memory than allowed.
    #[error("{over}")]
    Memory {
        /// How much more.
        over: OverBudget,
        /// The keys it would hold.
        keys: u64,
    },
    /// A copy of it would take more memory than allowed.
    #[error("{over}")]
    Copy {
        /// How much more.
        over: OverBudget,
    },
    /// Its file is damaged.
    #[error("{error}")]
    Format {
        /// What is wrong with it.
        error: FormatError,
    },
    /// Its file was written to in place.
    #[error("{0}")]
    Changed(#[from] MapError),
    /// A kind that is built once, from all of its keys.
    #[error("a {kind} filter is built once, from all its keys")]
    Static {
        /// The kind.
        kind: Kind,
    },
    /// A cascade, which is built from two lists.
    #[error("a cascade is built from whole lists")]
    TwoLists,
    /// Only cascades have a stash.
    #[error("a {name} filter has no stash")]
    NoStash {
        /// What it is.
        name: &'static str,
    },
    /// A filter from which keys cannot be removed.
    #[error("keys cannot be removed from a {name} filter")]
    NoRemoval {
        /// What it is.
        name: &'static str,
    },
    /// A key that a set of integers cannot hold.
    #[error("a bitmap holds integers only")]
    NotAnInteger,
    /// Its bytes, written to be copied, could not be read again.
    #[error("{0}")]
    Reopened(#[source] Box<OpenError>),
    /// Something else that the kind cannot do.
    #[error("{0}")]
    Unsupported(#[from] Unsupported),
    /// Two filters that cannot become one.
    #[error("{0}")]
    Merge(#[from] MergeError),
    /// Two filters of a kind that is built once, from all of its keys.
    #[error("{error}")]
    MergeStatic {
        /// The kind.
        kind: Kind,
        /// Where they differ.
        error: MergeError,
    },
    /// Two filters of different make.
    #[error("a {this} filter does not merge with a {that} filter")]
    Unlike {
        /// What the first is.
        this: &'static str,
        /// What the second is.
        that: &'static str,
    },
    /// Two filters that mean different things by a key.
    #[error("keys are read differently: {this} and {that}")]
    Keys {
        /// What the first says.
        this: String,
        /// What the second says.
        that: String,
    },
    /// Other programs' filters have a union only.
    #[error("other programs' filters have a union, and no intersection")]
    NoIntersection,
    /// Another program's filter, where one of Mayhap's own is needed.
    #[error("it is a {name} filter, and one of Mayhap's own kinds is needed")]
    NotNative {
        /// Whose it is.
        name: &'static str,
    },
    /// One of Mayhap's own filters, whose bits mean nothing in another format.
    #[error("it is a filter of Mayhap's own already")]
    Native,
    /// Another program's filter says no.
    #[error("{0}")]
    Foreign(#[from] ForeignError),
    /// More metadata than a file holds.
    #[error("{0}")]
    Metadata(#[from] MetadataError),
}
