//! The directory of a ribbon filter, read and checked once.

use super::{Equations, Isa, Seed, Width};
use crate::hash::{Hash, reduce};
use crate::sizing::{LayerShape, Layout, MAX_COLUMNS, MAX_LAYERS, RIBBON_PADDING, RIBBON_RECORD};
use std::marker::PhantomData;

/// The four thresholds, a byte each.
const fn packed<L: Layout>() -> u32 {
    let [a, b, c, d] = L::THRESHOLDS;
    (a | b << 8 | c << 16 | d << 24) as u32
}
/// A layer of one strip has this bit set beside its number of starts.
const ONE_STRIP: u32 = 1 << 31;

/// What a directory says of one shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub seed: u32,
    /// The answer to all keys where there are no layers.
    pub answer: bool,
    pub layers: Vec<LayerShape>,
}

impl Record {
    /// A shard without layers, and its one answer.
    pub fn settled(answer: bool) -> Record {
        Record { seed: 0, answer, layers: Vec::new() }
    }

    /// The bytes of the record of a shard that begins at byte `offset`: the offset (8 bytes), the
    /// seed (4), the number of layers, without layers the answer in bit 8 (4), and six numbers of
    /// starts (4 each), those of layers with one strip with their highest bit set.
    pub fn bytes(&self, offset: u64, wide: u32) -> [u8; RIBBON_RECORD as usize] {
        let mut bytes = [0; RIBBON_RECORD as usize];
        bytes[..8].copy_from_slice(&offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.seed.to_le_bytes());
        let count = self.layers.len() as u32 | u32::from(self.answer) << 8;
        bytes[12..16].copy_from_slice(&count.to_le_bytes());
        for (layer, place) in self.layers.iter().zip(bytes[16..].as_chunks_mut().0) {
            let large = *layer == LayerShape::large(layer.starts, wide);
            let flag = if large { 0 } else { ONE_STRIP };
            *place = (layer.starts as u32 | flag).to_le_bytes();
        }
        bytes
    }

    /// The record of a shard that begins at `offset`; `None` where these bytes are not one.
    fn read(bytes: &[u8; RIBBON_RECORD as usize], offset: u64, wide: u32) -> Option<Record> {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let (seed, count) = (word(8), word(12));
        let answer = match count >> 8 {
            0 => false,
            1 if count == 1 << 8 => true,
            _ => return None,
        };
        let count = (count & 0xff) as usize;
        if count > MAX_LAYERS || (count == 0 && seed != 0) {
            return None;
        }
        let mut layers = Vec::with_capacity(count);
        for index in 0..MAX_LAYERS {
            let stated = word(16 + 4 * index);
            let starts = u64::from(stated & !ONE_STRIP);
            if index >= count {
                if stated != 0 {
                    return None;
                }
                continue;
            }
            let large = LayerShape::large(starts, wide);
            let layer = match stated & ONE_STRIP {
                0 => large,
                _ => LayerShape::small(starts, wide),
            };
            // There is one way to write a layer.
            if starts == 0 || (stated & ONE_STRIP != 0 && layer == large) {
                return None;
            }
            layers.push(layer);
        }
        let record = Record { seed, answer, layers };
        (bytes[..8] == offset.to_le_bytes()).then_some(record)
    }
}

/// A layer, ready for lookups.
#[derive(Clone, Copy, Debug)]
struct Layer {
    starts: u64,
    split: u64,
    /// Where the first block of each strip would lie if the strip began with start 0.
    base: [u64; 2],
    /// Where the thresholds begin.
    thresholds: u64,
}

/// A shard, ready for lookups: one cache line for most of them.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Shard {
    first: Layer,
    pub(super) seed: Seed,
    /// Where its further layers are among those of all shards.
    further: u32,
    /// How many.
    count: u16,
    /// Without any layer, the answer to all keys.
    pub(super) settled: Option<bool>,
}

/// Where a key's equation starts in a layer, if the layer has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Start {
    /// The byte of its first block: inside of the body, and all of its blocks, in any case.
    pub at: usize,
    /// The columns of its strip.
    pub columns: usize,
    /// Keys that start there are in a later layer.
    pub bumped: bool,
}

/// The directory, read and checked once: no lookup in as many bytes as it was read from can leave
/// them, whatever else they hold, and even if they change.
#[derive(Clone, Debug)]
pub(crate) struct Directory<L> {
    /// At least one.
    shards: Box<[Shard]>,
    further: Box<[Layer]>,
    /// Whether all shards have layers.
    pub(super) is_layered: bool,
    pub(super) bytes: usize,
    columns: usize,
    wide: u32,
    pub(super) width: Width,
    pub(super) isa: Isa,
    layout: PhantomData<L>,
}

/// Start block of a place (a uniform number) in a layer of this many starts.
#[inline(always)]
pub(crate) fn place_in_layer(place: u64, starts: u64) -> u64 {
    reduce(place, starts)
}

impl<L: Equations> Directory<L> {
    /// The directory of a filter of this many shards at the front of its bytes. `None` where it is
    /// not one, or the bytes are more or fewer than it says.
    pub fn read(bytes: &[u8], shards: u64, columns: u32, wide: u32) -> Option<Directory<L>> {
        let records: &[[u8; RIBBON_RECORD as usize]] = bytes.as_chunks().0;
        let records = records.get(..usize::try_from(shards).ok()?)?;
        let widest = columns.checked_add(u32::from(wide > 0))?;
        if records.is_empty() || columns == 0 || widest > MAX_COLUMNS {
            return None;
        }
        let (mut shards, mut further) = (Vec::new(), Vec::new());
        shards.try_reserve_exact(records.len()).ok()?;
        let mut end = records.len() as u64 * RIBBON_RECORD;
        for record in records {
            let record = Record::read(record, end, wide)?;
            let first_further = u32::try_from(further.len()).ok()?;
            let mut first = None;
            for layer in &record.layers {
                let ready = ready::<L>(layer, end, columns);
                end = end.checked_add(layer.bytes::<L>(columns))?;
                match first {
                    None => first = Some(ready),
                    Some(_) => further.push(ready),
                }
            }
            let settled = first.is_none().then_some(record.answer);
            let nothing = Layer { starts: 0, split: 0, base: [0; 2], thresholds: 0 };
            shards.push(Shard {
                first: first.unwrap_or(nothing),
                seed: Seed::new(record.seed),
                further: first_further,
                count: record.layers.len().saturating_sub(1) as u16,
                settled,
            });
        }
        let width = match widest {
            ..=8 => Width::UpTo8,
            9..=16 => Width::UpTo16,
            _ => Width::UpTo32,
        };
        let whole = end.checked_add(RIBBON_PADDING)? == bytes.len() as u64;
        whole.then(|| Directory {
            is_layered: shards.iter().all(|shard: &Shard| shard.settled.is_none()),
            shards: shards.into(),
            further: further.into(),
            bytes: bytes.len(),
            columns: columns as usize,
            wide,
            width,
            isa: Isa::detect(),
            layout: PhantomData,
        })
    }

    /// Use another instruction set than the best one; the machine must have it.
    #[cfg(test)]
    pub fn force(&mut self, isa: Isa) {
        self.isa = isa;
    }

    #[cfg(test)]
    pub fn isa(&self) -> Isa {
        self.isa
    }

    pub fn shards(&self) -> u64 {
        self.shards.len() as u64
    }

    pub fn columns(&self) -> u32 {
        self.columns as u32
    }

    pub fn wide(&self) -> u32 {
        self.wide
    }

    /// The shard of a hash, and its place there in the first layer: the upper and the lower half of
    /// one product.
    #[inline(always)]
    pub(super) fn shard(&self, hash: Hash) -> (&Shard, u64) {
        let product = u128::from(hash.0) * self.shards.len() as u128;
        // SAFETY: there is a shard, and the upper half of the product with a number is below it.
        (unsafe { self.shards.get_unchecked((product >> 64) as usize) }, product as u64)
    }

    /// Where a hash with this place starts in the first layer of its shard, which has one. `bytes`
    /// are at least as many as the directory was read from.
    #[inline(always)]
    pub(super) fn first_start(&self, bytes: &[u8], shard: &Shard, place: u64) -> Start {
        self.in_layer(bytes, &shard.first, place)
    }

    /// Where a hash starts that the first layer of its shard has bumped; `None` where all have.
    #[cold]
    #[inline(never)]
    pub(super) fn later_start(&self, bytes: &[u8], shard: &Shard, hash: Hash) -> Option<Start> {
        let from = shard.further as usize;
        let layers = self.further.get(from..from + shard.count as usize).unwrap_or_default();
        let starts = layers
            .iter()
            .enumerate()
            .map(|(index, layer)| self.in_layer(bytes, layer, shard.seed.relayer(hash, index + 1)));
        starts.into_iter().find(|start| !start.bumped)
    }

    #[inline(always)]
    fn in_layer(&self, bytes: &[u8], layer: &Layer, place: u64) -> Start {
        let start = place_in_layer(place, layer.starts);
        let bucket = start / L::BUCKET;
        let at = (layer.thresholds + bucket / 4) as usize;
        // SAFETY: `start` is below the layer's starts, so `at` is one of its threshold bytes. All
        // of those were found inside of `self.bytes` by `read`, and `bytes` are at least as many.
        let four = unsafe { *bytes.get_unchecked(at) };
        let level = four >> (bucket % 4 * 2) & 3;
        let bumped = start % L::BUCKET < u64::from(const { packed::<L>() } >> (level * 8) & 0xff);
        let wide = start >= layer.split;
        let base = if wide { layer.base[1] } else { layer.base[0] };
        let columns = self.columns + usize::from(wide);
        let at = base.wrapping_add(start.wrapping_mul(columns as u64)) as usize;
        Start { at, columns, bumped }
    }

    /// The false-positive rate of the columns, averaged over all places where a key may start.
    pub fn fpr(&self, bytes: &[u8]) -> f64 {
        let Some(super::CheckedBytes(bytes)) = self.body(bytes) else { return 1.0 };
        let rate = |shard: &Shard| {
            if let Some(answer) = shard.settled {
                return f64::from(answer);
            }
            let from = shard.further as usize;
            let further = self.further.get(from..from + shard.count as usize).unwrap_or_default();
            let (mut sum, mut addressable_bits) = (0.0, 1.0);
            for layer in [&shard.first].into_iter().chain(further) {
                let (here, bumped) = self.layer_fpr(bytes, layer);
                sum += addressable_bits * here;
                addressable_bits *= bumped;
            }
            sum
        };
        self.shards.iter().map(rate).sum::<f64>() / self.shards.len() as f64
    }

    /// The rate over the keys that start in this layer, and the share that goes on to the next.
    fn layer_fpr(&self, bytes: &[u8], layer: &Layer) -> (f64, f64) {
        let (mut kept, mut bumped) = ([0u64; 2], 0u64);
        for bucket in 0..layer.starts.div_ceil(L::BUCKET) {
            let four = bytes.get((layer.thresholds + bucket / 4) as usize).copied().unwrap_or(0);
            let begin = bucket * L::BUCKET;
            let end = (begin + L::BUCKET).min(layer.starts);
            let first = (begin + L::THRESHOLDS[usize::from(four >> (bucket % 4 * 2) & 3)]).min(end);
            bumped += first - begin;
            let split = layer.split.clamp(first, end);
            kept[0] += split - first;
            kept[1] += end - split;
        }
        let narrow = 0.5f64.powi(self.columns as i32);
        let starts = layer.starts as f64;
        let sum = kept[0] as f64 * narrow + kept[1] as f64 * narrow / 2.0;
        (sum / starts, bumped as f64 / starts)
    }
}

/// A layer whose bytes begin at `offset`.
fn ready<L: Layout>(layer: &LayerShape, offset: u64, columns: u32) -> Layer {
    let columns = u64::from(columns);
    let first = offset + layer.threshold_bytes::<L>();
    let second = first + layer.strips::<L>()[0] * columns;
    Layer {
        starts: layer.starts,
        split: layer.split,
        base: [first, second.wrapping_sub(layer.split * (columns + 1))],
        thresholds: offset,
    }
}
