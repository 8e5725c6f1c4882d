//! Filters built from all of their keys at once, in files.

use crate::errors;
use crate::filter::Filter;
use crate::options::making;
use crate::values::Keys;
use mayhap::cascade::{CascadeOptions, OnConflict};
use mayhap_store::replace::{self, Overwrite};
use mayhap_store::{
    BuildError, BuildSpec, Built, Gathered, HostError, KeySource, OpenOptions, Target, ValueRules,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;

/// The keys that a call of the builder may hold at once, so that it looks for Ctrl-C in between: some
/// tenths of a second.
const PASS_KEYS: u64 = 4_000_000;

/// Keys of a list to come, for a filter that is built by this specification.
fn keys<'py>(
    given: &Bound<'py, PyAny>,
    spec: &BuildSpec,
    rules: ValueRules,
) -> PyResult<Keys<'py>> {
    let bytes = matches!(&spec.target, Target::Foreign(..))
        || matches!(&spec.target, Target::Native(kind) if kind.kind() == mayhap::Kind::Bitmap);
    Keys::from(given, || match bytes {
        true => Gathered::bytes(rules),
        false => Gathered::hashed(spec.scheme, rules),
    })
}

/// Build without the interpreter's lock.
fn detached(
    py: Python<'_>,
    sources: &[&Keys<'_>],
    rules: ValueRules,
    work: impl FnOnce(&[&dyn KeySource]) -> Result<Built, BuildError> + Send,
) -> PyResult<Built> {
    enum Side<'a> {
        Gathered(&'a Gathered),
        View(crate::columns::View<'a>),
    }
    let sides = sources.iter().map(|keys| match keys {
        Keys::Gathered(gathered, _) => Ok(Side::Gathered(gathered)),
        Keys::Column(column) => column
            .view()
            .map(Side::View)
            .ok_or_else(|| PyTypeError::new_err("objects are gathered first")),
    });
    let sides: Vec<Side<'_>> = sides.collect::<PyResult<_>>()?;
    let built = py.detach(|| {
        let typed = sides.iter().map(|side| match side {
            Side::Gathered(_) => Ok(None),
            Side::View(view) => rules.source(view).map(Some),
        });
        let typed: Vec<_> = typed.collect::<Result<_, HostError>>()?;
        let sources = sides.iter().zip(&typed).map(|(side, typed)| match (side, typed) {
            (_, Some(typed)) => typed as &dyn KeySource,
            (Side::Gathered(gathered), None) => *gathered as &dyn KeySource,
            (Side::View(_), None) => &NOTHING,
        });
        work(&sources.collect::<Vec<_>>())
    });
    built.map_err(errors::build)
}

/// No keys at all.
const NOTHING: mayhap_store::Slice<'static, &str> = mayhap_store::Slice(&[]);

/// Written and opened again where it is; in memory without a path.
fn finished(
    py: Python<'_>,
    built: Built,
    path: Option<PathBuf>,
    rules: ValueRules,
) -> PyResult<Filter> {
    let Some(path) = path else { return Ok(Filter::new(built.filter, rules)) };
    let opened = py.detach(|| {
        built.filter.save(&path, Overwrite::Filters).map_err(errors::replace)?;
        let secret = match built.filter.secret() {
            Some(secret) => mayhap_store::secret_file::SecretSource::Value(secret),
            None => Default::default(),
        };
        // Its bytes have just been written.
        let verify = mayhap_store::Verify::Header;
        let format = Some(built.filter.format());
        let options = OpenOptions { verify, format, secret, ..OpenOptions::default() };
        mayhap_store::Filter::open(&path, &options).map_err(errors::open)
    })?;
    Ok(Filter::new(opened, rules))
}

/// Build a filter from all of its keys and write it to `path`; returns it, opened there. Without a path
/// (``None``) it stays in memory.
///
/// This is how static kinds are made: ``"ribbon"``, the smallest, and ``"fuse"``, the quickest to build.
/// Arrays and columns are gone through as often as needed, so that memory stays small; keys of an
/// iterator are kept as eight bytes each until it ends.
///
/// >>> import pymayhap as mh, tempfile, os
/// >>> path = os.path.join(tempfile.mkdtemp(), "words.may")
/// >>> f = mh.build(path, ["ada", "eve", "bob"], kind="ribbon", fpr=1e-3)
/// >>> "ada" in f, "zoe" in mh.open(path)
/// (True, False)
#[pyfunction]
#[pyo3(signature = (path, keys, *, kind=None, fpr=None, capacity=None, overwrite=true, **options))]
#[pyo3(
    text_signature = "(path, keys, *, kind='blocked', fpr=0.01, capacity=None, overwrite=True, memory=None, seed=0, secret=None, window=None, generations=None, growth=None, shards=None, key_type=None, normalize=None, meta=None)"
)]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub fn build(
    py: Python<'_>,
    path: Option<PathBuf>,
    keys: &Bound<'_, PyAny>,
    kind: Option<&str>,
    fpr: Option<f64>,
    capacity: Option<u64>,
    overwrite: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Filter> {
    let (spec, rules) = making(options)?.spec(kind, capacity, fpr)?;
    if kind == Some("cascade") {
        return Err(PyValueError::new_err("a cascade is built from two lists: Cascade.build()"));
    }
    let spec = BuildSpec { pass_keys: Some(PASS_KEYS), ..spec };
    check(path.as_ref(), overwrite)?;
    let keys = self::keys(keys, &spec, rules)?;
    let built = detached(py, &[&keys], rules, |sources| {
        mayhap_store::Filter::build(&spec, sources.first().copied().unwrap_or(&NOTHING))
    })?;
    finished(py, built, path, rules)
}

/// Fails before any work where the result could not be written.
fn check(path: Option<&PathBuf>, overwrite: bool) -> PyResult<()> {
    let Some(path) = path else { return Ok(()) };
    if !overwrite && path.exists() {
        let path = path.clone();
        return Err(errors::replace(replace::ReplaceError::Exists { path }));
    }
    replace::check(path, Overwrite::Filters).map_err(errors::replace)
}

/// What `pymayhap.Cascade.build` does.
#[pyfunction]
#[pyo3(signature = (include, exclude, *, fpr=None, path=None, overwrite=true, on_conflict="error", **options))]
#[expect(clippy::too_many_arguments, reason = "they are keywords")]
pub fn build_cascade(
    py: Python<'_>,
    include: &Bound<'_, PyAny>,
    exclude: &Bound<'_, PyAny>,
    fpr: Option<f64>,
    path: Option<PathBuf>,
    overwrite: bool,
    on_conflict: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Filter> {
    let on_conflict = match on_conflict {
        "error" => None,
        "include" => Some(OnConflict::Include),
        "exclude" => Some(OnConflict::Exclude),
        other => {
            let what = format!("on_conflict={other:?}: it is error, include or exclude");
            return Err(PyValueError::new_err(what));
        }
    };
    let (spec, rules) = making(options)?.spec(Some("cascade"), None, fpr)?;
    check(path.as_ref(), overwrite)?;
    let include = keys(include, &spec, rules)?;
    let exclude = keys(exclude, &spec, rules)?;
    let cascade = CascadeOptions::default();
    let cascade = on_conflict.map_or(cascade, |list| cascade.with_on_conflict(list));
    let built = detached(py, &[&include, &exclude], rules, |sources| match sources {
        [include, exclude] => {
            mayhap_store::Filter::build_cascade(&spec, cascade, *include, *exclude)
        }
        _ => mayhap_store::Filter::build_cascade(&spec, cascade, &NOTHING, &NOTHING),
    })?;
    finished(py, built, path, rules)
}
