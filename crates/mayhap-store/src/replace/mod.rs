//! Atomic replacement of files, by one writer at a time.
//!
//! The new content goes to a temporary file beside the old one, is synced, and renamed over the old
//! name; then the directory is synced. Whoever opens the name finds the old file or the new one,
//! complete, at any moment and after any crash. A failed write, for example on a full disk, leaves
//! the old file as it was and removes the temporary one.

mod lock;
mod pending;

pub(crate) use lock::open_regular;
pub use lock::{Lock, LockError};
pub use pending::{Finished, Pending};

use crate::magic;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Nothing: the path must not exist.
    Nothing,
    /// Mayhap filters, and empty files.
    Filters,
    /// Any file but those that hold more than a filter: sorted tables, Parquet and RDB files,
    /// archives, databases. To replace one, remove it first.
    Anything,
    /// As [`Anything`](Overwrite::Anything), but no Mayhap filter and no exact state either: for lines.
    NoFilter,
}

/// Replace the file at this path by what `write` writes, atomically.
///
/// A symbolic link is followed, and the file it points to replaced. The new file has the old one's
/// mode and, where the system allows it, owner. A pipe or device (`/dev/stdout`) is written to
/// directly: it must not be replaced by a file.
pub fn file(
    path: &Path,
    over: Overwrite,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), ReplaceError> {
    let followed = follow(path)?;
    if let Some(mut special) = special_file(path)? {
        let io_error = |error| ReplaceError::Write { path: path.to_owned(), error };
        return write(&mut special).and_then(|()| special.flush()).map_err(io_error);
    }
    replace_with(&followed, over, write, |_| Ok(())).map(drop)
}

/// Fails where [`file()`] would because of what is there: to check before long work.
pub fn check(path: &Path, over: Overwrite) -> Result<(), ReplaceError> {
    let followed = follow(path)?;
    if let Some(old) = metadata(path)? {
        if old.is_dir() {
            return Err(ReplaceError::Directory { path: path.to_owned() });
        }
        if old.is_file() {
            return may_replace(path, over);
        }
        return Ok(());
    }
    let path = followed;
    let folder = folder_of(&path);
    match fs::metadata(folder) {
        Ok(data) if data.is_dir() => Ok(()),
        Ok(_) => Err(ReplaceError::Write { error: io::ErrorKind::NotADirectory.into(), path }),
        Err(error) => Err(ReplaceError::Write { path, error }),
    }
}

/// Write the new file and rename it. `ready` sees it before it has the name: a lock taken there
/// belongs to the open file, which the returned handle shares.
fn replace_with(
    path: &Path,
    over: Overwrite,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ready: impl FnOnce(&File) -> io::Result<()>,
) -> Result<File, ReplaceError> {
    let mut pending = Pending::at(path.to_owned(), over)?;
    let io_error = |error| ReplaceError::Write { path: path.to_owned(), error };
    write(&mut pending).map_err(io_error)?;
    let file = pending.file().try_clone().map_err(io_error)?;
    let finished = pending.finish()?;
    ready(&file).map_err(io_error)?;
    finished.commit()?;
    Ok(file)
}

/// Copy mode and owner of the replaced file.
fn copy_owner_and_mode(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let same =
            file.metadata().is_ok_and(|new| (new.uid(), new.gid()) == (old.uid(), old.gid()));
        if !same {
            // Only a superuser may change the owner. Others keep the new file.
            let owner = rustix::fs::Uid::from_raw(old.uid());
            let group = rustix::fs::Gid::from_raw(old.gid());
            _ = rustix::fs::fchown(file, Some(owner), Some(group));
        }
    }
    file.set_permissions(old.permissions())
}

/// A directory that is opened before anything is written, so that missing permissions cannot fail
/// after the rename.
///
/// Syncing it makes the rename durable. A directory that is writable but not readable (mode 0300)
/// cannot be opened, and not every system syncs directories; the new file has its name all the
/// same, and the file itself is synced in any case.
#[derive(Debug)]
struct Folder(Option<File>);

impl Folder {
    fn open(folder: &Path) -> io::Result<Folder> {
        if cfg!(not(unix)) {
            return Ok(Folder(None));
        }
        match File::open(folder) {
            Ok(folder) => Ok(Folder(Some(folder))),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Folder(None)),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        match self.0.as_ref().map(File::sync_all) {
            Some(Err(error)) if error.kind() != io::ErrorKind::InvalidInput => Err(error),
            _ => Ok(()),
        }
    }
}

fn may_replace(path: &Path, over: Overwrite) -> Result<(), ReplaceError> {
    match over {
        Overwrite::Nothing => Err(ReplaceError::Exists { path: path.to_owned() }),
        Overwrite::NoFilter => match magic::of_our_file(path) {
            Ok(None) => may_replace(path, Overwrite::Anything),
            Ok(Some(what)) => Err(ReplaceError::Filter { path: path.to_owned(), what }),
            Err(error) => Err(ReplaceError::Write { path: path.to_owned(), error }),
        },
        Overwrite::Anything => match magic::of_data_file(path) {
            Ok(None) => Ok(()),
            Ok(Some(what)) => Err(ReplaceError::Data { path: path.to_owned(), what }),
            Err(error) => Err(ReplaceError::Write { path: path.to_owned(), error }),
        },
        Overwrite::Filters => {
            let mut start = Vec::new();
            File::open(path)
                .and_then(|file| file.take(8).read_to_end(&mut start))
                .map_err(|error| ReplaceError::Write { path: path.to_owned(), error })?;
            if start.is_empty() || start == b"\x89MAY\r\n\x1a\n" {
                return Ok(());
            }
            Err(ReplaceError::NotAFilter { path: path.to_owned() })
        }
    }
}

/// What a path is; a missing file is no error.
fn metadata(path: &Path) -> Result<Option<Metadata>, ReplaceError> {
    match fs::metadata(path) {
        Ok(data) => Ok(Some(data)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ReplaceError::Write { path: path.to_owned(), error }),
    }
}

/// A pipe or a device of this name, opened for writing: such a thing is written to as it is, never
/// replaced. `None` where the name is free or that of a regular file. Links are followed by the
/// system: those of `/proc/self/fd` to a pipe name no path.
///
/// Waits for a reader of a named pipe, or until [`stop_waiting`].
pub fn special_file(path: &Path) -> Result<Option<File>, ReplaceError> {
    let io_error = |error| ReplaceError::Write { path: path.to_owned(), error };
    match metadata(path)? {
        Some(data) if data.is_dir() => Err(ReplaceError::Directory { path: path.to_owned() }),
        #[cfg(unix)]
        Some(data) if std::os::unix::fs::FileTypeExt::is_fifo(&data.file_type()) => {
            while !STOP_WAITING.load(Relaxed) {
                if let Some(pipe) = open_pipe(path).map_err(io_error)? {
                    return Ok(Some(pipe));
                }
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(ReplaceError::Cancelled)
        }
        Some(data) if !data.is_file() => {
            File::options().write(true).open(path).map(Some).map_err(io_error)
        }
        _ => Ok(None),
    }
}

/// How often a pipe without a reader is polled.
#[cfg(unix)]
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);

static STOP_WAITING: AtomicBool = AtomicBool::new(false);

/// Have nobody in this process wait any longer, now or later, for a named pipe to be read: what
/// was to be written to it ends with [`Cancelled`](ReplaceError::Cancelled). Safe in a signal
/// handler.
pub fn stop_waiting() {
    STOP_WAITING.store(true, Relaxed);
}

/// A pipe opened once more, so that a write which finds it full returns with
/// [`WouldBlock`](io::ErrorKind::WouldBlock) instead of waiting for its reader, which could not be told
/// to stop. It has flags of its own: whoever else writes to the pipe still waits. `None` where the file
/// is no pipe, or the system does not open it again.
pub fn impatient_pipe(file: &File) -> Option<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        if !file.metadata().ok()?.file_type().is_fifo() {
            return None;
        }
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        File::options().write(true).custom_flags(flags).open(path).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = file;
        None
    }
}

/// Wait until a pipe takes more bytes or has lost its reader, but no longer than a twentieth of a
/// second.
pub fn wait_to_write(pipe: &File) {
    #[cfg(unix)]
    {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let interval = Timespec { tv_sec: 0, tv_nsec: POLL_INTERVAL.subsec_nanos().into() };
        // A failure is found out by the next write.
        _ = poll(&mut [PollFd::new(pipe, PollFlags::OUT)], Some(&interval));
    }
    #[cfg(not(unix))]
    {
        _ = pipe;
    }
}

/// A named pipe opened for writing; `None` while it has no reader. A blocking open could not be
/// cancelled.
#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let pipe = match File::options().write(true).custom_flags(flags).open(path) {
        Ok(pipe) => pipe,
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // Writes do wait for the reader.
    fcntl_setfl(&pipe, fcntl_getfl(&pipe)? - OFlags::NONBLOCK)?;
    Ok(Some(pipe))
}

/// The file a path leads to through all links, whether it exists or not.
pub(crate) fn follow(path: &Path) -> Result<PathBuf, ReplaceError> {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(ReplaceError::Write { path, error: io::Error::other("too many symbolic links") })
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => path,
    }
}

/// Why a file is not replaced. Except for [`Sync`](ReplaceError::Sync) the old one is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceError {
    /// The file exists.
    #[error("{} is there already", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The file exists and is not a filter.
    #[error("{} is there already and is not a filter", path.display())]
    NotAFilter {
        /// Which file.
        path: PathBuf,
    },
    /// The file exists and holds more than a filter, which a filter would destroy.
    #[error("{} is {what}, which would be destroyed", path.display())]
    Data {
        /// Which file.
        path: PathBuf,
        /// Its type.
        what: &'static str,
    },
    /// The file is a filter or an exact state, and lines were to take its place.
    #[error("{} is {what}, which would be lost", path.display())]
    Filter {
        /// Which file.
        path: PathBuf,
        /// Which kind of file.
        what: &'static str,
    },
    /// A directory.
    #[error("{} is a directory", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
    },
    /// It cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Waiting for a reader was cancelled.
    #[error("interrupted")]
    Cancelled,
    /// The new file has its name, but the directory cannot be synced: after a power cut the old
    /// file may be back.
    #[error("{} is written, but its directory cannot be synced: {error}", path.display())]
    Sync {
        /// Which file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}
