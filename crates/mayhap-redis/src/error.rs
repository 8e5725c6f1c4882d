//! Why a server could not be asked.

use std::fmt;
use std::io;
use std::time::Duration;

/// Why a server could not be asked.
///
/// Two of these are of the moment: [`Away`](LinkError::Away) and [`Unready`](LinkError::Unready).
/// The others stay until somebody changes something ([`is_of_the_moment`](LinkError::is_of_the_moment)).
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
        /// Which node.
        address: String,
        /// What was said.
        what: String,
    },
    /// A server that cannot answer now: slots on their way, a failover, a server that starts, a
    /// script that runs for long, too few replicas.
    Unready {
        /// Which node.
        address: String,
        /// What was said.
        what: String,
    },
    /// Written, but not known to be on as many replicas as asked for.
    Unacknowledged {
        /// Which node.
        address: String,
        /// How many were asked for.
        replicas: u32,
    },
    /// A node of a cluster that was asked as if it were alone.
    NotACluster {
        /// Which node.
        address: String,
    },
    /// A server that is no part of a cluster was asked as one.
    Standalone {
        /// Which.
        address: String,
    },
    /// A replica was asked to write.
    Replica {
        /// Which.
        address: String,
    },
    /// TLS failed: a certificate that is not trusted, none shown where one is wanted, or one side
    /// that does not speak it.
    Tls {
        /// Which node.
        address: String,
        /// What was said.
        what: String,
    },
    /// The server refused us: a wrong login, a right that is missing, or no such server.
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
    /// Whether it may be over by itself: the server cannot be reached, or cannot answer now.
    /// A wrong password, certificate or address is not.
    pub fn is_of_the_moment(&self) -> bool {
        matches!(self, LinkError::Away { .. } | LinkError::Unready { .. })
    }

    /// A socket failed.
    pub(crate) fn of_io(address: &str, error: &io::Error) -> LinkError {
        let address = address.to_owned();
        if matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) {
            return LinkError::too_late(&address, None);
        }
        #[cfg(feature = "tls")]
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return LinkError::Tls { what: crate::tls::said(tls), address };
        }
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the connection was closed".to_owned(),
            _ => error.to_string(),
        };
        LinkError::Away { address, what }
    }

    /// The time of a call is over.
    pub(crate) fn too_late(address: &str, within: Option<Duration>) -> LinkError {
        let within = within.map_or("in time".to_owned(), |time| format!("within {time:?}"));
        let what =
            format!("no answer {within}; `timeout=SECONDS` in the address is how long to wait");
        LinkError::Away { address: address.to_owned(), what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Request, Router};
    use std::time::Instant;

    /// A server that takes connections and never says a word.
    #[test]
    fn a_silent_server_is_away_and_the_way_out_is_named() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        for scheme in ["redis", "redis+cluster"] {
            let url = format!("{scheme}://127.0.0.1:{port}?timeout=0.05");
            let router = Router::new(Address::parse(&url).unwrap().0, Duration::ZERO);
            let start = Instant::now();
            let ping = Request::command(&redis::cmd("PING"));
            let error = router.ask(&[ping], router.how()).unwrap_err();
            assert!(matches!(error, LinkError::Away { .. }), "{error:?}");
            assert!(error.to_string().contains("timeout=SECONDS"), "{error}");
            assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
            assert!(start.elapsed() < Duration::from_secs(5));
        }
    }
}
