//! A Redis with persistence off, and what it says of its memory.

use mayhap_redis::redis::{Client, Connection, cmd};
use mayhap_testkit::{Make, Server};

pub fn start() -> Result<Server, String> {
    Server::launch(Make::Redis, &["--appendonly", "no"].map(str::to_owned))
}

pub fn connection(server: &Server, db: u32) -> Result<Connection, String> {
    let client = Client::open(server.url(db));
    client.and_then(|client| client.get_connection()).map_err(|error| error.to_string())
}

/// All memory the server uses.
pub fn used_memory(connection: &mut Connection) -> u64 {
    let info: String = cmd("INFO").arg("memory").query(connection).unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0)
}
