//! Why a server could not be asked.

use redis::{ErrorKind, RedisError};
use std::fmt;

/// Why a server could not be asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkError {
    /// Not an address.
    Address {
        /// What was got, without any password.
        got: String,
        /// What would have been taken.
        need: &'static str,
    },
    /// Nobody answers there, or not in time. Whether anything was done is not known.
    Away {
        /// Where.
        address: String,
        /// What was said.
        what: String,
    },
    /// A cluster that cannot answer now: slots on their way, a failover, a server that starts.
    Unready {
        /// Where.
        address: String,
        /// What was said.
        what: String,
    },
    /// Written, but not known to be on as many replicas as asked for.
    Unacknowledged {
        /// Where.
        address: String,
        /// How many.
        replicas: u32,
    },
    /// A node of a cluster that was asked as if it were alone.
    NotACluster {
        /// Where.
        address: String,
    },
    /// The server answered with an error.
    Refused {
        /// What it said.
        what: String,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Address { got, need } => write!(f, "{got}: not an address; {need}"),
            LinkError::Away { address, what } => write!(f, "{address}: {what}"),
            LinkError::Unready { address, what } => write!(f, "{address}: not ready: {what}"),
            LinkError::Unacknowledged { address, replicas: 1 } => {
                write!(f, "{address}: no replica has acknowledged what was written")
            }
            LinkError::Unacknowledged { address, replicas } => {
                write!(f, "{address}: fewer than {replicas} replicas have what was written")
            }
            LinkError::NotACluster { address } => {
                write!(f, "{address}: a node of a cluster; write redis+cluster:// to ask it as one")
            }
            LinkError::Refused { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for LinkError {}

impl LinkError {
    pub(crate) fn new(address: &str, error: &RedisError) -> LinkError {
        let lost = matches!(
            error.kind(),
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound | ErrorKind::Parse
        );
        if error.is_timeout() {
            let what = "no answer in time; `timeout=SECONDS` in the address is how long to wait";
            return LinkError::Away { address: address.to_owned(), what: what.to_owned() };
        }
        if lost || error.is_cluster_error() || error.is_connection_dropped() {
            LinkError::Away { address: address.to_owned(), what: error.to_string() }
        } else {
            LinkError::Refused { what: error.to_string() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Pool, Request};

    /// A server that takes connections and never says a word.
    #[test]
    fn a_silent_server_is_away_and_the_way_out_is_named() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let url = format!("redis://127.0.0.1:{port}/0?timeout=0.05");
        let pool = Pool::new(Address::parse(&url).unwrap().0).unwrap();
        let error = pool.ask(&[Request::command(redis::cmd("PING"))]).unwrap_err();
        assert!(matches!(error, LinkError::Away { .. }), "{error:?}");
        assert!(error.to_string().contains("timeout=SECONDS"), "{error}");
    }
}
