//! Connections for threads: taken from a heap, put back when they still work.

use crate::request::{Reply, Request, reply, unknown_scripts};
use crate::{Address, LinkError};
use redis::cluster::{ClusterClient, ClusterConnection, cluster_pipe};
use redis::{Client, Cmd, Connection, ConnectionLike, RedisError};
use std::sync::{Mutex, PoisonError};

/// Connections to one server or cluster, as many as threads ask at once.
pub struct Pool {
    address: Address,
    name: String,
    door: Door,
    idle: Mutex<Vec<Link>>,
}

/// Idle connections kept for later.
const KEPT: usize = 64;

enum Door {
    Single(Client),
    Cluster(Box<ClusterClient>),
}

enum Link {
    Single(Connection),
    Cluster(Box<ClusterConnection>),
}

impl Pool {
    /// Nothing is connected before the first question.
    pub fn new(address: Address) -> Result<Pool, LinkError> {
        let name = address.to_string();
        let refused = |error: RedisError| LinkError::Refused { what: format!("{name}: {error}") };
        let nodes = address.nodes().iter().map(String::as_str);
        let door = if address.is_cluster() {
            let builder = ClusterClient::builder(nodes)
                .connection_timeout(address.connect_within())
                .response_timeout(address.answer_within());
            Door::Cluster(Box::new(builder.build().map_err(refused)?))
        } else {
            Door::Single(Client::open(address.nodes()[0].as_str()).map_err(refused)?)
        };
        Ok(Pool { address, name, door, idle: Mutex::new(vec![]) })
    }

    /// Where it asks.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Ask all of this in one round trip; the answers come in the same order.
    ///
    /// After [`LinkError::Away`] it is not known what was done.
    pub fn ask(&self, requests: &[Request]) -> Result<Vec<Reply>, LinkError> {
        if requests.is_empty() {
            return Ok(vec![]);
        }
        self.with(|link| link.ask(requests))
    }

    /// The same for what may be done twice: a connection that was lost while idle is replaced
    /// without a word.
    pub fn ask_again(&self, requests: &[Request]) -> Result<Vec<Reply>, LinkError> {
        match self.ask(requests) {
            Err(LinkError::Away { .. }) => self.ask(requests),
            answer => answer,
        }
    }

    /// All keys that match a glob, some thousands at a time, from every node.
    pub fn scan(&self, glob: &[u8], visit: &mut dyn FnMut(Vec<Vec<u8>>)) -> Result<(), LinkError> {
        if !self.address.is_cluster() {
            return self.with(|link| scan(link, glob, visit));
        }
        for node in self.masters()? {
            let mut link = Link::Single(open(&node, &self.address).map_err(|e| self.error(&e))?);
            scan(&mut link, glob, visit).map_err(|error| self.error(&error))?;
        }
        Ok(())
    }

    /// The masters of a cluster, as the first node that answers knows them.
    fn masters(&self) -> Result<Vec<Client>, LinkError> {
        let mut last = None;
        for node in self.address.nodes() {
            let masters = Client::open(node.as_str()).and_then(|client| {
                let ranges = slot_ranges(&mut open(&client, &self.address)?, &client)?;
                let mut hosts: Vec<_> = ranges.into_iter().map(|(_, _, host)| host).collect();
                hosts.sort();
                hosts.dedup();
                hosts.iter().map(|(host, port)| client_at(&client, host, *port)).collect()
            });
            match masters {
                Ok(masters) => return Ok(masters),
                Err(error) => last = Some(error),
            }
        }
        Err(last
            .map_or(LinkError::Refused { what: "a cluster without nodes".to_owned() }, |error| {
                self.error(&error)
            }))
    }

    fn with<T>(
        &self,
        work: impl FnOnce(&mut Link) -> Result<T, RedisError>,
    ) -> Result<T, LinkError> {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = idle().pop();
        let mut link = match kept {
            Some(link) => link,
            None => self.connect().map_err(|error| self.error(&error))?,
        };
        match work(&mut link) {
            Ok(done) => {
                let mut idle = idle();
                if idle.len() < KEPT {
                    idle.push(link);
                }
                Ok(done)
            }
            Err(error) => {
                let error = self.error(&error);
                // The idle ones were most likely lost with it.
                if matches!(error, LinkError::Away { .. }) {
                    idle().clear();
                }
                Err(error)
            }
        }
    }

    fn connect(&self) -> Result<Link, RedisError> {
        match &self.door {
            Door::Single(client) => Ok(Link::Single(open(client, &self.address)?)),
            Door::Cluster(client) => Ok(Link::Cluster(Box::new(client.get_connection()?))),
        }
    }

    fn error(&self, error: &RedisError) -> LinkError {
        LinkError::new(&self.name, error)
    }
}

/// A connection that keeps the address's times.
pub(crate) fn open(client: &Client, address: &Address) -> Result<Connection, RedisError> {
    let connection = client.get_connection_with_timeout(address.connect_within())?;
    connection.set_read_timeout(Some(address.answer_within()))?;
    connection.set_write_timeout(Some(address.answer_within()))?;
    Ok(connection)
}

/// The same login and the same TLS at another node.
pub(crate) fn client_at(seed: &Client, host: &str, port: u16) -> Result<Client, RedisError> {
    let info = seed.get_connection_info();
    let host = host.to_owned();
    let addr = match info.addr() {
        redis::ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            redis::ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            }
        }
        _ => redis::ConnectionAddr::Tcp(host, port),
    };
    Client::open(info.clone().set_addr(addr))
}

/// A range of slots, its first and last, and host and port of its master.
pub(crate) type SlotRange = (u16, u16, (String, u16));

/// `CLUSTER SLOTS`. A node that does not know its own name is where it was asked.
pub(crate) fn slot_ranges(
    connection: &mut Connection,
    asked: &Client,
) -> Result<Vec<SlotRange>, RedisError> {
    let rows: Vec<Vec<redis::Value>> = redis::cmd("CLUSTER").arg("SLOTS").query(connection)?;
    let mut ranges = vec![];
    for row in rows {
        if let [from, to, redis::Value::Array(master), ..] = row.as_slice()
            && let [host, port, ..] = master.as_slice()
        {
            let host: Option<String> = redis::from_redis_value(host.clone())?;
            let host = match host.filter(|host| !host.is_empty() && host != "?") {
                Some(host) => host,
                None => match asked.get_connection_info().addr() {
                    redis::ConnectionAddr::Tcp(host, _) => host.clone(),
                    redis::ConnectionAddr::TcpTls { host, .. } => host.clone(),
                    _ => "127.0.0.1".to_owned(),
                },
            };
            let number = |value: &redis::Value| redis::from_redis_value(value.clone());
            ranges.push((number(from)?, number(to)?, (host, number(port)?)));
        }
    }
    Ok(ranges)
}

impl Link {
    fn ask(&mut self, requests: &[Request]) -> Result<Vec<Reply>, RedisError> {
        match self {
            Link::Single(connection) => {
                let mut bytes = vec![];
                requests.iter().for_each(|request| request.write_by_digest(&mut bytes));
                let mut replies = send(connection, &bytes, requests.len())?;
                let unknown = unknown_scripts(&replies);
                if !unknown.is_empty() {
                    bytes.clear();
                    for at in &unknown {
                        requests[*at].in_full().write_packed_command(&mut bytes);
                    }
                    for (at, reply) in unknown.iter().zip(send(connection, &bytes, unknown.len())?)
                    {
                        replies[*at] = reply;
                    }
                }
                Ok(replies)
            }
            Link::Cluster(connection) => match requests {
                [request] => {
                    let by_digest = one(connection, &request.by_digest())?;
                    Ok(vec![match unknown_scripts(std::slice::from_ref(&by_digest)).is_empty() {
                        true => by_digest,
                        false => one(connection, &request.in_full())?,
                    }])
                }
                requests => {
                    // One server's ignorance would fail the whole batch, so scripts go in full.
                    let mut pipe = cluster_pipe();
                    requests.iter().for_each(|request| _ = pipe.add_command(request.in_full()));
                    let values: Vec<redis::Value> = pipe.query(connection)?;
                    Ok(values.into_iter().map(reply).collect())
                }
            },
        }
    }
}

/// So many commands in one go.
fn send(
    connection: &mut Connection,
    commands: &[u8],
    count: usize,
) -> Result<Vec<Reply>, RedisError> {
    let values = connection.req_packed_commands(commands, 0, count)?;
    Ok(values.into_iter().map(reply).collect())
}

/// One command; what the server has against it is an answer, not an end of the connection.
fn one(connection: &mut ClusterConnection, command: &Cmd) -> Result<Reply, RedisError> {
    match connection.req_command(command) {
        Ok(value) => Ok(reply(value)),
        Err(error)
            if matches!(error.kind(), redis::ErrorKind::Server(_)) && !error.is_cluster_error() =>
        {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error),
    }
}

fn scan(
    link: &mut Link,
    glob: &[u8],
    visit: &mut dyn FnMut(Vec<Vec<u8>>),
) -> Result<(), RedisError> {
    let Link::Single(connection) = link else { return Ok(()) };
    let mut cursor = 0u64;
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(glob).arg("COUNT").arg(2000);
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query(connection)?;
        visit(keys);
        if next == 0 {
            return Ok(());
        }
        cursor = next;
    }
}
