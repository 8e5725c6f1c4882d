//! Errors of connections and servers.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why a request could not be executed.
///
/// Two of these are temporary: [`Unreachable`](LinkError::Unreachable) and
/// [`Unready`](LinkError::Unready), see [`is_of_the_moment`](LinkError::is_of_the_moment). The
/// others remain until somebody changes something.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum LinkError {
    /// Not a valid address.
    Address {
        /// What was given, without any password.
        got: String,
        /// What is allowed.
        need: &'static str,
    },
    /// The server does not answer, or not in time. Whether the request was executed is not known.
    Unreachable {
        /// Which node.
        address: String,
        /// The error.
        what: String,
    },
    /// A server that cannot answer now: slots being migrated, a failover, a server starting up, a
    /// long-running script, too few replicas.
    Unready {
        /// Which node.
        address: String,
        /// The error.
        what: String,
    },
    /// Written, but not acknowledged by as many replicas as required.
    Unacknowledged {
        /// Which node.
        address: String,
        /// How many were required.
        replicas: u32,
    },
    /// A node of a cluster that was addressed as a single server.
    NotACluster {
        /// Which node.
        address: String,
    },
    /// A single server that was addressed as a cluster.
    Standalone {
        /// Which.
        address: String,
    },
    /// A write was sent to a replica.
    Replica {
        /// Which.
        address: String,
    },
    /// TLS failed: a certificate that is not trusted, a missing client certificate, or a side
    /// without TLS.
    Tls {
        /// Which node.
        address: String,
        /// The error.
        what: String,
    },
    /// The server rejected us: wrong login, missing permission, or no such server.
    Refused {
        /// Its message.
        what: String,
    },
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Address { got, need } => write!(f, "{got}: not an address; {need}"),
            LinkError::Unreachable { address, what } => write!(f, "{address}: {what}"),
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
            LinkError::Standalone { address } => {
                write!(f, "{address}: not a cluster but a single server; write redis:// to ask it")
            }
            LinkError::Replica { address } => {
                write!(f, "{address}: a replica, which takes no writes; write to its primary")
            }
            LinkError::Tls { address, what } => write!(f, "{address}: TLS: {what}"),
            LinkError::Refused { what } => f.write_str(what),
        }
    }
}

impl std::error::Error for LinkError {}

impl LinkError {
    /// Whether it may go away by itself: the server cannot be reached, or cannot answer now. A
    /// wrong password, certificate or address does not.
    pub fn is_of_the_moment(&self) -> bool {
        matches!(self, LinkError::Unreachable { .. } | LinkError::Unready { .. })
    }

    /// A socket error.
    pub(crate) fn of_io(address: &str, error: &io::Error) -> LinkError {
        let address = address.to_owned();
        if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) {
            return LinkError::too_late(&address, None);
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return LinkError::Tls { what: crate::tls::message(tls), address };
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
            _ => error.to_string(),
        };
        LinkError::Unreachable { address, what }
    }

    /// The deadline of the call has passed.
    pub(crate) fn too_late(address: &str, within: Option<Duration>) -> LinkError {
        let within = within.map_or("in time".to_owned(), |time| format!("within {time:?}"));
        let what =
            format!("no answer {within}; `timeout=SECONDS` in the address is how long to wait");
        LinkError::Unreachable { address: address.to_owned(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Request, Router};
    use std::time::Instant;

    /// A server that accepts connections and never answers.
    #[test]
    fn a_silent_server_is_away_and_the_way_out_is_named() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        for scheme in ["redis", "redis+cluster"] {
            let url = format!("{scheme}://127.0.0.1:{port}?timeout=0.05");
            let router = Router::new(Address::parse(&url).unwrap().0, Duration::ZERO);
            let start = Instant::now();
            let ping = Request::command(&redis::cmd("PING"));
            let error = router.send(&[ping], router.options()).unwrap_err();
            assert!(matches!(error, LinkError::Unreachable { .. }), "{error:?}");
            assert!(error.to_string().contains("timeout=SECONDS"), "{error}");
            assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
            assert!(start.elapsed() < Duration::from_secs(5));
        }
    }
}
