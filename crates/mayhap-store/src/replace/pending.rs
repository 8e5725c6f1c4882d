//! A file that is written piece by piece, and gets its name once it is whole.

use super::{Folder, Over, ReplaceError, folder_of, follow, may_replace, metadata, take_over};
#[cfg(unix)]
use std::fs;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that is written piece by piece, and takes the place of the old one once it is whole.
///
/// Until [`commit`](Pending::commit) the old file is as it was. Without it, the new one is removed.
///
/// ```
/// use mayhap_store::replace::{Over, Pending};
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("list.txt");
/// std::fs::write(&path, "old")?;
/// let mut pending = Pending::begin(&path, Over::Anything)?;
/// pending.write_all(b"new")?;
/// assert_eq!(std::fs::read(&path)?, b"old");
/// pending.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pending {
    /// The name to take, all links followed.
    path: PathBuf,
    old: Option<Metadata>,
    over: Over,
    /// Declared before the temporary name: closed before it is removed.
    file: File,
    temp: TempPath,
    folder: Folder,
}

impl Pending {
    /// Begin a file beside the one of this name, all links followed, to take its place later.
    pub fn begin(path: &Path, over: Over) -> Result<Pending, ReplaceError> {
        Pending::at(follow(path)?, over)
    }

    pub(super) fn at(path: PathBuf, over: Over) -> Result<Pending, ReplaceError> {
        let old = metadata(&path)?;
        match &old {
            Some(old) if old.is_dir() => return Err(ReplaceError::Directory { path }),
            Some(_) => may_replace(&path, over)?,
            None => {}
        }
        // Opened before anything is written: afterwards nothing may fail for want of permission.
        let begun =
            Folder::open(folder_of(&path)).and_then(|folder| Ok((folder, temp_file(&path)?)));
        match begun {
            Ok((folder, (file, temp))) => Ok(Pending { path, old, over, file, temp, folder }),
            Err(error) => Err(ReplaceError::Write { path, error }),
        }
    }

    /// Its name after the commit, all links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// All is written: give it the mode and owner of the old file, sync and close it.
    pub fn finish(self) -> Result<Finished, ReplaceError> {
        let Pending { path, old, over, file, temp, folder } = self;
        let sync = || {
            if let Some(old) = &old {
                take_over(&file, old)?;
            }
            file.sync_all()
        };
        match sync() {
            Ok(()) => Ok(Finished { path, over, temp, folder }),
            Err(error) => Err(ReplaceError::Write { path, error }),
        }
    }

    /// [`finish`](Pending::finish) it, and have it take the name.
    pub fn commit(self) -> Result<(), ReplaceError> {
        self.finish()?.commit()
    }
}

/// A file that is whole and on the disk, and has yet to take the place of the old one.
#[derive(Debug)]
pub struct Finished {
    path: PathBuf,
    over: Over,
    temp: TempPath,
    folder: Folder,
}

impl Finished {
    /// Take the name: after this the new file is there, whatever happens to the machine.
    pub fn commit(self) -> Result<(), ReplaceError> {
        let Finished { path, over, temp, folder } = self;
        let named = match over {
            Over::Nothing => temp.persist_noclobber(&path),
            Over::Filters | Over::Anything => temp.persist(&path),
        };
        match named {
            Ok(()) => {}
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ReplaceError::Exists { path });
            }
            Err(failed) => return Err(ReplaceError::Write { path, error: failed.error }),
        }
        folder.sync().map_err(|error| ReplaceError::Sync { path, error })
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A new file beside the one of this name, with a name of its own.
fn temp_file(path: &Path) -> io::Result<(File, TempPath)> {
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As of any new file: the umask takes away what the user wants taken away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    Ok(builder.tempfile_in(folder_of(path))?.into_parts())
}
