//! Redis servers of our own: on a free port of the loopback, in a folder of their own, ended by
//! their own handle.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub struct Server {
    pub port: u16,
    child: Child,
    dir: tempfile::TempDir,
    args: Vec<String>,
}

/// Whether there is a server to test with. Where CI guards the project there must be one.
pub fn is_here() -> bool {
    let here = Command::new("redis-server").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !here {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "no redis-server, and CI=true");
        eprintln!("skipped: no redis-server here (apt-get install redis-server)");
    }
    here
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Server {
    /// Nothing if there is no server to start.
    pub fn start(args: &[&str]) -> Option<Server> {
        is_here().then(|| {
            let args = args.iter().map(ToString::to_string).collect();
            Server::launch(free_port(), tempfile::tempdir().unwrap(), args)
        })
    }

    fn launch(port: u16, dir: tempfile::TempDir, args: Vec<String>) -> Server {
        let child = spawn(port, dir.path(), &args);
        let server = Server { port, child, dir, args };
        server.wait();
        server
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// SIGKILL: no goodbye, no save.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Once more, where it was and with what it left behind.
    pub fn restart(&mut self) {
        self.child = spawn(self.port, self.dir.path(), &self.args);
        self.wait();
    }

    fn wait(&self) {
        let patience = Instant::now() + Duration::from_secs(30);
        let client = redis::Client::open(self.url()).unwrap();
        while Instant::now() < patience {
            // Loading an append-only file answers too, with an error.
            let up = TcpStream::connect(("127.0.0.1", self.port)).is_ok()
                && client
                    .get_connection()
                    .and_then(|mut c| redis::cmd("PING").query::<String>(&mut c))
                    .is_ok();
            if up {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("redis-server on port {} did not answer", self.port);
    }

    pub fn connection(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }
}

use mayhap_redis::redis;

fn spawn(port: u16, dir: &Path, args: &[String]) -> Child {
    Command::new("redis-server")
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
        .arg("--dir")
        .arg(dir)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
