//! Ask for memory before it is needed.

/// Start fetching the cache line of `bytes[at]`. Only ever a hint: past the end it asks for the
/// last byte, and on machines without such an instruction it does nothing.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    let Some(last) = bytes.len().checked_sub(1) else { return };
    let line = &raw const bytes[at.min(last)];
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: SSE is part of x86-64, and a prefetch reads nothing the program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast()) };
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    {
        // SAFETY: a prefetch reads nothing the program can see and changes no register.
        unsafe {
            std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) line, options(nostack, preserves_flags));
        }
    }
    #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", not(miri)))))]
    let _ = line;
}
