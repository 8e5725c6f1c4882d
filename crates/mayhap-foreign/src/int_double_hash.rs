//! A probe rule that Guava, Spark and ORC share.

/// Probe `i`, from 1 on, of two 32-bit hashes: `a + i·b` in Java's wrapping `int`, and where that is
/// negative its complement (not its absolute value). Below 2³¹, so that no longer array is used to
/// its end.
#[inline(always)]
pub(crate) const fn int_double_hash(a: i32, b: i32, i: u64) -> u64 {
    let place = a.wrapping_add(b.wrapping_mul(i as i32));
    (if place < 0 { !place } else { place }) as u64
}

/// As far as [`int_double_hash`] reaches.
pub(crate) const MAX_INT_POSITION: u64 = 1 << 31;
