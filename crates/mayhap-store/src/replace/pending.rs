//! A file that is written in pieces, and gets its name once it is complete.

use super::{
    Folder, Overwrite, ReplaceError, copy_owner_and_mode, folder_of, follow, may_replace, metadata,
};
#[cfg(unix)]
use std::fs;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// A file that is written in pieces, and replaces the old one once it is complete.
///
/// Until [`commit`](Pending::commit) the old file is as it was. Without it, the new one is removed.
///
/// ```
/// use mayhap_store::replace::{Overwrite, Pending};
/// use std::io::Write;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("list.txt");
/// std::fs::write(&path, "old")?;
/// let mut pending = Pending::begin(&path, Overwrite::Anything)?;
/// pending.write_all(b"new")?;
/// assert_eq!(std::fs::read(&path)?, b"old");
/// pending.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pending {
    /// The final path, all links followed.
    path: PathBuf,
    old: Option<Metadata>,
    over: Overwrite,
    /// Declared before the temporary name: closed before it is removed.
    file: File,
    temp: TempPath,
    folder: Folder,
}

impl Pending {
    /// Begin a file beside the one at this path, all links followed, to replace it later.
    pub fn begin(path: &Path, over: Overwrite) -> Result<Pending, ReplaceError> {
        Pending::at(follow(path)?, over)
    }

    pub(super) fn at(path: PathBuf, over: Overwrite) -> Result<Pending, ReplaceError> {
        let old = metadata(&path)?;
        match &old {
            Some(old) if old.is_dir() => return Err(ReplaceError::Directory { path }),
            Some(_) => may_replace(&path, over)?,
            None => {}
        }
        // Opened before anything is written: afterwards missing permissions must not fail.
        let begun =
            Folder::open(folder_of(&path)).and_then(|folder| Ok((folder, temp_file(&path)?)));
        match begun {
            Ok((folder, (file, temp))) => Ok(Pending { path, old, over, file, temp, folder }),
            Err(error) => Err(ReplaceError::Write { path, error }),
        }
    }

    /// Its path after the commit, all links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Writing is done: set the old file's mode and owner, sync and close it.
    pub fn finish(self) -> Result<Finished, ReplaceError> {
        let Pending { path, old, over, file, temp, folder } = self;
        let sync = || {
            if let Some(old) = &old {
                copy_owner_and_mode(&file, old)?;
            }
            file.sync_all()
        };
        match sync() {
            Ok(()) => Ok(Finished { path, over, temp, folder }),
            Err(error) => Err(ReplaceError::Write { path, error }),
        }
    }

    /// [`finish`](Pending::finish) it, and rename it.
    pub fn commit(self) -> Result<(), ReplaceError> {
        self.finish()?.commit()
    }
}

/// A complete file on the disk that has yet to replace the old one.
#[derive(Debug)]
pub struct Finished {
    path: PathBuf,
    over: Overwrite,
    temp: TempPath,
    folder: Folder,
}

impl Finished {
    /// Rename it: after this the new file is durable.
    pub fn commit(self) -> Result<(), ReplaceError> {
        let Finished { path, over, temp, folder } = self;
        let named = match over {
            Overwrite::Nothing => temp.persist_noclobber(&path),
            Overwrite::Filters | Overwrite::Anything | Overwrite::NoFilter => temp.persist(&path),
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

/// A new file beside the one at this path, with a temporary name.
fn temp_file(path: &Path) -> io::Result<(File, TempPath)> {
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(path.file_name().unwrap_or_default());
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As any new file: the umask applies.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    Ok(builder.tempfile_in(folder_of(path))?.into_parts())
}
