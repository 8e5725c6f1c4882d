//! Which files are read and which are written: none may be both, and none be written twice.

use crate::closed;
use crate::exit::error_with_hint;
use mayhap_store::identity::FileId;
use mayhap_store::text::Input;
use std::fs::File;
use std::io;
use std::path::Path;

/// What a command reads and writes. Files are compared by device and inode, so that links and
/// other spellings of a name are seen through.
#[derive(Default)]
pub struct Files {
    read: Vec<(String, FileId)>,
    /// Whether standard input is read.
    stdin: bool,
    written: Vec<(String, FileId)>,
}

impl Files {
    pub fn new() -> Files {
        Files::default()
    }

    /// These are read.
    pub fn reads(mut self, inputs: &[Input]) -> Files {
        self.stdin |= inputs.contains(&Input::Stdin);
        for input in inputs {
            let (name, id) = match input {
                Input::Stdin => (
                    "standard input".to_owned(),
                    stdin_file().ok().as_ref().and_then(FileId::of_file),
                ),
                Input::File(path) => (path.display().to_string(), FileId::of_path(path)),
            };
            self.read.extend(id.map(|id| (name, id)));
        }
        self
    }

    /// This is read too.
    pub fn reads_path(mut self, path: &Path) -> Files {
        self.read.extend(FileId::of_path(path).map(|id| (path.display().to_string(), id)));
        self
    }

    /// This is written, because of the flag.
    pub fn writes(mut self, flag: &str, path: &Path) -> Files {
        let name = format!("{flag} {}", path.display());
        self.written.extend(FileId::of_path(path).map(|id| (name, id)));
        self
    }

    /// Standard output is written, wherever a shell has sent it.
    pub fn writes_stdout(mut self) -> Files {
        let id = stdout_file().ok().as_ref().and_then(FileId::of_file);
        self.written.extend(id.map(|id| (STDOUT.to_owned(), id)));
        self
    }

    /// Fails where a file that is written is read too, or written twice; and where standard input
    /// is read and closed, which is not the same as empty.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.stdin && closed::stdin() {
            return Err(error_with_hint(
                "standard input is closed",
                "name a file, or send lines by a pipe",
            ));
        }
        for (at, (written, id)) in self.written.iter().enumerate() {
            if let Some((read, _)) = self.read.iter().find(|(_, read)| read == id) {
                let hint = if written == STDOUT {
                    "send the output to another file, and rename that afterwards"
                } else if written.starts_with("--output") {
                    "name another file, or replace the input with --in-place"
                } else {
                    "name another file"
                };
                return Err(error_with_hint(
                    format!("{read} is read, and {written} is the same file"),
                    hint,
                ));
            }
            if let Some((other, _)) = self.written[..at].iter().find(|(_, other)| other == id) {
                return Err(error_with_hint(
                    format!("{other} and {written} are the same file: both are written"),
                    "name two files",
                ));
            }
        }
        Ok(())
    }
}

const STDOUT: &str = "standard output";

/// Standard output without a buffer between, so that it is known how much has gone out.
#[cfg(unix)]
pub fn stdout_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Standard output without a buffer between, so that it is known how much has gone out.
#[cfg(windows)]
pub fn stdout_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdout().as_handle().try_clone_to_owned()?))
}

#[cfg(unix)]
fn stdin_file() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

#[cfg(windows)]
fn stdin_file() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}
