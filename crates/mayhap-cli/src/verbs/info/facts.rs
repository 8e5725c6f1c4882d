//! What there is to know about a filter, for people and for programs.

use super::layers::Layers;
use crate::clock::{date, now};
use crate::keys::{is_reserved, key_type};
use crate::measure::Measured;
use crate::numbers::{bytes, estimated, grouped, known_estimate, percent, spoken};
use crate::outcome::{overfull, rate_now};
use crate::print::{FAINT, TITLE, WARN, bar, styled};
use mayhap::format::Header;
use mayhap::{AnyFilter, Kind, SchemeId};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;

/// What there is to know about a filter.
pub struct Facts {
    name: String,
    header: Header,
    bits: Option<Bits>,
    measured: Option<Measured>,
    verified: bool,
}

/// What only the bits tell.
struct Bits {
    fill: f64,
    estimate: u64,
    fpr_now: f64,
    /// The keys it has room for: a growing filter has more than its header was asked for.
    capacity: u64,
    overfull: Option<(String, String)>,
}

const BAR_COLUMNS: usize = 30;

impl Facts {
    /// Gather them. Without the filter itself, what the header says.
    pub fn of<B: AsRef<[u8]>>(
        path: &Path,
        header: &Header,
        filter: Option<&AnyFilter<B>>,
        measured: Option<Measured>,
        verified: bool,
    ) -> Facts {
        let bits = filter.map(|filter| {
            let (fill, estimate) = match filter {
                AnyFilter::Windowed(window) => (window.fill(now()), window.estimate(now())),
                other => (other.fill(), other.estimate()),
            };
            let (fpr_now, capacity) = (rate_now(filter), filter.capacity());
            Bits { fill, estimate, fpr_now, capacity, overfull: overfull(filter) }
        });
        Facts { name: path.display().to_string(), header: header.clone(), bits, measured, verified }
    }

    fn is_exact(&self) -> bool {
        self.header.kind == Kind::Bitmap
    }

    fn bits_per_key(&self) -> Option<f64> {
        let keys = self.header.keys.max(1);
        (self.header.keys > 0).then(|| self.header.body_bytes() as f64 * 8.0 / keys as f64)
    }

    /// Bits a key that no structure can do without, at the rate the filter has now.
    fn least_bits(&self) -> Option<f64> {
        let fpr = self.bits.as_ref()?.fpr_now;
        // What a cascade cannot do without depends on its other list, too.
        let other = self.is_exact() || self.header.kind == Kind::Cascade;
        (!other && fpr > 0.0 && fpr < 1.0).then(|| -fpr.log2())
    }

    /// For people: a name and its value a line.
    pub fn text(&self) -> String {
        let header = &self.header;
        let head = format!("{}: {} filter of {}", self.name, header.kind, bytes(header.file_bytes));
        let mut text = styled(TITLE, head) + "\n";
        let mut line = |name: &str, value: String| {
            text += &format!("{name:<11} {value}\n");
        };
        line("keys", self.keys_text());
        if let Some(capacity) = self.capacity() {
            line("capacity", capacity);
        }
        let has_fill = |_: &&Bits| self.header.kind != Kind::Cascade;
        if let Some(bits) = self.bits.as_ref().filter(has_fill) {
            line(
                "fill",
                format!("{:<BAR_COLUMNS$} {}", bar(bits.fill, BAR_COLUMNS), percent(bits.fill)),
            );
        }
        line("rate", self.rate_text());
        if let Some(bits) = self.bits_text() {
            line("bits a key", bits);
        }
        if let Some(window) = self.window() {
            line("window", window);
        }
        if let Some(cascade) = self.cascade() {
            cascade.lines().into_iter().for_each(|(name, value)| line(name, value));
        }
        line("hash", self.hash_text());
        line("normaliser", self.normaliser().to_owned());
        line("key type", key_type(&header.notes).to_owned());
        if header.notes.created() > 0 {
            line("created", date(header.notes.created()));
        }
        for (name, value) in header.notes.pairs().filter(|(name, _)| !is_reserved(name)) {
            line("meta", format!("{name}={value}"));
        }
        line("checksums", self.checksum_text().to_owned());
        if let Some((what, hint)) = self.bits.as_ref().and_then(|bits| bits.overfull.as_ref()) {
            text += &format!("{}\n{}\n", styled(WARN, what), styled(FAINT, hint));
        }
        if self.bits.is_none() && self.verified {
            text += &styled(FAINT, "fill and rate now: name its secret with --key-file\n");
        }
        text
    }

    fn keys_text(&self) -> String {
        let counted = grouped(self.header.keys);
        match &self.bits {
            Some(bits) if !self.is_exact() && self.header.kind != Kind::Cascade => {
                format!("{counted} counted, {} estimated from the bits", estimated(bits.estimate))
            }
            _ => format!("{counted} counted"),
        }
    }

    fn capacity(&self) -> Option<String> {
        let capacity = self.bits.as_ref().map_or(self.header.capacity, |bits| bits.capacity);
        if capacity == 0 || self.header.kind == Kind::Cascade {
            return None;
        }
        let used = percent(self.header.keys as f64 / capacity as f64);
        let layers = match (self.header.kind, self.header.leaves.len()) {
            (Kind::Scalable, layers) if layers > 1 => format!(", in {layers} layers"),
            (Kind::Sharded, shards) => format!(", in {shards} shards"),
            _ => String::new(),
        };
        let used = if self.header.keys >= capacity {
            grouped(self.header.keys) + " in"
        } else {
            used + " used"
        };
        Some(format!("{}, {used}{layers}", grouped(capacity)))
    }

    fn rate_text(&self) -> String {
        if self.is_exact() {
            return "exact: no wrong answers".to_owned();
        }
        let mut text = match self.header.fpr {
            0.0 => "unknown target".to_owned(),
            fpr => format!("{} asked for", percent(fpr)),
        };
        if let Some(bits) = &self.bits {
            text += &format!(", {} now", percent(bits.fpr_now));
        }
        if let Some(measured) = &self.measured {
            text += &format!(
                ", {} measured ({} of {} random keys)",
                percent(measured.rate()),
                grouped(measured.hits),
                grouped(measured.probes)
            );
        }
        text
    }

    fn bits_text(&self) -> Option<String> {
        let bits = self.bits_per_key()?;
        Some(match self.least_bits() {
            Some(least) => {
                format!("{bits:.2}; at the rate it has now nothing does with less than {least:.2}")
            }
            None => format!("{bits:.2}"),
        })
    }

    fn window(&self) -> Option<String> {
        let [generations, ticks, _] = self.header.params[..] else { return None };
        if self.header.kind != Kind::Windowed {
            return None;
        }
        Some(match ticks {
            0 => format!(
                "the last {} keys, in {generations} generations",
                grouped(self.header.capacity)
            ),
            ms => format!(
                "the last {}, in {generations} generations",
                spoken(Duration::from_millis(ms))
            ),
        })
    }

    fn cascade(&self) -> Option<Layers<'_>> {
        Layers::of(&self.header)
    }

    fn hash_text(&self) -> String {
        let name = self.header.scheme.name();
        match self.header.scheme {
            SchemeId::EXACT => "none: the keys themselves".to_owned(),
            SchemeId::XXH3 => format!("{name}, seed {}, not keyed", self.header.fingerprint),
            SchemeId::SIP13 => format!("{name}, keyed: its secret is in the key file"),
            other => format!("{name} (scheme {})", other.0),
        }
    }

    fn normaliser(&self) -> &str {
        match self.header.notes.normaliser() {
            "" => "none",
            name => name,
        }
    }

    fn checksum_text(&self) -> &'static str {
        if self.verified {
            "every byte verified"
        } else {
            "header verified, the rest not looked at"
        }
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let header = &self.header;
        let meta: Map<String, Value> = header
            .notes
            .pairs()
            .filter(|(name, _)| !is_reserved(name))
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        let mut value = json!({
            "file": self.name,
            "kind": header.kind.name(),
            "file_bytes": header.file_bytes,
            "bytes": header.body_bytes(),
            "keys": header.keys,
            "capacity": self.bits.as_ref().map_or(header.capacity, |bits| bits.capacity),
            "rate": header.fpr,
            "bits_per_key": self.bits_per_key(),
            "hash": header.scheme.name(),
            "keyed": header.is_keyed(),
            "normaliser": self.normaliser(),
            "key_type": key_type(&header.notes),
            "created": header.notes.created(),
            "meta": meta,
            "verified": self.verified,
        });
        if header.scheme == SchemeId::XXH3 {
            value["seed"] = header.fingerprint.into();
        }
        if header.kind == Kind::Windowed
            && let [generations, ticks, _] = header.params[..]
        {
            value["window"] =
                json!({"generations": generations, "milliseconds": (ticks > 0).then_some(ticks)});
        }
        if header.kind == Kind::Sharded {
            value["shards"] = header.leaves.len().into();
        }
        if let Some(cascade) = self.cascade() {
            value["cascade"] = cascade.json();
        }
        if let Some(bits) = &self.bits {
            value["estimate"] = known_estimate(bits.estimate).into();
            value["fill"] = bits.fill.into();
            value["rate_now"] = bits.fpr_now.into();
            value["least_bits_per_key"] = self.least_bits().into();
            value["overfull"] = bits.overfull.is_some().into();
        }
        if let Some(measured) = &self.measured {
            value["measured"] =
                json!({"probes": measured.probes, "hits": measured.hits, "rate": measured.rate()});
        }
        value
    }
}
