//! "XXPH3": the preview of XXH3 (xxHash 0.7) that RocksDB froze when it made its newer filters.
//!
//! It shares the secret and the idea with the XXH3 that was released later, and the result with
//! it for almost no length. Three differences stand out: data is added to its own lane instead of
//! its neighbour's, short keys are mixed otherwise, and a last stripe is taken only where the
//! length is not a multiple of 64. The empty key is RocksDB's own exception. Seed 0 throughout.
//! Source of the rule: RocksDB `util/xxph3.h`.

use super::{fold, le32, le64};

/// The default secret of XXH3, the same in preview and release.
const SECRET: [u8; 192] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
];

/// The primes of XXH64.
const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;
/// The first three of XXH32.
const Q1: u64 = 0x9e37_79b1;
const Q2: u64 = 0x85eb_ca77;
const Q3: u64 = 0xc2b2_ae3d;

const STRIPE: usize = 64;
/// Stripes of a block: each begins eight bytes of the secret further on.
const STRIPES: usize = 16;

/// The 64-bit hash of these bytes.
pub fn xxph3(bytes: &[u8]) -> u64 {
    let n = bytes.len();
    let long = n as u64;
    match n {
        0 => fold(secret(0), P2),
        1..=3 => {
            let [first, middle, last] = [bytes[0], bytes[n >> 1], bytes[n - 1]].map(u64::from);
            let word = first | middle << 8 | last << 16 | long << 24;
            avalanche((word ^ (secret(0) & 0xffff_ffff)).wrapping_mul(P1))
        }
        4..=8 => {
            let key = (u64::from(le32(bytes, 0)) | u64::from(le32(bytes, n - 4)) << 32) ^ secret(0);
            let mixed = long.wrapping_add((key ^ key >> 51).wrapping_mul(Q1));
            avalanche((mixed ^ mixed >> 47).wrapping_mul(P2))
        }
        9..=16 => {
            let low = le64(bytes, 0) ^ secret(0);
            let high = le64(bytes, n - 8) ^ secret(8);
            avalanche(long.wrapping_add(low).wrapping_add(high).wrapping_add(fold(low, high)))
        }
        17..=128 => {
            let mut sum = long.wrapping_mul(P1);
            // From both ends towards the middle, 16 bytes a step.
            for i in 0..=(n - 1) / 32 {
                sum = sum.wrapping_add(mix(bytes, 16 * i, 32 * i));
                sum = sum.wrapping_add(mix(bytes, n - 16 * (i + 1), 32 * i + 16));
            }
            avalanche(sum)
        }
        129..=240 => {
            let mut sum = long.wrapping_mul(P1);
            for i in 0..8 {
                sum = sum.wrapping_add(mix(bytes, 16 * i, 16 * i));
            }
            sum = avalanche(sum);
            for i in 8..n / 16 {
                sum = sum.wrapping_add(mix(bytes, 16 * i, 16 * (i - 8) + 3));
            }
            avalanche(sum.wrapping_add(mix(bytes, n - 16, 119)))
        }
        _ => of_long(bytes),
    }
}

/// More than 240 bytes: eight lanes over stripes of 64 bytes.
fn of_long(bytes: &[u8]) -> u64 {
    let mut lanes = [Q3, P1, P2, P3, P4, Q2, P5, Q1];
    let whole = bytes.len() / STRIPE;
    for stripe in 0..whole {
        let place = stripe % STRIPES;
        accumulate(&mut lanes, &bytes[stripe * STRIPE..], 8 * place);
        if place == STRIPES - 1 {
            for (i, lane) in lanes.iter_mut().enumerate() {
                *lane = (*lane ^ *lane >> 47 ^ secret(128 + 8 * i)).wrapping_mul(Q1);
            }
        }
    }
    if !bytes.len().is_multiple_of(STRIPE) {
        accumulate(&mut lanes, &bytes[bytes.len() - STRIPE..], 121);
    }
    let mut sum = (bytes.len() as u64).wrapping_mul(P1);
    for (i, pair) in lanes.chunks_exact(2).enumerate() {
        let folded = fold(pair[0] ^ secret(11 + 16 * i), pair[1] ^ secret(19 + 16 * i));
        sum = sum.wrapping_add(folded);
    }
    avalanche(sum)
}

#[inline(always)]
fn accumulate(lanes: &mut [u64; 8], stripe: &[u8], secret_at: usize) {
    for (i, lane) in lanes.iter_mut().enumerate() {
        let data = le64(stripe, 8 * i);
        let keyed = data ^ secret(secret_at + 8 * i);
        let product = (keyed & 0xffff_ffff).wrapping_mul(keyed >> 32);
        *lane = lane.wrapping_add(data).wrapping_add(product);
    }
}

#[inline(always)]
fn mix(bytes: &[u8], at: usize, secret_at: usize) -> u64 {
    fold(le64(bytes, at) ^ secret(secret_at), le64(bytes, at + 8) ^ secret(secret_at + 8))
}

#[inline(always)]
fn avalanche(mut x: u64) -> u64 {
    x ^= x >> 37;
    x = x.wrapping_mul(P3);
    x ^ x >> 32
}

#[inline(always)]
fn secret(at: usize) -> u64 {
    le64(&SECRET, at)
}
