//! Whether two paths are the same file.

use crate::replace::{folder_of, follow};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::path::Path;

/// The identity of a file, whatever its path: two paths, links or open files are one file if and
/// only if these are equal. For programs that must not write to their own input.
///
/// Only files that store data have one: regular files, block devices, and paths that do not exist
/// yet. A terminal, a pipe or `/dev/null` may well be input and output at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FileId(Which);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Which {
    Existing(Node),
    /// A name in a directory that does not exist yet.
    Free(Node, OsString),
}

/// Device and inode.
#[cfg(unix)]
type Node = (u64, u64);
/// Where the standard library offers no such numbers: the canonical path.
#[cfg(not(unix))]
type Node = std::path::PathBuf;

impl FileId {
    /// The file at this path, links followed. `None` if it stores nothing, or cannot be determined:
    /// opening it will say why.
    pub fn of_path(path: &Path) -> Option<FileId> {
        match fs::metadata(path) {
            Ok(data) => keeps(&data).then(|| node(path, &data)).flatten().map(FileId::existing),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let path = follow(path).ok()?;
                let folder = folder_of(&path);
                let folder = node(folder, &fs::metadata(folder).ok()?)?;
                Some(FileId(Which::Free(folder, path.file_name()?.to_owned())))
            }
            Err(_) => None,
        }
    }

    /// An open file. `None` if it stores nothing.
    #[cfg(unix)]
    pub fn of_file(file: &File) -> Option<FileId> {
        let data = file.metadata().ok()?;
        keeps(&data).then(|| node(Path::new(""), &data)).flatten().map(FileId::existing)
    }

    /// An open file. `None` if it stores nothing, or the system does not say.
    #[cfg(not(unix))]
    pub fn of_file(_: &File) -> Option<FileId> {
        None
    }

    fn existing(node: Node) -> FileId {
        FileId(Which::Existing(node))
    }
}

#[cfg(unix)]
fn keeps(data: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    data.is_file() || data.file_type().is_block_device()
}

#[cfg(not(unix))]
fn keeps(data: &Metadata) -> bool {
    data.is_file()
}

#[cfg(unix)]
fn node(_: &Path, data: &Metadata) -> Option<Node> {
    use std::os::unix::fs::MetadataExt;
    Some((data.dev(), data.ino()))
}

#[cfg(not(unix))]
fn node(path: &Path, _: &Metadata) -> Option<Node> {
    path.canonicalize().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn one_file_is_one_whatever_it_is_called() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        let id = |name: &str| FileId::of_path(&path(name));
        fs::write(path("a"), "")?;
        fs::hard_link(path("a"), path("hard"))?;
        symlink("a", path("soft"))?;
        symlink("new", path("dangling"))?;
        fs::create_dir(path("sub"))?;
        assert!(id("a").is_some());
        assert_eq!(id("a"), id("hard"));
        assert_eq!(id("a"), id("soft"));
        assert_eq!(id("a"), id("sub/../a"));
        assert_eq!(id("a"), FileId::of_file(&File::open(path("soft"))?));
        assert_eq!(id("new"), id("dangling"));
        assert_eq!(id("new"), id("sub/../new"));
        assert_ne!(id("new"), id("newer"));
        assert_ne!(id("new"), id("sub/new"));
        assert_ne!(id("a"), id("new"));
        fs::write(path("b"), "")?;
        assert_ne!(id("a"), id("b"));
        assert_eq!(id("sub"), None);
        assert_eq!(id("no/such"), None);
        assert_eq!(FileId::of_path(Path::new("/dev/null")), None);
        Ok(())
    }
}
