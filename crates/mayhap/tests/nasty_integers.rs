//! Integers that are anything but random: the rate is what it is for any others.
//!
//! Two folded products hash eight bytes. With one of them (`fold(key ^ seed, M)`) several of these sets
//! have rates from 0.76 to 1.07 of what they should be.

use mayhap::sizing::BlockedShape;
use mayhap::{Blocked, Hash, Spec, SpecError};

const KEYS: u64 = 200_000;
const ABSENT: u64 = 800_000;

type Nasty = (&'static str, fn(u64) -> u64);

/// Different integers for different `i` below a million.
const SETS: [Nasty; 25] = [
    ("sequential", |i| i),
    ("stride 2^8", |i| i << 8),
    ("stride 2^16", |i| i << 16),
    ("stride 2^32", |i| i << 32),
    ("stride 2^44", |i| i << 44),
    ("stride 12345", |i| i * 12_345),
    ("stride 1e9", |i| i * 1_000_000_000),
    ("stride 2^32 + 1", |i| i * ((1 << 32) + 1)),
    ("stride golden ratio", |i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
    ("stride of its inverse", |i| i.wrapping_mul(0xf1de_83e1_9937_733d)),
    ("stride of the inverse of the first factor", |i| {
        i.wrapping_mul(inverse(0x9fb2_1c65_1e98_df25))
    }),
    ("from the top down", |i| u64::MAX - i),
    ("bits reversed", u64::reverse_bits),
    ("bytes reversed", u64::swap_bytes),
    ("Gray code", |i| i ^ (i >> 1)),
    ("Gray code in the upper half", |i| (i ^ (i >> 1)) << 32),
    ("squares", |i| i * i),
    ("a grid", |i| (i / 1000) << 32 | (i % 1000)),
    ("a grid of bytes", |i| (0..8).map(|b| ((i >> (3 * b)) & 7) << (8 * b)).sum()),
    ("bits far apart", |i| (0..20).map(|b| ((i >> b) & 1) << (3 * b)).sum()),
    ("floats", |i| (i as f64 * 0.1).to_bits()),
    ("whole floats", |i| (i as f64).to_bits()),
    ("pointers", |i| 0x7f3a_1c00_0000 + 16 * i),
    ("nanoseconds", |i| 1_767_225_600_000_000_000 + i * 1_000_000),
    ("decimal digits", |i| (0..7).map(|d| (b'0' as u64 + i / 10u64.pow(d) % 10) << (8 * d)).sum()),
];

/// Of an odd number, modulo 2^64.
fn inverse(x: u64) -> u64 {
    (0..6).fold(x, |y, _| y.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(y))))
}

#[test]
fn rates_hold_for_integers_with_structure() -> Result<(), SpecError> {
    let shapes = [
        BlockedShape::with_columns(3_945, 1, 8), // 1%
        BlockedShape::with_columns(3_853, 2, 4),
        BlockedShape::with_columns(4_602, 2, 8),
    ];
    for (name, integer) in SETS {
        for seed in [0, 7] {
            let spec = Spec::new(KEYS, 0.01)?.with_seed(seed).with_columns();
            let hash =
                |i: u64| -> Hash { mayhap::scheme::Scheme::hash(&spec.scheme(), integer(i)) };
            for shape in shapes {
                let mut filter = Blocked::with_shape(spec, shape)?;
                (0..KEYS).for_each(|i| _ = filter.insert_hash(hash(i)));
                let absent = KEYS..KEYS + ABSENT;
                let passing = absent.filter(|i| filter.contains_hash(hash(*i))).count() as f64;
                let expected = shape.fpr_at(KEYS) * ABSENT as f64;
                // What chance does to absent keys, and to lines.
                let sigma = (expected + (0.003 * expected).powi(2)).sqrt();
                let off = (passing - expected) / sigma;
                assert!(
                    off.abs() < 5.0,
                    "{name}, {shape}: {passing} of {expected:.0}, {off:.1} sigma"
                );
            }
        }
    }
    Ok(())
}

/// Neighbours share no more than chance: every bit of the key changes half of the hash.
#[test]
fn every_bit_of_a_key_changes_half_of_the_hash() {
    for seed in [0, 1, u64::MAX] {
        let scheme = mayhap::scheme::Native::columns(seed);
        let hash = |key: u64| mayhap::scheme::Scheme::hash(&scheme, key).to_u64();
        for bit in 0..64 {
            let mut changed = [0u32; 64];
            for i in 0..4_000u64 {
                let key = i.wrapping_mul(0x2545_f491_4f6c_dd1d) >> (i % 40);
                let difference = hash(key) ^ hash(key ^ (1 << bit));
                (0..64).for_each(|at| changed[at] += (difference >> at & 1) as u32);
            }
            for (at, changed) in changed.into_iter().enumerate() {
                assert!((1_750..2_250).contains(&changed), "bit {bit} of a key, {at}: {changed}");
            }
        }
    }
}
