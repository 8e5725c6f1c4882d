//! Banding: the equations of a layer brought into triangular form, bucket by bucket, and keys
//! bumped to the next layer where they do not fit.
//!
//! Within a bucket the keys that start last come first. So what fails, and all that came after it,
//! starts in the first blocks of the bucket, and a threshold of two bits tells which those are.

use crate::hash::Hash;
use crate::kernel::ribbon::{Row, Seed, place_in_layer};
use crate::sizing::{BLOCK_SLOTS, BUCKET, LayerShape, RibbonShape, THRESHOLDS, WINDOW};

/// A key that needed no slot: its equation follows from others.
const NOWHERE: u32 = u32::MAX;

/// A layer being banded. Reused for one after another: its vectors are large.
#[derive(Default)]
pub(super) struct Banding {
    /// The layer's keys, in the order of their places.
    pub keys: Vec<Hash>,
    /// Those that the next layer must take.
    pub bumped: Vec<Hash>,
    /// One equation per slot.
    pub rows: Vec<Row>,
    /// The threshold of each bucket.
    pub levels: Vec<u8>,
    /// How many keys are dealt with.
    done: usize,
    /// The keys of the bucket at hand, those that start last first.
    bucket: Vec<Item>,
    /// The slot that each of them took.
    slots: Vec<u32>,
}

/// A key of the bucket at hand.
#[derive(Clone, Copy)]
struct Item {
    row: Row,
    /// Its first slot, and its first block within the bucket.
    slot: u32,
    block: u32,
}

/// What the banding of a layer needs to know.
#[derive(Clone, Copy)]
pub(super) struct Rules<'a> {
    pub shape: &'a RibbonShape,
    pub layer: LayerShape,
    /// The number of the layer.
    pub number: usize,
    pub shards: u64,
    pub seed: Seed,
    /// Fingerprints of keys are changed by this: an exact filter says no to some.
    pub flip: &'a dyn Fn(Hash) -> u64,
}

impl Rules<'_> {
    /// A number that tells where a hash starts.
    #[inline(always)]
    pub fn place(&self, hash: Hash) -> u64 {
        match self.number {
            0 => hash.0.wrapping_mul(self.shards),
            number => self.seed.relayer(hash, number),
        }
    }
}

impl Banding {
    /// Begin a layer of these rules with `self.keys`.
    fn begin(&mut self, rules: &Rules<'_>) {
        self.rows.clear();
        let slots = rules.layer.blocks() * BLOCK_SLOTS;
        self.rows.resize(slots as usize, Row::default());
        self.bumped.clear();
        self.levels.clear();
        self.done = 0;
    }

    /// The keys of this bucket, with their equations.
    #[inline(always)]
    fn collect(&mut self, rules: &Rules<'_>, bucket: u64) {
        let Rules { shape, layer, seed, flip, .. } = *rules;
        // The second strip begins after the window of the first one's last start.
        let gap = if layer.split > 0 { WINDOW - 1 } else { 0 };
        self.bucket.clear();
        let mut keys = self.keys.get(self.done..).unwrap_or_default().iter();
        for hash in keys.by_ref() {
            let start = place_in_layer(rules.place(*hash), layer.starts);
            if start / BUCKET != bucket {
                break;
            }
            let wide = start >= layer.split;
            let block = if wide { start + gap } else { start };
            let equation = seed.equation(*hash);
            let columns = shape.columns + u32::from(wide);
            let mask = u64::MAX >> (64 - columns);
            let fingerprint = ((equation.fingerprint ^ flip(*hash)) & mask) as u32;
            self.bucket.push(Item {
                row: Row { coefficients: equation.coefficients, fingerprint },
                slot: (block * BLOCK_SLOTS) as u32,
                block: (start % BUCKET) as u32,
            });
        }
        self.done += self.bucket.len();
        self.bucket.reverse();
        self.slots.clear();
        self.slots.resize(self.bucket.len(), NOWHERE);
    }

    /// After the bucket: the keys from `failed` on could not be placed.
    #[inline(always)]
    fn settle(&mut self, failed: usize) {
        let Some(item) = self.bucket.get(failed) else {
            self.levels.push(0);
            return;
        };
        let covers = |threshold: &u64| u64::from(item.block) < *threshold;
        let level = THRESHOLDS.iter().position(covers).unwrap_or(THRESHOLDS.len() - 1);
        let kept = self.bucket.partition_point(|item| u64::from(item.block) >= THRESHOLDS[level]);
        // Nothing that stays was reduced by these: they came last.
        for slot in &self.slots[kept..failed] {
            if *slot != NOWHERE {
                self.rows[*slot as usize] = Row::default();
            }
        }
        self.levels.push(level as u8);
        let first = self.done - self.bucket.len();
        self.bumped.extend_from_slice(&self.keys[first..first + self.bucket.len() - kept]);
    }
}

/// A key on its way to a free slot.
struct Cursor {
    /// Its number in the bucket.
    item: usize,
    row: Row,
    slot: usize,
    failed: bool,
}

impl Cursor {
    fn new(bucket: &[Item]) -> Cursor {
        let mut cursor = Cursor { item: 0, row: Row::default(), slot: 0, failed: false };
        cursor.load(bucket);
        cursor
    }

    /// Begin with the key at hand; `false` where there is none.
    #[inline(always)]
    fn load(&mut self, bucket: &[Item]) -> bool {
        let Some(item) = bucket.get(self.item) else { return false };
        (self.row, self.slot) = (item.row, item.slot as usize);
        true
    }

    /// One step of elimination; `false` where the bucket is done, or a key does not fit.
    #[inline(always)]
    fn step(&mut self, rows: &mut [Row], bucket: &[Item], slots: &mut [u32]) -> bool {
        let row = &mut rows[self.slot];
        if row.coefficients == 0 {
            *row = self.row;
            slots[self.item] = self.slot as u32;
            self.item += 1;
            return self.load(bucket);
        }
        self.row.coefficients ^= row.coefficients;
        self.row.fingerprint ^= row.fingerprint;
        if self.row.coefficients == 0 {
            if self.row.fingerprint != 0 {
                self.failed = true;
                return false;
            }
            self.item += 1;
            return self.load(bucket);
        }
        let zeros = self.row.coefficients.trailing_zeros();
        self.row.coefficients >>= zeros;
        self.slot += zeros as usize;
        true
    }
}

/// Band a layer.
pub(super) fn band(banding: &mut Banding, rules: &Rules<'_>) {
    banding.begin(rules);
    for bucket in 0..rules.layer.buckets() {
        banding.collect(rules, bucket);
        let cursor = Cursor::new(&banding.bucket);
        let failed = finish(banding, cursor);
        banding.settle(failed);
    }
}

/// Band two layers in turns: each elimination waits for its own memory and arithmetic only, and the
/// other one fills the time. A quarter faster than one after the other, and the same result.
pub(super) fn band_two(x: &mut Banding, y: &mut Banding, rules: [&Rules<'_>; 2]) {
    x.begin(rules[0]);
    y.begin(rules[1]);
    let buckets = [rules[0].layer.buckets(), rules[1].layer.buckets()];
    for bucket in 0..buckets[0].max(buckets[1]) {
        x.collect(rules[0], bucket);
        y.collect(rules[1], bucket);
        let mut one = Cursor::new(&x.bucket);
        let mut two = Cursor::new(&y.bucket);
        if !x.bucket.is_empty() && !y.bucket.is_empty() {
            let (rows, list, slots) = (&mut x.rows[..], &x.bucket[..], &mut x.slots[..]);
            let (rows2, list2, slots2) = (&mut y.rows[..], &y.bucket[..], &mut y.slots[..]);
            while one.step(rows, list, slots) && two.step(rows2, list2, slots2) {}
        }
        let failed = finish(x, one);
        if bucket < buckets[0] {
            x.settle(failed);
        }
        let failed = finish(y, two);
        if bucket < buckets[1] {
            y.settle(failed);
        }
    }
}

/// Go on with the bucket; the number of its keys that were placed.
#[inline(always)]
fn finish(banding: &mut Banding, mut cursor: Cursor) -> usize {
    let Banding { rows, bucket, slots, .. } = banding;
    while !cursor.failed && cursor.item < bucket.len() && cursor.step(rows, bucket, slots) {}
    cursor.item
}
