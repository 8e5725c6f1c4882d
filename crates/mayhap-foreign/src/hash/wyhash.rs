//! wyhash as the crate `wyhash` 0.5 has it, by which poppy hashes keys of more than eight bytes.

use super::{fold, le32, le64};

const P0: u64 = 0xa076_1d64_78bd_642f;
const P1: u64 = 0xe703_7ed1_a0b4_28db;
const P2: u64 = 0x8ebc_6af0_9c88_c6e3;
const P3: u64 = 0x5899_65cc_7537_4cc3;
const P4: u64 = 0x1d8e_4e27_c47d_124f;
const P5: u64 = 0xeb44_acca_b455_d165;

/// wyhash of its first generation.
#[inline]
pub fn wyhash(bytes: &[u8], seed: u64) -> u64 {
    let (blocks, tail) = bytes.as_chunks::<32>();
    let mut s = blocks.iter().fold(seed, |s, b| {
        let left = fold(le64(b, 0) ^ P1, le64(b, 8) ^ P2);
        let right = fold(le64(b, 16) ^ P3, le64(b, 24) ^ P4);
        fold(s ^ P0, left ^ right)
    });
    s ^= P0;
    s = match tail.len() {
        0 => s,
        1..=8 => fold(s, rest(tail) ^ P1),
        9..=16 => fold(swapped(tail, 0) ^ s, rest(&tail[8..]) ^ P2),
        17..=24 => {
            fold(swapped(tail, 0) ^ s, swapped(tail, 8) ^ P2) ^ fold(s, rest(&tail[16..]) ^ P3)
        }
        _ => {
            fold(swapped(tail, 0) ^ s, swapped(tail, 8) ^ P2)
                ^ fold(swapped(tail, 16) ^ s, rest(&tail[24..]) ^ P4)
        }
    };
    fold(s, bytes.len() as u64 ^ P5)
}

/// Eight bytes, the two halves the wrong way round.
#[inline(always)]
fn swapped(bytes: &[u8], at: usize) -> u64 {
    u64::from(le32(bytes, at)) << 32 | u64::from(le32(bytes, at + 4))
}

/// The last one to eight bytes, each count in an order of its own.
#[inline(always)]
fn rest(r: &[u8]) -> u64 {
    let byte = |i: usize| u64::from(r[i]);
    let word = || u64::from(le32(r, 0));
    match r.len() {
        1 => byte(0),
        2 => byte(1) << 8 | byte(0),
        3 => byte(1) << 16 | byte(0) << 8 | byte(2),
        4 => word(),
        5 => word() << 8 | byte(4),
        6 => word() << 16 | byte(5) << 8 | byte(4),
        7 => word() << 24 | byte(5) << 16 | byte(4) << 8 | byte(6),
        _ => swapped(r, 0),
    }
}
