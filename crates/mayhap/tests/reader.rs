//! A second reader, written from `docs/FORMAT.md` and nothing else: what another language would
//! do. It must agree with the first on every golden file, false positives included.

use mayhap::{AnyFilter, Secret};
use xxhash_rust::xxh3::xxh3_64_with_seed;

struct File(Vec<u8>);

struct Array {
    at: usize,
    bytes: usize,
    params: Vec<u64>,
}

impl File {
    fn read(name: &str) -> File {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/mayhap/v1/");
        File(std::fs::read(format!("{root}{name}.mh")).unwrap())
    }

    fn number(&self, at: usize, bytes: usize) -> u64 {
        self.0[at..at + bytes].iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte))
    }

    /// Where the parameters are, behind everything of the header whose length varies.
    fn params_at(&self) -> usize {
        let mut at = 80 + self.number(22, 2) as usize + self.number(78, 2) as usize;
        for _ in 0..self.number(72, 2) {
            at += 6 + (self.number(at, 2) + self.number(at + 2, 4)) as usize;
        }
        at
    }

    fn params(&self) -> Vec<u64> {
        let count = self.number(74, 2) as usize;
        (0..count).map(|i| self.number(self.params_at() + 8 * i, 8)).collect()
    }

    /// The arrays, behind the parameters.
    fn arrays(&self) -> Vec<Array> {
        let mut at = self.params_at();
        at += 8 * self.number(74, 2) as usize;
        let array = |_| {
            let count = self.number(at + 16, 2) as usize;
            let params = (0..count).map(|i| self.number(at + 18 + 8 * i, 8)).collect();
            let [place, bytes] = [at, at + 8].map(|at| self.number(at, 8) as usize);
            let array = Array { at: place, bytes, params };
            at += 18 + 8 * count;
            array
        };
        (0..self.number(76, 2)).map(array).collect()
    }

    fn bit(&self, array: &Array, at: u64) -> bool {
        self.0[array.at + at as usize / 8] >> (at % 8) & 1 == 1
    }

    fn hash(&self, key: &[u8]) -> u64 {
        let (scheme, seed) = (self.number(20, 2), self.number(24, 8));
        match <[u8; 8]>::try_from(key) {
            Ok(eight) if scheme == 3 => {
                let key = u64::from_le_bytes(eight);
                let first = fold(key ^ mix(seed, 1), 0x9fb21c651e98df25);
                fold(first ^ mix(seed, 2), 0xa0761d6478bd642f)
            }
            _ => xxh3_64_with_seed(key, seed),
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        let hash = self.hash(key);
        if self.number(10, 2) == 8 {
            return self.cascade(hash);
        }
        if self.number(10, 2) == 11 {
            return self.quotient(hash) > 0;
        }
        if self.number(10, 2) == 9 {
            let (arrays, params) = (self.arrays(), self.params());
            assert_eq!((params[0], params[1]), (1, arrays.len() as u64));
            let shard = &arrays[high(fold(hash, 0x589965cc75374cc3), params[1]) as usize];
            return self.lines(shard, &shard.params[3..], hash);
        }
        self.arrays().iter().any(|array| match self.number(10, 2) {
            1 => flat(hash, array).all(|at| self.bit(array, at)),
            2 => self.lines(array, &array.params, hash),
            3 => flat(hash, array).all(|at| (0..4).any(|i| self.bit(array, 4 * at + i))),
            // As of the last insert no generation is out of the window.
            4 | 5 => self.lines(array, &array.params[3..], hash),
            6 => self.fuse(array, hash),
            10 => self.ribbon(array, &array.params, hash, &OVER_64),
            kind => panic!("kind {kind}"),
        })
    }

    /// The arrays are a first layer where the first parameter says so, a layer of one bit, and
    /// a stash if there is one more.
    fn cascade(&self, hash: u64) -> bool {
        let (first, second) = (self.params()[0], self.params().get(4).copied());
        let arrays = self.arrays();
        let (layers, stash) = arrays.split_at(if first == 0 { 1 } else { 2 });
        for stash in stash {
            let listed = |range: std::ops::Range<u64>| {
                range.into_iter().any(|i| self.number(stash.at + 8 * i as usize, 8) == hash)
            };
            let (added, all) = (stash.params[0], stash.bytes as u64 / 8);
            if listed(0..added) || listed(added..all) {
                return listed(0..added);
            }
        }
        let of_fuse = |array: &Array| Array { params: array.params[..2].to_vec(), ..*array };
        let kinds = [first, second.unwrap_or(6)];
        let last = layers.len() - 1;
        layers.iter().enumerate().all(|(i, layer)| match kinds[if i == last { 1 } else { 0 }] {
            2 => self.lines(layer, &layer.params[..3], hash),
            6 => self.fuse(&of_fuse(layer), hash),
            10 if i == last => self.ribbon(layer, &[layer.params[0], 1, 0], hash, &OVER_128),
            10 => self.ribbon(layer, &layer.params[..3], hash, &OVER_64),
            kind => panic!("layer {kind}"),
        })
    }

    fn lines(&self, array: &Array, shape: &[u64], mut hash: u64) -> bool {
        const SALT: [u32; 8] = [
            0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xcc9e2d51, 0x1b873593,
            0xe6546b65,
        ];
        let &[lines, lines_per_key, probes, ..] = shape else { panic!("{shape:?}") };
        if probes >= 256 {
            assert_eq!(self.number(20, 2), 3);
            return self.columns(array, lines, [lines_per_key, probes - 256], hash);
        }
        (0..lines_per_key).all(|_| {
            let line = high(hash, lines);
            let halves = [hash as u32, (hash.wrapping_mul(0xa0761d6478bd642f) >> 32) as u32];
            hash = fold(hash, 0xe7037ed1a0b428db);
            (0..probes as usize).all(|i| {
                let position = halves[i / 8].wrapping_mul(SALT[i % 8]) >> 23;
                self.bit(array, 512 * line + u64::from(position))
            })
        })
    }

    fn columns(&self, array: &Array, lines: u64, shape: [u64; 2], hash: u64) -> bool {
        let (first, fraction) = (high(hash, 64 * lines), hash.wrapping_mul(64 * lines));
        let (second, later) = (high(fraction, 64 * lines), fraction.wrapping_mul(64 * lines));
        // Of each column: the line that it is in, its number there, and what shifts it.
        let columns: Vec<(u64, u64, u64)> = match shape {
            [1, 8] => (0..8).map(|c| (first / 64, c, fraction)).collect(),
            [2, 4] => (0..8).map(|c| (if c < 4 { first } else { second } / 64, c, later)).collect(),
            [2, 8] => (0..8)
                .flat_map(|c| [(first / 128 * 2, c, later), (second / 128 * 2 + 1, c, later)])
                .collect(),
            other => panic!("{other:?}"),
        };
        columns.into_iter().all(|(line, column, g)| {
            self.bit(array, 512 * line + 64 * column + 63 - (g >> (16 + 6 * column)) % 64)
        })
    }

    fn fuse(&self, array: &Array, hash: u64) -> bool {
        let &[shards, width] = &array.params[..] else { panic!("{:?}", array.params) };
        let record = array.at + 16 * high(hash, shards) as usize;
        let (place, rule) = (self.number(record, 8), self.number(record + 8, 8));
        let (offset, log, starts) = (place & !63, place & 63, rule & 0xffff_ffff);
        if starts == 0 {
            return log == 1;
        }
        let low = (hash ^ rule).wrapping_mul(0x8ebc6af09c88c6e3);
        let mixed = fold(hash ^ rule, 0x8ebc6af09c88c6e3);
        let (segment, first) = (1 << log, high(mixed, starts));
        let next = (first | (segment - 1)) + 1;
        let slots =
            [first, next + (mixed >> 18 & (segment - 1)), next + segment + (mixed & (segment - 1))];
        let slot = |slot: u64| {
            let bit = |i| u64::from(self.bit(array, 8 * offset + slot * width + i)) << i;
            (0..width).map(bit).sum::<u64>()
        };
        let seed_or_key_check = low >> 32 & ((1 << width) - 1);
        slots.map(slot).iter().fold(0, |xor, slot| xor ^ slot) == seed_or_key_check
    }

    /// How many copies there are.
    fn quotient(&self, hash: u64) -> u64 {
        let arrays = self.arrays();
        let lines = &arrays[0];
        let &[range, r] = &lines.params[..] else { panic!("{:?}", lines.params) };
        let slots = (50_300 / (100 * r + 182)).min(63);
        let homes = 64.min(119 - slots).min(503 - slots * (r + 1)).min(slots * 5 / 4);
        let all_homes = ((range - 1) >> r) + 1;
        assert_eq!(lines.bytes as u64, 64 * (all_homes.div_ceil(homes) + 256 / slots + 2));
        let seed_or_key_check = high(hash, range);
        let (home, remainder) = (seed_or_key_check >> r, seed_or_key_check & ((1 << r) - 1));
        let (line, q) = (home / homes, home % homes);
        let bit = |line: u64, at: u64| self.bit(lines, 512 * line + at);
        let mut copies = 0;
        if bit(line, 503 - homes + q) {
            let mut runs = (0..q).filter(|q| bit(line, 503 - homes + q)).count();
            let mut slot = (0..8).map(|i| u64::from(bit(line, 504 + i)) << i).sum::<u64>();
            loop {
                let (at, s) = (line + slot / slots, slot % slots);
                let held = (0..r).map(|i| u64::from(bit(at, s * r + i)) << i).sum::<u64>();
                copies += u64::from(runs == 0 && held == remainder);
                slot += 1;
                if bit(at, 503 - homes - slots + s) {
                    match runs {
                        0 => break,
                        _ => runs -= 1,
                    }
                }
            }
        }
        if bit(line, 503) {
            let side = &arrays[1];
            for at in (side.at..side.at + side.bytes).step_by(16) {
                if self.number(at, 8) == seed_or_key_check {
                    copies += self.number(at + 8, 8);
                }
            }
        }
        copies
    }

    fn ribbon(&self, array: &Array, params: &[u64], hash: u64, over: &Ribbon) -> bool {
        let &[shards, columns, share] = params else { panic!("{params:?}") };
        let &Ribbon { slots, bucket: in_bucket, thresholds } = over;
        let record = array.at + 40 * high(hash, shards) as usize;
        let mut at = array.at + self.number(record, 8) as usize;
        let (seed, layers) = (self.number(record + 8, 4), self.number(record + 12, 4));
        if layers == 0 || layers == 256 {
            return layers == 256;
        }
        let s = (seed + 1).wrapping_mul(0x9e3779b97f4a7c15);
        let coefficients = u128::from(fold(hash ^ s, 0x8ebc6af09c88c6e3) | 1)
            | u128::from(fold(hash ^ s, 0xe7037ed1a0b428db)) << 64;
        let seed_or_key_check = (hash ^ s).wrapping_mul(0x8ebc6af09c88c6e3) >> 32;
        for layer in 0..layers {
            let stated = self.number(record + 16 + 4 * layer as usize, 4);
            let (starts, flag) = (stated & 0x7fff_ffff, stated >> 31 == 1);
            let wide = if flag { starts } else { (starts * share).div_ceil(1 << 32) };
            let narrow = starts - wide;
            let place = match layer {
                0 => hash.wrapping_mul(shards),
                _ => fold(hash ^ s.wrapping_mul(layer + 2), 0xa0761d6478bd642f),
            };
            let start = high(place, starts);
            let bucket = start / in_bucket;
            let four = self.number(at + bucket as usize / 4, 1);
            let threshold = thresholds[(four >> (2 * (bucket % 4)) & 3) as usize];
            let strips = at as u64 + starts.div_ceil(in_bucket).div_ceil(4);
            let blocks = |starts: u64| if starts == 0 { 0 } else { starts + slots / 8 - 1 };
            let second = strips + blocks(narrow) * columns;
            at = (second + blocks(wide) * (columns + 1)) as usize;
            if start % in_bucket < threshold {
                continue;
            }
            let (begin, columns) = if start < narrow {
                (strips + start * columns, columns)
            } else {
                (second + (start - narrow) * (columns + 1), columns + 1)
            };
            let slot = |i: u64, column: u64| {
                self.number((begin + i / 8 * columns + column) as usize, 1) >> (i % 8) & 1
            };
            return (0..columns).all(|column| {
                let selected = (0..slots).filter(|i| coefficients >> i & 1 == 1);
                selected.fold(0, |sum, i| sum ^ slot(i, column)) == seed_or_key_check >> column & 1
            });
        }
        false
    }
}

/// Slots of an equation, blocks of a bucket, and what thresholds mean.
struct Ribbon {
    slots: u64,
    bucket: u64,
    thresholds: [u64; 4],
}

const OVER_64: Ribbon = Ribbon { slots: 64, bucket: 16, thresholds: [0, 2, 4, 16] };
const OVER_128: Ribbon = Ribbon { slots: 128, bucket: 64, thresholds: [0, 5, 14, 64] };

fn flat(hash: u64, array: &Array) -> impl Iterator<Item = u64> {
    let (range, probes) = (array.params[0], array.params[1]);
    (1..=probes).map(move |i| {
        let x = hash.wrapping_add(i.wrapping_mul(0x9e3779b97f4a7c15));
        high((x ^ (x >> 32)).wrapping_mul(0xd6e8feb86659fd93), range)
    })
}

/// Number `i` of SplitMix64.
fn mix(seed: u64, i: u64) -> u64 {
    let z = seed.wrapping_add(i.wrapping_mul(0x9e3779b97f4a7c15));
    let z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
    z ^ z >> 31
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn fold(a: u64, b: u64) -> u64 {
    high(a, b) ^ a.wrapping_mul(b)
}

/// Of several shards, which is too much for a file in the repository.
#[test]
fn a_reader_made_from_the_description_agrees_on_many_shards() {
    let spec = mayhap::Spec::new(1, 0.3).unwrap();
    let built = mayhap::Ribbon::with_spec(spec, 0..1_100_000u64).unwrap();
    assert_eq!(built.shards(), 2);
    let file = File(built.encode(&mayhap::format::Metadata::new()));
    for key in (0..2_200_000u64).step_by(37) {
        assert_eq!(file.contains(&key.to_le_bytes()), built.contains(key), "{key}");
    }
}

#[test]
fn a_reader_made_from_the_description_agrees() {
    let names = ["classic", "blocked", "blocked-tight", "counting", "fuse"];
    for name in names.into_iter().chain([
        "scalable",
        "windowed-keys",
        "windowed-time",
        "cascade",
        "cascade-blocked",
        "cascade-ribbon",
        "cascade-many",
        "sharded",
        "ribbon",
        "ribbon-tight",
        "ribbon-many",
        "quotient",
        "quotient-tight",
        "quotient-grown",
        "quotient-full",
        "columns-one-line",
        "columns-two-halves",
        "columns-two-lines",
        "columns-anywhere",
        "columns-classic",
        "columns-counting",
        "columns-scalable",
        "columns-scalable-memory",
        "columns-sharded",
        "columns-windowed-keys",
        "columns-cascade",
        "columns-fuse",
    ]) {
        let theirs = File::read(name);
        let ours = AnyFilter::open(&theirs.0[..], None::<Secret>).unwrap();
        let mut wrong = 0;
        for key in 0..40_000u64 {
            let answer = theirs.contains(&key.to_le_bytes());
            assert_eq!(answer, ours.contains(key), "{name}: {key}");
            if let AnyFilter::Quotient(ours) = &ours {
                let hash = ours.hash(key);
                assert_eq!(theirs.quotient(hash.to_u64()), ours.count_hash(hash), "{name}: {key}");
            }
            wrong += u32::from(answer && key >= if name == "ribbon-many" { 20_000 } else { 1_000 });
        }
        assert!(wrong > 0 || name.ends_with("tight"), "{name}: wrong answers to agree on");
    }
}
