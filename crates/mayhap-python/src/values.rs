//! Single Python objects as keys, and lists and iterators of them.

use crate::columns::Column;
use crate::errors;
use mayhap::key::KeyValue;
use mayhap_store::{Gathered, TypedBatch, ValueRules};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyIterator, PyList, PyMemoryView, PyString,
    PyTuple,
};

/// Objects that are looked at before their keys are taken in.
const CHUNK: usize = 1024;

/// Call with the value that an object is.
#[inline]
pub fn with_value<T>(
    key: &Bound<'_, PyAny>,
    take: impl FnOnce(KeyValue<'_>) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(text) = key.cast::<PyString>() {
        return take(KeyValue::Text(text.to_str()?));
    }
    if let Ok(bytes) = key.cast::<PyBytes>() {
        return take(KeyValue::Bytes(bytes.as_bytes()));
    }
    if let Some(number) = integer(key)? {
        return take(KeyValue::Integer(number));
    }
    match buffer(key)? {
        Some(bytes) => take(KeyValue::Bytes(bytes.as_bytes())),
        None => Err(no_key(key)),
    }
}

/// Call with the bytes that are hashed for an object.
#[inline]
pub fn with_key<T>(
    key: &Bound<'_, PyAny>,
    rules: &ValueRules,
    direct: bool,
    take: impl FnOnce(&[u8]) -> PyResult<T>,
) -> PyResult<T> {
    with_value(key, |value| match value {
        KeyValue::Text(text) if direct => take(text.as_bytes()),
        KeyValue::Bytes(bytes) if direct => take(bytes),
        value => {
            let mut buffer = Vec::new();
            take(rules.encode(value, &mut buffer).map_err(|error| errors::no_key(&error))?)
        }
    })
}

/// The integer that an object is: Python's own, or what says of itself that it is one, as numpy's are.
#[inline]
fn integer(key: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    if let Ok(number) = key.cast_exact::<PyInt>() {
        return wide(number.as_any()).map(Some);
    }
    if key.is_instance_of::<PyBool>() || key.is_instance_of::<PyFloat>() || key.is_none() {
        return Ok(None);
    }
    if key.is_instance_of::<PyInt>() || key.hasattr(intern!(key.py(), "__index__"))? {
        // Numpy's arrays have it too, and refuse.
        return match key.call_method0(intern!(key.py(), "__index__")) {
            Ok(number) => wide(&number).map(Some),
            Err(_) => Ok(None),
        };
    }
    Ok(None)
}

#[inline]
fn wide(number: &Bound<'_, PyAny>) -> PyResult<i128> {
    // In this order: an integer that does not fit costs an exception.
    if let Ok(number) = number.extract::<u64>() {
        return Ok(number.into());
    }
    match number.extract::<i64>() {
        Ok(number) => Ok(number.into()),
        Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => {
            Err(errors::out_of_range(number))
        }
        Err(error) => Err(error),
    }
}

/// The bytes of other objects that are bytes.
fn buffer<'py>(key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyBytes>>> {
    if let Ok(array) = key.cast::<PyByteArray>() {
        return Ok(Some(PyBytes::new(key.py(), &array.to_vec())));
    }
    if key.is_instance_of::<PyMemoryView>() {
        let bytes = key.call_method0(intern!(key.py(), "tobytes"))?;
        return Ok(Some(bytes.cast_into()?));
    }
    Ok(None)
}

/// The exception for an object that is no key.
fn no_key(key: &Bound<'_, PyAny>) -> PyErr {
    let name = key.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("a {name} is no key: str, bytes-like objects and int are"))
}

/// Keys that a caller gave: a column that is read in place, or objects that were gathered.
pub enum Keys<'py> {
    Column(Column<'py>),
    Gathered(Gathered, Option<Vec<bool>>),
}

impl<'py> Keys<'py> {
    /// From anything that holds keys; `empty` gathers objects.
    pub fn from(keys: &Bound<'py, PyAny>, empty: impl FnOnce() -> Gathered) -> PyResult<Keys<'py>> {
        if keys.is_instance_of::<PyString>()
            || buffer(keys)?.is_some()
            || keys.cast::<PyBytes>().is_ok()
        {
            let name = keys.get_type().name()?;
            return Err(PyTypeError::new_err(format!(
                "a {name} is one key, and many are wanted: put it into a list"
            )));
        }
        if !keys.is_instance_of::<PyList>() && !keys.is_instance_of::<PyTuple>() {
            match Column::from(keys)? {
                Some(Column::Objects(list)) => {
                    let mut valid = Vec::with_capacity(list.len());
                    let gathered = gather_objects(&list, empty(), &mut valid)?;
                    let valid = valid.contains(&false).then_some(valid);
                    return Ok(Keys::Gathered(gathered, valid));
                }
                Some(column) => return Ok(Keys::Column(column)),
                None => {}
            }
        }
        Ok(Keys::Gathered(gather(keys, empty())?, None))
    }

    /// One answer per key given: a null is in nothing, and never new.
    pub fn spread(&self, answers: Vec<bool>) -> Vec<bool> {
        let valid = match self {
            Keys::Column(column) => column.validity(),
            Keys::Gathered(_, valid) => valid.clone(),
        };
        let Some(valid) = valid else { return answers };
        let mut answers = answers.into_iter();
        valid.iter().map(|valid| *valid && answers.next().unwrap_or(false)).collect()
    }
}

/// Every object of a list or iterator.
fn gather(keys: &Bound<'_, PyAny>, mut gathered: Gathered) -> PyResult<Gathered> {
    let mut chunk: Vec<Bound<'_, PyAny>> = Vec::with_capacity(CHUNK);
    if let Ok(list) = keys.cast_exact::<PyList>() {
        for item in list {
            chunk.push(item);
            if chunk.len() == CHUNK {
                take(&mut chunk, &mut gathered)?;
            }
        }
    } else {
        let py = keys.py();
        let iterator = PyIterator::from_object(keys).map_err(|_| {
            let name =
                keys.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            let what = "lists, iterators, numpy arrays and Arrow columns of them are";
            PyTypeError::new_err(format!("a {name} holds no keys: {what}"))
        })?;
        for item in iterator {
            chunk.push(item?);
            if chunk.len() == CHUNK {
                take(&mut chunk, &mut gathered)?;
                py.check_signals()?;
            }
        }
    }
    take(&mut chunk, &mut gathered)?;
    Ok(gathered)
}

/// Every object of a column of objects, in which `None` and what is not equal to itself are nulls.
fn gather_objects(
    list: &Bound<'_, PyList>,
    mut gathered: Gathered,
    valid: &mut Vec<bool>,
) -> PyResult<Gathered> {
    let mut chunk = Vec::with_capacity(CHUNK);
    for item in list {
        let null = is_null(&item)?;
        valid.push(!null);
        if !null {
            chunk.push(item);
        }
        if chunk.len() == CHUNK {
            take(&mut chunk, &mut gathered)?;
        }
    }
    take(&mut chunk, &mut gathered)?;
    Ok(gathered)
}

fn is_null(item: &Bound<'_, PyAny>) -> PyResult<bool> {
    if item.is_none() {
        return Ok(true);
    }
    if let Ok(number) = item.cast::<PyFloat>() {
        return Ok(number.value().is_nan());
    }
    if item.is_instance_of::<PyString>() || item.is_instance_of::<PyInt>() {
        return Ok(false);
    }
    // `pandas.NA` and `NaT`, without importing pandas.
    let name = item.get_type().name()?;
    Ok(name == "NAType" || name == "NaTType")
}

/// Take in a chunk of objects, in runs of one sort, and empty it.
fn take(chunk: &mut Vec<Bound<'_, PyAny>>, gathered: &mut Gathered) -> PyResult<()> {
    let mut rest = &chunk[..];
    let (mut slices, mut numbers) = (Vec::with_capacity(rest.len()), Vec::new());
    while let Some(first) = rest.first() {
        slices.clear();
        numbers.clear();
        if first.is_instance_of::<PyString>() || first.is_instance_of::<PyBytes>() {
            for item in rest {
                if let Ok(text) = item.cast::<PyString>() {
                    slices.push(text.to_str()?.as_bytes());
                } else if let Ok(bytes) = item.cast::<PyBytes>() {
                    slices.push(bytes.as_bytes());
                } else {
                    break;
                }
            }
            let pushed = gathered.push(TypedBatch::Bytes(&slices));
            pushed.map_err(|error| errors::no_key(&error))?;
            rest = &rest[slices.len()..];
            continue;
        }
        for item in rest {
            match integer(item)? {
                Some(number) => numbers.push(number),
                None => break,
            }
        }
        if !numbers.is_empty() {
            gathered.push_integers(&numbers).map_err(|error| errors::no_key(&error))?;
            rest = &rest[numbers.len()..];
            continue;
        }
        let Some(bytes) = buffer(first)? else { return Err(no_key(first)) };
        let pushed = gathered.push(TypedBatch::Bytes(&[bytes.as_bytes()]));
        pushed.map_err(|error| errors::no_key(&error))?;
        rest = &rest[1..];
    }
    chunk.clear();
    Ok(())
}
