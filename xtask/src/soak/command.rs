//! The command under test: built once, run on files in a folder.

use crate::steps::{StepResult, cargo, succeeds};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The release build of the command.
pub struct Mayhap {
    program: PathBuf,
    pub folder: PathBuf,
}

impl Mayhap {
    /// Built now, unless `MAYHAP_PROGRAM` names one: a package's, for example.
    pub fn built(folder: &Path) -> Result<Mayhap, String> {
        let program = match std::env::var("MAYHAP_PROGRAM") {
            Ok(program) => PathBuf::from(program),
            Err(_) => match succeeds(&mut cargo("build --quiet --release -p mayhap-cli")) {
                StepResult::Passed => {
                    let target = std::env::var("CARGO_TARGET_DIR");
                    let target = target.unwrap_or_else(|_| "target".to_owned());
                    Path::new(&target).join("release/mayhap")
                }
                StepResult::Failed(why) => return Err(why),
                _ => return Err("the command was not built".into()),
            },
        };
        let named = program.display().to_string();
        let program = program.canonicalize().map_err(|error| format!("{named}: {error}"))?;
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Mayhap { program, folder: folder.to_owned() })
    }

    /// `mayhap ARGS` in the folder, silent.
    pub fn command(&self, args: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(args.split_whitespace()).current_dir(&self.folder);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Whether it exits with 0.
    pub fn works(&self, args: &str) -> bool {
        self.command(args).status().is_ok_and(|status| status.success())
    }

    /// Its standard output, if it exits with 0 or 1.
    pub fn output(&self, args: &str) -> Result<String, String> {
        let mut command = self.command(args);
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output();
        let output = output.map_err(|error| format!("mayhap {args}: {error}"))?;
        match output.status.code() {
            Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            _ => Err(format!("mayhap {args}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    pub fn write(&self, file: &str, text: &str) -> Result<(), String> {
        std::fs::write(self.folder.join(file), text).map_err(|error| format!("{file}: {error}"))
    }
}

/// What is changed, and how it is asked for what it has.
#[derive(Clone, Copy, PartialEq)]
pub enum Subject {
    /// A filter: `add`, and `build` of a new one over the old.
    Filter,
    /// What `dedup` remembers from run to run.
    State,
    /// A seen store.
    Store,
}

impl Subject {
    /// The command that makes the keys in the file `new` members.
    pub fn change(self) -> &'static str {
        match self {
            Subject::Filter => "add -q filter new",
            Subject::State => "dedup -q --state state new",
            Subject::Store => "seen mark --store store ada",
        }
    }

    /// The file, or the store, before anything happens to it.
    pub fn begin(self, mayhap: &Mayhap) -> Result<(), String> {
        mayhap.write("new", "begin\n")?;
        let begun = match self {
            // Of some size, so that writing it takes a moment.
            Subject::Filter => mayhap.works("build -q -n 2M -p 1e-9 -o filter new"),
            Subject::State => mayhap.works("dedup -q -n 1M -p 1e-9 --state state new"),
            Subject::Store => mayhap.works("seen mark --store store ada begin"),
        };
        if begun { Ok(()) } else { Err(format!("`{}` has nothing to begin with", self.change())) }
    }

    /// Make these keys members; the process, to be waited for or killed.
    pub fn start(self, mayhap: &Mayhap, keys: &[String]) -> Result<Child, String> {
        let mut command = mayhap.command(self.change());
        match self {
            Subject::Store => _ = command.args(keys),
            _ => mayhap.write("new", &(keys.join("\n") + "\n"))?,
        }
        command.spawn().map_err(|error| format!("{}: {error}", self.change()))
    }

    /// Whether every byte verifies, and how many of these members are missing.
    pub fn missing(self, mayhap: &Mayhap, members: &[String]) -> Result<usize, String> {
        mayhap.write("asked", &(members.join("\n") + "\n"))?;
        match self {
            Subject::Filter => {
                mayhap.output("verify filter")?;
                let found = mayhap.output("check -c filter asked")?;
                let found = found.trim().parse::<usize>().map_err(|error| error.to_string())?;
                Ok(members.len() - found)
            }
            Subject::State => {
                mayhap.output("verify state")?;
                // On a copy: what is asked for would be remembered.
                std::fs::copy(mayhap.folder.join("state"), mayhap.folder.join("copy"))
                    .map_err(|error| format!("state: {error}"))?;
                Ok(mayhap.output("dedup -q --state copy asked")?.lines().count())
            }
            Subject::Store => {
                let mut ask = mayhap.command("seen unseen --store store ada");
                let asked = std::fs::File::open(mayhap.folder.join("asked"));
                ask.stdin(asked.map_err(|error| format!("asked: {error}"))?);
                let output =
                    ask.stdout(Stdio::piped()).output().map_err(|error| error.to_string())?;
                match output.status.code() {
                    Some(0 | 1) => Ok(String::from_utf8_lossy(&output.stdout).lines().count()),
                    _ => Err("the store does not open".into()),
                }
            }
        }
    }
}
