//! What is said about a filter: everything, for `info`; what became of it, after a change; and a
//! warning where it is overfull.

use crate::clock::date;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::{bytes, grouped, human_duration, percent, plural, rate_flag, rounded};
use crate::print::{self, FAINT, TITLE, WARN, bar, styled};
use mayhap::Kind;
use mayhap::scheme::SchemeId;
use mayhap_store::text::{ExtractRules, Tally};
use mayhap_store::{
    CascadeInfo, Filled, Filter, Info, NativeInfo, Overfull, QuotientInfo, Removed,
};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

const BAR_COLUMNS: usize = 30;

/// Everything, for people: a name and its value per line.
pub fn info(info: &Info) -> String {
    let around = if info.wrapped { ", wrapped in a Mayhap file" } else { "" };
    let (name, kind) = (&info.file, info.kind_name());
    let head = format!("{name}: {kind} filter of {}{around}", bytes(info.file_bytes));
    let mut text = styled(TITLE, head) + "\n";
    let mut line = |name: &str, value: String| text += &format!("{name:<11} {value}\n");
    line("keys", keys_text(info));
    if let Some(capacity) = capacity_text(info) {
        line("capacity", capacity);
    }
    let is_cascade = is_kind(info, Kind::Cascade);
    if let Some(fill) = info.bits.as_ref().and_then(|bits| bits.fill).filter(|_| !is_cascade) {
        line("fill", format!("{:<BAR_COLUMNS$} {}", bar(fill, BAR_COLUMNS), percent(fill)));
    }
    line("rate", rate_text(info));
    match &info.native {
        Some(native) => native_lines(info, native).into_iter().for_each(|(n, v)| line(n, v)),
        None => foreign_lines(info).into_iter().for_each(|(n, v)| line(n, v)),
    }
    line("key type", info.key_type.as_deref().unwrap_or("not said").to_owned());
    if info.native.is_some() && info.metadata.created() > 0 {
        line("created", date(info.metadata.created()));
    }
    for (name, value) in info.user_metadata() {
        line("meta", format!("{name}={value}"));
    }
    line("checksums", checksum_text(info).to_owned());
    if let Some((what, hint)) = overfull(info) {
        text += &format!("{}\n{}\n", styled(WARN, what), styled(FAINT, hint));
    }
    if info.bits.is_none() && info.verified == Some(true) {
        text += &styled(FAINT, "fill and rate now: name its secret with --key-file\n");
    }
    text
}

fn is_kind(info: &Info, kind: Kind) -> bool {
    info.native.as_ref().is_some_and(|native| native.kind == kind)
}

fn keys_text(info: &Info) -> String {
    let counted = info.keys.map(|keys| format!("{} counted", grouped(keys)));
    let exact = is_kind(info, Kind::Bitmap) || is_kind(info, Kind::Cascade);
    let bits = info.bits.as_ref().filter(|_| !exact);
    let estimate = bits.map(|bits| {
        let keys = bits.estimate.map_or("any number".to_owned(), grouped);
        format!("{keys} estimated from the bits")
    });
    counted.into_iter().chain(estimate).collect::<Vec<_>>().join(", ")
}

fn capacity_text(info: &Info) -> Option<String> {
    let capacity = info.capacity;
    if capacity == 0 || is_kind(info, Kind::Cascade) {
        return None;
    }
    let Some(NativeInfo { kind, .. }) = info.native else { return Some(grouped(capacity)) };
    let keys = info.keys.unwrap_or(0);
    let used = match keys >= capacity {
        true => grouped(keys) + " in",
        false => percent(keys as f64 / capacity as f64) + " used",
    };
    let layers = match (kind, info.layers) {
        (Kind::Scalable, layers) if layers > 1 => format!(", in {layers} layers"),
        (Kind::Sharded, shards) => format!(", in {}", plural(shards, "shard")),
        _ => String::new(),
    };
    Some(format!("{}, {used}{layers}", grouped(capacity)))
}

fn rate_text(info: &Info) -> String {
    if is_kind(info, Kind::Bitmap) {
        return "exact: no wrong answers".to_owned();
    }
    let asked = match info.fpr {
        fpr if fpr > 0.0 => Some(format!("{} asked for", percent(fpr))),
        _ => info.native.as_ref().map(|_| "unknown target".to_owned()),
    };
    let now = info.bits.as_ref().map(|bits| format!("{} now", percent(bits.fpr_now)));
    let measured = info.measured.map(|measured| {
        let (rate, hits) = (percent(measured.fpr()), grouped(measured.hits));
        format!("{rate} measured ({hits} of {} random keys)", grouped(measured.probes))
    });
    let parts = if info.native.is_some() { [asked, now] } else { [now, asked] };
    parts.into_iter().flatten().chain(measured).collect::<Vec<_>>().join(", ")
}

/// What only Mayhap's own kinds have.
fn native_lines(info: &Info, native: &NativeInfo) -> Vec<(&'static str, String)> {
    let mut lines = Vec::new();
    if let Some(bits) = info.bits_per_key() {
        lines.push((
            "bits a key",
            match info.bound_bits_per_key() {
                Some(least) => format!(
                    "{bits:.2}; at the rate it has now nothing does with less than {least:.2}"
                ),
                None => format!("{bits:.2}"),
            },
        ));
    }
    if let Some(window) = native.window {
        let span = match window.milliseconds {
            None => format!("{} keys", grouped(info.capacity)),
            Some(ms) => human_duration(Duration::from_millis(ms)),
        };
        lines.push(("window", format!("the last {span}, in {} generations", window.generations)));
    }
    lines.extend(native.cascade.iter().flat_map(cascade_lines));
    lines.extend(native.quotient.iter().flat_map(quotient_lines));
    let name = info.scheme.name();
    lines.push((
        "hash",
        match (info.scheme, native.seed) {
            (SchemeId::EXACT, _) => "none: the keys themselves".to_owned(),
            (id, seed) if id.has_seed() => {
                format!("{name}, seed {}, not keyed", seed.unwrap_or(0))
            }
            (id, _) if id.is_keyed() => format!("{name}, keyed: its secret is in the key file"),
            (other, _) => format!("{name} (scheme {})", other.0),
        },
    ));
    lines.push(("normaliser", info.normalizer().to_owned()));
    lines
}

/// What other programs' formats say of themselves.
fn foreign_lines(info: &Info) -> Vec<(&'static str, String)> {
    let mut lines = vec![("bits", grouped(info.array_bits))];
    lines.extend(info.probes.map(|probes| ("probes", probes.to_string())));
    if info.layers > 1 {
        lines.push(("layers", grouped(info.layers)));
    }
    lines.extend(info.details.iter().cloned());
    lines
}

fn cascade_lines(cascade: &CascadeInfo) -> Vec<(&'static str, String)> {
    let both = match cascade.in_both {
        0 => String::new(),
        keys => format!(", {} were in both", grouped(keys)),
    };
    let lists =
        format!("{} in, {} out{both}", grouped(cascade.included), grouped(cascade.excluded));
    let mut lines = vec![("lists", lists)];
    for (layer, number) in cascade.layers.iter().zip(["layer 1", "layer 2"]) {
        let made = match layer.kind {
            "ribbon" => {
                let passing = percent(layer.passing.unwrap_or(1.0));
                format!("a ribbon of {}, {passing} of others pass", plural(layer.number, "column"))
            }
            "fuse" => {
                let passing = percent(layer.passing.unwrap_or(1.0));
                format!("fingerprints of {} bits, {passing} of others pass", layer.number)
            }
            "blocked" => format!("cache lines, {} probes a key", layer.number),
            _ => format!("one bit for {} of both lists", plural(layer.number, "key")),
        };
        lines.push((number, format!("{made}, {}", bytes(layer.bytes))));
    }
    let (added, removed) = (grouped(cascade.stash_added), grouped(cascade.stash_removed));
    lines.push(("stash", format!("{added} added, {removed} removed since it was built")));
    if let Some((bits, bound)) = cascade.bits_per_key {
        let what = "in layers for a key that is in; ideal ones would take";
        lines.push(("bound", format!("{bits:.2} {what} {bound:.2}")));
    }
    lines
}

/// What only a quotient filter has.
fn quotient_lines(quotient: &QuotientInfo) -> Vec<(&'static str, String)> {
    let fingerprints = grouped(quotient.distinct_fingerprints);
    let copies = format!("{} beside {fingerprints} fingerprints", grouped(quotient.copies));
    let entries = match quotient.side_entries {
        1 => "1 entry".to_owned(),
        entries => format!("{} entries", grouped(entries)),
    };
    let then = if quotient.grows { "until it doubles" } else { "until it is full" };
    let (room, keys) = (plural(quotient.room, "more key"), grouped(quotient.keys_at_rate));
    let growth = format!("{room} {then}; at the rate asked for up to {keys} distinct keys");
    vec![("copies", copies), ("side table", entries), ("growth", growth)]
}

fn checksum_text(info: &Info) -> &'static str {
    match info.verified {
        None => "none in this format",
        Some(true) => "every byte verified",
        Some(false) => "header verified, the rest not looked at",
    }
}

/// A change of a filter, as it went.
pub struct Change<'a> {
    /// `built`, `added to`, `removed from`.
    pub verb: &'static str,
    pub path: &'a Path,
    pub filter: &'a Filter,
    pub filled: Filled,
    /// Keys taken out, where any were to be.
    pub removed: Option<Removed>,
    pub start: Instant,
    /// Whether the filter itself went to standard output, where nothing else may then go.
    pub to_stdout: bool,
}

impl Change<'_> {
    /// Say it: to people on standard error, to programs on standard output. Exit with 2 where it
    /// is overfull, or lost keys, and that was not to be.
    pub fn report(
        self,
        rules: &ExtractRules,
        strict: bool,
        globals: &Globals,
    ) -> anyhow::Result<Exit> {
        let mut info = self.filter.brief(mayhap_store::clock::now_ms());
        info.file = self.path.display().to_string();
        let left_out = self.left_out(&info);
        if globals.json && !self.to_stdout {
            print::json(&self.json(&info, left_out))?;
        } else if !globals.quiet {
            print::line(self.text(&info));
        }
        if left_out > 0 && !globals.quiet {
            let hint = "a bitmap holds integers; --kind blocked holds any key";
            let what = format!("lines left out that are no integers: {}", grouped(left_out));
            print::warning(&what, Some(hint));
        } else {
            print::unparsable(self.filled.tally, rules, globals);
        }
        warn_if_overfull(&info, globals);
        let failed = left_out > 0 || info.overfull().is_some();
        Ok(if strict && failed { Exit::Error } else { Exit::Yes })
    }

    /// Lines that an exact set of integers has no place for.
    fn left_out(&self, info: &Info) -> u64 {
        let Tally { missing, .. } = self.filled.tally;
        self.filled.non_integers + if is_kind(info, Kind::Bitmap) { missing } else { 0 }
    }

    fn text(&self, info: &Info) -> String {
        let removed = self.removed.map(|keys| {
            let refused = match keys.refused {
                0 => String::new(),
                refused => format!("{} certainly not in, ", grouped(refused)),
            };
            format!("{} removed, {refused}", grouped(keys.removed))
        });
        format!(
            "{} {}: {}, {}{}, {}",
            self.verb,
            info.file,
            plural(self.filled.tally.records, "line"),
            removed.unwrap_or_default(),
            state(info, info.keys),
            human_duration(self.start.elapsed()),
        )
    }

    fn json(&self, info: &Info, left_out: u64) -> Value {
        let mut value = info.change_json(Some(self.filled.tally));
        value["seconds"] = self.start.elapsed().as_secs_f64().into();
        if left_out > 0 {
            value["left_out"] = left_out.into();
        }
        if let Some(keys) = self.removed {
            value["removed"] = keys.removed.into();
            value["refused"] = keys.refused.into();
        }
        value
    }
}

/// Say that filters were merged, or one converted, and what the result is like.
pub fn made(
    what: &str,
    info: &Info,
    merged: Option<usize>,
    globals: &Globals,
) -> anyhow::Result<()> {
    if globals.json {
        let mut value = info.change_json(None);
        if let (Some(_), Some(merged), Some(bits)) = (&info.native, merged, &info.bits) {
            value = json!({
                "file": info.file, "kind": info.kind_name(), "merged": merged, "keys": info.keys,
                "estimate": bits.estimate, "bytes": info.bytes, "rate_now": bits.fpr_now,
                "overfull": info.overfull().is_some(),
            });
        }
        print::json(&value)?;
    } else if !globals.quiet {
        // What several filters have in common nobody has counted.
        let counted = info.keys.filter(|_| info.native.is_none());
        print::line(format_args!("{what}: {}", state(info, counted)));
    }
    warn_if_overfull(info, globals);
    Ok(())
}

/// Keys, kind, size and rate.
fn state(info: &Info, counted: Option<u64>) -> String {
    let estimate = info.bits.as_ref().and_then(|bits| bits.estimate);
    let keys = match (counted, estimate) {
        (Some(keys), _) => plural(keys, "key"),
        (None, Some(keys)) => format!("about {}", plural(keys, "key")),
        (None, None) => "any number of keys".to_owned(),
    };
    let rate = match &info.bits {
        _ if is_kind(info, Kind::Bitmap) => "exact".to_owned(),
        bits => format!("rate {}", percent(bits.as_ref().map_or(0.0, |bits| bits.fpr_now))),
    };
    format!("{keys}, {} {}, {rate}", info.kind_name(), bytes(info.bytes))
}

/// Warn where more keys are in than were planned, and the rate is above the one asked for.
fn warn_if_overfull(info: &Info, globals: &Globals) {
    if let Some((what, hint)) = overfull(info).filter(|_| !globals.quiet) {
        print::warning(&format!("{}: {what}", info.file), Some(&hint));
    }
}

fn overfull(info: &Info) -> Option<(String, String)> {
    let kind = info.native.as_ref().map(|native| native.kind);
    Some(overfull_text(kind, info.overfull()?))
}

/// What it means that a filter is overfull, and what to do.
pub fn overfull_text(kind: Option<Kind>, overfull: &Overfull) -> (String, String) {
    let Overfull { capacity, fpr_now, fpr, .. } = *overfull;
    let keys = overfull
        .keys
        .map_or("more keys than can be estimated".to_owned(), |keys| plural(keys, "key"));
    let (planned, now, asked) = (grouped(capacity), percent(fpr_now), percent(fpr));
    if let Some(generations) = overfull.generations {
        let what = format!(
            "crowded: {keys} in the {generations} parts of the window, planned for {planned}; \
             the rate is {now} now, {asked} was asked for, until they are forgotten. No key is lost"
        );
        let hint = "if that many keys arrive in the window, build it with a larger -n or --window";
        return (what, hint.to_owned());
    }
    let what = format!(
        "overfull: {keys} where {planned} were planned; the rate is {now} now, {asked} was asked \
         for. No key is lost"
    );
    let Some(kind) = kind else {
        return (what, "build it again from all its keys with a larger -n".to_owned());
    };
    // Twice what is in; a filter that is full to the brim cannot tell how many that are.
    let keys = overfull.keys.unwrap_or(0).max(overfull.estimate.unwrap_or(0));
    let room = rounded(keys.saturating_mul(2));
    // Only these two have a kind that does the same and grows.
    let or = match kind {
        Kind::Blocked | Kind::Classic => ", or with --kind scalable",
        _ => "",
    };
    let hint = format!(
        "build it again from all its keys with -n {room} -p {}{or}; `mayhap plan -n {room}` shows the cost",
        rate_flag(fpr)
    );
    (what, hint)
}
