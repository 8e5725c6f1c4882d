//! What callers say about a filter, as the services take it.

use crate::errors;
use mayhap::format::Metadata;
use mayhap::scheme::Native;
use mayhap::{Kind, KindSpec, Secret, Window};
use mayhap_foreign::{Format, Options};
use mayhap_store::budget::Budget;
use mayhap_store::clock::now_s;
use mayhap_store::key_rules::KeyType;
use mayhap_store::keys::Normalizer;
use mayhap_store::secret_file::{self, SecretSource};
use mayhap_store::{BuildSpec, KeyRequest, KeyRules, OpenOptions, Target, ValueRules, Verify};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::sync::OnceLock;
use std::time::Duration;

/// The memory that filters may take: looked up once.
pub fn budget() -> Budget {
    static BUDGET: OnceLock<Budget> = OnceLock::new();
    *BUDGET.get_or_init(Budget::default)
}

/// A number of bytes, or text that says one.
#[derive(FromPyObject)]
pub enum Bytes {
    Number(u64),
    Text(String),
}

impl Bytes {
    pub fn number(self) -> PyResult<u64> {
        match self {
            Bytes::Number(bytes) => Ok(bytes),
            Bytes::Text(text) => {
                mayhap_store::quantity::bytes(&text).map_err(PyValueError::new_err)
            }
        }
    }
}

/// Keyword arguments that every new filter takes, beside capacity, rate and kind.
#[derive(Default)]
pub struct Making {
    pub memory: Option<Bytes>,
    pub seed: Option<u64>,
    pub secret: Option<Secret>,
    pub window: Option<f64>,
    pub generations: Option<u32>,
    pub growth: Option<u32>,
    pub shards: Option<u32>,
    pub key_type: Option<String>,
    pub normalize: Option<String>,
    pub meta: Option<Vec<(String, String)>>,
}

/// Takes each argument out of the keywords of a call.
pub fn making(given: Option<&Bound<'_, PyDict>>) -> PyResult<Making> {
    let mut making = Making::default();
    let Some(given) = given else { return Ok(making) };
    for (name, value) in given {
        if value.is_none() {
            continue;
        }
        let name: String = name.extract()?;
        match name.as_str() {
            "memory" => making.memory = Some(value.extract()?),
            "seed" => making.seed = Some(value.extract()?),
            "secret" => making.secret = Some(secret(&value)?),
            "window" => making.window = Some(seconds(&value)?),
            "generations" => making.generations = Some(value.extract()?),
            "growth" => making.growth = Some(value.extract()?),
            "shards" => making.shards = Some(value.extract()?),
            "key_type" => making.key_type = Some(value.extract()?),
            "normalize" => making.normalize = Some(value.extract()?),
            "meta" => {
                let pairs = value.cast::<PyDict>()?.iter();
                let pairs = pairs.map(|(name, value)| Ok((name.extract()?, value.extract()?)));
                making.meta = Some(pairs.collect::<PyResult<_>>()?);
            }
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "an unexpected keyword argument: {name}"
                )));
            }
        }
    }
    Ok(making)
}

/// A span of time: seconds, or a `timedelta`.
fn seconds(span: &Bound<'_, PyAny>) -> PyResult<f64> {
    match span.extract::<f64>() {
        Ok(seconds) => Ok(seconds),
        Err(_) => span.call_method0("total_seconds")?.extract(),
    }
}

/// A secret: 16 bytes, or the 32 hexadecimal digits of a key file. `True` for a new one.
pub fn secret(given: &Bound<'_, PyAny>) -> PyResult<Secret> {
    if given.is_exact_instance_of::<pyo3::types::PyBool>() && given.is_truthy()? {
        return secret_file::random().map_err(errors::value);
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Secret::from_hex(text.to_str()?.trim().as_bytes())
            .ok_or_else(|| PyValueError::new_err("a secret is 32 hexadecimal digits"));
    }
    let bytes = given.cast::<PyBytes>()?.as_bytes();
    let sixteen = <[u8; 16]>::try_from(bytes).map_err(|_| {
        PyValueError::new_err(format!("a secret is 16 bytes, and {} were given", bytes.len()))
    })?;
    Ok(Secret::from_bytes(sixteen))
}

fn names<T>(all: impl IntoIterator<Item = T>, name: impl Fn(T) -> &'static str) -> String {
    all.into_iter().map(name).collect::<Vec<_>>().join(", ")
}

/// What callers say about a filter's keys.
pub fn key_request(key_type: Option<&str>, normalize: Option<&str>) -> PyResult<KeyRequest> {
    let key_type = key_type.map(|name| {
        KeyType::from_name(name).ok_or_else(|| {
            let known = names(KeyType::ALL, KeyType::name);
            PyValueError::new_err(format!("no key type is called {name:?}: there are {known}"))
        })
    });
    let normalizer = normalize.map(|name| {
        Normalizer::from_name(name).ok_or_else(|| {
            let known = names(Normalizer::ALL, Normalizer::name);
            PyValueError::new_err(format!("no normalizer is called {name:?}: there are {known}"))
        })
    });
    Ok(KeyRequest { key_type: key_type.transpose()?, normalizer: normalizer.transpose()? })
}

fn named_format(name: &str) -> Option<Format> {
    name.parse().ok()
}

pub fn format(name: &str) -> PyResult<Format> {
    named_format(name).ok_or_else(|| {
        let known = names(Format::ALL.iter().copied(), Format::name);
        PyValueError::new_err(format!("no format is called {name:?}: there are {known}"))
    })
}

impl Making {
    /// The kind, or the format, of this name.
    fn target(&self, kind: Option<&str>) -> PyResult<Target> {
        let implied = match (self.window, self.shards) {
            (Some(_), _) => Some("windowed"),
            (None, Some(_)) => Some("sharded"),
            (None, None) => None,
        };
        let Some(name) = kind.or(implied) else { return Ok(Target::Auto) };
        let Some(known) = Kind::from_name(name) else {
            if let Some(format) = named_format(name).filter(|format| *format != Format::Mayhap) {
                return Ok(Target::Foreign(format, Options::default()));
            }
            let kinds = names(Kind::ALL.iter().copied(), Kind::name);
            let formats = names(Format::ALL.iter().copied(), Format::name);
            return Err(PyValueError::new_err(format!(
                "no kind is called {name:?}: there are {kinds}; and other programs' formats: {formats}"
            )));
        };
        let refused =
            |what: &str| Err(PyValueError::new_err(format!("{what}= is not for a {name} filter")));
        let generations = self.generations.unwrap_or(KindSpec::GENERATIONS);
        let spec = match KindSpec::of(known) {
            KindSpec::Windowed(_) => KindSpec::Windowed(match self.window {
                Some(seconds) => {
                    let span = Duration::try_from_secs_f64(seconds).map_err(errors::value)?;
                    Window::time(span, generations)
                }
                None => Window::last_keys(generations),
            }),
            KindSpec::Quotient { expected_growth } => {
                KindSpec::Quotient { expected_growth: self.growth.unwrap_or(expected_growth) }
            }
            KindSpec::Scalable { growth } => {
                KindSpec::Scalable { growth: self.growth.unwrap_or(growth) }
            }
            KindSpec::Sharded { shards } => {
                KindSpec::Sharded { shards: self.shards.unwrap_or(shards) }
            }
            other => other,
        };
        match spec {
            KindSpec::Windowed(_) => {}
            _ if self.window.is_some() => return refused("window"),
            _ if self.generations.is_some() => return refused("generations"),
            _ => {}
        }
        let grows = matches!(spec, KindSpec::Quotient { .. } | KindSpec::Scalable { .. });
        if self.growth.is_some() && !grows {
            return refused("growth");
        }
        if self.shards.is_some() && !matches!(spec, KindSpec::Sharded { .. }) {
            return refused("shards");
        }
        Ok(Target::Native(spec))
    }

    /// What is built, and how values become its keys.
    pub fn spec(
        self,
        kind: Option<&str>,
        capacity: Option<u64>,
        fpr: Option<f64>,
    ) -> PyResult<(BuildSpec, ValueRules)> {
        let target = self.target(kind)?;
        let asked = key_request(self.key_type.as_deref(), self.normalize.as_deref())?;
        let scheme = match (self.secret, self.seed) {
            (Some(_), Some(_)) => {
                return Err(PyValueError::new_err("seed= or secret=: a keyed filter has no seed"));
            }
            (Some(secret), None) => Native::keyed(secret),
            (None, seed) => Native::seeded(seed.unwrap_or(0)),
        };
        let mut metadata = Metadata::new().with_created(now_s());
        for (name, value) in self.meta.unwrap_or_default() {
            metadata = metadata.with(name, value).map_err(errors::value)?;
        }
        let rules = match target {
            Target::Foreign(format, _) => ValueRules::of_format(format, &asked),
            _ => {
                let rules = KeyRules::new(&asked).map_err(errors::rules)?;
                metadata = rules.note(metadata).map_err(errors::value)?;
                Ok(ValueRules::new(rules))
            }
        };
        let spec = BuildSpec {
            target,
            capacity,
            fpr,
            memory: self.memory.map(Bytes::number).transpose()?,
            scheme,
            metadata,
            budget: budget(),
            pass_keys: None,
        };
        Ok((spec, rules.map_err(errors::rules)?))
    }
}

/// How to open a filter.
pub fn open_options(
    verify: bool,
    format_name: Option<&str>,
    column: Option<String>,
    key_type: Option<&str>,
    secret_given: Option<&Bound<'_, PyAny>>,
) -> PyResult<OpenOptions> {
    let key_type = key_request(key_type, None)?.key_type.unwrap_or_default().foreign();
    let hints = Options::new().with_key_type(key_type);
    let hints = match column {
        Some(column) => hints.with_column(column),
        None => hints,
    };
    Ok(OpenOptions {
        verify: if verify { Verify::All } else { Verify::Header },
        format: format_name.map(format).transpose()?,
        hints,
        secret: match secret_given {
            Some(given) => SecretSource::Value(secret(given)?),
            None => SecretSource::Beside,
        },
    })
}
