//! What there is to know about another program's filter, for people and for programs.

use super::ForeignFile;
use crate::globals::Globals;
use crate::numbers::{bytes, estimated, grouped, known_estimate, percent, plural, spoken};
use crate::print::{self, TITLE, bar, styled};
use mayhap_foreign::{Foreign, Summary};
use mayhap_store::keys::Tally;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const BAR_COLUMNS: usize = 30;

/// For people: a name and its value a line.
pub fn text(file: &ForeignFile, file_bytes: u64) -> String {
    let summary = file.filter.summary();
    let around = if file.header.is_some() { ", kept in a file of ours" } else { "" };
    let name = file.path.display();
    let head = format!("{name}: {} filter of {}{around}", summary.format, bytes(file_bytes));
    let mut text = styled(TITLE, head) + "\n";
    let mut line = |name: &str, value: String| text += &format!("{name:<11} {value}\n");
    let estimate = format!("{} estimated from the bits", estimated(summary.estimate));
    line(
        "keys",
        match summary.keys {
            Some(keys) => format!("{} counted, {estimate}", grouped(keys)),
            None => estimate,
        },
    );
    if summary.capacity > 0 {
        line("capacity", grouped(summary.capacity));
    }
    line(
        "fill",
        format!("{:<BAR_COLUMNS$} {}", bar(summary.fill, BAR_COLUMNS), percent(summary.fill)),
    );
    let asked = match summary.fpr {
        fpr if fpr > 0.0 => format!(", {} asked for", percent(fpr)),
        _ => String::new(),
    };
    line("rate", format!("{} now{asked}", percent(summary.fpr_now)));
    line("bits", grouped(summary.bits));
    line("probes", summary.probes.to_string());
    if summary.layers > 1 {
        line("layers", grouped(summary.layers));
    }
    for (name, value) in &summary.details {
        line(name, value.clone());
    }
    line("key type", file.key_type.map_or("not said", |key_type| key_type.name()).to_owned());
    if let Some(notes) = file.notes() {
        for (name, value) in notes.pairs().filter(|(name, _)| !crate::keys::is_reserved(name)) {
            line("meta", format!("{name}={value}"));
        }
    }
    line(
        "checksums",
        if file.header.is_some() { "all right" } else { "none in this format" }.into(),
    );
    text
}

/// For programs.
pub fn json(file: &ForeignFile, file_bytes: u64) -> Value {
    let mut value = facts(&file.path, &file.filter.summary());
    value["file_bytes"] = file_bytes.into();
    value["key_type"] = file.key_type.map(mayhap_foreign::KeyType::name).into();
    value["wrapped"] = file.header.is_some().into();
    value
}

fn facts(path: &Path, summary: &Summary) -> Value {
    let details: serde_json::Map<String, Value> = summary
        .details
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
        .collect();
    json!({
        "file": path.display().to_string(), "format": summary.format.name(),
        "scheme": summary.scheme.0, "keys": summary.keys,
        "estimate": known_estimate(summary.estimate),
        "capacity": summary.capacity, "rate": summary.fpr, "rate_now": summary.fpr_now,
        "fill": summary.fill, "bits": summary.bits, "probes": summary.probes,
        "layers": summary.layers, "details": details,
    })
}

/// Say what became of a filter that was built or changed.
pub fn outcome(
    verb: &str,
    path: &Path,
    filter: &dyn Foreign,
    tally: Tally,
    took: Duration,
    to_stdout: bool,
    globals: &Globals,
) -> anyhow::Result<()> {
    let summary = filter.summary();
    if globals.json && !to_stdout {
        let mut value = facts(path, &summary);
        value["lines"] = tally.records.into();
        value["unparsed"] = tally.unparsed.into();
        value["missing"] = tally.missing.into();
        value["seconds"] = took.as_secs_f64().into();
        return print::json(&value);
    }
    if !globals.quiet {
        print::say(format_args!(
            "{verb} {}: {}, {}, {}",
            path.display(),
            plural(tally.records, "line"),
            state(&summary),
            spoken(took)
        ));
    }
    Ok(())
}

/// Say that something was done, and how the filter stands.
pub fn done(
    what: &str,
    path: &Path,
    filter: &dyn Foreign,
    globals: &Globals,
) -> anyhow::Result<()> {
    let summary = filter.summary();
    if globals.json {
        return print::json(&facts(path, &summary));
    }
    if !globals.quiet {
        print::say(format_args!("{what}: {}", state(&summary)));
    }
    Ok(())
}

fn state(summary: &Summary) -> String {
    let keys = match summary.keys {
        Some(keys) => plural(keys, "key"),
        None => match known_estimate(summary.estimate) {
            Some(keys) => format!("about {}", plural(keys, "key")),
            None => "any number of keys".to_owned(),
        },
    };
    let size = bytes(summary.bits.div_ceil(8));
    format!("{keys}, {} {size}, rate {}", summary.format, percent(summary.fpr_now))
}

/// Warn where more keys are in than were planned, and strangers pass more often than was asked for.
pub fn warn_if_overfull(path: &Path, filter: &dyn Foreign, globals: &Globals) -> bool {
    let Summary { capacity, fpr, fpr_now, keys, estimate, .. } = filter.summary();
    let keys = keys.unwrap_or(estimate);
    let many = match known_estimate(keys) {
        Some(keys) => plural(keys, "key"),
        None => "more keys than can be told".to_owned(),
    };
    // Their own rounding of bits and probes costs some of them a little.
    let overfull = capacity > 0 && fpr > 0.0 && keys > capacity && fpr_now > 1.2 * fpr;
    if overfull && !globals.quiet {
        let what = format!(
            "{}: overfull: {many} where {} were planned; the rate is {} now, {} was asked for. No key is lost",
            path.display(),
            grouped(capacity),
            percent(fpr_now),
            percent(fpr)
        );
        print::warning(&what, Some("build it anew from all its keys with a larger -n"));
    }
    overfull
}
