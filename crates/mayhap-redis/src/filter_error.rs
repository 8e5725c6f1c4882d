//! Why something cannot be done with a filter on a server.

use crate::LinkError;
use mayhap::SpecError;
use std::fmt;

/// Why something cannot be done with a filter on a server.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterError {
    /// The server could not be asked.
    Link(LinkError),
    /// No module for filters there, or one under another prefix.
    NoModule {
        /// Where.
        address: String,
        /// The prefix that was looked for.
        prefix: String,
    },
    /// A filter and a server that do not go together.
    Pairing {
        /// What does not.
        what: String,
        /// What would.
        hint: &'static str,
    },
    /// Nothing is there.
    Missing {
        /// Under which key.
        key: String,
    },
    /// Something is there already.
    Exists {
        /// Under which key.
        key: String,
    },
    /// Something else than a filter is there.
    WrongType {
        /// Under which key.
        key: String,
        /// What.
        got: String,
    },
    /// A descriptor that cannot be believed.
    Descriptor {
        /// Under which key.
        key: String,
        /// What is wrong with it.
        what: String,
    },
    /// Another number of shards than was said.
    Shards {
        /// Of which filter.
        key: String,
        /// The shards it has.
        have: u32,
        /// The shards asked for.
        need: u32,
    },
    /// A shard is gone that the descriptor tells of: evicted, expired or deleted.
    Lost {
        /// Which.
        key: String,
        /// The node that should have it.
        node: String,
    },
    /// What is under a shard's key is not that shard: it was cleared, or deleted and made again.
    NotTheShard {
        /// Which.
        key: String,
        /// The node that has the key.
        node: String,
        /// What is there instead.
        found: String,
    },
    /// Somebody else loads a filter of this name just now.
    Loading {
        /// Which.
        key: String,
        /// Seconds since that load was last heard of.
        heard_s: u64,
    },
    /// What was loaded is not there, or not all of it: servers failed meanwhile.
    NotKept {
        /// Which filter.
        key: String,
        /// What is missing.
        what: String,
    },
    /// Somebody wanted it to end, and what it had done so far is undone.
    Cancelled,
    /// The filter is not the one that was opened: it was deleted or replaced.
    Replaced {
        /// Which.
        key: String,
    },
    /// It has as many items as it was made for, and takes no more.
    Full {
        /// Which, or which shard.
        key: String,
    },
    /// A name that cannot be that of a filter over many keys.
    Name {
        /// What was got.
        got: String,
    },
    /// A name without a byte.
    EmptyName,
    /// No filter can be made to this wish.
    Spec(SpecError),
    /// What the server sent is no filter.
    Damaged {
        /// Under which key.
        key: String,
        /// What is wrong.
        what: String,
    },
    /// What was to be loaded could not be read, or what was saved could not be written.
    Io {
        /// What the system said.
        what: String,
    },
    /// The server answered with an error.
    Refused {
        /// About which key.
        key: String,
        /// What it said.
        what: String,
    },
}

impl FilterError {
    /// The way out, where there is one to tell.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            FilterError::Link(LinkError::Away { .. }) => {
                "is the server there? the address is redis://host:port/db, or redis+cluster://host:port"
            }
            FilterError::Link(LinkError::Unready { .. }) => {
                "the cluster is changing or down: `redis-cli cluster info` tells"
            }
            FilterError::Link(LinkError::Unacknowledged { .. }) => {
                "have the primaries replicas? adding again is safe: what is in stays in"
            }
            FilterError::Link(LinkError::Replica { .. }) => {
                "`redis-cli info replication` tells where the primary is; saving and checking works here, too"
            }
            FilterError::Link(LinkError::Tls { .. }) => {
                "whom to trust is cacert=FILE in the address, or the system's certificates; who we are is cert=FILE and key=FILE"
            }
            FilterError::EmptyName => "is a variable unset?",
            FilterError::NoModule { .. } => {
                "start it with --loadmodule libmayhap_module.so; if its prefix is another one, say ?prefix=MH in the address"
            }
            FilterError::Pairing { hint, .. } => hint,
            FilterError::Missing { .. } => "is the name right?",
            FilterError::Exists { .. } => "choose another name, or delete what is there first",
            FilterError::WrongType { .. } => "choose another name",
            FilterError::Shards { .. } => "leave out --shards: what the filter says is used",
            FilterError::Lost { .. } => {
                "load the filter anew; a server that holds filters must not evict (maxmemory-policy noeviction)"
            }
            FilterError::NotTheShard { .. } => {
                "load the filter anew: nobody else may clear, delete or replace its shards, nor the server evict them (maxmemory-policy noeviction)"
            }
            FilterError::Loading { .. } => {
                "wait until it has ended; if it was killed, its claim lapses within half a minute, and the same file goes on where it was"
            }
            FilterError::NotKept { .. } => {
                "load it again when the servers are well; waiting for replicas keeps what was written through a failover"
            }
            FilterError::Replaced { .. } => "open it again",
            FilterError::Full { .. } => {
                "make a larger one beside it and add to that, or build it anew from all items"
            }
            FilterError::Name { .. } => "choose a name without braces: they decide the slot",
            FilterError::Refused { what, .. } if what.contains("memory") => {
                "give the server more memory (maxmemory, mayhap.max-filter-bytes), or the filter more shards"
            }
            FilterError::Refused { what, .. } if what.contains("capacity must be") => {
                "give it more shards: a key holds at most 1073741824 items"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FilterError::Link(error) => error.fmt(f),
            FilterError::NoModule { address, prefix } => {
                write!(f, "{address}: no module answers {prefix}.* there")
            }
            FilterError::Pairing { what, .. } => f.write_str(what),
            FilterError::Missing { key } => write!(f, "{key}: no such filter"),
            FilterError::Exists { key } => write!(f, "{key}: there is something already"),
            FilterError::WrongType { key, got } => write!(f, "{key}: not a filter but {got}"),
            FilterError::Descriptor { key, what } => {
                write!(f, "{key}: what tells of its shards is damaged: {what}")
            }
            FilterError::Shards { key, have, need } => {
                write!(f, "{key}: it has {have} shards, not {need}")
            }
            FilterError::Lost { key, node } => {
                write!(f, "{key} on {node}: this shard is gone, so nobody knows what was in it")
            }
            FilterError::NotTheShard { key, node, found } => {
                write!(f, "{key} on {node}: not the shard that was there, but {found}")
            }
            FilterError::Loading { key, heard_s } => {
                write!(f, "{key}: being loaded by somebody else, heard of {heard_s} s ago")
            }
            FilterError::NotKept { key, what } => {
                write!(f, "{key}: loaded, but not all there in the end: {what}")
            }
            FilterError::Cancelled => f.write_str("interrupted; what was sent is removed"),
            FilterError::Replaced { key } => write!(f, "{key}: replaced or deleted meanwhile"),
            FilterError::Full { key } => write!(f, "{key}: full, and made not to grow"),
            FilterError::EmptyName => f.write_str("the name of the filter is empty"),
            FilterError::Name { got } => write!(f, "{got}: a name with braces"),
            FilterError::Spec(error) => error.fmt(f),
            FilterError::Damaged { key, what } => write!(f, "{key}: {what}"),
            FilterError::Io { what } => f.write_str(what),
            FilterError::Refused { key, what } => write!(f, "{key}: {what}"),
        }
    }
}

impl std::error::Error for FilterError {}

impl From<LinkError> for FilterError {
    fn from(error: LinkError) -> FilterError {
        FilterError::Link(error)
    }
}

impl From<SpecError> for FilterError {
    fn from(error: SpecError) -> FilterError {
        FilterError::Spec(error)
    }
}
