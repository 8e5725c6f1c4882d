//! What `pymayhap.dedup` asks line by line.

use crate::errors;
use crate::options::budget;
use crate::values::with_key;
use mayhap_store::ValueRules;
use mayhap_store::dedup::{self, DedupError, DedupSpec, DedupWindow};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// What came by already; `pymayhap.dedup` goes through lines with it.
#[pyclass(frozen, module = "pymayhap")]
pub struct Dedup {
    inner: Mutex<Option<dedup::Dedup>>,
}

fn error(error: DedupError) -> PyErr {
    match error {
        DedupError::Build(error) => errors::build(error),
        DedupError::Change(error) => errors::change(error),
        DedupError::Open(error) => errors::open(error),
        DedupError::Replace(error) => errors::replace(error),
        other => errors::value(other),
    }
}

/// A number of keys, or a time.
fn window(given: &Bound<'_, PyAny>) -> PyResult<DedupWindow> {
    if let Ok(keys) = given.extract::<u64>() {
        return Ok(DedupWindow::Keys(keys));
    }
    let seconds: f64 = given.call_method0("total_seconds")?.extract()?;
    let time = std::time::Duration::try_from_secs_f64(seconds).map_err(errors::value)?;
    Ok(DedupWindow::Time(time))
}

impl Dedup {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dedup::Dedup) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let closed = || PyValueError::new_err("closed");
        // Nobody holds it for long, but for whoever saves.
        if let Ok(mut held) = self.inner.try_lock() {
            return work(held.as_mut().ok_or_else(closed)?);
        }
        py.detach(|| {
            let mut held = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            work(held.as_mut().ok_or_else(closed)?)
        })
    }
}

#[pymethods]
impl Dedup {
    #[new]
    #[pyo3(signature = (*, exact=false, state=None, fpr=None, capacity=None, window=None))]
    fn create(
        py: Python<'_>,
        exact: bool,
        state: Option<PathBuf>,
        fpr: Option<f64>,
        capacity: Option<u64>,
        window: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Dedup> {
        let window = window.map(self::window).transpose()?;
        if exact && (window.is_some() || fpr.is_some()) {
            return Err(PyValueError::new_err("exact= has neither a window= nor an fpr="));
        }
        let spec = DedupSpec { exact, fpr, capacity, window };
        let made = py.detach(|| match &state {
            Some(path) => dedup::Dedup::open(path, spec, budget()).map_err(error),
            None => dedup::Dedup::new(spec, budget()).map_err(error),
        });
        Ok(Dedup { inner: Mutex::new(Some(made?)) })
    }

    /// Whether the key is new; it is remembered.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        with_key(key, &ValueRules::default(), true, |bytes| {
            self.with(py, |seen| seen.insert(bytes).map_err(error))
        })
    }

    /// The distinct keys that came.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, |seen| Ok(seen.keys()))
    }

    /// Write the state file.
    fn save(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| {
            let mut held = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
            let closed = || PyValueError::new_err("closed");
            held.as_mut().ok_or_else(closed)?.save().map_err(error)
        })
    }

    /// Let go of the state file, as it was saved last.
    fn close(&self, py: Python<'_>) {
        py.detach(|| drop(self.inner.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }
}
