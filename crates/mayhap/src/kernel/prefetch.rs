//! A word to the memory, ahead of time.

/// Ask for the cache line of item `at`. A hint: it changes nothing, and an `at` past the end is
/// ignored.
///
/// The line is to come into the second-level cache. From there the first level has it in a few
/// cycles, which other keys fill; asked for up there at once, all lines under way would be those that
/// the first level can wait for, half as many: batches of `Blocked` took twice as long.
#[inline(always)]
pub(crate) fn prefetch<T>(items: &[T], at: usize) {
    if let Some(item) = items.get(at) {
        prefetch_at(item);
    }
}

/// Ask for the cache line at this place, whatever is there, or nothing.
#[inline(always)]
pub(crate) fn prefetch_at<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing the program can see and cannot fault; SSE is part of
    // every x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(place.cast());
    }
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    // SAFETY: `prfm` is a hint: it reads and writes nothing the program can see, cannot fault, and
    // touches neither stack nor flags.
    unsafe {
        core::arch::asm!(
            "prfm pldl2keep, [{place}]",
            place = in(reg) place,
            options(readonly, nostack, preserves_flags),
        );
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri))))]
    let _ = place;
}

/// Ask for the cache line at this place, whatever is there, or nothing, into the first-level cache: for
/// work that takes so long per line that few are under way at a time.
#[inline(always)]
pub(crate) fn prefetch_near<T>(place: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch reads nothing the program can see and cannot fault; SSE is part of
    // every x86-64.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(place.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    prefetch_at(place);
}
