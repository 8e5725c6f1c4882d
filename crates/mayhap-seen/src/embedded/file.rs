//! The file of a store: created atomically, reopened after an I/O error, and watched, so that no
//! write to a file that was removed or replaced is acknowledged.

use super::damage::catch_damage;
use super::read_snapshot::Snapshot;
use super::{ABOUT, CHUNKS, ENDS, LISTS, away};
use crate::SeenError;
use crate::policy::{Policy, PolicyFields};
use redb::{
    Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase, TableError,
    TableHandle, WriteTransaction,
};
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

/// A database, read-write or read-only.
pub(super) enum Db {
    Writable(Database),
    ReadOnly(ReadOnlyDatabase),
}

impl Db {
    pub fn begin_read(&self) -> Result<ReadTransaction, SeenError> {
        match self {
            Db::Writable(db) => db.begin_read().map_err(away),
            Db::ReadOnly(db) => db.begin_read().map_err(away),
        }
    }

    pub fn begin_write(&self) -> Result<WriteTransaction, SeenError> {
        match self {
            Db::Writable(db) => db.begin_write().map_err(away),
            Db::ReadOnly(_) => {
                Err(SeenError::Refused { what: "the store is open for reading only".to_owned() })
            }
        }
    }
}

pub(super) struct StoreFile {
    path: PathBuf,
    cache_bytes: usize,
    read_only: bool,
    /// `None` between a failure and the next reopening.
    db: RwLock<Option<Arc<Db>>>,
    identity: Option<(u64, u64)>,
    /// Its length as of the last commit. Only the writer changes the file, so it never shrinks by
    /// itself.
    bytes: AtomicU64,
    /// What happened to the file, when it is gone.
    gone: OnceLock<&'static str>,
}

impl StoreFile {
    /// Open a store, or create it with this policy.
    pub fn open(
        path: &Path,
        cache_bytes: usize,
        read_only: bool,
        asked: &PolicyFields,
    ) -> Result<(StoreFile, Policy), SeenError> {
        let is_missing = fs::symlink_metadata(path).is_err_and(|e| e.kind() == ErrorKind::NotFound);
        if is_missing && !read_only {
            make(path, asked)?;
        }
        let was_empty = fs::metadata(path).is_ok_and(|about| about.len() == 0);
        let (db, policy) = match catch_damage(path, || {
            open_and_settle(path, cache_bytes, read_only, asked)
        }) {
            Ok(opened) => opened,
            Err(error) => {
                if was_empty && !read_only && !matches!(error, SeenError::InUse { .. }) {
                    // It was created in an empty file: empty it again.
                    _ = fs::OpenOptions::new().write(true).open(path).and_then(|f| f.set_len(0));
                }
                return Err(error);
            }
        };
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let about = fs::metadata(&path).map_err(|error| refused(&path, error))?;
        let file = StoreFile {
            path,
            cache_bytes,
            read_only,
            db: RwLock::new(Some(Arc::new(db))),
            identity: identity(&about),
            bytes: AtomicU64::new(about.len()),
            gone: OnceLock::new(),
        };
        Ok((file, policy))
    }

    pub fn db(&self) -> Result<Arc<Db>, SeenError> {
        self.check_gone()?;
        let db = self.db.read().unwrap_or_else(PoisonError::into_inner).clone();
        let closed = || SeenError::Unreachable {
            what: format!("{} is to be opened again after an error", self.path.display()),
        };
        db.ok_or_else(closed)
    }

    /// Whether the file was found to be gone.
    pub fn check_gone(&self) -> Result<(), SeenError> {
        match self.gone.get() {
            Some(what) => Err(SeenError::Gone { path: self.path.clone(), what }),
            None => Ok(()),
        }
    }

    /// Whether the file is still the one that was opened, and not truncated.
    pub fn check(&self) -> Result<(), SeenError> {
        self.look()?;
        Ok(())
    }

    /// The same after a commit, whose length is then the expected one.
    pub fn committed(&self) -> Result<(), SeenError> {
        self.bytes.store(0, Ordering::Relaxed);
        let about = self.look()?;
        self.bytes.store(about.len(), Ordering::Relaxed);
        Ok(())
    }

    fn look(&self) -> Result<Metadata, SeenError> {
        self.check_gone()?;
        let what = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => "was removed",
            Err(error) => return Err(away(format!("{}: {error}", self.path.display()))),
            Ok(about) if identity(&about) != self.identity => "was replaced by another file",
            Ok(about) if about.len() < self.bytes.load(Ordering::Relaxed) => "was cut off",
            Ok(about) => return Ok(about),
        };
        _ = self.gone.set(what);
        Err(SeenError::Gone { path: self.path.clone(), what })
    }

    /// After an I/O error redb rejects everything until the file is reopened.
    pub fn reopen(&self) -> Result<(), SeenError> {
        self.catch_damage(|| self.reopen_now())
    }

    /// Run something that may find the file damaged.
    pub fn catch_damage<T>(
        &self,
        work: impl FnOnce() -> Result<T, SeenError>,
    ) -> Result<T, SeenError> {
        catch_damage(&self.path, work)
    }

    fn reopen_now(&self) -> Result<(), SeenError> {
        self.check()?;
        let taken = self.db.write().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut db) = taken {
            // Readers release it in a moment; what they read meanwhile are errors.
            for _ in 0..1000 {
                match Arc::try_unwrap(db) {
                    Ok(alone) => {
                        drop(alone);
                        break;
                    }
                    Err(shared) => {
                        db = shared;
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            }
        }
        let db = open_existing(&self.path, self.cache_bytes, self.read_only)?;
        self.committed()?;
        *self.db.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(db));
        Ok(())
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        // Closing it writes, if it is open read-write.
        let db = self.db.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        _ = catch_damage(&self.path, || {
            drop(db);
            Ok(())
        });
    }
}

#[cfg(unix)]
fn identity(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> Option<(u64, u64)> {
    None // an open file cannot be removed there
}

fn refused(path: &Path, error: impl std::fmt::Display) -> SeenError {
    SeenError::Refused { what: format!("{}: {error}", path.display()) }
}

/// A counter for temporary names.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Create a store under a temporary name and rename it when complete: on a full disk nothing is
/// left.
fn make(path: &Path, asked: &PolicyFields) -> Result<(), SeenError> {
    let policy = asked.apply(&Policy::default()).map_err(|error| refused(path, error))?;
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (process, nth) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let unmade = folder.join(format!(".{name}.{process}-{nth}.making"));
    _ = fs::remove_file(&unmade);
    let made = Database::builder()
        .set_cache_size(1 << 20)
        .create(&unmade)
        .map_err(|error| refused(path, error))
        .and_then(|db| write_policy(&db, &policy).map_err(|error| refused(path, error)))
        .and_then(|()| place(&unmade, path, folder).map_err(|error| refused(path, error)));
    _ = fs::remove_file(&unmade);
    made
}

/// Give a new store its name, unless another process was first: then open theirs.
fn place(unmade: &Path, path: &Path, folder: &Path) -> io::Result<()> {
    match fs::hard_link(unmade, path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
        // Not every file system supports hard links.
        Err(_) if !path.exists() => fs::rename(unmade, path)?,
        other => other?,
    }
    if cfg!(unix) {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

fn write_policy(db: &Database, policy: &Policy) -> Result<(), redb::Error> {
    let txn = db.begin_write()?;
    txn.open_table(LISTS)?;
    txn.open_table(CHUNKS)?;
    txn.open_table(ENDS)?;
    txn.open_table(ABOUT)?.insert("policy", policy.to_string().as_str())?;
    Ok(txn.commit()?)
}

/// Open a file, and agree on a policy. A store that has one is not written to.
fn open_and_settle(
    path: &Path,
    cache_bytes: usize,
    read_only: bool,
    asked: &PolicyFields,
) -> Result<(Db, Policy), SeenError> {
    let db = open_existing(path, cache_bytes, read_only)?;
    if let Some(stored) = stored_policy(&db).map_err(|error| refused(path, error))? {
        let policy = asked.agree(&stored)?;
        Snapshot::open(&db)?;
        return Ok((db, policy));
    }
    let policy = asked.apply(&Policy::default()).map_err(|error| refused(path, error))?;
    match &db {
        Db::Writable(new) => write_policy(new, &policy).map_err(|error| refused(path, error))?,
        Db::ReadOnly(_) => return Err(refused(path, "there are no seen lists in it yet")),
    }
    Ok((db, policy))
}

fn open_existing(path: &Path, cache_bytes: usize, read_only: bool) -> Result<Db, SeenError> {
    let mut builder = Database::builder();
    builder.set_cache_size(cache_bytes);
    let opened = match read_only {
        true => match builder.open_read_only(path) {
            // Its writer was killed: it must be repaired first, which writes.
            Err(DatabaseError::RepairAborted) => builder.open(path).map(Db::Writable),
            opened => opened.map(Db::ReadOnly),
        },
        false if fs::metadata(path).is_ok_and(|about| about.len() == 0) => {
            builder.create(path).map(Db::Writable)
        }
        false => builder.open(path).map(Db::Writable),
    };
    opened.map_err(|error| match error {
        DatabaseError::DatabaseAlreadyOpen => SeenError::InUse { path: path.to_owned() },
        _ if is_zeroed(path) => refused(
            path,
            "it holds nothing but zeros, as a store that was made on a full disk; remove it",
        ),
        error => refused(path, error),
    })
}

fn is_zeroed(path: &Path) -> bool {
    let mut start = [1; 4096];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut start));
    read.is_ok_and(|bytes| bytes > 0 && start[..bytes].iter().all(|byte| *byte == 0))
}

/// The policy of a store; `None` if it is new.
fn stored_policy(db: &Db) -> Result<Option<Policy>, Box<dyn std::error::Error>> {
    let txn = db.begin_read()?;
    let about = match txn.open_table(ABOUT) {
        Err(TableError::TableDoesNotExist(_)) => {
            return match txn.list_tables()?.next() {
                None => Ok(None),
                Some(table) => Err(format!(
                    "another program's database: it has a table {:?} and no seen lists",
                    table.name()
                )
                .into()),
            };
        }
        about => about?,
    };
    let text = about.get("policy")?;
    Ok(text.map(|text| text.value().parse()).transpose()?)
}
