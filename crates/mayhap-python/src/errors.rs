//! What the services report, as Python's exceptions.

use mayhap_seen::SeenError;
use mayhap_store::key_rules::KeyRulesError;
use mayhap_store::map::MapError;
use mayhap_store::replace::{LockError, ReplaceError};
use mayhap_store::secret_file::SecretFileError;
use mayhap_store::{BuildError, ChangeError, HostError, OpenError, ValueError};
use pyo3::exceptions::{
    PyConnectionError, PyMemoryError, PyOSError, PyOverflowError, PyRuntimeError, PyTypeError,
    PyValueError,
};
use pyo3::prelude::*;
use std::error::Error;
use std::io;
use std::path::Path;

/// An error of the system, with its number and the file, so that Python tells `FileNotFoundError` from
/// `PermissionError`.
pub fn os(error: &io::Error, path: &Path, said: &dyn ToString) -> PyErr {
    match error.raw_os_error() {
        Some(number) => {
            let said = error.to_string();
            let said = said.split(" (os error").next().unwrap_or_default().to_owned();
            PyOSError::new_err((number, said, path.to_path_buf()))
        }
        None => PyOSError::new_err(said.to_string()),
    }
}

pub fn value(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The exception that Python raised, where it came through a service.
pub fn host(error: &HostError) -> PyErr {
    if let Some(cause) = error.source() {
        if let Some(raised) = cause.downcast_ref::<PyErr>() {
            return Python::attach(|py| raised.clone_ref(py));
        }
        if let Some(error) = cause.downcast_ref::<ValueError>() {
            return no_key(error);
        }
    }
    PyRuntimeError::new_err(error.to_string())
}

/// A value that is no key of a filter.
pub fn no_key(error: &ValueError) -> PyErr {
    match error {
        ValueError::Integer { number, .. }
            if *number < i128::from(i64::MIN) || *number > i128::from(u64::MAX) =>
        {
            out_of_range(number)
        }
        ValueError::Integer { .. } => PyTypeError::new_err(error.to_string()),
        _ => value(error),
    }
}

pub fn out_of_range(number: impl std::fmt::Display) -> PyErr {
    PyOverflowError::new_err(format!(
        "{number} is no key: integers from -2**63 to 2**64 - 1 are; use str() or bytes of it"
    ))
}

pub fn rules(error: KeyRulesError) -> PyErr {
    value(error)
}

pub fn map(error: &MapError) -> PyErr {
    match error {
        MapError::Open { path, error: cause } => os(cause, path, error),
        other => PyOSError::new_err(other.to_string()),
    }
}

pub fn open(error: OpenError) -> PyErr {
    match error {
        OpenError::Map(error) => map(&error),
        OpenError::Replace(error) => replace(error),
        OpenError::Lock(LockError::Open { path, error }) => {
            let said = error.to_string();
            os(&error, &path, &said)
        }
        OpenError::Lock(error) => PyOSError::new_err(error.to_string()),
        OpenError::Secret { path, error: SecretFileError::Read { path: key_file, .. } } => {
            value(format!(
                "{} is keyed, and there is no key file {}: give its secret=",
                path.display(),
                key_file.display()
            ))
        }
        OpenError::Ambiguous { path, candidates } => {
            let names: Vec<&str> = candidates.iter().map(|format| format.name()).collect();
            value(format!(
                "{}: not a Mayhap file, and its bytes do not say whose: give its format=, one of {}",
                path.display(),
                names.join(", ")
            ))
        }
        other => value(other),
    }
}

pub fn change(error: ChangeError) -> PyErr {
    match error {
        ChangeError::Source(error) => host(&error),
        ChangeError::Memory { .. } | ChangeError::Copy { .. } => {
            PyMemoryError::new_err(error.to_string())
        }
        ChangeError::Changed(error) => map(&error),
        ChangeError::Reopened(error) => open(*error),
        other => value(other),
    }
}

pub fn build(error: BuildError) -> PyErr {
    match error {
        BuildError::Change(error) => change(error),
        BuildError::Spec(error @ mayhap::SpecError::Memory { .. }) => {
            PyMemoryError::new_err(error.to_string())
        }
        other => value(other),
    }
}

pub fn replace(error: ReplaceError) -> PyErr {
    match &error {
        ReplaceError::Write { path, error: cause } => os(cause, path, &error),
        ReplaceError::Exists { path } => pyo3::exceptions::PyFileExistsError::new_err(format!(
            "{} is there already",
            path.display()
        )),
        other => PyOSError::new_err(other.to_string()),
    }
}

pub fn seen(error: SeenError) -> PyErr {
    match error {
        SeenError::Unreachable { .. } | SeenError::Unacknowledged { .. } => {
            PyConnectionError::new_err(error.to_string())
        }
        SeenError::InUse { .. } | SeenError::Gone { .. } => PyOSError::new_err(error.to_string()),
        other => value(other),
    }
}
