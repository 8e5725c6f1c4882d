//! One writer at a time.

use super::{Overwrite, ReplaceError, follow, replace_with};
use crate::map::{self, MapError, Mapped};
use std::fmt;
use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// An exclusive lock for replacing a file.
///
/// The lock is on the file itself, so no lock files are left behind. A replaced file takes its lock
/// with it; therefore the new file is locked before it gets the name, and a process that waited for
/// the old one notices that the file was renamed away, and tries again. Readers do not lock: they
/// see the old file or the new one.
///
/// The lock ends when the value is dropped, or with the process.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
}

impl Lock {
    /// Lock an existing file, waiting at most this long if another writer has it.
    pub fn acquire(path: &Path, patience: Duration) -> Result<Lock, LockError> {
        let path = follow(path).map_err(|_| LockError::Open {
            path: path.to_owned(),
            error: io::Error::other("too many symbolic links"),
        })?;
        let start = Instant::now();
        loop {
            let file = open_regular(&path)
                .map_err(|error| LockError::Open { path: path.clone(), error })?;
            match file.try_lock() {
                // The previous writer may have replaced it while we opened it.
                Ok(()) if has_name(&file, &path) => return Ok(Lock { path, file }),
                Ok(()) => continue,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(LockError::Open { path, error }),
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Err(LockError::Held { holder: holder_of(&file), path });
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
    }

    /// Create a file that does not exist yet, locked from the first moment.
    pub fn create(
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Lock, ReplaceError> {
        let path = follow(path)?;
        let file = replace_with(&path, Overwrite::Nothing, write, File::lock)?;
        Ok(Lock { path, file })
    }

    /// Replace the file, and go on holding the lock. What is there may be anything for whoever has
    /// read it as another program's filter; see [`Overwrite`].
    pub fn replace(
        &mut self,
        over: Overwrite,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), ReplaceError> {
        self.file = replace_with(&self.path, over, write, File::lock)?;
        Ok(())
    }

    /// The locked file, to be read: nobody else replaces it meanwhile.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Map the locked file. The map keeps the lock for as long as it lives.
    pub fn map(&self) -> Result<Mapped, MapError> {
        map::locked(self)
    }

    /// Its path, all links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Why the lock was not acquired.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The file cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another writer has it.
    #[error("{} is being written by {}", path.display(), LockHolder(*holder))]
    Held {
        /// Which file.
        path: PathBuf,
        /// The other process's id, if known.
        holder: Option<u32>,
    },
}

struct LockHolder(Option<u32>);

impl fmt::Display for LockHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

/// Open a regular file for reading. Others are rejected: a pipe would block.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let data = path.metadata()?;
    if data.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !data.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    File::open(path)
}

/// Whether the open file is still the one of this path.
#[cfg(unix)]
fn has_name(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), path.metadata()) {
        (Ok(ours), Ok(named)) => (ours.dev(), ours.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn has_name(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Which process holds the lock: Linux has a list.
#[cfg(target_os = "linux")]
fn holder_of(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let inode = file.metadata().ok()?.ino();
    holder_in(&std::fs::read_to_string("/proc/locks").ok()?, inode)
}

#[cfg(not(target_os = "linux"))]
fn holder_of(_: &File) -> Option<u32> {
    None
}

/// Lines are `1: FLOCK  ADVISORY  WRITE 4711 fe:01:131074 0 EOF`. Device numbers are not compared:
/// some file systems have two for one file.
#[cfg(target_os = "linux")]
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["FLOCK", _, "WRITE", pid, file, ..] = fields.get(1..)? else { return None };
        let listed: u64 = file.rsplit(':').next()?.parse().ok()?;
        (listed == inode).then(|| pid.parse().ok()).flatten()
    })
}
