//! The baseline: reading or writing one random 64-byte line per key, with the same buffers and the
//! same prefetch ring as the engine. No filter that reads memory once per key can be faster.

use crate::candidate::{Candidate, Mode};
use crate::keys::Keys;
use crate::ours::in_batches;
use mayhap::Hash;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Native, Scheme};
use std::hint::black_box;
use std::time::Instant;

/// Its name in tables.
pub const NAME: &str = "random line";

/// An array of lines as large as the filter it is compared with.
pub struct Baseline {
    pages: AlignedBuf,
    ahead: usize,
    hashes: Vec<Hash>,
}

impl Baseline {
    /// An array of `bits`, written once so that its pages exist.
    pub fn new(bits: u64) -> Baseline {
        let mut pages = AlignedBuf::zeroed(bits / 8).expect("memory for an array");
        pages.as_mut().fill(0x55);
        Baseline { ahead: fastest_ring(&pages), pages, hashes: Vec::new() }
    }

    /// Lines prefetched ahead of the one read.
    pub fn ahead(&self) -> usize {
        self.ahead
    }
}

/// The prefetch distance that is fastest here and now: a baseline must not look slow.
fn fastest_ring(pages: &AlignedBuf) -> usize {
    const HASHES: u64 = 1 << 16;
    let mut runs = 0;
    let mut timed = |ahead| {
        // Other lines each time: those that were read before are in a cache.
        let hashes = (runs * HASHES..(runs + 1) * HASHES)
            .map(|i| Hash::from_u64(crate::splitmix::splitmix(i)));
        let hashes: Vec<_> = hashes.collect();
        runs += 1;
        let start = Instant::now();
        black_box(read(pages.as_ref(), &hashes, ahead));
        (start.elapsed(), ahead)
    };
    let times: Vec<_> = (0..5).flat_map(|_| [16, 32, 64, 128].map(&mut timed)).collect();
    times.into_iter().min().map_or(64, |best| best.1)
}

/// The number of a hash's line.
#[inline(always)]
fn line_of(hash: Hash, lines: usize) -> usize {
    ((u128::from(hash.to_u64()) * lines as u128) >> 64) as usize
}

#[inline(never)]
fn read(bytes: &[u8], hashes: &[Hash], ahead: usize) -> u64 {
    let (lines, _) = bytes.as_chunks::<64>();
    let line = |hash| line_of(hash, lines.len());
    hashes.iter().take(ahead).for_each(|hash| prefetch(&lines[line(*hash)]));
    let mut folded = 0;
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(next) = hashes.get(i + ahead) {
            prefetch(&lines[line(*next)]);
        }
        let (words, _) = lines[line(*hash)].as_chunks();
        folded ^= words.iter().fold(0, |all, word| all ^ u64::from_ne_bytes(*word));
    }
    folded
}

#[inline(never)]
fn write(bytes: &mut [u8], hashes: &[Hash], ahead: usize) {
    let (lines, _) = bytes.as_chunks_mut::<64>();
    let count = lines.len();
    hashes.iter().take(ahead).for_each(|hash| prefetch(&lines[line_of(*hash, count)]));
    for (i, hash) in hashes.iter().enumerate() {
        if let Some(next) = hashes.get(i + ahead) {
            prefetch(&lines[line_of(*next, count)]);
        }
        lines[line_of(*hash, count)].iter_mut().for_each(|byte| *byte ^= 0xff);
    }
}

/// Hash a key, read a word of its line, and so on: nothing is prefetched.
#[inline(never)]
fn read_singly<K: Keys>(bytes: &[u8], chunk: &K) -> u64 {
    let (lines, _) = bytes.as_chunks::<64>();
    let scheme = Native::default();
    let word = |key| u64::from(lines[line_of(scheme.hash(key), lines.len())][0]);
    chunk.keys().map(word).sum()
}

#[inline(always)]
fn prefetch(line: &[u8; 64]) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing the program can see; any address is allowed.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a prefetch reads nothing the program can see; any address is allowed.
    unsafe {
        std::arch::asm!("prfm pldl2keep, [{}]", in(reg) line.as_ptr(), options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

impl<K: Keys> Candidate<K> for Baseline {
    fn name(&self) -> &'static str {
        NAME
    }

    fn insert(&mut self, _: Mode, chunk: &K) {
        let Baseline { pages, ahead, hashes } = self;
        in_batches(chunk, Native::default(), hashes, |batch| write(pages.as_mut(), batch, *ahead));
    }

    fn contains(&mut self, way: Mode, chunk: &K) -> u64 {
        let Baseline { pages, ahead, hashes } = self;
        let pages = pages.as_ref();
        match way {
            Mode::Single => _ = black_box(read_singly(pages, chunk)),
            Mode::Hashed => _ = black_box(read(pages, chunk.hashes(), *ahead)),
            Mode::Batch => in_batches(chunk, Native::default(), hashes, |batch| {
                black_box(read(pages, batch, *ahead));
            }),
        }
        0
    }

    fn bits(&self) -> u64 {
        8 * self.pages.as_ref().len() as u64
    }

    fn ways(&self) -> &'static [Mode] {
        &[Mode::Batch, Mode::Hashed, Mode::Single]
    }

    fn insert_ways(&self) -> &'static [Mode] {
        &[Mode::Batch]
    }
}
