//! Servers that live as long as the value that started them.

use crate::make::{Make, module, target};
use crate::resp::{Client, Value};
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server on a free port of the loopback, in a folder of its own.
#[derive(Debug)]
pub struct Server {
    /// Whose it is.
    pub make: Make,
    /// Where it listens.
    pub port: u16,
    /// Its files, removed with it.
    pub dir: PathBuf,
    program: PathBuf,
    args: Vec<String>,
    process: Child,
}

impl Server {
    /// With the module, no arguments to it, and these for the server.
    pub fn start(make: Make, args: &[&str]) -> Server {
        Server::with_module(make, &[], args)
    }

    /// With the module and its arguments.
    pub fn with_module(make: Make, module_args: &[&str], args: &[&str]) -> Server {
        let module = module();
        assert!(module.exists(), "{} is missing", module.display());
        let mut all = vec!["--loadmodule".to_owned(), module.display().to_string()];
        all.extend(module_args.iter().chain(args).map(ToString::to_string));
        Server::bare(make, &all)
    }

    /// As it is, with these arguments, and what tests change on the way.
    pub fn bare(make: Make, args: &[String]) -> Server {
        let testing = ["--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0"];
        let diskless = ["--repl-diskless-load", "disabled"];
        let mut all: Vec<String> =
            testing.iter().chain(&diskless).map(ToString::to_string).collect();
        all.extend_from_slice(args);
        Server::launch(make, &all).unwrap_or_else(|why| panic!("{why}"))
    }

    /// With these arguments and nothing else than a port, a folder, a log and no snapshots.
    ///
    /// # Errors
    /// There is no such server, it ended, or it does not answer within a minute.
    pub fn launch(make: Make, args: &[String]) -> Result<Server, String> {
        let mut server = Server::spawn(make, args).map_err(|error| format!("{make:?}: {error}"))?;
        server.wait()?;
        Ok(server)
    }

    /// The same, without waiting until it answers.
    ///
    /// # Errors
    /// There is no such server, or it cannot be started.
    pub fn spawn(make: Make, args: &[String]) -> io::Result<Server> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let program = make.program().ok_or(io::ErrorKind::NotFound)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = target().join("tmp").join(format!("server-{}-{count}", std::process::id()));
        _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir)?;
        let port = free_port();
        let process = run(&program, port, &dir, args)?;
        Ok(Server { make, port, dir, program, args: args.to_vec(), process })
    }

    fn wait(&mut self) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let log = || std::fs::read_to_string(self.dir.join("log")).unwrap_or_default();
            if let Some(status) = self.process.try_wait().map_err(|error| error.to_string())? {
                return Err(format!("{:?} ended: {status}\n{}", self.make, log()));
            }
            // One that is loading its files takes connections too, and answers with an error.
            if let Ok(mut client) = Client::connect(self.port)
                && let Ok(Value::Simple(_)) = client.try_call(&["PING"])
            {
                return Ok(());
            }
            if Instant::now() > end {
                return Err(format!("{:?} does not answer:\n{}", self.make, log()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Its address, with a database.
    pub fn url(&self, db: u32) -> String {
        format!("redis://127.0.0.1:{}/{db}", self.port)
    }

    /// A new connection to it.
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
        self.revive_with(&[]);
        self.wait().unwrap_or_else(|why| panic!("{why}"));
    }

    /// The same with these arguments beside its own, without waiting for an answer.
    pub fn revive_with(&mut self, more: &[&str]) {
        let more = more.iter().map(ToString::to_string);
        let args: Vec<String> = self.args.iter().cloned().chain(more).collect();
        self.process = run(&self.program, self.port, &self.dir, &args).unwrap();
    }

    /// SIGKILL: no shutdown, no snapshot.
    pub fn kill(&mut self) {
        _ = self.process.kill();
        _ = self.process.wait();
    }

    /// `-STOP`: it holds its connections and answers nothing; `-CONT`: as before.
    pub fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).arg(self.process.id().to_string()).status();
        assert!(sent.unwrap().success());
    }

    /// Whether its process runs.
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

fn run(program: &Path, port: u16, dir: &Path, args: &[String]) -> io::Result<Child> {
    Command::new(program)
        .args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--logfile",
            "log",
        ])
        .arg("--dir")
        .arg(dir)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
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

/// Try until it holds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}
