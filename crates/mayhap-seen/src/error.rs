//! Errors of seen lists.

use crate::{Policy, RecordError};
use std::fmt;
use std::path::PathBuf;

/// Why an operation on a seen list failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SeenError {
    /// An owner's name is too short.
    Owner {
        /// Its bytes.
        got: usize,
        /// The minimum of the policy.
        need: usize,
    },
    /// A call without ids: most likely a caller's bug.
    NoIds,
    /// The store holds something for this owner that is not a list.
    Record {
        /// The owner.
        owner: Vec<u8>,
        /// What is wrong with it.
        error: RecordError,
    },
    /// Another process has the file open.
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The server or disk cannot be reached now, or is not ready. Whether anything was done is not
    /// known.
    Unreachable {
        /// The error.
        what: String,
    },
    /// It was done, but fewer replicas have acknowledged it than required: a failover may lose it.
    Unacknowledged {
        /// The error.
        what: String,
        /// The result all the same: for each operation, which of its ids were known just before.
        known: Vec<Vec<bool>>,
    },
    /// The store rejected the call.
    Refused {
        /// The reason.
        what: String,
    },
    /// The lists are kept by another policy than the one requested. Nothing was changed.
    Policy {
        /// The policy of the store.
        stored: Box<Policy>,
        /// The policy requested.
        asked: Box<Policy>,
    },
    /// The file was removed, replaced or truncated while it was open: nothing written since is
    /// reliable.
    Gone {
        /// The file.
        path: PathBuf,
        /// What happened to it.
        what: &'static str,
    },
    /// Other clients changed the list at every retry.
    Contended {
        /// The owner.
        owner: Vec<u8>,
        /// The number of retries.
        tries: u32,
    },
    /// This layout does not support it.
    Layout {
        /// What is unsupported, and what is supported instead.
        what: &'static str,
    },
}

impl fmt::Display for SeenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SeenError::Owner { got, need } => {
                let bytes = if *got == 1 { "byte" } else { "bytes" };
                write!(f, "an owner of {got} {bytes}: this policy allows {need} at least")
            }
            SeenError::NoIds => write!(f, "no ids: there must be one at least"),
            SeenError::Record { owner, error } => {
                write!(f, "owner {:?}: {error}", String::from_utf8_lossy(owner))
            }
            SeenError::InUse { path } => write!(
                f,
                "{}: another process has it open; a file serves one process at a time, a Redis many",
                path.display()
            ),
            SeenError::Unreachable { what } => write!(f, "the store does not answer: {what}"),
            SeenError::Unacknowledged { what, .. } => {
                write!(f, "done, but a failover may lose it: {what}; marking again does no harm")
            }
            SeenError::Refused { what } => write!(f, "the store refused: {what}"),
            SeenError::Policy { stored, asked } => {
                let pairs = stored.fields().into_iter().zip(asked.fields());
                let differs = pairs.filter(|(stored, asked)| stored != asked);
                let told = differs
                    .map(|((name, stored), (_, asked))| {
                        format!("{name} is {stored} there and {asked} here")
                    })
                    .collect::<Vec<_>>();
                write!(f, "the lists are kept by another policy: {}", told.join(", "))
            }
            SeenError::Gone { path, what } => write!(
                f,
                "{}: {what} while it was open; what was marked since may be lost",
                path.display()
            ),
            SeenError::Contended { owner, tries } => write!(
                f,
                "owner {:?}: changed by others at each of {tries} tries; nothing was done, try again",
                String::from_utf8_lossy(owner)
            ),
            SeenError::Layout { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for SeenError {}

impl SeenError {
    /// Whether it is about another program's value in the same place, such as a key with the same
    /// prefix, rather than a list that cannot be decoded.
    pub fn is_foreign(&self) -> bool {
        let not_ours = matches!(self, SeenError::Record { error: RecordError::NotOurs { .. }, .. });
        not_ours || matches!(self, SeenError::Refused { .. })
    }

    #[cfg(any(feature = "embedded", feature = "redis"))]
    pub(crate) fn record(owner: &[u8], error: RecordError) -> SeenError {
        SeenError::Record { owner: owner.to_vec(), error }
    }
}
