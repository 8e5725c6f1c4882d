//! `pymayhap.Seen`: what each owner has seen already.

use crate::errors;
use mayhap_seen::{Backend, Explanation, PolicyFields};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::sync::{PoisonError, RwLock};

type Lists = mayhap_seen::Seen<Box<dyn Backend>>;

/// Who has seen what: lists of ids, one per owner, in a file or on a Redis or Valkey server, alone or a
/// cluster. Owners and ids are ``str`` or ``bytes``. All methods may be called from many threads.
///
/// >>> import pymayhap as mh, tempfile, os
/// >>> seen = mh.Seen(os.path.join(tempfile.mkdtemp(), "feed.seen"))
/// >>> seen.mark("user-1", ["a1", "a2"])
/// 2
/// >>> seen.unseen("user-1", ["a1", "a4", "a2", "a5"])
/// ['a4', 'a5']
/// >>> seen.mark_unseen("user-1", ["a4", "a2"])
/// ['a4']
/// >>> offered = seen.offer("user-2", ["a1", "a2", "a3"], ttl=60)
/// >>> seen.confirm("user-2", offered[:1])
/// 1
/// >>> seen.explain("user-1", "a4")["seen"], seen.forget("user-1")
/// (True, True)
#[pyclass(frozen, module = "pymayhap", weakref)]
pub struct Seen {
    inner: RwLock<Option<Lists>>,
}

/// An owner or an id.
fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(text.to_str()?.as_bytes().to_vec());
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    let name = value.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "a {name} is no owner and no id: str and bytes are (of a number, its str())"
    )))
}

/// Ids, as they were given and as bytes.
type Ids<'py> = (Vec<Bound<'py, PyAny>>, Vec<Vec<u8>>);

fn ids<'py>(given: &Bound<'py, PyAny>) -> PyResult<Ids<'py>> {
    if given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err("one id, and a list of ids is wanted"));
    }
    let objects = given.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let ids = objects.iter().map(bytes).collect::<PyResult<Vec<_>>>()?;
    Ok((objects, ids))
}

/// Those of the objects whose ids are among these, which point into `ids`.
fn chosen<'py>(
    objects: &[Bound<'py, PyAny>],
    ids: &[Vec<u8>],
    chosen: &[&Vec<u8>],
) -> Vec<Bound<'py, PyAny>> {
    let mut chosen = chosen.iter().copied().peekable();
    let mut taken = Vec::new();
    for (object, id) in objects.iter().zip(ids) {
        // They come in order, and each is one of them: the same place, not only an equal id.
        if chosen.peek().is_some_and(|next| std::ptr::eq(*next, id)) {
            chosen.next();
            taken.push(object.clone());
        }
    }
    taken
}

impl Seen {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Lists) -> Result<T, mayhap_seen::SeenError> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let lists = self.inner.read().unwrap_or_else(PoisonError::into_inner);
            let lists =
                lists.as_ref().ok_or_else(|| PyValueError::new_err("the store is closed"))?;
            work(lists).map_err(errors::seen)
        })
    }
}

#[pymethods]
impl Seen {
    /// Open a store: a file, which is made if there is none, or ``redis://host:port/db?…``
    /// (``redis+cluster://`` for a cluster). ``policy`` is what a new store keeps and for how long, as
    /// ``"slices=5,ids=1000,rate=0.001,idle=5d"``. With ``fail_open`` nothing counts as seen while a server
    /// cannot be reached.
    #[new]
    #[pyo3(signature = (store, *, policy=None, read_only=false, fail_open=false, wait=1.0))]
    fn create(
        py: Python<'_>,
        store: &Bound<'_, PyAny>,
        policy: Option<&str>,
        read_only: bool,
        fail_open: bool,
        wait: f64,
    ) -> PyResult<Seen> {
        let store: std::path::PathBuf = store.extract()?;
        let policy: PolicyFields = policy.unwrap_or_default().parse().map_err(errors::value)?;
        let wait = std::time::Duration::try_from_secs_f64(wait).map_err(errors::value)?;
        let options = mayhap_seen::OpenOptions::default()
            .with_policy_fields(policy)
            .with_read_only(read_only)
            .with_patience(wait);
        let opened = py.detach(|| mayhap_seen::open(&store, &options)).map_err(errors::seen)?;
        Ok(Seen { inner: RwLock::new(Some(opened.with_fail_open(fail_open))) })
    }

    /// The candidates that the owner has not seen, in order.
    fn unseen<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        candidates: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (owner_bytes, (objects, ids)) = (bytes(owner)?, ids(candidates)?);
        let unseen = self.with(owner.py(), |lists| lists.unseen(&owner_bytes, &ids))?;
        Ok(chosen(&objects, &ids, &unseen))
    }

    /// Mark ids as seen; returns how many were new.
    fn mark(&self, owner: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (owner_bytes, (_, ids)) = (bytes(owner)?, ids(given)?);
        self.with(owner.py(), |lists| lists.mark(&owner_bytes, &ids))
    }

    /// Filter and mark atomically: of two concurrent calls, each id is given to one of them only.
    fn mark_unseen<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        candidates: &Bound<'py, PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (owner_bytes, (objects, ids)) = (bytes(owner)?, ids(candidates)?);
        let new = self.with(owner.py(), |lists| lists.mark_unseen(&owner_bytes, &ids))?;
        Ok(chosen(&objects, &ids, &new))
    }

    /// The first of two phases: returns the ids not seen yet, which then count as seen for ``ttl`` seconds.
    #[pyo3(signature = (owner, candidates, ttl=60))]
    fn offer<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        candidates: &Bound<'py, PyAny>,
        ttl: u64,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (owner_bytes, (objects, ids)) = (bytes(owner)?, ids(candidates)?);
        let new = self.with(owner.py(), |lists| lists.offer(&owner_bytes, &ids, ttl))?;
        Ok(chosen(&objects, &ids, &new))
    }

    /// The second phase: these were really shown, so they are marked; returns how many were new.
    fn confirm(&self, owner: &Bound<'_, PyAny>, given: &Bound<'_, PyAny>) -> PyResult<u64> {
        let (owner_bytes, (_, ids)) = (bytes(owner)?, ids(given)?);
        self.with(owner.py(), |lists| lists.confirm(&owner_bytes, &ids))
    }

    /// Delete an owner's list; True if there was one.
    fn forget(&self, owner: &Bound<'_, PyAny>) -> PyResult<bool> {
        let owner_bytes = bytes(owner)?;
        self.with(owner.py(), |lists| lists.forget(&owner_bytes))
    }

    /// Why an id is hidden from the owner: a dict with "seen" and "offered", and what else is known.
    fn explain<'py>(
        &self,
        owner: &Bound<'py, PyAny>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (owner_bytes, id) = (bytes(owner)?, bytes(id)?);
        let py = owner.py();
        let explanation = self.with(py, |lists| lists.explain(&owner_bytes, &id))?;
        let told = PyDict::new(py);
        told.set_item("seen", matches!(explanation, Explanation::Seen { .. }))?;
        told.set_item("offered", matches!(explanation, Explanation::Offered { .. }))?;
        match explanation {
            Explanation::Offered { until } => told.set_item("until", until)?,
            Explanation::Seen { slice, since, before, false_positive_rate } => {
                told.set_item("slice", slice)?;
                told.set_item("since", since)?;
                told.set_item("before", before)?;
                told.set_item("false_positive_rate", false_positive_rate)?;
            }
            _ => {}
        }
        Ok(told)
    }

    /// The policy of the store, as text.
    #[getter]
    fn policy(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |lists| Ok(lists.policy()?.to_string()))
    }

    /// The whole store in numbers. Reads all of it.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.with(py, mayhap_seen::Seen::stats)?;
        let told = PyDict::new(py);
        told.set_item("owners", stats.owners)?;
        told.set_item("ids", stats.ids)?;
        told.set_item("offered", stats.offered)?;
        told.set_item("bytes", stats.bytes)?;
        told.set_item("largest_bytes", stats.largest_bytes)?;
        told.set_item("unreadable", stats.unreadable)?;
        Ok(told)
    }

    /// Calls that failed open so far.
    #[getter]
    fn failures(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |lists| Ok(lists.failures()))
    }

    /// Return when all marks are as durable as the store can make them.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.with(py, mayhap_seen::Seen::flush)
    }

    /// Close the store; a file may then be opened by others.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.write().unwrap_or_else(PoisonError::into_inner).take()));
    }

    fn __enter__(slf: Bound<'_, Seen>) -> Bound<'_, Seen> {
        slf
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, py: Python<'_>, _args: &Bound<'_, pyo3::types::PyTuple>) {
        self.close(py);
    }
}
