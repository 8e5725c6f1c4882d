//! A Redis on a free port of the loopback, with persistence off.

use mayhap_redis::redis::{Client, Connection, cmd};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Server {
    port: u16,
    child: Child,
}

impl Server {
    pub fn start() -> Result<Server, String> {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(|error| format!("no free port: {error}"))?.port();
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--save", "", "--appendonly", "no"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server: {error} (apt-get install redis-server)"))?;
        let server = Server { port, child };
        let patience = Instant::now() + Duration::from_secs(10);
        while server.connection(0).is_err() {
            if Instant::now() > patience {
                return Err("redis-server does not answer".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    pub fn url(&self, db: u32) -> String {
        format!("redis://127.0.0.1:{}/{db}", self.port)
    }

    pub fn connection(&self, db: u32) -> Result<Connection, String> {
        let client = Client::open(self.url(db));
        client.and_then(|client| client.get_connection()).map_err(|error| error.to_string())
    }
}

/// All memory the server uses.
pub fn used_memory(connection: &mut Connection) -> u64 {
    let info: String = cmd("INFO").arg("memory").query(connection).unwrap_or_default();
    let line = info.lines().find_map(|line| line.strip_prefix("used_memory:"));
    line.and_then(|bytes| bytes.trim().parse().ok()).unwrap_or(0)
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
