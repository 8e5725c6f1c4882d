//! AVX2: eight probes at a time.

use super::Line;
use super::scalar::{SALT, first_half, second_half};
use crate::hash::Hash;
use core::arch::asm;
use core::arch::x86_64::{
    __m256i, _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_ps, _mm256_castps_si256,
    _mm256_castsi256_ps, _mm256_cmpgt_epi32, _mm256_loadu_si256, _mm256_mullo_epi32,
    _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setr_epi32,
    _mm256_setzero_si256, _mm256_sllv_epi32, _mm256_srli_epi32, _mm256_storeu_si256,
    _mm256_sub_epi32, _mm256_testc_si256,
};

/// Eight products, whose top nine bits are the positions: one bit for the half of the line, three
/// for the word in it, five for the bit in that.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn products(half: u32) -> __m256i {
    // SAFETY: `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
    _mm256_mullo_epi32(_mm256_set1_epi32(half as i32), salt)
}

/// The products of a hash that lies in memory, where a vector can be filled from straight away.
/// The compiler would rather move the hash through a register, which costs a seventh of a lookup.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn products_at(hash: &Hash) -> __m256i {
    let halves: __m256i;
    // SAFETY: reads the first four of the hash's eight bytes, the lower half on this machine, and
    // touches nothing else.
    unsafe {
        asm!(
            "vpbroadcastd {halves}, dword ptr [{hash}]",
            halves = lateout(ymm_reg) halves,
            hash = in(reg) hash,
            options(pure, readonly, nostack, preserves_flags),
        );
    }
    // SAFETY: `SALT` is 32 readable bytes, and `loadu` needs no alignment.
    let salt = unsafe { _mm256_loadu_si256(SALT.as_ptr().cast()) };
    _mm256_mullo_epi32(halves, salt)
}

/// Whether the line has the positions of all lanes in which `ones` is one.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn found(line: &Line, products: __m256i, ones: __m256i) -> bool {
    let (low, high) = (line.as_ptr(), line[32..].as_ptr());
    // SAFETY: a line is 64 readable bytes, and `loadu` needs no alignment.
    let (low, high): (__m256i, __m256i) =
        unsafe { (_mm256_loadu_si256(low.cast()), _mm256_loadu_si256(high.cast())) };
    let word = _mm256_srli_epi32::<28>(products);
    let in_low = _mm256_permutevar8x32_epi32(low, word);
    let in_high = _mm256_permutevar8x32_epi32(high, word);
    let words = _mm256_blendv_ps(
        _mm256_castsi256_ps(in_low),
        _mm256_castsi256_ps(in_high),
        _mm256_castsi256_ps(products), // its sign is the half
    );
    let place = _mm256_and_si256(_mm256_srli_epi32::<23>(products), _mm256_set1_epi32(31));
    _mm256_testc_si256(_mm256_castps_si256(words), _mm256_sllv_epi32(ones, place)) == 1
}

/// Set the first `probes` positions in two half lines.
///
/// Each bit is shifted into place in all words at once: the shift is counted from the start of
/// each word, and a count outside of it gives nothing. Roads not taken, all slower: setting bits
/// in memory one by one, each waiting for the one before; and taking the positions out of the
/// vector of products, which goes through memory, instead of multiplying anew.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn add(halves: [__m256i; 2], half: u32, probes: usize) -> [__m256i; 2] {
    let one = _mm256_set1_epi32(1);
    let first = _mm256_setr_epi32(0, 32, 64, 96, 128, 160, 192, 224);
    let starts = [first, _mm256_add_epi32(first, _mm256_set1_epi32(256))];
    let [mut low, mut high] = halves;
    for salt in SALT.iter().take(probes) {
        let at = _mm256_set1_epi32((half.wrapping_mul(*salt) >> 23) as i32);
        low = _mm256_or_si256(low, _mm256_sllv_epi32(one, _mm256_sub_epi32(at, starts[0])));
        high = _mm256_or_si256(high, _mm256_sllv_epi32(one, _mm256_sub_epi32(at, starts[1])));
    }
    [low, high]
}

/// Set the bits of two half lines in the line; whether any was clear.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn set<const SPARING: bool>(line: &mut Line, halves: [__m256i; 2]) -> bool {
    let (low, high) = line.split_at_mut(32);
    // SAFETY: each half of a line is 32 bytes, and `loadu` and `storeu` need no alignment.
    unsafe {
        let had = [low.as_ptr(), high.as_ptr()].map(|half| _mm256_loadu_si256(half.cast()));
        let new =
            _mm256_testc_si256(had[0], halves[0]) & _mm256_testc_si256(had[1], halves[1]) == 0;
        if new || !SPARING {
            _mm256_storeu_si256(low.as_mut_ptr().cast(), _mm256_or_si256(had[0], halves[0]));
            _mm256_storeu_si256(high.as_mut_ptr().cast(), _mm256_or_si256(had[1], halves[1]));
        }
        new
    }
}

/// Ones in the lanes that count, of the first eight and the second, and how many they are.
#[derive(Clone, Copy)]
struct Lanes {
    first: __m256i,
    second: __m256i,
    probes: usize,
}

#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn lanes(probes: u32) -> Lanes {
    let all = _mm256_set1_epi32(probes as i32);
    let lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let later = _mm256_add_epi32(lane, _mm256_set1_epi32(8));
    // A comparison that holds is all ones; one of them is wanted.
    let first = _mm256_srli_epi32::<31>(_mm256_cmpgt_epi32(all, lane));
    let second = _mm256_srli_epi32::<31>(_mm256_cmpgt_epi32(all, later));
    Lanes { first, second, probes: probes as usize }
}

/// Whether all probes are set in the line.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_contains<const WIDE: bool>(line: &Line, hash: &Hash, lanes: Lanes) -> bool {
    found(line, products_at(hash), lanes.first)
        && (!WIDE || found(line, products(second_half(*hash)), lanes.second))
}

/// Set all probes in the line; whether any was clear.
#[target_feature(enable = "avx2,bmi2")]
#[inline]
fn line_insert<const WIDE: bool, const SPARING: bool>(
    line: &mut Line,
    hash: Hash,
    lanes: Lanes,
) -> bool {
    let mut halves = add([_mm256_setzero_si256(); 2], first_half(hash), lanes.probes);
    if WIDE {
        halves = add(halves, second_half(hash), lanes.probes.saturating_sub(8));
    }
    set::<SPARING>(line, halves)
}

/// What a lookup of one key reads besides its line: one table for each number of probes.
#[repr(C, align(32))]
#[derive(Debug)]
pub(super) struct Table {
    salt: [u32; 8],
    places: [u32; 8],
    /// Ones in the lanes that count.
    ones: [u32; 8],
}

/// The table of so many probes, where one vector holds them all.
pub(super) fn table(probes: u32) -> Option<&'static Table> {
    const fn table(probes: usize) -> Table {
        let mut ones = [0; 8];
        let mut lane = 0;
        while lane < probes {
            ones[lane] = 1;
            lane += 1;
        }
        Table { salt: SALT, places: [31; 8], ones }
    }
    static TABLES: [Table; 8] =
        [table(1), table(2), table(3), table(4), table(5), table(6), table(7), table(8)];
    TABLES.get((probes as usize).wrapping_sub(1))
}

/// Assembly that may be inlined into any caller, whatever instruction set that was compiled for.
///
/// `vzeroupper` changes all sixteen vector registers, so all are declared: a caller compiled with
/// AVX may hold half of a sum in any of them. The work is done in `ymm0` to `ymm3`; registers 16
/// to 31 and the masks are not touched. Declared so, the compiler treats it like a call, which
/// preserves no vector register either.
macro_rules! vector_asm {
    ($($operand:tt)*) => {
        core::arch::asm!(
            $($operand)*
            out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
            out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
            out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
            out("xmm12") _, out("xmm13") _, out("xmm14") _, out("xmm15") _,
            options(pure, readonly, nostack),
        )
    };
}
pub(super) use vector_asm;

/// Whether one line has the first positions of a key: [`found`], but inlined into callers that
/// know nothing of AVX2.
///
/// One lookup after another is bound by how many of them the core sees at once, so by the number
/// of instructions. Intrinsics cannot be inlined where their instruction set is not enabled;
/// assembly can. As a call, this lookup takes 4% longer in cache and 10% longer out of it.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn one_contains(line: &Line, half: u32, table: &Table) -> bool {
    let all: u8;
    // SAFETY: reads the line's 64 bytes and the table's 96, no more; every register it changes is
    // declared; AVX2 is the caller's promise.
    unsafe {
        vector_asm!(
            "vmovd xmm0, {half:e}",
            "vpbroadcastd ymm0, xmm0",
            "vpmulld ymm0, ymm0, [{table}]",
            "vpsrld ymm1, ymm0, 28",
            "vpermd ymm2, ymm1, [{line}]",
            "vpermd ymm3, ymm1, [{line} + 32]",
            "vblendvps ymm2, ymm2, ymm3, ymm0", // its sign is the half
            "vpsrld ymm0, ymm0, 23",
            "vpand ymm0, ymm0, [{table} + 32]",
            "vpsrlvd ymm2, ymm2, ymm0",
            "vptest ymm2, [{table} + 64]", // carry: no one is missing
            "setb {all}",
            "vzeroupper",
            half = in(reg) half,
            line = in(reg) line.as_ptr(),
            table = in(reg) table,
            all = out(reg_byte) all,
        );
    }
    all != 0
}

/// One key, one line, at most eight probes.
#[target_feature(enable = "avx2,bmi2")]
pub(super) fn one_insert(line: &mut Line, half: u32, probes: u32) -> bool {
    set::<true>(line, add([_mm256_setzero_si256(); 2], half, probes as usize))
}

super::impl_kernel!(#[target_feature(enable = "avx2,bmi2")]);
