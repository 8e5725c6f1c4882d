//! `pymayhap.Filter`.

use crate::columns::View;
use crate::errors;
use crate::options::{budget, key_request, making, open_options};
use crate::values::{Keys, with_key};
use mayhap_foreign::Bytes;
use mayhap_store::clock::now_ms;
use mayhap_store::replace::Overwrite;
use mayhap_store::{ChangeError, Gathered, HostError, Info, KeySource, Merge, ValueRules};
use numpy::PyArray1;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, TryLockError};

/// A filter: a set that answers "certainly not" or "maybe".
///
/// ``Filter(capacity, fpr)`` makes a new one in memory; :func:`open` opens a file, whoever wrote it, and
/// :func:`build` makes one from all of its keys at once.
///
/// Keys are ``str`` (as UTF-8), bytes-like objects and ``int`` from -2**63 to 2**64 - 1, the same keys as
/// for the ``mayhap`` command, for Rust and for Redis. Methods with many keys take numpy arrays, Arrow
/// columns (pyarrow, polars, pandas), lists and iterators, and let other threads run meanwhile.
///
/// >>> import pymayhap as mh
/// >>> f = mh.Filter(1_000_000, 0.01)
/// >>> f.add("ada")              # True: certainly new
/// True
/// >>> f.add("ada")              # may have been there
/// False
/// >>> "ada" in f, "eve" in f
/// (True, False)
/// >>> f.update([1, 2, 3])
/// >>> f.contains_many([1, 2, 7]).tolist()
/// [True, True, False]
#[pyclass(frozen, module = "pymayhap", weakref, subclass)]
pub struct Filter {
    inner: RwLock<mayhap_store::Filter>,
    rules: ValueRules,
    /// Whether the rules leave every value as it is.
    direct: bool,
}

/// What a pickle calls, and with what: the bytes of a file, and a secret.
type Restored<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, Option<Bound<'py, PyBytes>>));

impl Filter {
    pub fn new(inner: mayhap_store::Filter, rules: ValueRules) -> Filter {
        Filter { inner: RwLock::new(inner), rules, direct: rules.are_direct() }
    }

    /// By the rules of its file.
    pub fn of(inner: mayhap_store::Filter, key_type: Option<&str>) -> PyResult<Filter> {
        let asked = key_request(key_type, None)?;
        let rules = inner.value_rules(&asked).map_err(errors::rules)?;
        Ok(Filter::new(inner, rules))
    }

    /// Look at it. Another thread that changes it is waited for without the interpreter's lock.
    #[inline]
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mayhap_store::Filter) -> T + Send,
    ) -> T {
        match self.inner.try_read() {
            Ok(filter) => look(&filter),
            Err(TryLockError::Poisoned(poisoned)) => look(&poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => self.read_detached(py, look),
        }
    }

    fn read_detached<T: Send>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&mayhap_store::Filter) -> T + Send,
    ) -> T {
        py.detach(|| look(&self.inner.read().unwrap_or_else(PoisonError::into_inner)))
    }

    #[inline]
    fn write<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut mayhap_store::Filter) -> T + Send,
    ) -> T {
        match self.inner.try_write() {
            Ok(mut filter) => change(&mut filter),
            Err(TryLockError::Poisoned(poisoned)) => change(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => self.write_detached(py, change),
        }
    }

    fn write_detached<T: Send>(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut mayhap_store::Filter) -> T + Send,
    ) -> T {
        py.detach(|| change(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn keys<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Keys<'py>> {
        let gathered = || self.read(keys.py(), |filter| Gathered::of(filter, self.rules));
        Keys::from(keys, gathered)
    }

    fn info_now(&self, py: Python<'_>) -> Info {
        self.read_detached(py, |filter| filter.info(now_ms()))
    }

    fn copied(&self, py: Python<'_>) -> PyResult<Filter> {
        let copy =
            self.read_detached(py, |filter| filter.copy(budget())).map_err(errors::change)?;
        Ok(Filter::new(copy, self.rules))
    }

    fn merge(&self, py: Python<'_>, other: &Filter, how: Merge) -> PyResult<()> {
        // A copy: two threads that merge two filters into each other must not wait for each other.
        let other =
            other.read_detached(py, |filter| filter.copy(budget())).map_err(errors::change)?;
        self.write_detached(py, |filter| filter.merge(&other, how, budget()))
            .map_err(errors::change)
    }

    fn merged(&self, py: Python<'_>, other: &Filter, how: Merge) -> PyResult<Filter> {
        let merged = self.copied(py)?;
        merged.merge(py, other, how)?;
        Ok(merged)
    }
}

/// Do something with keys as a source of this filter's keys, without the interpreter's lock.
pub fn with_source<T: Send>(
    py: Python<'_>,
    keys: &Keys<'_>,
    rules: ValueRules,
    work: impl FnOnce(&dyn KeySource) -> Result<T, ChangeError> + Send,
) -> PyResult<T> {
    let done = match keys {
        Keys::Gathered(gathered, _) => py.detach(|| work(gathered)),
        Keys::Column(column) => {
            let Some(view) = column.view() else {
                return Err(PyTypeError::new_err("objects are gathered first"));
            };
            let view: &View<'_> = &view;
            py.detach(|| {
                let source =
                    rules.source(view).map_err(|error: HostError| ChangeError::from(error))?;
                work(&source)
            })
        }
    };
    done.map_err(errors::change)
}

#[pymethods]
impl Filter {
    #[new]
    #[pyo3(signature = (capacity=None, fpr=None, *, kind=None, **options))]
    #[pyo3(
        text_signature = "(capacity=None, fpr=0.01, *, kind='blocked', memory=None, seed=0, secret=None, window=None, generations=None, growth=None, shards=None, key_type=None, normalize=None, meta=None)"
    )]
    fn create(
        py: Python<'_>,
        capacity: Option<u64>,
        fpr: Option<f64>,
        kind: Option<&str>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Filter> {
        let (spec, rules) = making(options)?.spec(kind, capacity, fpr)?;
        let made = py.detach(|| mayhap_store::Filter::create(&spec)).map_err(errors::build)?;
        Ok(Filter::new(made, rules))
    }

    /// Add a key. True: it was certainly new; False: it may have been there already.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        with_key(key, &self.rules, self.direct, |bytes| {
            self.write(py, |filter| filter.insert_key(bytes, budget())).map_err(errors::change)
        })
    }

    /// Remove a key that was added, where the kind can (quotient, counting, bitmap). Nothing happens if it
    /// is certainly not in.
    fn discard(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.taken(key).map(drop)
    }

    /// As discard, and raises KeyError if the key is certainly not in.
    fn remove(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.taken(key)? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.clone().unbind())),
        }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        with_key(key, &self.rules, self.direct, |bytes| {
            Ok(self.read(py, |filter| filter.contains_key(bytes)))
        })
    }

    /// Add many keys: a numpy array of integers, strings or bytes, an Arrow column (pyarrow, polars,
    /// pandas), a list, any iterable. Nulls are left out. If one of them is no key, none is added.
    fn update(&self, keys: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = keys.py();
        let keys = self.keys(keys)?;
        with_source(py, &keys, self.rules, |source| {
            let mut filter = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            filter.check_inserts(source.count()?, budget())?;
            filter.fill(source, budget()).map(drop)
        })
    }

    /// Add many keys, and tell of each whether it was certainly new: a numpy array of bool. A null is
    /// never new.
    fn add_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let py = keys.py();
        let keys = self.keys(keys)?;
        let new = with_source(py, &keys, self.rules, |source| {
            let mut new = Vec::new();
            let mut filter = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            filter.insert_source(source, budget(), &mut new)?;
            Ok(new)
        })?;
        Ok(PyArray1::from_vec(py, keys.spread(new)))
    }

    /// Ask for many keys: a numpy array of bool, False where a key is certainly not in. A null is in
    /// nothing.
    fn contains_many<'py>(&self, keys: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let py = keys.py();
        let keys = self.keys(keys)?;
        let answers = with_source(py, &keys, self.rules, |source| {
            let mut answers = Vec::new();
            let filter = self.inner.read().unwrap_or_else(PoisonError::into_inner);
            filter.contains_source(source, &mut answers)?;
            Ok(answers)
        })?;
        Ok(PyArray1::from_vec(py, keys.spread(answers)))
    }

    /// Remove many keys that were added; returns how many were, the others were certainly not in.
    fn discard_many(&self, keys: &Bound<'_, PyAny>) -> PyResult<u64> {
        let py = keys.py();
        let keys = self.keys(keys)?;
        with_source(py, &keys, self.rules, |source| {
            let mut filter = self.inner.write().unwrap_or_else(PoisonError::into_inner);
            Ok(filter.remove(source, budget())?.removed)
        })
    }

    /// Remove all keys.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        self.write_detached(py, |filter| filter.clear(budget())).map_err(errors::change)
    }

    /// A copy in memory of its own.
    fn copy(&self, py: Python<'_>) -> PyResult<Filter> {
        self.copied(py)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Filter> {
        self.copied(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, _memo: &Bound<'_, PyAny>) -> PyResult<Filter> {
        self.copied(py)
    }

    fn __or__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.merged(py, other, Merge::Union)
    }

    fn __and__(&self, py: Python<'_>, other: &Filter) -> PyResult<Filter> {
        self.merged(py, other, Merge::Intersect)
    }

    fn __ior__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.merge(py, other, Merge::Union)
    }

    fn __iand__(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        self.merge(py, other, Merge::Intersect)
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let (Ok(other), CompareOp::Eq | CompareOp::Ne) = (other.cast::<Filter>(), op) else {
            return Ok(py.NotImplemented());
        };
        let other = other.get();
        // The same object would wait for itself where a third thread wants to write.
        let same = std::ptr::eq(self, other)
            || py.detach(|| {
                loop {
                    let this = self.inner.read().unwrap_or_else(PoisonError::into_inner);
                    match other.inner.try_read() {
                        Ok(that) => break this.holds_same(&that),
                        Err(TryLockError::Poisoned(that)) => {
                            break this.holds_same(&that.into_inner());
                        }
                        // Whoever changes the other one may be waiting for this one.
                        Err(TryLockError::WouldBlock) => {
                            drop(this);
                            std::thread::yield_now();
                        }
                    }
                }
            });
        let equal = same == matches!(op, CompareOp::Eq);
        Ok(equal.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    /// The bytes of its file.
    fn __bytes__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            self.read_detached(py, mayhap_store::Filter::to_bytes).map_err(errors::change)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A filter from the bytes of its file, in any format that the command reads.
    #[classmethod]
    #[pyo3(signature = (data, *, secret=None, format=None, key_type=None, column=None))]
    fn from_bytes(
        cls: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        secret: Option<&Bound<'_, PyAny>>,
        format: Option<&str>,
        key_type: Option<&str>,
        column: Option<String>,
    ) -> PyResult<Filter> {
        let data: Vec<u8> = match data.cast::<PyBytes>() {
            Ok(bytes) => bytes.as_bytes().to_vec(),
            Err(_) => data
                .call_method0("__bytes__")
                .or_else(|_| data.call_method0("tobytes"))?
                .cast::<PyBytes>()?
                .as_bytes()
                .to_vec(),
        };
        let options = open_options(true, format, column, key_type, secret)?;
        let opened = cls.py().detach(|| {
            let bytes = Bytes::new(data);
            mayhap_store::Filter::from_bytes(Path::new("<bytes>"), bytes, &options)
        });
        Filter::of(opened.map_err(errors::open)?, key_type)
    }

    /// Pickles hold the bytes of its file, and the secret of a keyed filter.
    fn __reduce__<'py>(slf: &Bound<'py, Filter>) -> PyResult<Restored<'py>> {
        let (py, this) = (slf.py(), slf.get());
        let secret = this.read(py, |filter| filter.secret().map(mayhap::Secret::to_bytes));
        let secret = secret.map(|secret| PyBytes::new(py, &secret));
        let restore = py.import("pymayhap")?.getattr("_restore")?;
        Ok((restore, (this.__bytes__(py)?, secret)))
    }

    /// Write its file, whole or not at all. A file that is there must be a filter, and is replaced.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let saved = self.read_detached(py, |filter| {
            let over = match filter.format() {
                mayhap_foreign::Format::Mayhap => Overwrite::Filters,
                _ => Overwrite::Anything,
            };
            filter.save(&path, over)
        });
        saved.map_err(errors::replace)
    }

    /// The kind, or whose filter it is: "blocked", "ribbon", "guava".
    #[getter]
    fn kind(&self, py: Python<'_>) -> &'static str {
        self.read(py, mayhap_store::Filter::name)
    }

    /// The keys that were added, counted; None where the format does not count them.
    #[getter]
    fn keys_added(&self, py: Python<'_>) -> Option<u64> {
        self.read(py, |filter| filter.sizes().keys)
    }

    /// The keys it was made for, or has grown to; 0 where nobody said.
    #[getter]
    fn capacity(&self, py: Python<'_>) -> u64 {
        self.read(py, |filter| filter.sizes().capacity)
    }

    /// The false-positive rate it was made for; 0 where nobody said, and in an exact set.
    #[getter]
    fn fpr(&self, py: Python<'_>) -> f64 {
        self.read(py, mayhap_store::Filter::fpr)
    }

    /// Bytes of its arrays.
    #[getter]
    fn nbytes(&self, py: Python<'_>) -> u64 {
        self.read(py, |filter| filter.sizes().bytes)
    }

    /// The secret of a keyed filter, else None.
    #[getter]
    fn secret<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let secret = self.read(py, |filter| filter.secret().map(mayhap::Secret::to_bytes));
        secret.map(|secret| PyBytes::new(py, &secret))
    }

    /// How many distinct keys are in, estimated from the bits; None where all are set. Reads all bits.
    fn estimate(&self, py: Python<'_>) -> Option<u64> {
        self.info_now(py).bits.and_then(|bits| bits.estimate)
    }

    /// The false-positive rate as the bits are now. Reads all bits.
    fn fpr_now(&self, py: Python<'_>) -> f64 {
        self.info_now(py).bits.map_or(0.0, |bits| bits.fpr_now)
    }

    /// All there is to know, as `mayhap info --json` prints it. Reads all bits.
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = self.info_now(py).to_json().to_string();
        py.import("json")?.call_method1("loads", (info,))
    }

    fn __len__(&self) -> PyResult<usize> {
        Err(PyTypeError::new_err("a filter has no len(): use .keys_added, or .estimate()"))
    }

    /// A filter is always true: whether anything is in would be a question for keys_added.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        let (name, sizes, fpr) =
            self.read(py, |filter| (filter.name(), filter.sizes(), filter.fpr()));
        let keys = sizes.keys.map_or_else(String::new, |keys| format!(", keys_added={keys}"));
        let capacity = sizes.capacity;
        format!(
            "<pymayhap.Filter {name}: capacity={capacity}, fpr={fpr}{keys}, nbytes={}>",
            sizes.bytes
        )
    }
}

impl Filter {
    fn taken(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        with_key(key, &self.rules, self.direct, |bytes| {
            self.write(py, |filter| filter.remove_key(bytes, budget())).map_err(errors::change)
        })
    }
}

/// Open the filter in a file, in any format that the command reads. It is mapped: opening costs nothing
/// but verification (``verify=False`` reads the header alone), and the first change copies it into memory.
///
/// ``format``, ``column`` and ``key_type`` say what another program's file does not. The secret of a
/// keyed filter is read from the key file beside it unless ``secret`` is given.
#[pyfunction]
#[pyo3(signature = (path, *, verify=true, key_type=None, column=None, format=None, secret=None))]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    verify: bool,
    key_type: Option<&str>,
    column: Option<String>,
    format: Option<&str>,
    secret: Option<&Bound<'_, PyAny>>,
) -> PyResult<Filter> {
    let options = open_options(verify, format, column, key_type, secret)?;
    let opened = py.detach(|| mayhap_store::Filter::open(&path, &options));
    Filter::of(opened.map_err(errors::open)?, key_type)
}
