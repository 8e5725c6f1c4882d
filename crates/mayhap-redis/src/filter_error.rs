//! Errors of filters on a server.

use crate::LinkError;
use mayhap::SpecError;
use std::fmt;

/// Why an operation on a filter failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FilterError {
    /// The server could not be reached, or rejected us.
    Link(LinkError),
    /// No module for filters there, or one with another command prefix.
    NoModule {
        /// The address.
        address: String,
        /// The prefix that was tried.
        prefix: String,
    },
    /// An operation that the server's module does not support.
    Pairing {
        /// What is unsupported.
        what: String,
        /// What is supported.
        hint: &'static str,
    },
    /// The server's module cannot hold Mayhap filters; RedisBloom's it may.
    NotNative {
        /// The module's name.
        module: &'static str,
    },
    /// The server's module has no command to save a filter with.
    NoSave {
        /// The module's name.
        module: &'static str,
    },
    /// The key does not exist.
    Missing {
        /// The key.
        key: String,
    },
    /// The key exists already.
    Exists {
        /// The key.
        key: String,
    },
    /// The key holds something other than a filter.
    WrongType {
        /// The key.
        key: String,
        /// Its type.
        got: String,
    },
    /// A damaged descriptor.
    Descriptor {
        /// The key.
        key: String,
        /// What is wrong with it.
        what: String,
    },
    /// The number of shards differs from the one given.
    Shards {
        /// The filter.
        key: String,
        /// The shards it has.
        have: u32,
        /// The shards given.
        need: u32,
    },
    /// A shard of the descriptor is missing: evicted, expired or deleted.
    Lost {
        /// The shard's key.
        key: String,
        /// The node that should have it.
        node: String,
    },
    /// The key of a shard does not hold that shard: it was cleared, or deleted and created again.
    NotTheShard {
        /// The shard's key.
        key: String,
        /// The node that has the key.
        node: String,
        /// What is there instead.
        found: String,
    },
    /// A filter lies under the name of a larger one whose shards are still there.
    ShardsBeside {
        /// The name.
        key: String,
        /// The first of the shards.
        shard: String,
    },
    /// Another process is loading a filter of this name.
    Loading {
        /// The filter.
        key: String,
        /// Seconds since the last sign of life of that load.
        heard_s: u64,
    },
    /// What was loaded is missing, or part of it: servers failed meanwhile.
    NotKept {
        /// The filter.
        key: String,
        /// What is missing.
        what: String,
    },
    /// Cancelled; what had been done is undone.
    Cancelled,
    /// The filter is not the one that was opened: it was deleted or replaced.
    Replaced {
        /// The filter.
        key: String,
    },
    /// It is full: it holds as many items as it was created for.
    Full {
        /// The filter or shard.
        key: String,
    },
    /// Not a valid name for a sharded filter.
    Name {
        /// What was given.
        got: String,
    },
    /// An empty name.
    EmptyName,
    /// Parameters that no filter can have.
    Spec(SpecError),
    /// What the server sent is not a filter.
    Damaged {
        /// The key.
        key: String,
        /// What is wrong.
        what: String,
    },
    /// Reading the filter to load, or writing the saved one, failed.
    Io {
        /// The system's error.
        what: String,
    },
    /// The server replied with an error.
    Refused {
        /// The key.
        key: String,
        /// Its message.
        what: String,
    },
}

impl FilterError {
    /// What to do about it, if that is the same for every host. None of them names a flag: a host that
    /// has flags adds its own.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            FilterError::Link(LinkError::Unreachable { .. }) => {
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
                "load libmayhap_module.so there, with `loadmodule` in its configuration; if its prefix is another one, say ?prefix=MH in the address"
            }
            FilterError::Pairing { hint, .. } => hint,
            FilterError::NotNative { .. } => {
                "load the module of mayhap there, or build the filter in the format of RedisBloom"
            }
            FilterError::NoSave { .. } => "DUMP it and read the payload",
            FilterError::Missing { .. } => "is the name right?",
            FilterError::Exists { .. } => "choose another name, or delete what is there first",
            FilterError::WrongType { .. } => "choose another name",
            FilterError::Shards { .. } => "the filter says how many it has: give no other number",
            FilterError::Lost { .. } => {
                "load the filter again; a server that holds filters must not evict (maxmemory-policy noeviction)"
            }
            FilterError::NotTheShard { .. } => {
                "load the filter again: nobody else may clear, delete or replace its shards, nor the server evict them (maxmemory-policy noeviction)"
            }
            FilterError::ShardsBeside { .. } => {
                "delete the filter that took the name and load the larger one again, or delete the shards that are left (orphans)"
            }
            FilterError::Loading { .. } => {
                "wait until it has ended; if it was killed, its claim expires within half a minute, and loading the same file continues where it stopped"
            }
            FilterError::NotKept { .. } => {
                "load it again when the servers are well; waiting for replicas keeps what was written through a failover"
            }
            FilterError::Replaced { .. } => "open it again",
            FilterError::Full { .. } => {
                "create a larger one beside it and add to that, or build it again from all items"
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
            FilterError::NotNative { module } => {
                write!(
                    f,
                    "the server has {module}, which cannot hold filters of mayhap's own format"
                )
            }
            FilterError::NoSave { module } => {
                write!(f, "{module} has no command to save a filter with")
            }
            FilterError::Missing { key } => write!(f, "{key}: no such filter"),
            FilterError::Exists { key } => write!(f, "{key}: there is something already"),
            FilterError::WrongType { key, got } => write!(f, "{key}: not a filter but {got}"),
            FilterError::Descriptor { key, what } => {
                write!(f, "{key}: what tells of its shards is damaged: {what}")
            }
            FilterError::Shards { key, have, need } => {
                let ending = if *have == 1 { "" } else { "s" };
                write!(f, "{key}: it has {have} shard{ending}, not {need}")
            }
            FilterError::Lost { key, node } => {
                write!(f, "{key} on {node}: this shard is gone, and with it what it held")
            }
            FilterError::NotTheShard { key, node, found } => {
                write!(f, "{key} on {node}: not the shard that was there, but {found}")
            }
            FilterError::ShardsBeside { key, shard } => write!(
                f,
                "{key}: a filter that took the name of a larger one, whose shards are still there ({shard} and others)"
            ),
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
