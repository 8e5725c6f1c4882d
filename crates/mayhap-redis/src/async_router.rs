//! The async client: one multiplexed connection per node, shared by any number of tasks.
//!
//! It follows the same rules as `router.rs`; they are in `batch.rs`. A request that waits for
//! replicas gets a connection of its own, because a server that waits answers nothing else on that
//! connection.

use crate::address::Node;
use crate::batch::{Batch, NodeRequests, Replies, RequestOptions, Step};
use crate::connection::{diagnosed, hello, misread, welcome};
use crate::request::{Reply, Request};
use crate::router::options;
use crate::topology::{Known, Topology, locked, share, worse};
use crate::{Address, LinkError};
use futures_util::future::join_all;
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, Pipeline, RedisConnectionInfo, Value};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::AbortHandle;

/// Idle connections kept per node for requests that wait for replicas.
const KEPT: usize = 64;

/// An async client on Tokio, for one server or a cluster.
///
/// Cheap to clone; all clones share their connections. A call ends at its deadline: `timeout=` of
/// the address, or five seconds.
#[derive(Clone)]
pub struct AsyncRouter(Arc<Inner>);

struct Inner {
    address: Address,
    known: Known,
    shared: Mutex<HashMap<Node, Arc<OnceCell<Connection>>>>,
    waited: Mutex<HashMap<Node, Vec<Connection>>>,
}

#[derive(Clone)]
struct Connection {
    connection: MultiplexedConnection,
    driver: AbortHandle,
}

impl AsyncRouter {
    /// Connects when the first request is sent.
    pub fn new(address: Address) -> AsyncRouter {
        AsyncRouter(Arc::new(Inner {
            address,
            known: Known::default(),
            shared: Mutex::default(),
            waited: Mutex::default(),
        }))
    }

    /// The address of the server or cluster.
    pub fn address(&self) -> &Address {
        &self.0.address
    }

    /// The default options: the address's timeout, and a retry after a lost connection.
    pub fn options(&self) -> RequestOptions {
        options(&self.0.address, Duration::ZERO)
    }

    /// Send a batch; the replies come in the same order.
    ///
    /// After [`LinkError::Unreachable`] it is not known whether the requests were executed.
    pub async fn send(
        &self,
        requests: &[Request],
        options: RequestOptions,
    ) -> Result<Vec<Reply>, LinkError> {
        let Replies { replies, unacknowledged } = self.call(requests, options).await?;
        unacknowledged.map_or(Ok(replies), Err)
    }

    /// Like `send`, but returns the replies even if too few replicas have acknowledged.
    pub async fn call(
        &self,
        requests: &[Request],
        options: RequestOptions,
    ) -> Result<Replies, LinkError> {
        if requests.is_empty() {
            return Ok(Replies::default());
        }
        let inner = &self.0;
        let mut batch = Batch::new(&inner.address, requests, options);
        loop {
            let topology = match inner.topology(batch.until()).await {
                Ok(topology) => {
                    inner.round(&topology, &mut batch).await;
                    Some(topology)
                }
                Err(error) => {
                    batch.unlearnt(error, inner.known.is_reached());
                    None
                }
            };
            let (step, is_stale) = batch.step();
            if let (true, Some(topology)) = (is_stale, &topology) {
                inner.known.forget(topology);
            }
            match step {
                Step::Done(replies) => return Ok(replies),
                Step::Failed(error) => return Err(error),
                Step::Again(backoff) => tokio::time::sleep(backoff).await,
            }
        }
    }
}

/// How far the requests for one node got.
enum Sent {
    Received(Vec<Value>),
    Unsent(LinkError),
    Lost(LinkError),
}

impl Inner {
    /// Send the unanswered requests to all nodes concurrently and collect the replies.
    async fn round(&self, topology: &Topology, batch: &mut Batch<'_>) {
        let (until, waits) = (batch.attempt_until(), batch.waits());
        let node_requests = batch.node_requests(topology);
        let sent = {
            let batch = &*batch;
            join_all(node_requests.iter().map(|requests| async move {
                let pipe = batch.pipeline(requests);
                self.send(requests, &pipe, until, waits).await
            }))
            .await
        };
        for (requests, sent) in node_requests.iter().zip(sent) {
            match sent {
                Sent::Received(values) => batch.received(requests, values),
                Sent::Unsent(error) => batch.unsent(error, self.known.is_reached()),
                Sent::Lost(error) => batch.lost(error, self.known.is_reached()),
            }
        }
    }

    async fn send(
        &self,
        requests: &NodeRequests,
        pipe: &Pipeline,
        until: Instant,
        waits: bool,
    ) -> Sent {
        let node = &requests.node;
        if !waits {
            let (cell, mut connection) = match self.shared(node, until).await {
                Ok(shared) => shared,
                Err(error) => return Sent::Unsent(error),
            };
            let replies = requests.replies();
            let sending = connection.connection.send_packed_commands(pipe, 0, replies);
            return match self.timely(node, until, sending).await {
                Ok(values) => Sent::Received(values),
                Err(error) => {
                    self.without(node, &cell);
                    Sent::Lost(error)
                }
            };
        }
        let kept = locked(&self.waited).get_mut(node).and_then(Vec::pop);
        let mut connection = match kept.filter(|kept| !kept.driver.is_finished()) {
            Some(kept) => kept,
            None => match self.open(node, until).await {
                Ok(new) => new,
                Err(error) => return Sent::Unsent(error),
            },
        };
        let sending = connection.connection.send_packed_commands(pipe, 0, requests.replies());
        match self.timely(node, until, sending).await {
            Ok(values) => {
                let mut waited = locked(&self.waited);
                let kept = waited.entry(node.clone()).or_default();
                if kept.len() < KEPT {
                    kept.push(connection);
                }
                Sent::Received(values)
            }
            Err(error) => Sent::Lost(error),
        }
    }

    /// The shared connection of a node, opened by the first caller.
    async fn shared(
        &self,
        node: &Node,
        until: Instant,
    ) -> Result<(Arc<OnceCell<Connection>>, Connection), LinkError> {
        loop {
            let cell = Arc::clone(locked(&self.shared).entry(node.clone()).or_default());
            let making = cell.get_or_try_init(|| self.open(node, until));
            let made = tokio::time::timeout_at(until.into(), making).await;
            let late = || LinkError::too_late(&self.address.node_name(node), None);
            let connection = made.unwrap_or_else(|_| Err(late()))?.clone();
            if !connection.driver.is_finished() {
                return Ok((cell, connection));
            }
            // Closed while idle: no request was lost with it.
            self.without(node, &cell);
        }
    }

    /// Drop this connection; one that another task has opened since is kept.
    fn without(&self, node: &Node, old: &Arc<OnceCell<Connection>>) {
        let mut shared = locked(&self.shared);
        if shared.get(node).is_some_and(|now| Arc::ptr_eq(now, old)) {
            shared.remove(node);
        }
    }

    /// The result, if it comes before the deadline. Also records that the node answers.
    async fn timely<T>(
        &self,
        node: &Node,
        until: Instant,
        work: impl Future<Output = redis::RedisResult<T>>,
    ) -> Result<T, LinkError> {
        let name = || self.address.node_name(node);
        let error = match tokio::time::timeout_at(until.into(), work).await {
            Ok(Ok(done)) => {
                self.known.answered(node);
                return Ok(done);
            }
            Ok(Err(error)) => misread(&name(), &error, self.known.is_reached()),
            Err(_) => LinkError::too_late(&name(), None),
        };
        Err(self.lost(node, error, until).await)
    }

    /// A node could not be reached. If it never answered, find out whether the configuration is
    /// wrong.
    async fn lost(&self, node: &Node, error: LinkError, until: Instant) -> LinkError {
        self.known.silent(node);
        if self.known.is_reached() || !error.is_of_the_moment() {
            return error;
        }
        let (address, node) = (self.address.clone(), node.clone());
        let diagnosing = tokio::task::spawn_blocking(move || diagnosed(&address, &node, until));
        diagnosing.await.ok().flatten().unwrap_or(error)
    }

    /// Connect and authenticate.
    async fn open(&self, node: &Node, until: Instant) -> Result<Connection, LinkError> {
        let opened = tokio::time::timeout_at(until.into(), self.connect(node, until)).await;
        let late = || LinkError::too_late(&self.address.node_name(node), None);
        let mut connection = match opened.unwrap_or_else(|_| Err(late())) {
            Ok(connection) => connection,
            Err(error) => return Err(self.lost(node, error, until).await),
        };
        for command in hello(self.address.login(node), self.address.db()) {
            let mut pipe = redis::pipe();
            pipe.add_command(command);
            let sending = connection.connection.send_packed_commands(&pipe, 0, 1);
            let values = self.timely(node, until, sending).await?;
            for value in values {
                welcome(&self.address.node_name(node), value)?;
            }
        }
        Ok(connection)
    }

    #[cfg_attr(not(feature = "tls"), expect(unused_variables))]
    async fn connect(&self, node: &Node, until: Instant) -> Result<Connection, LinkError> {
        let failed = |error: io::Error| LinkError::of_io(&self.address.node_name(node), &error);
        #[cfg(unix)]
        if node.port == 0 {
            let stream = tokio::net::UnixStream::connect(&node.host).await.map_err(failed)?;
            return self.multiplex(node, stream).await;
        }
        let stream = TcpStream::connect((node.host.as_str(), node.port)).await.map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        #[cfg(feature = "tls")]
        if self.address.is_tls() {
            let config = crate::tls::config(&self.address, node)?;
            let name = crate::tls::server_name(&self.address, node)?;
            let connector = tokio_rustls::TlsConnector::from(config);
            let failed = |error: io::Error| crate::tls::failed(&self.address, node, &error);
            // Half of the time is kept to find out why it failed.
            let shaking = connector.connect(name, stream);
            let shaken = tokio::time::timeout_at(share(until, 1).into(), shaking).await;
            let late = || Err(io::ErrorKind::TimedOut.into());
            let stream = shaken.unwrap_or_else(|_| late()).map_err(failed)?;
            return self.multiplex(node, stream).await;
        }
        self.multiplex(node, stream).await
    }

    async fn multiplex<S>(&self, node: &Node, stream: S) -> Result<Connection, LinkError>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let quiet = RedisConnectionInfo::default().set_skip_set_lib_name();
        // The deadline belongs to the call, not to the connection.
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let (connection, driver) = MultiplexedConnection::new_with_config(&quiet, stream, config)
            .await
            .map_err(|error| misread(&self.address.node_name(node), &error, false))?;
        let driver = tokio::spawn(driver).abort_handle();
        Ok(Connection { connection, driver })
    }

    /// The slot map, from the first node that answers.
    async fn topology(&self, until: Instant) -> Result<Arc<Topology>, LinkError> {
        if let Some(topology) = self.known.topology() {
            return Ok(topology);
        }
        let candidates = self.known.candidates(&self.address);
        if !self.address.is_cluster() {
            return Ok(self.known.single(&candidates[0]));
        }
        let (mut failed, count) = (None, candidates.len());
        for (at, node) in candidates.iter().enumerate() {
            match self.slots(node, share(until, count - at)).await {
                Ok(topology) => return Ok(self.known.learnt(topology)),
                Err(error @ LinkError::Standalone { .. }) => return Err(error),
                Err(error) => failed = Some(worse(failed, error)),
            }
        }
        let what = format!("{}: no nodes", self.address);
        Err(failed.unwrap_or(LinkError::Refused { what }))
    }

    async fn slots(&self, node: &Node, until: Instant) -> Result<Topology, LinkError> {
        let (cell, mut connection) = self.shared(node, until).await?;
        let mut slots: Cmd = redis::cmd("CLUSTER");
        slots.arg("SLOTS");
        let mut pipe = redis::pipe();
        pipe.add_command(slots);
        let sending = connection.connection.send_packed_commands(&pipe, 0, 1);
        let asked = self.timely(node, until, sending).await;
        let values = asked.inspect_err(|_| self.without(node, &cell))?;
        let value = values.into_iter().next().unwrap_or(Value::Nil);
        Topology::read(node, &self.address.node_name(node), value)
    }
}
