//! What there is to know about a filter. Every host renders this and nothing else: `info`, `--json`,
//! a reply over HTTP.

mod json;

use super::{Body, Filter, Measured};
use crate::key_rules::{is_reserved, key_type_of, normalizer_of};
use mayhap::format::{ArrayHeader, Header, Metadata};
use mayhap::scheme::SchemeId;
use mayhap::sizing::cascade_bound;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Kind};
use mayhap_foreign::{Format, Summary};
use serde::Serialize;
use std::path::Path;

/// What there is to know about a filter.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Info {
    /// The file's name.
    pub file: String,
    /// Whose filter it is.
    pub format: Format,
    /// Whether another program's filter is wrapped in a Mayhap file.
    pub wrapped: bool,
    /// Bytes of the whole file; 0 where there is none.
    pub file_bytes: u64,
    /// Bytes of its arrays.
    pub bytes: u64,
    /// The keys counted in, where they are counted.
    pub keys: Option<u64>,
    /// The keys it was made for, or has grown to; 0 where nobody said.
    pub capacity: u64,
    /// The false-positive rate it was made for; 0 where nobody said, and in an exact set.
    pub fpr: f64,
    /// What only the bits tell; `None` where they were not looked at.
    pub bits: Option<BitStats>,
    /// Bits in all arrays, as another program counts them.
    pub array_bits: u64,
    /// Probes per key, where there is one number.
    pub probes: Option<u32>,
    /// Arrays: layers, shards, slices.
    pub layers: u64,
    /// How keys are hashed.
    pub scheme: SchemeId,
    /// What only its format knows, as name and value: strategy, version, seed.
    pub details: Vec<(&'static str, String)>,
    /// What its keys are, where that is known.
    pub key_type: Option<String>,
    /// What its file says beside the filter.
    pub metadata: Metadata,
    /// Whether every byte was verified; `None` where a format has no checksums.
    pub verified: Option<bool>,
    /// What only Mayhap's own kinds have.
    pub native: Option<NativeInfo>,
    /// The rate that random keys found.
    pub measured: Option<Measured>,
}

/// What only the bits tell.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BitStats {
    /// The share of bits that are set; `None` after a change, which does not ask for it.
    pub fill: Option<f64>,
    /// How many distinct keys are in, estimated from the bits; `None` where all are set, and after a
    /// change.
    pub estimate: Option<u64>,
    /// The false-positive rate as the bits are now.
    pub fpr_now: f64,
    /// Whether more is in than it was made for.
    pub overfull: Option<Overfull>,
}

/// More keys in than it was made for, and a higher rate. No key is lost.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Overfull {
    /// The keys in, or as many as are estimated; `None` where the bits tell nothing.
    pub keys: Option<u64>,
    /// The keys it was made for.
    pub capacity: u64,
    /// The rate as the bits are now.
    pub fpr_now: f64,
    /// The rate it was made for.
    pub fpr: f64,
    /// How many distinct keys are in, estimated from the bits; `None` where all are set.
    pub estimate: Option<u64>,
    /// Of a window, its generations: it is crowded only until it has forgotten a burst.
    pub generations: Option<u32>,
}

/// What only Mayhap's own kinds have.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NativeInfo {
    /// The kind.
    pub kind: Kind,
    /// Whether keys are hashed under a secret.
    pub keyed: bool,
    /// The seed of the hash, where it is not keyed.
    pub seed: Option<u64>,
    /// Of a window, what it remembers.
    pub window: Option<WindowInfo>,
    /// Of a cascade, its lists and layers.
    pub cascade: Option<CascadeInfo>,
    /// Of a quotient filter, what is in and how far it can grow; `None` where only its header was
    /// read.
    pub quotient: Option<QuotientInfo>,
}

/// What is in a quotient filter, and how far it can grow.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct QuotientInfo {
    /// The share of slots that are taken.
    pub load: f64,
    /// Distinct fingerprints that are in.
    pub distinct_fingerprints: u64,
    /// Keys beyond the first of each fingerprint: nearly all of them are copies.
    pub copies: u64,
    /// Entries of the side table: fingerprints with more than three copies, and what found no slot.
    pub side_entries: u64,
    /// Whether it grows when it is full.
    pub grows: bool,
    /// Keys that it takes before it grows, or is full where it does not.
    pub room: u64,
    /// Distinct keys up to which it has the rate it was made for, however often it grows.
    pub keys_at_rate: u64,
}

impl QuotientInfo {
    /// That of a quotient filter; `None` for other kinds.
    fn of<B: AsRef<[u8]>>(filter: &AnyFilter<B>) -> Option<QuotientInfo> {
        let AnyFilter::Quotient(filter) = filter else { return None };
        Some(QuotientInfo {
            load: filter.load(),
            distinct_fingerprints: filter.distinct_fingerprints(),
            copies: filter.keys().saturating_sub(filter.distinct_fingerprints()),
            side_entries: filter.side_entries(),
            grows: filter.auto_grow(),
            room: filter.room(),
            keys_at_rate: filter.keys_at_fpr(),
        })
    }
}

/// What a window remembers.
#[derive(Clone, Copy, Debug, Serialize)]
#[non_exhaustive]
pub struct WindowInfo {
    /// Generations it is cut into.
    pub generations: u64,
    /// The time it spans; `None` where it counts keys.
    pub milliseconds: Option<u64>,
}

/// The lists, layers and stash of a cascade.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CascadeInfo {
    /// Keys of the list that is in.
    pub included: u64,
    /// Keys of the list that is out.
    pub excluded: u64,
    /// Keys that were in both.
    pub in_both: u64,
    /// Its layers, in the order they are asked.
    pub layers: Vec<CascadeLayer>,
    /// Keys added since it was built.
    pub stash_added: u64,
    /// Keys removed since it was built.
    pub stash_removed: u64,
    /// Bits of the layers per included key, and what ideal layers would take.
    pub bits_per_key: Option<(f64, f64)>,
}

/// One layer of a cascade.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CascadeLayer {
    /// `ribbon`, `fuse`, `blocked` or `exact`.
    pub kind: &'static str,
    /// Bytes of its array.
    pub bytes: u64,
    /// Columns of a ribbon, bits of a fingerprint in a first layer of fingerprints, probes per key in
    /// one of cache lines, keys in an exact one.
    pub number: u64,
    /// The share of other keys that a first layer lets pass, where the header tells.
    pub passing: Option<f64>,
}

impl Filter {
    /// Describe it. All bits are read for that, several times.
    pub fn info(&self, now_ms: u64) -> Info {
        self.described(now_ms, true)
    }

    /// Describe it after a change, without what is expensive to find out: fill and estimate.
    pub fn brief(&self, now_ms: u64) -> Info {
        self.described(now_ms, false)
    }

    fn described(&self, now_ms: u64, fully: bool) -> Info {
        match &self.body {
            Body::Mapped(filter) => self.native_info(filter, now_ms, fully),
            Body::Owned(filter) => self.native_info(filter, now_ms, fully),
            Body::Foreign(filter) => self.foreign_info(filter.summary()),
        }
    }

    fn native_info<B: AsRef<[u8]>>(&self, filter: &AnyFilter<B>, now_ms: u64, fully: bool) -> Info {
        let mut info = match &self.container {
            Some(container) => Info::of_header(&self.path, container.header(), self.verified),
            None => Info::of_header(&self.path, &filter.header(&self.metadata), true),
        };
        let now = Moment::ticks(now_ms);
        info.capacity = filter.capacity();
        if let Some(native) = &mut info.native {
            native.quotient = QuotientInfo::of(filter);
        }
        let stats = fully.then(|| filter.stats(now));
        info.bits = Some(BitStats {
            fill: stats.map(|stats| stats.fill),
            estimate: stats.and_then(|stats| known(stats.estimate)),
            fpr_now: stats.map_or_else(|| filter.fpr_now_at(now), |stats| stats.fpr_now),
            overfull: Overfull::of(filter, now_ms),
        });
        info
    }

    fn foreign_info(&self, summary: Summary) -> Info {
        let wrapped = self.written_as == Format::Mayhap;
        let key_type = self.key_type.map(|key_type| key_type.name().to_owned());
        let estimate = known(summary.estimate);
        let Summary { capacity, fpr, fpr_now, keys, .. } = summary;
        // Their own rounding of bits and probes costs some of them a little.
        let overfull = capacity > 0
            && fpr > 0.0
            && keys.unwrap_or(summary.estimate) > capacity
            && fpr_now > 1.2 * fpr;
        let overfull = overfull.then_some(Overfull {
            keys: keys.or(estimate),
            capacity,
            fpr_now,
            fpr,
            estimate,
            generations: None,
        });
        Info {
            file: self.path.display().to_string(),
            format: summary.format,
            wrapped,
            file_bytes: self.file_bytes().len() as u64,
            bytes: summary.bits.div_ceil(8),
            keys,
            capacity,
            fpr,
            bits: Some(BitStats { fill: Some(summary.fill), estimate, fpr_now, overfull }),
            array_bits: summary.bits,
            probes: Some(summary.probes),
            layers: summary.layers,
            scheme: summary.scheme,
            details: summary.details,
            key_type,
            metadata: self.metadata.clone(),
            verified: wrapped.then_some(self.verified),
            native: None,
            measured: None,
        }
    }
}

/// The estimate, where the bits tell one.
fn known(estimate: u64) -> Option<u64> {
    (estimate < u64::MAX).then_some(estimate)
}

impl Overfull {
    /// Whether one of Mayhap's own filters holds more than it was made for. Reads its bits only where
    /// it must.
    pub fn of<B: AsRef<[u8]>>(filter: &AnyFilter<B>, now_ms: u64) -> Option<Overfull> {
        let overfull = filter.overfull(Moment::ticks(now_ms))?;
        Some(Overfull {
            // Of all that came, not only what a window remembers now.
            keys: Some(filter.keys()),
            capacity: overfull.capacity,
            fpr_now: overfull.fpr_now,
            fpr: overfull.fpr,
            estimate: known(filter.estimate()),
            generations: overfull.generations,
        })
    }
}

impl Info {
    /// What the header of a Mayhap file says.
    pub(super) fn of_header(path: &Path, header: &Header, verified: bool) -> Info {
        let window = match (header.kind, &header.params[..]) {
            (Kind::Windowed, [generations, ticks, _]) => Some(WindowInfo {
                generations: *generations,
                milliseconds: (*ticks > 0).then_some(*ticks),
            }),
            _ => None,
        };
        Info {
            file: path.display().to_string(),
            format: Format::Mayhap,
            wrapped: false,
            file_bytes: header.file_bytes,
            bytes: header.body_bytes(),
            keys: Some(header.keys),
            capacity: header.capacity,
            fpr: header.fpr,
            bits: None,
            array_bits: header.body_bytes().saturating_mul(8),
            probes: None,
            layers: header.arrays.len() as u64,
            scheme: header.scheme,
            details: Vec::new(),
            key_type: Some(key_type_of(&header.metadata).to_owned()),
            metadata: header.metadata.clone(),
            verified: Some(verified),
            native: Some(NativeInfo {
                kind: header.kind,
                keyed: header.is_keyed(),
                seed: header.scheme.has_seed().then_some(header.seed_or_key_check),
                window,
                cascade: CascadeInfo::of(header),
                quotient: None,
            }),
            measured: None,
        }
    }

    /// The kind, or whose filter it is.
    pub fn kind_name(&self) -> &'static str {
        self.native.as_ref().map_or(self.format.name(), |native| native.kind.name())
    }

    /// Bits of its arrays per key counted in.
    pub fn bits_per_key(&self) -> Option<f64> {
        let keys = self.keys.filter(|keys| *keys > 0)?;
        Some(self.bytes as f64 * 8.0 / keys as f64)
    }

    /// Bits per key that no structure can do without, at the rate the filter has now.
    pub fn bound_bits_per_key(&self) -> Option<f64> {
        let fpr = self.bits.as_ref()?.fpr_now;
        // What a cascade cannot do without depends on its other list, too.
        let other = matches!(self.native.as_ref()?.kind, Kind::Bitmap | Kind::Cascade);
        (!other && fpr > 0.0 && fpr < 1.0).then(|| -fpr.log2())
    }

    /// Whether it holds more than it was made for.
    pub fn overfull(&self) -> Option<&Overfull> {
        self.bits.as_ref()?.overfull.as_ref()
    }

    /// What its makers noted: metadata without what Mayhap sets itself.
    pub fn user_metadata(&self) -> impl Iterator<Item = (&str, &str)> {
        self.metadata.pairs().filter(|(name, _)| !is_reserved(name))
    }

    /// How keys are normalized.
    pub fn normalizer(&self) -> &str {
        normalizer_of(&self.metadata)
    }
}

impl CascadeLayer {
    /// The first layer, whose kind has this number.
    fn first(kind: u64, leaf: &ArrayHeader) -> CascadeLayer {
        let param = |at: usize| leaf.params.get(at).copied().unwrap_or(0);
        let halved = |times: u64| 0.5f64.powi(i32::try_from(times).unwrap_or(i32::MAX));
        let (kind, number, passing) = match kind {
            2 => ("blocked", param(1).saturating_mul(param(2)), None),
            6 => ("fuse", param(1), Some(halved(param(1)))),
            _ => {
                let wide = param(2) as f64 / 2f64.powi(32);
                ("ribbon", param(1), Some(halved(param(1)) * (1.0 - wide / 2.0)))
            }
        };
        CascadeLayer { kind, bytes: leaf.bytes, number, passing }
    }
}

impl CascadeInfo {
    /// That of a cascade; `None` for other kinds.
    fn of(header: &Header) -> Option<CascadeInfo> {
        let (&[first, included, excluded, in_both], _) = header.params.split_first_chunk()?;
        if header.kind != Kind::Cascade {
            return None;
        }
        let mut leaves = header.arrays.iter();
        let mut layers = Vec::new();
        if first != 0 {
            layers.push(CascadeLayer::first(first, leaves.next()?));
        }
        let (exact, stash) = (leaves.next()?, leaves.next());
        // The number of keys comes last, in a layer of fingerprints and in a ribbon.
        let number = exact.params.last().copied().unwrap_or(0);
        let passing = None;
        layers.push(CascadeLayer { kind: "exact", bytes: exact.bytes, number, passing });
        let stashed = |leaf: &ArrayHeader| {
            let added = leaf.params.first().copied().unwrap_or(0);
            (added, (leaf.bytes / 8).saturating_sub(added))
        };
        let (stash_added, stash_removed) = stash.map_or((0, 0), stashed);
        let bytes: u64 = layers.iter().map(|layer| layer.bytes).sum();
        let bits = bytes as f64 * 8.0 / included as f64;
        let bound = cascade_bound(included, excluded, header.fpr);
        let bits_per_key = (included > 0).then_some((bits, bound));
        Some(CascadeInfo {
            included,
            excluded,
            in_both,
            layers,
            stash_added,
            stash_removed,
            bits_per_key,
        })
    }
}
