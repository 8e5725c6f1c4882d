//! Asking for memory before it is needed.

/// Start bringing the cache line of `bytes[at]` near. A hint: it changes nothing, waits for
/// nothing, and an `at` past the end asks for the last line.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if let Some(last) = bytes.len().checked_sub(1) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the clamped place lies inside the slice, and a prefetch reads nothing anyway;
        // SSE is part of every x86_64.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(bytes.as_ptr().add(at.min(last)).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (bytes, at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_place_may_be_asked_for() {
        for at in [0, 1, 63, 64, usize::MAX] {
            prefetch(&[], at);
            prefetch(&[7; 64], at);
        }
    }
}
