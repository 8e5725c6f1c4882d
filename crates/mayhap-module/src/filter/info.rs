//! What a filter tells about itself.

use super::{Filter, Part};
use crate::CommandError;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Blocked};
use mayhap_foreign::redisbloom::{self, Chain, Scaling};

/// What RedisBloom keeps of a chain and of each of its links beside their bits.
const CHAIN_BYTES: u64 = 32;
const LINK_BYTES: u64 = 64;

/// What `BF.INFO` shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Items all layers are made for.
    pub capacity: u64,
    /// Bytes in memory.
    pub bytes: u64,
    /// Layers, links or generations.
    pub layers: u64,
    /// Items counted in.
    pub items: u64,
    /// What the capacity is multiplied by when it is full; `None` where it does not grow.
    pub expansion: Option<u32>,
    /// The kind.
    pub kind: &'static str,
    /// Whether it is hashed under a secret.
    pub keyed: bool,
    /// The rate asked for.
    pub target: f64,
    /// The rate as the bits stand.
    pub rate_now: f64,
    /// The share of bits that are set.
    pub fill: f64,
    /// Of a window: what it spans in seconds (0: counted in keys), its generations, and how old
    /// the oldest answer may be, in seconds (or keys).
    pub window: Option<(f64, u32, f64)>,
}

/// What `BF.DEBUG` shows of one layer, link or generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerInfo {
    /// Bytes of its array.
    pub bytes: u64,
    /// Bits that probes may fall on.
    pub bits: u64,
    /// Probes for each item.
    pub hashes: u32,
    /// Bits of an item's hash.
    pub hash_bits: u32,
    /// Items it is made for.
    pub capacity: u64,
    /// Items counted in.
    pub items: u64,
    /// The rate it is made for.
    pub fpr: f64,
}

/// The cheap part: no bits are looked at.
pub(super) struct CountStats {
    pub capacity: u64,
    pub items: u64,
    pub layers: u64,
    pub expansion: Option<u32>,
}

impl Part {
    fn counts_at(&self, now_ms: u64) -> CountStats {
        match self {
            Part::Native(filter) => {
                let (layers, expansion) = match filter {
                    AnyFilter::Scalable(f) => (f.layers().len() as u64, Some(f.growth())),
                    AnyFilter::Quotient(f) => (1, f.auto_grow().then_some(2)),
                    AnyFilter::Windowed(f) => (u64::from(f.window().generations()) + 1, None),
                    _ => (1, None),
                };
                let items = match filter {
                    AnyFilter::Windowed(f) => f.keys(Moment::ticks(now_ms)),
                    other => other.keys(),
                };
                CountStats { capacity: filter.capacity(), items, layers, expansion }
            }
            Part::Compat(chain) => CountStats {
                capacity: chain.capacity(),
                items: chain.items(),
                layers: chain.links().len() as u64,
                expansion: match chain.scaling() {
                    Scaling::By(growth) => Some(growth),
                    Scaling::Fixed => None,
                },
            },
        }
    }

    fn layers(&self) -> Vec<LayerInfo> {
        let filter = match self {
            Part::Native(filter) => filter,
            Part::Compat(chain) => {
                let hash_bits = match chain.rule().options & redisbloom::options::FORCE64 {
                    0 => 32,
                    _ => 64,
                };
                let layer = |link: &redisbloom::Link| {
                    let info = link.info();
                    LayerInfo {
                        bytes: info.bytes,
                        bits: info.bits,
                        hashes: info.hashes,
                        hash_bits,
                        capacity: info.entries,
                        items: info.items,
                        fpr: info.error,
                    }
                };
                return chain.links().iter().map(layer).collect();
            }
        };
        let keyed = filter.scheme().is_some_and(|scheme| scheme.is_keyed());
        let hash_bits = if keyed { 128 } else { 64 };
        let blocked = |layer: &Blocked| LayerInfo {
            bytes: layer.as_bytes().len() as u64,
            bits: layer.shape().bits(),
            hashes: layer.shape().probes(),
            hash_bits,
            capacity: layer.spec().capacity(),
            items: layer.keys(),
            fpr: layer.spec().fpr(),
        };
        // Of kinds that are one array, or many that are asked as one.
        let whole = |bits: u64, hashes: u32| LayerInfo {
            bytes: filter.bytes(),
            bits,
            hashes,
            hash_bits,
            capacity: filter.capacity(),
            items: filter.keys(),
            fpr: filter.fpr(),
        };
        match filter {
            AnyFilter::Scalable(f) => f.layers().iter().map(blocked).collect(),
            AnyFilter::Windowed(f) => f.generations().flatten().map(blocked).collect(),
            AnyFilter::Blocked(f) => vec![blocked(f)],
            AnyFilter::Classic(f) => vec![whole(f.shape().bits, f.shape().probes)],
            AnyFilter::Counting(f) => vec![whole(f.shape().bits, f.shape().probes)],
            // Fingerprints, exact sets and shards have no one number of probes.
            other => vec![whole(other.bytes().saturating_mul(8), 0)],
        }
    }

    /// The share of bits that are set, and the rate they make.
    fn load_at(&self, now_ms: u64) -> (f64, f64) {
        match self {
            Part::Native(AnyFilter::Windowed(f)) => {
                (f.fill(Moment::ticks(now_ms)), f.fpr_now(Moment::ticks(now_ms)))
            }
            Part::Native(f) => (f.fill(), f.fpr_now()),
            Part::Compat(chain) => (chain.fill(), chain.fpr_now()),
        }
    }

    fn target(&self) -> f64 {
        match self {
            Part::Native(filter) => filter.fpr(),
            Part::Compat(chain) => asked_of(chain),
        }
    }
}

/// The rate a chain was asked for: one that grows gave half of it to its first link.
fn asked_of(chain: &Chain) -> f64 {
    let first = chain.links().first().map_or(0.0, |link| link.info().error);
    match chain.scaling() {
        Scaling::By(_) => first * 2.0,
        Scaling::Fixed => first,
    }
}

impl Filter {
    fn counts(&self, now_ms: u64) -> Result<CountStats, CommandError> {
        self.main()?;
        let zero = CountStats { capacity: 0, items: 0, layers: 0, expansion: None };
        Ok(self.parts().map(|part| part.counts_at(now_ms)).fold(zero, |sum, part| CountStats {
            capacity: sum.capacity.saturating_add(part.capacity),
            items: sum.items.saturating_add(part.items),
            layers: sum.layers + part.layers,
            expansion: sum.expansion.or(part.expansion),
        }))
    }

    /// Every layer of every part, oldest first; of a window the newest generation first.
    pub fn layers(&self) -> Result<Vec<LayerInfo>, CommandError> {
        self.main()?;
        Ok(self.parts().flat_map(Part::layers).collect())
    }

    /// Items counted in.
    pub fn items(&self, now_ms: u64) -> Result<u64, CommandError> {
        Ok(self.counts(now_ms)?.items)
    }

    /// The five that RedisBloom knows: capacity, bytes, layers, items, expansion. The bytes of a
    /// filter in RedisBloom's scheme are counted as it counts them.
    pub fn classical(
        &self,
        now_ms: u64,
    ) -> Result<(u64, u64, u64, u64, Option<u32>), CommandError> {
        let CountStats { capacity, items, layers, expansion } = self.counts(now_ms)?;
        let bytes = match self.as_compat() {
            Some(_) => CHAIN_BYTES + LINK_BYTES * layers + self.bytes(),
            None => self.memory_bytes(),
        };
        Ok((capacity, bytes, layers, items, expansion))
    }

    /// Bytes in memory: the arrays, and about what is kept beside them.
    pub fn memory_bytes(&self) -> u64 {
        let layers = self.counts(0).map_or(0, |counts| counts.layers);
        self.bytes() + size_of::<Filter>() as u64 + 128 * layers
    }

    /// Everything. Reads all bits.
    pub fn info(&self, now_ms: u64) -> Result<Info, CommandError> {
        let (capacity, bytes, layers, items, expansion) = self.classical(now_ms)?;
        let main = self.main()?;
        let (mut ones, mut none_wrong, mut target) = (0.0, 0.0, 0.0);
        for part in self.parts() {
            let (fill, rate) = part.load_at(now_ms);
            ones += fill * part.bytes() as f64;
            none_wrong += (-rate).ln_1p();
            target += part.target();
        }
        let window = match main {
            Part::Native(AnyFilter::Windowed(f)) => {
                let (ticks, oldest) = (f.window().ticks(), f.oldest(Moment::ticks(now_ms)) as f64);
                let scale = if ticks.is_some() { 1000.0 } else { 1.0 };
                Some((ticks.unwrap_or(0) as f64 / 1000.0, f.window().generations(), oldest / scale))
            }
            _ => None,
        };
        Ok(Info {
            capacity,
            bytes,
            layers,
            items,
            expansion,
            kind: main.kind(),
            keyed: match main {
                Part::Native(f) => f.scheme().is_some_and(|scheme| scheme.is_keyed()),
                Part::Compat(_) => false,
            },
            target,
            // Not below zero, nor −0.
            rate_now: (-f64::exp_m1(none_wrong)).max(0.0) + 0.0,
            fill: ones / self.bytes().max(1) as f64,
            window,
        })
    }
}
