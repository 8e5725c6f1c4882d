//! A cascade's lists, layers and stash, as its header tells them.

use crate::numbers::{bytes, grouped, percent, plural};
use mayhap::Kind;
use mayhap::format::{Header, Leaf};
use mayhap::sizing::cascade_bound;
use serde_json::{Value, json};

/// What a cascade is made of.
pub struct Layers<'a> {
    header: &'a Header,
    first: Option<(&'static str, &'a Leaf)>,
    exact: &'a Leaf,
    stash: Option<&'a Leaf>,
    included: u64,
    excluded: u64,
    in_both: u64,
}

impl Layers<'_> {
    /// Those of a cascade; `None` for other kinds.
    pub fn of(header: &Header) -> Option<Layers<'_>> {
        let [first, included, excluded, in_both] = header.params[..] else { return None };
        if header.kind != Kind::Cascade {
            return None;
        }
        let mut leaves = header.leaves.iter();
        let first = match first {
            0 => None,
            2 => Some(("blocked", leaves.next()?)),
            _ => Some(("fuse", leaves.next()?)),
        };
        let (exact, stash) = (leaves.next()?, leaves.next());
        Some(Layers { header, first, exact, stash, included, excluded, in_both })
    }

    /// Bits of the layers for an included key, and what ideal layers would take.
    fn bits(&self) -> Option<(f64, f64)> {
        let built = self.first.map_or(0, |(_, leaf)| leaf.bytes) + self.exact.bytes;
        let bits = built as f64 * 8.0 / self.included as f64;
        let bound = cascade_bound(self.included, self.excluded, self.header.fpr);
        (self.included > 0).then_some((bits, bound))
    }

    /// Keys added and removed since it was built.
    fn stashed(&self) -> (u64, u64) {
        let counts = |leaf: &Leaf| {
            let added = leaf.params.first().copied().unwrap_or(0);
            (added, (leaf.bytes / 8).saturating_sub(added))
        };
        self.stash.map_or((0, 0), counts)
    }

    /// For people: a name and its value a line.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let both = match self.in_both {
            0 => String::new(),
            keys => format!(", {} were in both", grouped(keys)),
        };
        let lists = format!("{} in, {} out{both}", grouped(self.included), grouped(self.excluded));
        let mut lines = vec![("lists", lists)];
        if let Some((kind, leaf)) = self.first {
            let made = match (kind, &leaf.params[..]) {
                ("fuse", [_, width, _]) => {
                    let passing = 0.5f64.powi(i32::try_from(*width).unwrap_or(i32::MAX));
                    format!("fingerprints of {width} bits, {} of others pass", percent(passing))
                }
                (_, params) => {
                    let probes = params.iter().skip(1).take(2).product::<u64>();
                    format!("cache lines, {probes} probes a key")
                }
            };
            lines.push(("layer 1", format!("{made}, {}", bytes(leaf.bytes))));
        }
        let keys = self.exact.params.get(2).copied().unwrap_or(0);
        let number = if self.first.is_some() { "layer 2" } else { "layer 1" };
        let told = format!(
            "one bit for {} of both lists, {}",
            plural(keys, "key"),
            bytes(self.exact.bytes)
        );
        lines.push((number, told));
        let (added, removed) = self.stashed();
        let stash =
            format!("{} added, {} removed since it was built", grouped(added), grouped(removed));
        lines.push(("stash", stash));
        if let Some((bits, bound)) = self.bits() {
            let told = format!(
                "{bits:.2} in layers for a key that is in; ideal ones would take {bound:.2}"
            );
            lines.push(("bound", told));
        }
        lines
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let first = self.first.map(|(kind, leaf)| json!({"kind": kind, "bytes": leaf.bytes}));
        let exact =
            json!({"kind": "exact", "bytes": self.exact.bytes, "keys": self.exact.params.get(2)});
        let layers: Vec<Value> = first.into_iter().chain([exact]).collect();
        let (added, removed) = self.stashed();
        json!({
            "included": self.included,
            "excluded": self.excluded,
            "in_both": self.in_both,
            "layers": layers,
            "stash": {"added": added, "removed": removed},
            "bits_per_included_key": self.bits().map(|(bits, _)| bits),
            "bound_bits_per_included_key": self.bits().map(|(_, bound)| bound),
        })
    }
}
