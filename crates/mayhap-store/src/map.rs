//! Filters opened in place: mapped into memory, not read. The only `unsafe` of this crate.
//!
//! A mapped filter answers at once whatever its size, and takes only the memory of the pages it
//! is asked about.
//!
//! # Who may write to a mapped file
//!
//! Nobody, in place. [`replace`](crate::replace) writes another file and renames it, so a mapped
//! file stays as it was for as long as it is mapped; every writer of this crate does so. What
//! another program does is noticed, and never answered from:
//!
//! * *Truncated*: reading past the new end raises SIGBUS. A program that has called
//!   [`exit_on_truncation`] ends with the exit code it chose and a message that names the file;
//!   without it, SIGBUS ends the process. The bytes between the new end and the end of its page
//!   read as zeros: [`Mapped::check_unchanged`] tells.
//! * *Written to in place*: [`Mapped::check_unchanged`] tells, too, by length and modification time.
//!
//! Where files are written to in place, read them instead, and open the bytes.

use crate::replace::{Lock, open_regular};
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A file in memory, shared by all clones.
#[derive(Clone)]
pub struct Mapped(Arc<Map>);

struct Map {
    // First, so that it is dropped while the memory is still mapped.
    #[cfg(unix)]
    _watched: faults::Watched,
    memory: memmap2::Mmap,
    path: PathBuf,
    file: File,
    stamp: Stamp,
}

/// What tells that a file was written to.
type Stamp = (u64, Option<SystemTime>);

fn stamp(file: &File) -> io::Result<Stamp> {
    let data = file.metadata()?;
    Ok((data.len(), data.modified().ok()))
}

impl Mapped {
    /// Map an open file as it is now. The path is its name in messages.
    ///
    /// [`bytes`] and [`Lock::map`](crate::replace::Lock::map) do so for files that are
    /// replaced whole.
    ///
    /// # Safety
    /// For as long as the map or a clone of it lives, no process may write into the file or
    /// truncate it. Renaming another file over its name is fine.
    pub unsafe fn new(file: &File, path: &Path) -> io::Result<Mapped> {
        // The clone shares the lock of the file, if there is one: it lasts as long as the map.
        let file = file.try_clone()?;
        let stamp = stamp(&file)?;
        // SAFETY: the caller's promise.
        let memory = unsafe { memmap2::Mmap::map(&file) }?;
        Ok(Mapped(Arc::new(Map {
            #[cfg(unix)]
            _watched: faults::Watched::new(&memory, path),
            memory,
            path: path.to_owned(),
            file,
            stamp,
        })))
    }

    /// Fails where the file was truncated or written to since it was mapped: what was answered
    /// from it may be wrong. Costs one system call.
    pub fn check_unchanged(&self) -> Result<(), MapError> {
        match stamp(&self.0.file) {
            Ok(now) if now == self.0.stamp => Ok(()),
            _ => Err(MapError::Changed { path: self.0.path.clone() }),
        }
    }

    /// Release these pages: they come back by themselves when they are asked for.
    #[cfg(unix)]
    pub(crate) fn release_pages(&self, bytes: Range<usize>) {
        let advice = memmap2::UncheckedAdvice::DontNeed;
        // SAFETY: the mapping is of a file, shared and never written to, so released pages are read
        // from the file again.
        _ = unsafe { self.0.memory.unchecked_advise_range(advice, bytes.start, bytes.len()) };
    }

    #[cfg(not(unix))]
    pub(crate) fn release_pages(&self, _: Range<usize>) {}
}

/// Map a locked file, for [`Lock::map`].
pub(crate) fn locked(lock: &Lock) -> Result<Mapped, MapError> {
    // SAFETY: the map keeps the lock, so no writer that locks touches the file. For others see
    // `bytes`.
    unsafe { Mapped::new(lock.file(), lock.path()) }
        .map_err(|error| MapError::Open { path: lock.path().to_owned(), error })
}

impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0.memory
    }
}

impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({} bytes)", self.0.memory.len())
    }
}

/// Map a file of whatever format, which is replaced whole when it changes: see the
/// [module](self) for what happens if it is not.
pub fn bytes(path: &Path) -> Result<Mapped, MapError> {
    let io_error = |error| MapError::Open { path: path.to_owned(), error };
    let file = open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::IsADirectory => MapError::Directory { path: path.to_owned() },
        _ => io_error(error),
    })?;
    // SAFETY: our own writers replace files and never write into them. Should another program do
    // so all the same, bytes change, and bytes are all that is read: no reference is made to
    // anything but `[u8]`, every length is checked against the mapping, and every index against
    // every length. Truncation faults, see `faults`.
    unsafe { Mapped::new(&file, path) }.map_err(io_error)
}

/// Why a file cannot be mapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MapError {
    /// The file cannot be opened or mapped.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// A directory.
    #[error("{} is a directory, not a filter", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
    },
    /// Somebody wrote into the file while it was mapped.
    #[error("{} was written to in place while it was in use, so answers may be wrong", path.display())]
    Changed {
        /// Which file.
        path: PathBuf,
    },
}

/// From now on, end the process with this exit code when a mapped file turns out to be truncated,
/// and write `before`, the file's path and `after` to standard error first.
///
/// A truncated page cannot be read, and there is no way to return an error from a load
/// instruction, so this is all that can be done. Faults elsewhere take their usual course. Does
/// nothing on Windows, which does not let mapped files be truncated.
pub fn exit_on_truncation(exit_code: i32, before: &'static str, after: &'static str) {
    #[cfg(unix)]
    faults::install(faults::Ending { exit_code, before, after });
    #[cfg(not(unix))]
    let _ = (exit_code, before, after);
}

/// SIGBUS inside of maps.
#[cfg(unix)]
mod faults {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Release},
    };
    use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

    /// How the process ends.
    pub(super) struct Ending {
        pub(super) exit_code: i32,
        pub(super) before: &'static str,
        pub(super) after: &'static str,
    }

    static ENDING: OnceLock<Ending> = OnceLock::new();
    /// What handled SIGBUS before us.
    static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

    /// One mapped range. Entries are never freed, so that the handler can walk them at any time;
    /// those of maps that are gone are used again.
    #[derive(Default)]
    struct Entry {
        start: AtomicUsize,
        end: AtomicUsize,
        path: AtomicPtr<u8>,
        path_bytes: AtomicUsize,
        next: AtomicPtr<Entry>,
    }

    static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());
    static FREE: Mutex<Vec<&'static Entry>> = Mutex::new(Vec::new());

    fn free() -> MutexGuard<'static, Vec<&'static Entry>> {
        FREE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A map whose faults are known to be its own, until this is dropped.
    pub(super) struct Watched {
        entry: &'static Entry,
        _path: Box<[u8]>,
    }

    impl Watched {
        pub(super) fn new(memory: &[u8], path: &Path) -> Watched {
            let path: Box<[u8]> = path.as_os_str().as_bytes().into();
            let mut free = free();
            let entry = free.pop().unwrap_or_else(|| {
                let entry: &'static mut Entry = Box::leak(Box::default());
                *entry.next.get_mut() = FIRST.load(Acquire);
                FIRST.store(entry, Release);
                entry
            });
            entry.path.store(path.as_ptr().cast_mut(), Release);
            entry.path_bytes.store(path.len(), Release);
            entry.start.store(memory.as_ptr() as usize, Release);
            entry.end.store(memory.as_ptr() as usize + memory.len(), Release);
            Watched { entry, _path: path }
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            // Nobody reads a map that is being dropped, so no fault is in it.
            self.entry.end.store(0, Release);
            self.entry.start.store(0, Release);
            free().push(self.entry);
        }
    }

    pub(super) fn install(ending: Ending) {
        if ENDING.set(ending).is_err() {
            return;
        }
        // SAFETY: zeros are a valid `sigaction`, all pointers are to live values, and the handler
        // has the signature that `SA_SIGINFO` asks for and calls async-signal-safe functions only.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, ptr::null(), &mut old) != 0 {
                return;
            }
            _ = BEFORE.set(old);
            let mut new: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(_, _, _) = on_fault;
            new.sa_sigaction = handler as usize;
            new.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut new.sa_mask);
            libc::sigaction(libc::SIGBUS, &new, ptr::null_mut());
        }
    }

    extern "C" fn on_fault(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        _context: *mut libc::c_void,
    ) {
        // SAFETY: the system hands over a valid `info`.
        let (address, sent) = unsafe { ((*info).si_addr() as usize, (*info).si_code <= 0) };
        if let Some(ending) = ENDING.get()
            && !sent
            && let Some(path) = path_at(address)
        {
            let Ending { exit_code, before, after } = ending;
            for part in [before.as_bytes(), path, after.as_bytes()] {
                // SAFETY: async-signal-safe, with a pointer and length of a live slice.
                unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
            }
            // SAFETY: async-signal-safe.
            unsafe { libc::_exit(*exit_code) };
        }
        // Not ours. Hand it back: the instruction runs again and faults again, and what somebody
        // sent is sent again.
        // SAFETY: both are async-signal-safe, and `before` is what the system gave us.
        unsafe {
            match BEFORE.get() {
                Some(before) if !sent => libc::sigaction(signal, before, ptr::null_mut()),
                _ => {
                    libc::signal(signal, libc::SIG_DFL);
                    libc::raise(signal)
                }
            };
        }
    }

    /// The path of the map that has this address.
    fn path_at(address: usize) -> Option<&'static [u8]> {
        let mut entry = FIRST.load(Acquire);
        // SAFETY: entries are leaked, so every pointer in the list is valid forever.
        while let Some(at) = unsafe { entry.as_ref() } {
            if (at.start.load(Acquire)..at.end.load(Acquire)).contains(&address) {
                let (path, bytes) = (at.path.load(Acquire), at.path_bytes.load(Acquire));
                // SAFETY: a thread reads this map right now, so it is alive, and so is its path.
                return Some(unsafe { std::slice::from_raw_parts(path, bytes) });
            }
            entry = at.next.load(Acquire);
        }
        None
    }
}
