//! What came by already, for hosts that hand over keys one by one: in a filter that grows or forgets, or
//! exactly; in memory, or in a state file that the next run goes on with.
//!
//! A state file is that of the `dedup` command with whole lines as keys: either goes on where the other
//! stopped.

use crate::budget::Budget;
use crate::clock::now_s;
use crate::exact::{ExactError, ExactSet};
use crate::key_rules::{KeyRequest, KeyRules};
use crate::replace::{Lock, LockError, Overwrite, ReplaceError};
use crate::{BuildError, BuildSpec, ChangeError, Edit, Filter, OpenError, OpenOptions, Target};
use mayhap::format::Metadata;
use mayhap::{Kind, KindSpec, Window};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The name under which a state notes what of a line its keys are.
pub const KEYS_FROM: &str = "mayhap.keys-from";
/// What it says where keys are whole lines.
pub const WHOLE_LINES: &str = "lines";
/// The chance to take a new line for a repeat where nobody says: a million lines lose one.
pub const DEFAULT_FPR: f64 = 1e-6;
/// Where a set begins that grows.
const FIRST_KEYS: u64 = 100_000;
/// The most lines a window of time holds where nobody says.
const WINDOW_KEYS: u64 = 1_000_000;

/// What is remembered, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct DedupSpec {
    /// Remember 128-bit hashes, not a filter: no false positives.
    pub exact: bool,
    /// The chance to take a new key for a repeat.
    pub fpr: Option<f64>,
    /// Distinct keys to make room for at first, or within a window of time.
    pub capacity: Option<u64>,
    /// Forget: the last keys, or those of the last while.
    pub window: Option<DedupWindow>,
}

/// What a set that forgets remembers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DedupWindow {
    /// So many of the last keys.
    Keys(u64),
    /// The keys of this time.
    Time(Duration),
}

/// What came by already.
///
/// ```
/// use mayhap_store::dedup::{Dedup, DedupSpec};
/// let mut seen = Dedup::new(DedupSpec::default(), Default::default())?;
/// let new: Vec<bool> = ["a", "b", "a"].map(|key| seen.insert(key.as_bytes()).unwrap()).into();
/// assert_eq!(new, [true, true, false]);
/// # Ok::<(), mayhap_store::dedup::DedupError>(())
/// ```
#[derive(Debug)]
pub struct Dedup {
    set: Set,
    state: Option<State>,
    budget: Budget,
    new: Vec<bool>,
}

#[derive(Debug)]
enum Set {
    Filter(Box<Filter>),
    Exact(ExactSet),
}

#[derive(Debug)]
struct State {
    path: PathBuf,
    /// Nothing until the file is there.
    lock: Option<Lock>,
    metadata: Metadata,
}

impl Dedup {
    /// In memory.
    pub fn new(spec: DedupSpec, budget: Budget) -> Result<Dedup, DedupError> {
        let metadata = Metadata::new();
        let set = match spec.exact {
            true => Set::Exact(ExactSet::new()),
            false => Set::Filter(Box::new(spec.filter(metadata, budget)?)),
        };
        Ok(Dedup { set, state: None, budget, new: Vec::new() })
    }

    /// In a state file, which is read if it is there and locked until this value is dropped. Nothing is
    /// written before [`save`](Dedup::save).
    pub fn open(path: &Path, spec: DedupSpec, budget: Budget) -> Result<Dedup, DedupError> {
        let lock = match Lock::acquire(path, Duration::ZERO) {
            Err(LockError::Open { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                let metadata = Metadata::new().with_created(now_s());
                let metadata = metadata.with(KEYS_FROM, WHOLE_LINES).map_err(ChangeError::from)?;
                let state = State { path: path.to_owned(), lock: None, metadata };
                return Ok(Dedup { state: Some(state), ..Dedup::new(spec, budget)? });
            }
            lock => lock.map_err(OpenError::from)?,
        };
        let is_exact = {
            let start = lock.map().map_err(OpenError::from)?;
            ExactSet::is_start_of_file(start.as_ref())
        };
        if is_exact != spec.exact {
            return Err(DedupError::OtherState { path: path.to_owned(), exact: is_exact });
        }
        let (set, lock, metadata) = if is_exact {
            let read = ExactSet::read_from(lock.file(), budget);
            let (set, metadata) =
                read.map_err(|error| DedupError::Exact { path: path.to_owned(), error })?;
            (Set::Exact(set), lock, metadata)
        } else {
            let (lock, filter) = Edit::of(lock, path, &OpenOptions::default())?.into_parts();
            let metadata = filter.metadata().clone();
            (Set::Filter(Box::new(filter)), lock, metadata)
        };
        let plain = KeyRules::of_metadata(&metadata, &KeyRequest::default());
        let plain = plain.is_ok_and(|rules| rules == KeyRules::default());
        if !plain || metadata.get(KEYS_FROM).is_some_and(|from| from != WHOLE_LINES) {
            return Err(DedupError::OtherKeys { path: path.to_owned() });
        }
        let state = Some(State { path: path.to_owned(), lock: Some(lock), metadata });
        Ok(Dedup { set, state, budget, new: Vec::new() })
    }

    /// Whether the key is new; it is remembered.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, DedupError> {
        match &mut self.set {
            Set::Filter(filter) => Ok(filter.insert_key(key, self.budget)?),
            Set::Exact(set) => {
                if set.room() == 0 {
                    let (need, keys) = (set.bytes_with(1) as u64, set.keys() as u64);
                    self.budget.check(need).map_err(|over| ChangeError::Memory { over, keys })?;
                }
                set.insert_batch_new(&[xxhash_rust::xxh3::xxh3_128(key)], &mut self.new);
                Ok(self.new.first().copied().unwrap_or(true))
            }
        }
    }

    /// The distinct keys that came, as far as they are remembered.
    pub fn keys(&self) -> u64 {
        match &self.set {
            Set::Filter(filter) => filter.sizes().keys.unwrap_or(0),
            Set::Exact(set) => set.keys() as u64,
        }
    }

    /// Write the state file, if there is to be one.
    pub fn save(&mut self) -> Result<(), DedupError> {
        let Some(state) = &mut self.state else { return Ok(()) };
        let (set, metadata) = (&self.set, &state.metadata);
        let write = |to: &mut dyn io::Write| match set {
            Set::Filter(filter) => filter.write_with(to, metadata),
            Set::Exact(set) => set.write_to(to, metadata),
        };
        match &mut state.lock {
            Some(lock) => {
                let over = match set {
                    Set::Filter(_) => Overwrite::Filters,
                    // It was read as one, under the lock that is still held.
                    Set::Exact(_) => Overwrite::Anything,
                };
                lock.replace(over, write)?;
            }
            None => state.lock = Some(Lock::create(&state.path, write)?),
        }
        Ok(())
    }
}

impl DedupSpec {
    fn filter(&self, metadata: Metadata, budget: Budget) -> Result<Filter, DedupError> {
        let generations = KindSpec::GENERATIONS;
        let (kind, capacity) = match self.window {
            Some(DedupWindow::Keys(keys)) => {
                (KindSpec::Windowed(Window::last_keys(generations)), keys)
            }
            Some(DedupWindow::Time(time)) => {
                let keys = self.capacity.unwrap_or(WINDOW_KEYS);
                (KindSpec::Windowed(Window::time(time, generations)), keys)
            }
            None => (KindSpec::of(Kind::Scalable), self.capacity.unwrap_or(FIRST_KEYS)),
        };
        let spec = BuildSpec {
            target: Target::Native(kind),
            capacity: Some(capacity),
            fpr: Some(self.fpr.unwrap_or(DEFAULT_FPR)),
            metadata,
            budget,
            ..BuildSpec::default()
        };
        Ok(Filter::create(&spec)?)
    }
}

/// Why keys cannot be told apart, or a state not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DedupError {
    /// The set cannot be made.
    #[error("{0}")]
    Build(#[from] BuildError),
    /// It cannot take more keys.
    #[error("{0}")]
    Change(#[from] ChangeError),
    /// The state cannot be opened.
    #[error("{0}")]
    Open(#[from] OpenError),
    /// The state cannot be written.
    #[error("{0}")]
    Replace(#[from] ReplaceError),
    /// The exact state cannot be read.
    #[error("{}: {error}", path.display())]
    Exact {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        error: ExactError,
    },
    /// A state of the other sort.
    #[error("{} is {}", path.display(), if *exact { "an exact state" } else { "a filter, which is not exact" })]
    OtherState {
        /// Which file.
        path: PathBuf,
        /// Whether it is an exact one.
        exact: bool,
    },
    /// Its keys are parts of lines, or made of text by some rule.
    #[error("{}: its keys are not whole lines as they are", path.display())]
    OtherKeys {
        /// Which file.
        path: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    #[test]
    fn a_state_is_gone_on_with() -> Tested {
        let folder = tempfile::tempdir()?;
        for exact in [false, true] {
            let path = folder.path().join(format!("state-{exact}"));
            let spec = DedupSpec { exact, ..DedupSpec::default() };
            let mut first = Dedup::open(&path, spec, Budget::default())?;
            assert!(first.insert(b"ada")? && !first.insert(b"ada")?);
            assert!(!path.exists());
            first.save()?;
            assert!(first.insert(b"lost")?);
            // Locked while it is in use.
            assert!(matches!(
                Dedup::open(&path, spec, Budget::default()),
                Err(DedupError::Open(OpenError::Lock(_)))
            ));
            drop(first);
            let mut next = Dedup::open(&path, spec, Budget::default())?;
            assert_eq!(next.keys(), 1);
            assert!(!next.insert(b"ada")? && next.insert(b"lost")? && next.insert(b"eve")?);
            next.save()?;
            drop(next);
            let other = DedupSpec { exact: !exact, ..DedupSpec::default() };
            let refused = Dedup::open(&path, other, Budget::default()).unwrap_err();
            assert!(matches!(refused, DedupError::OtherState { exact: was, .. } if was == exact));
        }
        Ok(())
    }

    #[test]
    fn keys_that_are_parts_of_lines_are_refused() -> Tested {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("state");
        let metadata = Metadata::new().with(KEYS_FROM, "field 2")?;
        DedupSpec::default()
            .filter(metadata, Budget::default())?
            .save(&path, Overwrite::Filters)?;
        let refused = Dedup::open(&path, DedupSpec::default(), Budget::default());
        assert!(matches!(refused, Err(DedupError::OtherKeys { .. })));
        Ok(())
    }

    #[test]
    fn a_window_of_keys_forgets() -> Tested {
        let window = Some(DedupWindow::Keys(1_000));
        let spec = DedupSpec { window, ..DedupSpec::default() };
        let mut seen = Dedup::new(spec, Budget::default())?;
        for key in 0..10_000u64 {
            assert!(seen.insert(&key.to_le_bytes())?);
        }
        assert!(!seen.insert(&9_999u64.to_le_bytes())?);
        assert!(seen.insert(&0u64.to_le_bytes())?);
        Ok(())
    }
}
