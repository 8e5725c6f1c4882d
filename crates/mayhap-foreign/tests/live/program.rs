//! Runs other programs, each in its own folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A folder for one test's files.
pub struct Work(PathBuf);

/// Where the tools are that `cargo xtask test --live` installs, and everything is written.
fn live() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/live"))
}

/// The path of such a tool.
pub fn tool(name: &str) -> OsString {
    live().join(name).into()
}

impl Work {
    pub fn new(name: &str) -> Work {
        let folder = live().join("work").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Work(folder)
    }

    pub fn write(&self, file: &str, bytes: Vec<u8>) {
        std::fs::write(self.0.join(file), bytes).unwrap();
    }

    pub fn read(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn remove(&self, file: &str) {
        _ = std::fs::remove_file(self.0.join(file));
    }
}

/// A program with the arguments that it always gets.
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Program {
    pub fn new(name: impl Into<OsString>) -> Program {
        Program { name: name.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// A program of one Go file, against Debian's packages.
    pub fn go(file: &str) -> Program {
        let go = Program::new("go").env("GO111MODULE", "off").env("GOPATH", "/usr/share/gocode");
        go.env("GOFLAGS", "").arg("run").source(file)
    }

    pub fn arg(mut self, argument: impl Into<OsString>) -> Program {
        self.arguments.push(argument.into());
        self
    }

    pub fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Program {
        self.environment.push((name, value.into()));
        self
    }

    /// A file of `programs/`.
    pub fn source(self, file: &str) -> Program {
        self.arg(format!("{}/tests/live/programs/{file}", env!("CARGO_MANIFEST_DIR")))
    }

    /// What it prints, without the last line's end.
    pub fn run(&self, work: &Work, arguments: &[&str]) -> String {
        self.run_with(work, arguments, Stdio::null())
    }

    /// The same, with a file of the folder as its input.
    pub fn run_on(&self, work: &Work, arguments: &[&str], input: &str) -> String {
        let input = std::fs::File::open(work.0.join(input)).unwrap();
        self.run_with(work, arguments, input.into())
    }

    fn run_with(&self, work: &Work, arguments: &[&str], input: Stdio) -> String {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).args(arguments).current_dir(&work.0).stdin(input);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}\n{errors}", output.status);
        String::from_utf8(output.stdout).unwrap().trim_end_matches('\n').to_owned()
    }
}
