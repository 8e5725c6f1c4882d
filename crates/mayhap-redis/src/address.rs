//! The address of a server or cluster: nodes, logins, TLS files and the timeout of a call.

use crate::LinkError;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The address of a server or cluster, and how long a call to it may take.
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
    /// Without logins: safe to show.
    name: String,
    seeds: Vec<Seed>,
    db: i64,
    cluster: bool,
    tls: bool,
    certificates: Certificates,
    timeout: Option<Duration>,
}

/// A node that the address names.
#[derive(Clone)]
struct Seed {
    node: Node,
    login: Login,
}

/// Host and port of a node. A Unix socket has its path as host, and port 0.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Node {
    pub host: String,
    pub port: u16,
}

/// User name and password. Never printed.
#[derive(Clone, Default)]
pub(crate) struct Login {
    pub user: Option<String>,
    pub password: Option<String>,
}

/// PEM files, for servers behind TLS.
#[derive(Clone, Default)]
pub(crate) struct Certificates {
    /// The trusted certificate authority; the system's when absent.
    pub authority: Option<PathBuf>,
    /// The client certificate, for servers that ask for one (`tls-auth-clients yes`), and its key.
    pub client: Option<(PathBuf, PathBuf)>,
}

const NEED: &str = "try redis://host:6379/0, rediss://… for TLS, redis+cluster://host:6379,host2:6379, or redis+unix:///path";

impl Address {
    /// Parse a URL. Query parameters that are not about the connection are returned, decoded.
    ///
    /// Known are `cluster=true` (same as the scheme `redis+cluster`), `timeout=SECONDS`, the limit
    /// for a whole call, and for TLS the files `cacert=`, `cert=` and `key=`.
    ///
    /// Each node of a cluster may have its own login, `a:b@host1:1,c:d@host2:2`; nodes without one,
    /// and nodes that the cluster reports, use the first.
    pub fn parse(url: &str) -> Result<(Address, Vec<(String, String)>), LinkError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (scheme, rest) = base.split_once("://").unwrap_or(("", base));
        let refuse = |need| Err(LinkError::Address { got: redacted(base), need });
        let (plain, tls, mut cluster) = match scheme {
            "redis" | "valkey" => ("redis", false, false),
            "redis+unix" | "unix" => ("unix", false, false),
            "rediss" | "valkeys" => ("redis", true, false),
            "redis+cluster" => ("redis", false, true),
            "rediss+cluster" => ("redis", true, true),
            _ => return refuse(NEED),
        };
        if tls && !cfg!(feature = "tls") {
            return refuse("this build has no TLS; build it with the feature `tls`");
        }
        let (mut timeout, mut others) = (None, vec![]);
        let (mut authority, mut certificate, mut key) = (None, None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
            if name.contains('@') || name.contains(':') {
                return refuse("a `?` inside of a password is written %3F, an `&` %26");
            }
            match name {
                "cluster" => cluster = cluster || value != "false",
                "timeout" => timeout = Some(seconds(value)?),
                "cacert" => authority = Some(PathBuf::from(decoded(value))),
                "cert" => certificate = Some(PathBuf::from(decoded(value))),
                "key" => key = Some(PathBuf::from(decoded(value))),
                _ => others.push((decoded(name), decoded(value))),
            }
        }
        if !tls && (authority.is_some() || certificate.is_some() || key.is_some()) {
            return refuse("cacert=, cert= and key= are for TLS: rediss://… or rediss+cluster://…");
        }
        let client = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            (None, None) => None,
            _ => return refuse("a client's certificate has two files: cert=FILE and key=FILE"),
        };
        let certificates = Certificates { authority, client };
        let Some((seeds, db)) = seeds(plain, rest) else { return refuse(NEED) };
        if seeds.len() > 1 && !cluster {
            return refuse(NEED);
        }
        let name = name(scheme, &seeds, db);
        Ok((Address { name, seeds, db, cluster, tls, certificates, timeout }, others))
    }

    /// Whether it is the address of a cluster.
    pub fn is_cluster(&self) -> bool {
        self.cluster
    }

    /// The limit for a whole call: connecting, sending, and retries.
    pub fn with_timeout(self, timeout: Duration) -> Address {
        Address { timeout: Some(timeout), ..self }
    }

    /// Trust only certificates signed by this authority (a PEM file).
    pub fn with_authority(mut self, authority: &Path) -> Address {
        self.certificates.authority = Some(authority.to_owned());
        self
    }

    /// Authenticate with this client certificate and its private key (PEM files).
    pub fn with_certificate(mut self, certificate: &Path, key: &Path) -> Address {
        self.certificates.client = Some((certificate.to_owned(), key.to_owned()));
        self
    }

    /// The limit for a call, if one was set.
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    #[cfg_attr(not(feature = "tls"), expect(dead_code))]
    pub(crate) fn certificates(&self) -> &Certificates {
        &self.certificates
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.tls
    }

    pub(crate) fn db(&self) -> i64 {
        self.db
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.seeds.iter().map(|seed| &seed.node)
    }

    /// The login for a node: its own, or the first one of the address.
    pub(crate) fn login(&self, node: &Node) -> &Login {
        let own = self.seeds.iter().find(|seed| seed.node == *node);
        &own.unwrap_or(&self.seeds[0]).login
    }

    /// Host and port of a node, as shown in messages.
    pub(crate) fn node_name(&self, node: &Node) -> String {
        if self.cluster { node.to_string() } else { self.name.clone() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.host.contains(':')) {
            (0, _) => f.write_str(&self.host),
            (port, true) => write!(f, "[{}]:{port}", self.host),
            (port, false) => write!(f, "{}:{port}", self.host),
        }
    }
}

fn seconds(value: &str) -> Result<Duration, LinkError> {
    match value.parse::<f64>() {
        Ok(seconds) if (0.001..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => {
            let need = "timeout is in seconds, 0.001 to 3600";
            Err(LinkError::Address { got: "timeout=…".to_owned(), need })
        }
    }
}

/// The nodes and the database; `None` if the text cannot be parsed.
fn seeds(plain: &str, rest: &str) -> Option<(Vec<Seed>, i64)> {
    if plain == "unix" {
        return Some((vec![seed("unix", "", rest, "")?.0], 0));
    }
    let after_logins = rest.rfind('@').map_or(0, |at| at + 1);
    let (hosts, path) = match rest[after_logins..].find('/') {
        Some(at) => rest.split_at(after_logins + at),
        None => (rest, ""),
    };
    // A single login may contain commas; with several logins a comma separates nodes.
    let (shared, parts): (&str, Vec<&str>) = match hosts.split_once('@') {
        Some((login, hosts)) if !hosts.contains('@') => (login, hosts.split(',').collect()),
        _ => ("", hosts.split(',').collect()),
    };
    let mut seeds: Vec<Seed> = vec![];
    let mut db = 0;
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        let (login, host) = part.rsplit_once('@').unwrap_or((shared, part));
        let (mut next, its_db) = seed(plain, login, host, path)?;
        db = its_db;
        if login.is_empty()
            && let Some(first) = seeds.first()
        {
            next.login = first.login.clone();
        }
        seeds.push(next);
    }
    (!seeds.is_empty()).then_some((seeds, db))
}

/// One node, parsed by the `redis` crate.
fn seed(plain: &str, login: &str, host: &str, path: &str) -> Option<(Seed, i64)> {
    use redis::IntoConnectionInfo;
    let at = if login.is_empty() { "" } else { "@" };
    let info = format!("{plain}://{login}{at}{host}{path}").into_connection_info().ok()?;
    let node = match info.addr() {
        redis::ConnectionAddr::Tcp(host, port) => Node { host: host.clone(), port: *port },
        redis::ConnectionAddr::Unix(path) => Node { host: path.to_str()?.to_owned(), port: 0 },
        _ => return None,
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let settings = info.redis_settings();
    let login = Login { user: owned(settings.username()), password: owned(settings.password()) };
    Some((Seed { node, login }, settings.db()))
}

/// The address as shown in messages.
fn name(scheme: &str, seeds: &[Seed], db: i64) -> String {
    let nodes: Vec<String> = seeds.iter().map(|seed| seed.node.to_string()).collect();
    let db = if db == 0 { String::new() } else { format!("/{db}") };
    format!("{scheme}://{}{db}", nodes.join(","))
}

/// What can be shown of a text that may be a URL: nothing that might be a login.
///
/// ```
/// use mayhap_redis::redacted;
/// assert_eq!(redacted("redis://ada:secret@h:1/0"), "redis://h:1/0");
/// assert_eq!(redacted("redis://ada:secret"), "redis://…");
/// assert_eq!(redacted("lists.redb"), "lists.redb");
/// ```
pub fn redacted(text: &str) -> String {
    let text = text.split_once('?').map_or(text, |(base, _)| base);
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), text),
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}{host}"),
        // Without a host it may be only a login: `user:password`.
        None if !scheme.is_empty() && rest.split(',').any(|part| !is_host(part)) => {
            format!("{scheme}…")
        }
        None => format!("{scheme}{rest}"),
    }
}

/// Whether the text after the last colon is a port, or there is no colon.
fn is_host(part: &str) -> bool {
    let authority = part.split('/').next().unwrap_or_default();
    match authority.rsplit_once(':') {
        Some((host, port)) => {
            !host.is_empty() && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit())
        }
        None => true,
    }
}

/// Percent-decoding of query strings: `%41` and `+`.
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
mod tests;
