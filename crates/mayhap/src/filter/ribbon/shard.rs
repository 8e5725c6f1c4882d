//! One shard: its layers, one after the other, under the first seed with which they suffice.

use super::band::{Banding, Rules, band, band_two};
use crate::hash::Hash;
use crate::kernel::ribbon::{Equations, Record, Seed, back_substitute};
use crate::sizing::{BLOCK_SLOTS, LayerShape, MAX_LAYERS};

/// Seeds that a shard tries. Hashes of different keys find their layers with the first; what does
/// not are numbers contrived to collide.
pub(super) const SEEDS: u32 = 32;
/// The most keys of one shard: slots are counted in 32 bits.
pub(super) const MAX_SHARD_KEYS: usize = 1 << 28;

/// What all shards of a filter have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShardRules {
    /// Columns of the first strip.
    pub columns: u32,
    /// The share of starts with one more.
    pub wide: u32,
    pub shards: u64,
    /// Seeds begin here: filters over the same keys must not err alike.
    pub first_seed: u32,
}

/// A shard that is built.
pub(super) struct BuiltShard {
    pub record: Record,
    /// Its layers: thresholds and blocks.
    pub bytes: Vec<u8>,
    pub keys: u64,
}

impl BuiltShard {
    /// Whether its keys found places.
    pub fn is_placed(&self) -> bool {
        self.keys == 0 || !self.record.layers.is_empty()
    }
}

impl ShardRules {
    fn rules<'a, L: Equations, F>(
        &self,
        keys: usize,
        number: usize,
        seed: u32,
        flip: &'a F,
    ) -> Rules<'a, F> {
        Rules {
            columns: self.columns,
            layer: LayerShape::for_keys::<L>(keys as u64, self.wide),
            number,
            shards: self.shards,
            seed: Seed::new(seed),
            flip,
        }
    }

    /// The shard of `banding.keys`, which are sorted and none twice.
    pub fn build<L: Equations, F: Fn(Hash) -> u64>(
        &self,
        banding: &mut Banding<L>,
        flip: &F,
    ) -> BuiltShard {
        self.build_from(banding, None, flip)
    }

    /// Two shards, their first layers banded in turns.
    pub fn build_two<L: Equations, F: Fn(Hash) -> u64>(
        &self,
        x: &mut Banding<L>,
        y: &mut Banding<L>,
        flips: [&F; 2],
    ) -> [BuiltShard; 2] {
        if x.keys.is_empty() || y.keys.is_empty() {
            return [self.build(x, flips[0]), self.build(y, flips[1])];
        }
        let of_x = self.rules::<L, F>(x.keys.len(), 0, self.first_seed, flips[0]);
        let of_y = self.rules::<L, F>(y.keys.len(), 0, self.first_seed, flips[1]);
        band_two(x, y, [&of_x, &of_y]);
        [
            self.build_from(x, Some(of_x.layer), flips[0]),
            self.build_from(y, Some(of_y.layer), flips[1]),
        ]
    }

    /// The first layer may be banded already, with the first seed.
    fn build_from<L: Equations, F: Fn(Hash) -> u64>(
        &self,
        banding: &mut Banding<L>,
        mut banded: Option<LayerShape>,
        flip: &F,
    ) -> BuiltShard {
        let keys = banding.keys.len() as u64;
        if keys == 0 {
            return BuiltShard { record: Record::settled(false), bytes: Vec::new(), keys };
        }
        // Later seeds need the keys again.
        let mut all: Vec<Hash> = Vec::new();
        for seed in self.first_seed..self.first_seed + SEEDS {
            if !all.is_empty() {
                banding.keys.clone_from(&all);
            }
            let mut record = Record { seed, answer: false, layers: Vec::new() };
            let mut bytes = Vec::new();
            for number in 0..MAX_LAYERS {
                let layer = banded.take().unwrap_or_else(|| {
                    let rules = self.rules::<L, F>(banding.keys.len(), number, seed, flip);
                    band(banding, &rules);
                    rules.layer
                });
                self.write_layer(banding, &layer, &mut bytes);
                record.layers.push(layer);
                if banding.bumped.is_empty() {
                    return BuiltShard { record, bytes, keys };
                }
                let next = self.rules::<L, F>(0, number + 1, seed, flip);
                let bumped = std::mem::take(&mut banding.bumped);
                let sorted = std::mem::replace(&mut banding.keys, bumped);
                banding.keys.sort_by_cached_key(|hash| (next.place(*hash), *hash));
                if number == 0 && all.is_empty() {
                    all = sorted;
                } else {
                    banding.bumped = sorted;
                }
            }
        }
        BuiltShard { record: Record::settled(true), bytes: Vec::new(), keys }
    }

    /// Thresholds and blocks of a layer that is banded.
    fn write_layer<L: Equations>(
        &self,
        banding: &Banding<L>,
        layer: &LayerShape,
        bytes: &mut Vec<u8>,
    ) {
        for levels in banding.levels.chunks(4) {
            let pack = |byte: u8, (index, level): (usize, &u8)| byte | level << (2 * index);
            bytes.push(levels.iter().enumerate().fold(0, pack));
        }
        let mut rows = &banding.rows[..];
        for (strip, blocks) in layer.strips::<L>().into_iter().enumerate() {
            let (here, others) = rows.split_at((blocks * BLOCK_SLOTS) as usize);
            let columns = self.columns as usize + strip;
            let at = bytes.len();
            bytes.resize(at + blocks as usize * columns, 0);
            back_substitute(here, columns, &mut bytes[at..]);
            rows = others;
        }
    }
}
