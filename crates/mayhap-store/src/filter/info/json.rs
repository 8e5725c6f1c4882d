//! [`Info`] and changes as JSON. Field names are frozen.

use super::super::{Measured, Tally};
use super::{CascadeInfo, CascadeLayer, Info, NativeInfo};
use mayhap::Kind;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

impl Info {
    /// For programs. Field names are frozen.
    pub fn to_json(&self) -> Value {
        match &self.native {
            Some(native) => self.native_json(native),
            None => self.foreign_json(),
        }
    }

    fn native_json(&self, native: &NativeInfo) -> Value {
        let meta: Map<String, Value> =
            self.user_metadata().map(|(name, value)| (name.to_owned(), value.into())).collect();
        let mut value = json!({
            "file": self.file,
            "kind": native.kind.name(),
            "file_bytes": self.file_bytes,
            "bytes": self.bytes,
            "keys": self.keys,
            "capacity": self.capacity,
            "rate": self.fpr,
            "bits_per_key": self.bits_per_key(),
            "hash": self.scheme.name(),
            "keyed": native.keyed,
            "normaliser": self.normalizer(),
            "key_type": self.key_type,
            "created": self.metadata.created(),
            "meta": meta,
            "verified": self.verified,
        });
        if let Some(seed) = native.seed {
            value["seed"] = seed.into();
        }
        if let Some(window) = native.window {
            value["window"] = json!(window);
        }
        if native.kind == Kind::Sharded {
            value["shards"] = self.layers.into();
        }
        if let Some(cascade) = &native.cascade {
            value["cascade"] = cascade.to_json();
        }
        if let Some(quotient) = &native.quotient {
            value["quotient"] = json!(quotient);
        }
        if let Some(bits) = &self.bits {
            value["estimate"] = bits.estimate.into();
            value["fill"] = bits.fill.into();
            value["rate_now"] = bits.fpr_now.into();
            value["least_bits_per_key"] = self.bound_bits_per_key().into();
            value["overfull"] = bits.overfull.is_some().into();
        }
        self.measured_json(&mut value);
        value
    }

    fn foreign_json(&self) -> Value {
        let mut value = self.foreign_summary();
        value["file_bytes"] = self.file_bytes.into();
        value["key_type"] = self.key_type.clone().into();
        value["wrapped"] = self.wrapped.into();
        self.measured_json(&mut value);
        value
    }

    fn measured_json(&self, value: &mut Value) {
        if let Some(measured) = &self.measured {
            let Measured { probes, hits } = measured;
            value["measured"] = json!({"probes": probes, "hits": hits, "rate": measured.fpr()});
        }
    }

    /// What a change of another program's filter reports beside what was read.
    fn foreign_summary(&self) -> Value {
        let details: Map<String, Value> = self
            .details
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone().into()))
            .collect();
        let bits = self.bits.as_ref();
        json!({
            "file": self.file, "format": self.format.name(),
            "scheme": self.scheme.0, "keys": self.keys,
            "estimate": bits.and_then(|bits| bits.estimate),
            "capacity": self.capacity, "rate": self.fpr,
            "rate_now": bits.map(|bits| bits.fpr_now), "fill": bits.and_then(|bits| bits.fill),
            "bits": self.array_bits, "probes": self.probes,
            "layers": self.layers, "details": details,
        })
    }

    /// For programs, after a change: what was read for it, and the filter as it is now. Field names
    /// are frozen.
    pub fn change_json(&self, read: Option<Tally>) -> Value {
        let mut value = match &self.native {
            Some(native) => json!({"file": self.file, "kind": native.kind.name()}),
            None => self.foreign_summary(),
        };
        if let Some(Tally { records, unparsable, missing }) = read {
            value["lines"] = records.into();
            value["unparsed"] = unparsable.into();
            value["missing"] = missing.into();
        }
        if self.native.is_some() {
            value["keys"] = self.keys.into();
            value["capacity"] = self.capacity.into();
            value["bytes"] = self.bytes.into();
            value["rate"] = self.fpr.into();
            value["rate_now"] = self.bits.as_ref().map(|bits| bits.fpr_now).into();
            value["overfull"] = self.overfull().is_some().into();
        }
        value
    }
}

impl Serialize for Info {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(serializer)
    }
}

impl CascadeInfo {
    pub(super) fn to_json(&self) -> Value {
        let layer = |layer: &CascadeLayer| match layer.kind {
            "exact" => json!({"kind": "exact", "bytes": layer.bytes, "keys": layer.number}),
            kind => json!({"kind": kind, "bytes": layer.bytes}),
        };
        json!({
            "included": self.included,
            "excluded": self.excluded,
            "in_both": self.in_both,
            "layers": self.layers.iter().map(layer).collect::<Vec<_>>(),
            "stash": {"added": self.stash_added, "removed": self.stash_removed},
            "bits_per_included_key": self.bits_per_key.map(|(bits, _)| bits),
            "bound_bits_per_included_key": self.bits_per_key.map(|(_, bound)| bound),
        })
    }
}
