//! One blocking connection with a deadline for everything: a server that hangs, or sends a byte per
//! second, blocks nobody longer than that.

use crate::address::{Login, Node};
#[cfg(feature = "tls")]
use crate::topology::share;
use crate::{Address, LinkError};
use redis::{Cmd, Parser, Value};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Connect timeout.
const CONNECT_WITHIN: Duration = Duration::from_secs(2);

pub(crate) struct Connection {
    stream: Stream,
    parser: Parser,
    name: String,
    /// Whether it has ever answered: if not, the peer may not be a Redis server.
    answered: bool,
}

enum Stream {
    Plain(Timed),
    #[cfg(feature = "tls")]
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, Timed>>),
}

/// A socket with a deadline.
struct Timed {
    socket: Socket,
    until: Instant,
}

enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Connection {
    /// Connect and authenticate.
    pub(crate) fn open(
        address: &Address,
        node: &Node,
        until: Instant,
    ) -> Result<Connection, LinkError> {
        let name = address.node_name(node);
        let failed = |error: io::Error| LinkError::of_io(&name, &error);
        let socket = connect(node, until).map_err(failed)?;
        let timed = Timed { socket, until };
        #[cfg(feature = "tls")]
        let stream = match address.is_tls() {
            true => Stream::Tls(handshake(address, node, timed, until)?),
            false => Stream::Plain(timed),
        };
        #[cfg(not(feature = "tls"))]
        let stream = Stream::Plain(timed);
        let mut connection = Connection { stream, parser: Parser::new(), name, answered: false };
        let hello = hello(address.login(node), address.db());
        let spoken = hello.iter().try_for_each(|command| {
            connection.send(&command.get_packed_command(), until)?;
            let value = connection.receive(until)?;
            welcome(&connection.name, value)
        });
        spoken.map_err(|error| connection.explained(error, address, node, until))?;
        Ok(connection)
    }

    pub(crate) fn send(&mut self, bytes: &[u8], until: Instant) -> Result<(), LinkError> {
        self.timed().until = until;
        let sent = match &mut self.stream {
            Stream::Plain(timed) => timed.write_all(bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => tls.write_all(bytes).and_then(|()| tls.flush()),
        };
        sent.map_err(|error| LinkError::of_io(&self.name, &error))
    }

    pub(crate) fn receive(&mut self, until: Instant) -> Result<Value, LinkError> {
        self.timed().until = until;
        let value = match &mut self.stream {
            Stream::Plain(timed) => self.parser.parse_value(timed),
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => self.parser.parse_value(tls),
        };
        let value = value.map_err(|error| misread(&self.name, &error, self.answered));
        self.answered |= value.is_ok();
        value
    }

    /// Whether the peer has not closed the connection meanwhile. Costs no round trip.
    pub(crate) fn is_open(&mut self) -> bool {
        let is_tls = !matches!(self.stream, Stream::Plain(_));
        let mut byte = [0];
        let quiet = match &mut self.timed().socket {
            Socket::Tcp(socket) => {
                let peeked = socket.set_nonblocking(true).and_then(|()| socket.peek(&mut byte));
                socket.set_nonblocking(false).and(peeked)
            }
            #[cfg(unix)]
            Socket::Unix(socket) => {
                let read = socket.set_nonblocking(true).and_then(|()| socket.read(&mut byte));
                socket.set_nonblocking(false).and(read)
            }
        };
        match quiet {
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
            // No request is pending, so data cannot be a reply; TLS may send records of its own.
            Ok(bytes) => is_tls && bytes > 0,
        }
    }

    fn timed(&mut self) -> &mut Timed {
        match &mut self.stream {
            Stream::Plain(timed) => timed,
            #[cfg(feature = "tls")]
            Stream::Tls(tls) => &mut tls.sock,
        }
    }

    /// The likely cause of an error on a connection that never answered.
    pub(crate) fn explained(
        &self,
        error: LinkError,
        address: &Address,
        node: &Node,
        until: Instant,
    ) -> LinkError {
        if self.answered { error } else { explained(error, address, node, until) }
    }
}

/// What is wrong with a server that has never answered, if the configuration must be fixed: one
/// more attempt on a connection of its own. Blocks.
#[cfg(feature = "async")]
pub(crate) fn diagnosed(address: &Address, node: &Node, until: Instant) -> Option<LinkError> {
    let asked = Connection::open(address, node, until).and_then(|mut connection| {
        let sent = connection.send(&redis::cmd("PING").get_packed_command(), until);
        let asked = sent.and_then(|()| connection.receive(until));
        asked.map_err(|error| connection.explained(error, address, node, until))
    });
    asked.err().filter(|error| !error.is_of_the_moment())
}

/// A server that closes the connection on the first plaintext command may require TLS.
fn explained(error: LinkError, address: &Address, node: &Node, until: Instant) -> LinkError {
    let may_be = matches!(error, LinkError::Unreachable { .. } | LinkError::Refused { .. });
    if !may_be || address.is_tls() || node.port == 0 || !speaks_tls(node, until) {
        return error;
    }
    let what = "the server speaks it: write rediss://… or rediss+cluster://…".to_owned();
    LinkError::Tls { address: address.node_name(node), what }
}

/// Connect with TLS. A server without TLS does not answer at all, so half of the time is kept to
/// find that out.
#[cfg(feature = "tls")]
fn handshake(
    address: &Address,
    node: &Node,
    mut timed: Timed,
    until: Instant,
) -> Result<Box<rustls::StreamOwned<rustls::ClientConnection, Timed>>, LinkError> {
    timed.until = share(until, 1);
    crate::tls::begin(address, node, timed).map_err(|error| match error {
        LinkError::Unreachable { .. } if speaks_plainly(node, until) => {
            LinkError::Tls { address: address.node_name(node), what: crate::tls::PLAIN.to_owned() }
        }
        error => error,
    })
}

/// Whether a server answers in plaintext.
#[cfg(feature = "tls")]
fn speaks_plainly(node: &Node, until: Instant) -> bool {
    let Ok(socket) = connect(node, until) else { return false };
    let (mut timed, mut first) = (Timed { socket, until }, [0]);
    let asked = timed.write_all(b"PING\r\n").and_then(|()| timed.read_exact(&mut first));
    asked.is_ok() && matches!(first[0], b'+' | b'-')
}

/// The first commands: authentication and the database.
pub(crate) fn hello(login: &Login, db: i64) -> Vec<Cmd> {
    let mut hello = vec![];
    if let Some(password) = &login.password {
        let mut auth = redis::cmd("AUTH");
        login.user.iter().for_each(|user| _ = auth.arg(user));
        auth.arg(password);
        hello.push(auth);
    }
    if db != 0 {
        let mut select = redis::cmd("SELECT");
        select.arg(db);
        hello.push(select);
    }
    hello
}

/// The server's reason to reject us.
pub(crate) fn welcome(name: &str, value: Value) -> Result<(), LinkError> {
    let Value::ServerError(error) = value else { return Ok(()) };
    let what = crate::batch::message(&error);
    if crate::batch::is_passing(&what) {
        return Err(LinkError::Unready { address: name.to_owned(), what });
    }
    Err(LinkError::Refused { what: format!("{name}: {what}") })
}

/// Why the bytes received cannot be parsed.
pub(crate) fn misread(name: &str, error: &redis::RedisError, answered: bool) -> LinkError {
    if error.is_timeout() {
        return LinkError::too_late(name, None);
    }
    // The `redis` crate wraps socket errors.
    let inner = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<Arc<dyn std::error::Error + Send + Sync>>());
    if let Some(io) = inner.and_then(|inner| inner.downcast_ref::<io::Error>()) {
        return LinkError::of_io(name, io);
    }
    if error.kind() == redis::ErrorKind::Parse && !answered {
        return LinkError::Refused { what: format!("{name}: what answers there is not a Redis") };
    }
    LinkError::Unreachable { address: name.to_owned(), what: error.to_string() }
}

fn connect(node: &Node, until: Instant) -> io::Result<Socket> {
    #[cfg(unix)]
    if node.port == 0 {
        // A stopped server accepts connections until its backlog is full; then connecting blocks.
        let socket = socket2::Socket::new(socket2::Domain::UNIX, socket2::Type::STREAM, None)?;
        let within = left_until(until)?.min(CONNECT_WITHIN);
        socket.connect_timeout(&socket2::SockAddr::unix(&node.host)?, within)?;
        return Ok(Socket::Unix(socket.into()));
    }
    let mut failed = io::Error::new(io::ErrorKind::NotFound, "no such host");
    let addresses = resolve(node, until)?;
    let mut left = addresses.len() as u32;
    for address in addresses {
        let within = (left_until(until)? / left).min(CONNECT_WITHIN);
        left -= 1;
        match TcpStream::connect_timeout(&address, within) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(Socket::Tcp(socket));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// The resolver has no timeout; we wait for it until the deadline.
fn resolve(node: &Node, until: Instant) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = node.host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, node.port)]);
    }
    let (host, (told, answer)) = ((node.host.clone(), node.port), mpsc::channel());
    std::thread::Builder::new().name("resolver".to_owned()).spawn(move || {
        _ = told.send(host.to_socket_addrs().map(Iterator::collect));
    })?;
    answer.recv_timeout(left_until(until)?).unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, "no answer about the name"))
    })
}

/// Whether a server answers a TLS handshake, with whatever reply.
fn speaks_tls(node: &Node, until: Instant) -> bool {
    let Ok(socket) = connect(node, until) else { return false };
    let mut timed = Timed { socket, until: until.min(Instant::now() + CONNECT_WITHIN) };
    let mut first = [0];
    let asked = timed.write_all(&CLIENT_HELLO).and_then(|()| timed.read_exact(&mut first));
    // A handshake or an alert record.
    asked.is_ok() && matches!(first[0], 0x15 | 0x16)
}

/// A minimal TLS 1.2 ClientHello: no session, one cipher, no extensions.
const CLIENT_HELLO: [u8; 50] = {
    let mut hello = [0; 50];
    let head = [0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    let mut at = 0;
    while at < head.len() {
        hello[at] = head[at];
        at += 1;
    }
    // 32 random bytes, which may be zeros, and no session; then the lists.
    let tail = [0, 2, 0xc0, 0x2f, 1, 0];
    at = 0;
    while at < tail.len() {
        hello[44 + at] = tail[at];
        at += 1;
    }
    hello
};

fn left_until(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

impl Read for Timed {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = Some(left_until(self.until)?);
            let read = match &mut self.socket {
                Socket::Tcp(socket) => {
                    socket.set_read_timeout(left).and_then(|()| socket.read(bytes))
                }
                #[cfg(unix)]
                Socket::Unix(socket) => {
                    socket.set_read_timeout(left).and_then(|()| socket.read(bytes))
                }
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) if !bytes.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => return read,
            }
        }
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = Some(left_until(self.until)?);
        match &mut self.socket {
            Socket::Tcp(socket) => {
                socket.set_write_timeout(left).and_then(|()| socket.write(bytes))
            }
            #[cfg(unix)]
            Socket::Unix(socket) => {
                socket.set_write_timeout(left).and_then(|()| socket.write(bytes))
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
