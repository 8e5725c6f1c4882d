//! The extension module of `pymayhap`: Python objects in, Python objects out.
//!
//! Everything that a filter is or does is decided in `mayhap_store`; here Python's objects become batches
//! of typed keys ([`values`], [`columns`]), errors become exceptions ([`errors`]), and long work runs
//! without the interpreter's lock.

mod build;
mod columns;
mod dedup;
mod errors;
mod filter;
mod options;
mod plan;
mod seen;
mod signals;
mod values;

use pyo3::prelude::*;

/// The extension module; users import `pymayhap`.
#[pymodule]
mod _pymayhap {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::build::{build, build_cascade};
    #[pymodule_export]
    use super::dedup::Dedup;
    #[pymodule_export]
    use super::filter::{Filter, open};
    #[pymodule_export]
    use super::plan::{Plan, plan};
    #[pymodule_export]
    use super::seen::Seen;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
