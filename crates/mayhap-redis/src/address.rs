//! Where a server or a cluster is.

use crate::LinkError;
use std::fmt;
use std::time::Duration;

/// Where a server or a cluster is, and how long to wait for it.
///
/// ```
/// use mayhap_redis::Address;
/// let (address, rest) = Address::parse("redis://:secret@10.0.0.7:6379/2?layout=list")?;
/// assert_eq!(address.to_string(), "redis://10.0.0.7:6379/2"); // never the password
/// assert_eq!(rest, [("layout".to_owned(), "list".to_owned())]);
/// let (cluster, _) = Address::parse("redis+cluster://10.0.0.7:7000,10.0.0.8:7000")?;
/// assert!(cluster.is_cluster());
/// # Ok::<(), mayhap_redis::LinkError>(())
/// ```
#[derive(Clone)]
pub struct Address {
    /// One URL a node, as the client takes them.
    nodes: Vec<String>,
    cluster: bool,
    connect_within: Duration,
    answer_within: Duration,
}

const NEED: &str = "try redis://host:6379/0, rediss://… for TLS, redis+cluster://host:6379,host2:6379, or redis+unix:///path";

impl Address {
    /// Read a URL. What its query says that is not about connecting is handed back, decoded.
    ///
    /// Ours are `cluster=true` (as the scheme `redis+cluster`) and `timeout=SECONDS`.
    pub fn parse(url: &str) -> Result<(Address, Vec<(String, String)>), LinkError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
        let refuse = || Err(LinkError::Address { got: shown(base), need: NEED });
        let (plain, mut cluster) = match scheme {
            "redis" | "rediss" | "redis+unix" | "unix" => (scheme, false),
            "valkey" => ("redis", false),
            "valkeys" => ("rediss", false),
            "redis+cluster" => ("redis", true),
            "rediss+cluster" => ("rediss", true),
            _ => return refuse(),
        };
        if plain == "rediss" && !cfg!(feature = "tls") {
            let need = "this build has no TLS; build it with `--features tls`";
            return Err(LinkError::Address { got: shown(base), need });
        }
        let mut answer_within = Duration::from_secs(5);
        let mut others = vec![];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            match name {
                "cluster" => cluster = cluster || value != "false",
                "timeout" => match value.parse::<f64>() {
                    Ok(seconds) if (0.001..=3600.0).contains(&seconds) => {
                        answer_within = Duration::from_secs_f64(seconds);
                    }
                    _ => {
                        let need = "timeout is in seconds, 0.001 to 3600";
                        return Err(LinkError::Address { got: pair.to_owned(), need });
                    }
                },
                _ => others.push((decoded(name), decoded(value))),
            }
        }
        let (login, hosts) =
            rest.rsplit_once('@').map_or(("", rest), |(login, hosts)| (login, hosts));
        let login = if login.is_empty() { String::new() } else { format!("{login}@") };
        let (hosts, path) = match plain {
            "unix" | "redis+unix" => (hosts, ""),
            _ => hosts.find('/').map_or((hosts, ""), |at| hosts.split_at(at)),
        };
        let nodes: Vec<String> = hosts
            .split(',')
            .filter(|host| !host.is_empty())
            .map(|host| format!("{plain}://{login}{host}{path}"))
            .collect();
        let valid = |node: &String| redis::Client::open(node.as_str()).is_ok();
        if nodes.is_empty() || !nodes.iter().all(valid) || (nodes.len() > 1 && !cluster) {
            return refuse();
        }
        let connect_within = answer_within.min(Duration::from_secs(2));
        Ok((Address { nodes, cluster, connect_within, answer_within }, others))
    }

    /// Whether it is a cluster.
    pub fn is_cluster(&self) -> bool {
        self.cluster
    }

    /// Wait so long for a connection and so long for an answer.
    pub fn with_timeouts(self, connect_within: Duration, answer_within: Duration) -> Address {
        Address { connect_within, answer_within, ..self }
    }

    pub(crate) fn nodes(&self) -> &[String] {
        &self.nodes
    }

    pub(crate) fn connect_within(&self) -> Duration {
        self.connect_within
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.answer_within
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes: Vec<String> = self.nodes.iter().map(|node| shown(node)).collect();
        f.write_str(&nodes.join(","))
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

/// Without who logs in, and by which password.
fn shown(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        (None, Some((_, host))) => host.to_owned(),
        _ => url.to_owned(),
    }
}

/// `%41` and `+` as in queries.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut out, mut at) = (vec![], 0);
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[at], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
                continue;
            }
            (b'+', _) => out.push(b' '),
            (byte, _) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_gives_a_password_away() {
        for url in [
            "redis://u:secret@h:1/0",
            "redis://u:secret@h:1:2/0",
            "http://u:secret@h",
            "u:secret@h",
        ] {
            let said = match Address::parse(url) {
                Ok((address, _)) => format!("{address} {address:?}"),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for url in [
            "",
            "seen.redb",
            "http://h",
            "redis://",
            "redis://a:1,b:2",
            "redis://h:99999",
            "redis://h?timeout=0",
        ] {
            assert!(matches!(Address::parse(url), Err(LinkError::Address { .. })), "{url}");
        }
    }

    #[test]
    fn the_query_is_split_and_decoded() {
        let (address, rest) =
            Address::parse("redis://h:1?cluster=true&prefix=a%3Ab+%zz&layout").unwrap();
        assert!(address.is_cluster());
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(rest, [pair("prefix", "a:b %zz"), pair("layout", "true")]);
    }

    #[test]
    #[cfg(not(feature = "tls"))]
    fn without_tls_we_say_so() {
        let said = Address::parse("rediss://h").unwrap_err().to_string();
        assert!(said.contains("no TLS"), "{said}");
    }
}
