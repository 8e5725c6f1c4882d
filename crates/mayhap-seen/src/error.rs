//! Why a seen list could not answer.

use crate::{Policy, RecordError};
use std::fmt;
use std::path::PathBuf;

/// Why a seen list could not answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SeenError {
    /// An owner's name too short to be one.
    Owner {
        /// Its bytes.
        got: usize,
        /// The least the policy allows.
        need: usize,
    },
    /// A call without ids: most likely a caller's bug.
    NoIds,
    /// The store holds something for this owner that is not a list.
    Record {
        /// Whose list.
        owner: Vec<u8>,
        /// What is wrong with it.
        error: RecordError,
    },
    /// Another process has the file open.
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The server or disk cannot be reached now, or is not ready. Nothing is known to be done.
    Away {
        /// What was said.
        what: String,
    },
    /// It was done, but fewer replicas have it than were asked for: a failover may lose it.
    Unacknowledged {
        /// What was said.
        what: String,
        /// The answer all the same: of each change, which of its ids were known just before.
        known: Vec<Vec<bool>>,
    },
    /// The store refused.
    Refused {
        /// What was said.
        what: String,
    },
    /// The lists are kept by another policy than the one asked for. Nothing was changed.
    Policy {
        /// The one they are kept by.
        stored: Box<Policy>,
        /// The one asked for.
        asked: Box<Policy>,
    },
    /// The file was removed, replaced or cut off while it was open: nothing written since can be
    /// relied on.
    Gone {
        /// The file.
        path: PathBuf,
        /// What became of it.
        what: &'static str,
    },
    /// Others changed the list at every try.
    Contended {
        /// Whose list.
        owner: Vec<u8>,
        /// How often it was tried.
        tries: u32,
    },
    /// This layout cannot do that.
    Layout {
        /// What, and what can.
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
            SeenError::Away { what } => write!(f, "the store does not answer: {what}"),
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
    /// Whether it tells of a value that another program keeps in the same place, such as a key
    /// with the same prefix, rather than of a list that cannot be read.
    pub fn is_foreign(&self) -> bool {
        let not_ours = matches!(self, SeenError::Record { error: RecordError::NotOurs { .. }, .. });
        not_ours || matches!(self, SeenError::Refused { .. })
    }

    #[cfg(any(feature = "embedded", feature = "redis"))]
    pub(crate) fn record(owner: &[u8], error: RecordError) -> SeenError {
        SeenError::Record { owner: owner.to_vec(), error }
    }
}
