//! Memory for bits: zeroed, aligned to cache lines, on huge pages where the system offers them.

use crate::spec::SpecError;
use std::alloc::{Layout, alloc_zeroed};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

const WORD: usize = size_of::<AtomicU64>();
/// Arrays from here on are aligned to huge pages: past the reach of the TLB a lookup costs
/// 1.3 to 2 times as much on small ones.
const HUGE: usize = 2 << 20;

/// Owned bytes, zeroed at first, whose start is aligned to a cache line (64 bytes), or to a huge
/// page (2 MiB) when they are large. They read and write as plain bytes.
///
/// The memory is words that *could* be atomic, so that a filter becomes a shared one and back by
/// a move.
pub struct Pages {
    /// The first of the aligned bytes, inside the memory: every lookup begins here.
    first: NonNull<AtomicU64>,
    bytes: usize,
    /// Only to be given back in the end.
    _memory: Vec<AtomicU64>,
}

// SAFETY: `first` points into memory that is owned, and is written to through exclusive
// references and atomics only.
unsafe impl Send for Pages {}
// SAFETY: likewise.
unsafe impl Sync for Pages {}

impl Pages {
    /// `bytes` zero bytes, or an error where the system has no such memory. Nothing is touched:
    /// pages come into being when first written.
    pub fn zeroed(bytes: u64) -> Result<Pages, SpecError> {
        let refused = SpecError::Memory { bytes };
        let bytes = usize::try_from(bytes).map_err(|_| refused)?;
        let align = if bytes >= 2 * HUGE { HUGE } else { 64 };
        let count = bytes.div_ceil(WORD).checked_add(align / WORD).ok_or(refused)?;
        let mut memory = zeroed_words(count).ok_or(refused)?;
        let words = memory.as_mut_ptr();
        let start = words.align_offset(align).min(align / WORD);
        // SAFETY: the start is inside, since there are `align` more bytes than asked for; a pointer
        // into a vector is not null.
        let first = unsafe { NonNull::new_unchecked(words.add(start)) };
        let mut pages = Pages { first, bytes, _memory: memory };
        if align == HUGE {
            advise_huge(pages.as_mut());
        }
        Ok(pages)
    }

    /// A copy of these bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<Pages, SpecError> {
        let mut pages = Pages::zeroed(bytes.len() as u64)?;
        pages.as_mut().copy_from_slice(bytes);
        Ok(pages)
    }

    /// The same memory as whole words, each in this machine's order of bytes.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        // SAFETY: as for `as_mut`; an `AtomicU64` is laid out and, on a line of its own, aligned as
        // a `u64`.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().cast(), self.bytes / WORD) }
    }

    /// Keep the first `bytes` bytes. Nothing moves and no memory is given back.
    pub fn truncate(&mut self, bytes: u64) {
        self.bytes = usize::try_from(bytes).map_or(self.bytes, |bytes| bytes.min(self.bytes));
    }

    /// Hand the memory over to many writers.
    pub(crate) fn into_atomics(self) -> Atomics {
        Atomics(self)
    }
}

/// Zeroed words straight from the allocator: `vec![0; n]` aborts where there is no memory, and
/// `try_reserve` would touch every page to zero it.
fn zeroed_words(count: usize) -> Option<Vec<AtomicU64>> {
    let layout = Layout::array::<AtomicU64>(count).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout has a size. Zero bytes are valid words, and the vector gets the very
    // pointer, length and capacity that the allocation was made with.
    unsafe {
        let words = alloc_zeroed(layout);
        (!words.is_null()).then(|| Vec::from_raw_parts(words.cast(), count, count))
    }
}

impl AsRef<[u8]> for Pages {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `bytes` bytes from the first lie inside the memory by construction, any bytes are
        // valid `u8`s, and nobody writes through a shared reference: only `Atomics` can, and it
        // never lets its `Pages` be seen.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().cast(), self.bytes) }
    }
}

impl AsMut<[u8]> for Pages {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `as_ref`, and the exclusive borrow makes the bytes exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().cast(), self.bytes) }
    }
}

impl Clone for Pages {
    fn clone(&self) -> Pages {
        match Pages::copy_of(self.as_ref()) {
            Ok(copy) => copy,
            // As the standard collections do; `copy_of` is for those who would rather know.
            Err(_) => std::alloc::handle_alloc_error(Layout::for_value(self.as_ref())),
        }
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pages({} bytes)", self.bytes)
    }
}

/// [`Pages`] that many threads write at once, one atomic word at a time.
#[derive(Debug)]
pub(crate) struct Atomics(Pages);

impl Atomics {
    /// The words. Their bytes in memory are those of the `Pages`: on a big-endian machine a mask
    /// must be byte-swapped, see `u64::to_le`.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        let words = self.0.bytes.div_ceil(WORD);
        // SAFETY: so many whole words lie inside the memory by construction, and nobody has an
        // exclusive reference to them while this is a shared one.
        unsafe { std::slice::from_raw_parts(self.0.first.as_ptr(), words) }
    }

    /// The plain memory again.
    pub fn into_pages(self) -> Pages {
        self.0
    }
}

/// Ask for huge pages. A refusal costs speed only, so it is not looked at.
#[cfg(all(target_os = "linux", not(miri)))]
fn advise_huge(bytes: &mut [u8]) {
    use std::ffi::{c_int, c_void};
    unsafe extern "C" {
        fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }
    const MADV_HUGEPAGE: c_int = 14;
    // Whole pages only: the tail may share a page with somebody else's memory.
    let whole = bytes.len() & !(HUGE - 1);
    // SAFETY: the range is ours and starts on a page; the advice changes no byte of it.
    unsafe { madvise(bytes.as_mut_ptr().cast(), whole, MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn advise_huge(_: &mut [u8]) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn pages_are_aligned_and_zero() {
        for bytes in [0, 1, 63, 64, 4096, 100_001, 2 * HUGE as u64, 5 * HUGE as u64 + 3] {
            let pages = Pages::zeroed(bytes).unwrap();
            assert_eq!(pages.as_ref().len() as u64, bytes);
            assert!(pages.as_ref().iter().all(|byte| *byte == 0));
            let align = if bytes >= 2 * HUGE as u64 { HUGE } else { 64 };
            assert_eq!(pages.as_ref().as_ptr() as usize % align, 0, "{bytes} bytes");
        }
    }

    #[test]
    fn truncating_keeps_the_front() {
        let mut pages = Pages::copy_of(&[1, 2, 3]).unwrap();
        pages.truncate(u64::MAX);
        assert_eq!(pages.as_ref(), [1, 2, 3]);
        pages.truncate(2);
        assert_eq!(pages.as_ref(), [1, 2]);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for bytes in [1 << 50, u64::MAX / 2, u64::MAX] {
            assert_eq!(Pages::zeroed(bytes).unwrap_err(), SpecError::Memory { bytes });
        }
    }

    #[test]
    fn words_are_the_same_memory() {
        let atomics = Pages::zeroed(20).unwrap().into_atomics();
        assert_eq!(atomics.words().len(), 3);
        atomics.words()[1].store(0x0102u64.to_le(), Relaxed);
        let pages = atomics.into_pages();
        assert_eq!(pages.as_ref()[8..10], [2, 1]);
        assert_eq!(pages.clone().as_ref(), pages.as_ref());
        let mut pages = pages;
        assert_eq!(pages.words_mut(), [0, 0x0102u64.to_le()]);
    }
}
