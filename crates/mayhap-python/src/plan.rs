//! `pymayhap.plan`: keys, rate, memory; any two give the third.

use crate::errors;
use crate::options::Bytes;
use mayhap::sizing::{Plan as Sized, Question};
use mayhap::{Kind, KindSpec};
use mayhap_store::DEFAULT_FPR;
use mayhap_store::budget::human_bytes;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// What every kind answers to two of keys, rate and memory. Prints as a table, and in a notebook as one with
/// a small chart.
#[pyclass(frozen, module = "pymayhap")]
pub struct Plan {
    rows: Vec<Row>,
    chosen: usize,
    /// The rate of the chosen kind with more keys than planned.
    curve: Vec<(f64, f64)>,
    title: String,
}

struct Row {
    kind: &'static str,
    keys: u64,
    fpr: f64,
    bytes: u64,
    lines: u32,
    about: &'static str,
}

impl Row {
    fn bits_per_key(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.keys.max(1) as f64
    }
}

/// How full the chart goes, in shares of the keys planned for.
const LOADS: [f64; 9] = [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0];

/// Plan a filter: say two of ``keys``, ``fpr`` and ``memory`` (bytes, or text as "500MB"), learn the third.
/// Where only one of keys and memory is given the rate is 1%.
///
/// >>> import pymayhap as mh
/// >>> plan = mh.plan(keys=2_000_000_000, fpr=0.01)
/// >>> plan.kind, plan.bytes // 10**9
/// ('blocked', 2)
/// >>> [row["kind"] for row in plan.rows][:2]
/// ['blocked', 'classic']
#[pyfunction]
#[pyo3(signature = (keys=None, fpr=None, memory=None, *, kind="blocked"))]
pub fn plan(
    keys: Option<u64>,
    fpr: Option<f64>,
    memory: Option<Bytes>,
    kind: &str,
) -> PyResult<Plan> {
    let memory = memory.map(Bytes::number).transpose()?;
    let question = match (keys, fpr, memory) {
        (Some(_), Some(_), Some(_)) => {
            return Err(PyTypeError::new_err("any two of keys, fpr and memory decide the third"));
        }
        (Some(keys), None, Some(bytes)) => Question::Rate { keys, bytes },
        (Some(keys), fpr, None) => Question::Memory { keys, fpr: fpr.unwrap_or(DEFAULT_FPR) },
        (None, fpr, Some(bytes)) => Question::Keys { fpr: fpr.unwrap_or(DEFAULT_FPR), bytes },
        (None, _, None) => {
            return Err(PyTypeError::new_err("nothing to plan: give keys=, or memory="));
        }
    };
    let chosen = Kind::from_name(kind)
        .ok_or_else(|| PyValueError::new_err(format!("no kind is called {kind:?}")))?;
    let row = |(kind, plan): &(KindSpec, Sized)| Row {
        kind: kind.kind().name(),
        keys: plan.keys(),
        fpr: plan.fpr(),
        bytes: plan.bytes(),
        lines: plan.lines(),
        about: kind.kind().about(),
    };
    let mut refused = None;
    let mut plans = Vec::new();
    for (kind, plan) in question.compare(KindSpec::GENERATIONS) {
        match plan {
            Ok(plan) => plans.push((kind, plan)),
            Err(error) if kind.kind() == chosen => refused = Some(error),
            Err(_) => {}
        }
    }
    let at =
        plans.iter().position(|(kind, _)| kind.kind() == chosen).ok_or_else(|| match refused {
            Some(error) => errors::value(error),
            None => PyValueError::new_err(format!(
                "a {chosen} filter cannot be planned from a number of keys"
            )),
        })?;
    let of_chosen = &plans[at].1;
    let load = |share: &f64| (*share, of_chosen.fpr_at((of_chosen.keys() as f64 * share) as u64));
    Ok(Plan {
        curve: LOADS.iter().map(load).collect(),
        title: format!(
            "{} keys at {:.4}% in {}",
            of_chosen.keys(),
            of_chosen.fpr() * 100.0,
            human_bytes(of_chosen.bytes())
        ),
        rows: plans.iter().map(row).collect(),
        chosen: at,
    })
}

#[pymethods]
impl Plan {
    /// The kind that was asked for.
    #[getter]
    fn kind(&self) -> &'static str {
        self.rows[self.chosen].kind
    }

    /// The keys it is planned for.
    #[getter]
    fn keys(&self) -> u64 {
        self.rows[self.chosen].keys
    }

    /// The false-positive rate with all of them in.
    #[getter]
    fn fpr(&self) -> f64 {
        self.rows[self.chosen].fpr
    }

    /// The memory.
    #[getter]
    fn bytes(&self) -> u64 {
        self.rows[self.chosen].bytes
    }

    /// The memory per key, in bits.
    #[getter]
    fn bits_per_key(&self) -> f64 {
        self.rows[self.chosen].bits_per_key()
    }

    /// What every kind answers: a list of dicts.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for row in &self.rows {
            let told = PyDict::new(py);
            told.set_item("kind", row.kind)?;
            told.set_item("keys", row.keys)?;
            told.set_item("fpr", row.fpr)?;
            told.set_item("bytes", row.bytes)?;
            told.set_item("bits_per_key", row.bits_per_key())?;
            told.set_item("cache_lines", row.lines)?;
            told.set_item("about", row.about)?;
            rows.append(told)?;
        }
        Ok(rows)
    }

    fn __repr__(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        text += &format!(
            "{:<10} {:>15} {:>10} {:>8} {:>9} {:>5}\n",
            "kind", "keys", "fpr", "bits/key", "size", "lines"
        );
        for (at, row) in self.rows.iter().enumerate() {
            text += &format!(
                "{:<10} {:>15} {:>9.4}% {:>8.2} {:>9} {:>5}{}\n",
                row.kind,
                row.keys,
                row.fpr * 100.0,
                row.bits_per_key(),
                human_bytes(row.bytes),
                row.lines,
                if at == self.chosen { "  <" } else { "" }
            );
        }
        text
    }

    fn _repr_html_(&self) -> String {
        let mut html = format!("<p><b>{}</b></p><table><tr>", self.title);
        for head in ["kind", "keys", "fpr", "bits per key", "size", "cache lines", ""] {
            html += &format!("<th>{head}</th>");
        }
        html += "</tr>";
        for (at, row) in self.rows.iter().enumerate() {
            let name = match at == self.chosen {
                true => format!("<b>{}</b>", row.kind),
                false => row.kind.to_owned(),
            };
            html += &format!(
                "<tr><td>{name}</td><td>{}</td><td>{:.4}%</td><td>{:.2}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                row.keys,
                row.fpr * 100.0,
                row.bits_per_key(),
                human_bytes(row.bytes),
                row.lines,
                row.about
            );
        }
        html + "</table>" + &self.chart()
    }
}

impl Plan {
    /// The rate over the load, as a line.
    fn chart(&self) -> String {
        let (width, height) = (360.0, 120.0);
        let most = self.curve.iter().map(|(_, fpr)| *fpr).fold(f64::MIN_POSITIVE, f64::max);
        let loads = LOADS.last().copied().unwrap_or(1.0);
        let points = self.curve.iter().map(|(load, fpr)| {
            format!("{:.1},{:.1}", load / loads * width, height - fpr / most * height)
        });
        let points: Vec<String> = points.collect();
        format!(
            "<svg width='{width}' height='{}' role='img' aria-label='rate by load'>\
             <polyline points='{}' fill='none' stroke='#0a7' stroke-width='2'/>\
             <line x1='{x}' y1='0' x2='{x}' y2='{height}' stroke='#999' stroke-dasharray='3'/>\
             <text x='4' y='12' font-size='11'>{:.3}%</text>\
             <text x='{}' y='{}' font-size='11'>planned</text></svg>",
            height + 16.0,
            points.join(" "),
            most * 100.0,
            1.0 / loads * width - 20.0,
            height + 14.0,
            x = 1.0 / loads * width,
        )
    }
}
