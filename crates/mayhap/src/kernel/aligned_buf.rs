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

/// Owned bytes, initially zero, whose start is aligned to a cache line (64 bytes), or to a huge
/// page (2 MiB) when they are large. They read and write as plain bytes.
///
/// The memory is words that *could* be atomic, so that a filter becomes a shared one and back by
/// a move.
pub struct AlignedBuf {
    /// The first of the aligned bytes, inside the memory: every lookup begins here.
    first: NonNull<AtomicU64>,
    bytes: usize,
    /// Only to be given back in the end.
    _memory: Vec<AtomicU64>,
}

// SAFETY: `first` points into memory that is owned, and is written to through exclusive
// references and atomics only.
unsafe impl Send for AlignedBuf {}
// SAFETY: likewise.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// `bytes` zero bytes, or an error where the system has no such memory. Nothing is touched:
    /// pages come into being when first written.
    pub fn zeroed(bytes: u64) -> Result<AlignedBuf, SpecError> {
        let refused = SpecError::Memory { bytes };
        let bytes = usize::try_from(bytes).map_err(|_| refused)?;
        let align = align_of_array(bytes);
        let count = bytes.div_ceil(WORD).checked_add(align / WORD).ok_or(refused)?;
        let mut memory = zeroed_words(count).ok_or(refused)?;
        let words = memory.as_mut_ptr();
        let start = words.align_offset(align).min(align / WORD);
        // SAFETY: the start is inside, since there are `align` more bytes than asked for; a pointer
        // into a vector is not null.
        let first = unsafe { NonNull::new_unchecked(words.add(start)) };
        let mut pages = AlignedBuf { first, bytes, _memory: memory };
        if align == HUGE {
            advise_huge(pages.as_mut());
        }
        Ok(pages)
    }

    /// A copy of these bytes.
    pub fn copy_of(bytes: &[u8]) -> Result<AlignedBuf, SpecError> {
        let mut pages = AlignedBuf::zeroed(bytes.len() as u64)?;
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

    /// Lets a defragmenting allocator relocate the memory. The bytes do not change and stay aligned.
    pub fn move_by(&mut self, memory: &mut Relocate<'_>) {
        let (count, capacity) = (self._memory.len(), self._memory.capacity());
        if capacity == 0 {
            return;
        }
        let old = self._memory.as_mut_ptr();
        // Before the move: afterwards nothing may look at the old place.
        let start = (self.first.as_ptr() as usize - old as usize) / WORD;
        // SAFETY: the mover gives the old place back, or moves everything and gives the new one,
        // by the promise made when it was created. Either way one vector owns the memory: the old
        // one is forgotten before anything else can happen.
        unsafe {
            let Some(new) = (memory.0)(NonNull::new_unchecked(old).cast()) else { return };
            let new: *mut AtomicU64 = new.cast().as_ptr();
            let moved = Vec::from_raw_parts(new, count, capacity);
            std::mem::forget(std::mem::replace(&mut self._memory, moved));
            // Lines begin elsewhere in the new place, which has as much to spare as the old.
            let align = align_of_array(self.bytes);
            let aligned = new.align_offset(align).min(align / WORD);
            std::ptr::copy(new.add(start), new.add(aligned), self.bytes.div_ceil(WORD));
            self.first = NonNull::new_unchecked(new.add(aligned));
        }
    }

    /// Hand the memory over to many writers.
    pub(crate) fn into_atomics(self) -> Atomics {
        Atomics(self)
    }
}

/// How an array of so many bytes is aligned: to huge pages or to lines.
fn align_of_array(bytes: usize) -> usize {
    if bytes >= 2 * HUGE { HUGE } else { 64 }
}

/// Relocates allocations for a server with active defragmentation, see [`AnyFilter::relocate`](crate::AnyFilter::relocate).
pub struct Relocate<'a>(&'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>);

impl<'a> Relocate<'a> {
    /// Relocate with this function, which is given the start of an allocation.
    ///
    /// # Safety
    ///
    /// The function either gives `None` and leaves the memory alone, or gives the start of other
    /// memory: as long, aligned alike, with the same bytes in it, from the program's global
    /// allocator, and nobody else's. The memory it was called with must then be free. It must not
    /// panic.
    pub unsafe fn new(by: &'a mut dyn FnMut(NonNull<u8>) -> Option<NonNull<u8>>) -> Relocate<'a> {
        Relocate(by)
    }

    /// Relocate the memory of a vector. Its contents do not change.
    pub fn relocate<T>(&mut self, items: &mut Vec<T>) {
        // What is aligned to more need not come from where the mover looks.
        const { assert!(align_of::<T>() <= 16) };
        let (count, capacity) = (items.len(), items.capacity());
        if capacity == 0 || size_of::<T>() == 0 {
            return;
        }
        // SAFETY: as in `AlignedBuf::move_by`: the vector owns one allocation, which stays as it is or
        // is moved as bytes, and the old vector is forgotten before anything looks at its memory.
        unsafe {
            let old = NonNull::new_unchecked(items.as_mut_ptr());
            let Some(new) = (self.0)(old.cast()) else { return };
            let moved = Vec::from_raw_parts(new.cast().as_ptr(), count, capacity);
            std::mem::forget(std::mem::replace(items, moved));
        }
    }
}

impl fmt::Debug for Relocate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Relocate(..)")
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

impl AsRef<[u8]> for AlignedBuf {
    #[inline(always)]
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `bytes` bytes from the first lie inside the memory by construction, any bytes are
        // valid `u8`s, and nobody writes through a shared reference: only `Atomics` can, and it
        // never lets its `AlignedBuf` be seen.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr().cast(), self.bytes) }
    }
}

impl AsMut<[u8]> for AlignedBuf {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `as_ref`, and the exclusive borrow makes the bytes exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().cast(), self.bytes) }
    }
}

impl Clone for AlignedBuf {
    fn clone(&self) -> AlignedBuf {
        match AlignedBuf::copy_of(self.as_ref()) {
            Ok(copy) => copy,
            // As the standard collections do; `copy_of` is for those who would rather know.
            Err(_) => std::alloc::handle_alloc_error(Layout::for_value(self.as_ref())),
        }
    }
}

impl fmt::Debug for AlignedBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuf({} bytes)", self.bytes)
    }
}

/// [`AlignedBuf`] that many threads write at once, one atomic word at a time.
#[derive(Debug)]
pub(crate) struct Atomics(AlignedBuf);

impl Atomics {
    /// The words. Their bytes in memory are those of the `AlignedBuf`: on a big-endian machine a mask
    /// must be byte-swapped, see `u64::to_le`.
    #[inline(always)]
    pub fn words(&self) -> &[AtomicU64] {
        let words = self.0.bytes.div_ceil(WORD);
        // SAFETY: so many whole words lie inside the memory by construction, and nobody has an
        // exclusive reference to them while this is a shared one.
        unsafe { std::slice::from_raw_parts(self.0.first.as_ptr(), words) }
    }

    /// How many bytes there are; the last word may be longer.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// The plain memory again.
    pub fn into_aligned(self) -> AlignedBuf {
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
            let pages = AlignedBuf::zeroed(bytes).unwrap();
            assert_eq!(pages.as_ref().len() as u64, bytes);
            assert!(pages.as_ref().iter().all(|byte| *byte == 0));
            let align = if bytes >= 2 * HUGE as u64 { HUGE } else { 64 };
            assert_eq!(pages.as_ref().as_ptr() as usize % align, 0, "{bytes} bytes");
        }
    }

    #[test]
    fn truncating_keeps_the_front() {
        let mut pages = AlignedBuf::copy_of(&[1, 2, 3]).unwrap();
        pages.truncate(u64::MAX);
        assert_eq!(pages.as_ref(), [1, 2, 3]);
        pages.truncate(2);
        assert_eq!(pages.as_ref(), [1, 2]);
    }

    #[test]
    fn absurd_sizes_are_refused() {
        for bytes in [1 << 50, u64::MAX / 2, u64::MAX] {
            assert_eq!(AlignedBuf::zeroed(bytes).unwrap_err(), SpecError::Memory { bytes });
        }
    }

    /// Moves everything, every time, to a place that is aligned as little as can be.
    fn moved(memory: NonNull<u8>, bytes: usize) -> NonNull<u8> {
        let layout = Layout::array::<AtomicU64>(bytes / WORD).unwrap();
        // SAFETY: both places have this layout.
        unsafe {
            let new = NonNull::new(std::alloc::alloc(layout)).unwrap();
            new.copy_from_nonoverlapping(memory, bytes);
            std::alloc::dealloc(memory.as_ptr(), layout);
            new
        }
    }

    #[test]
    fn moving_changes_no_byte_and_keeps_the_alignment() {
        for bytes in [0usize, 1, 64, 1000, 100_001, 2 * HUGE + 17] {
            let content: Vec<u8> = (0..bytes).map(|at| (at * 31) as u8).collect();
            let mut pages = AlignedBuf::copy_of(&content).unwrap();
            let whole = pages._memory.capacity() * WORD;
            let mut keep = Vec::new(); // or every allocation would get the place just freed
            for _ in 0..5 {
                keep.push(vec![0u8; whole + 24]);
                let mut by = |memory| Some(moved(memory, whole));
                // SAFETY: it moves as it must.
                pages.move_by(&mut unsafe { Relocate::new(&mut by) });
                assert!(pages.as_ref() == content, "{bytes} bytes");
                assert_eq!(pages.as_ref().as_ptr() as usize % align_of_array(bytes), 0);
            }
            let place = pages.as_ref().as_ptr();
            let mut by = |_| None;
            // SAFETY: it leaves the memory alone.
            pages.move_by(&mut unsafe { Relocate::new(&mut by) });
            assert_eq!(pages.as_ref().as_ptr(), place);
        }
    }

    #[test]
    fn vectors_are_moved_with_what_they_own() {
        let mut words: Vec<String> = Vec::with_capacity(5);
        words.extend(["a", "b", "c"].map(str::to_owned));
        let bytes = words.capacity() * size_of::<String>();
        let mut by = |memory| Some(moved(memory, bytes));
        // SAFETY: it moves as it must; strings are aligned as words are.
        let mut memory = unsafe { Relocate::new(&mut by) };
        memory.relocate(&mut words);
        memory.relocate(&mut Vec::<String>::new()); // owns nothing, and is not offered
        words.push("d".to_owned());
        assert_eq!(words, ["a", "b", "c", "d"]);
        assert_eq!(words.capacity(), 5);
    }

    #[test]
    fn every_kind_offers_all_of_its_memory() {
        use crate::{AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Scalable, Sharded};
        use crate::{Spec, Window, Windowed};
        let spec = Spec::new(30, 0.01).unwrap();
        let mut grown = Scalable::new(spec).unwrap();
        (0..400u64).for_each(|key| _ = grown.insert(key));
        let layers = grown.layers().len();
        let kinds: [(AnyFilter, usize); 8] = [
            (Classic::new(spec).unwrap().into(), 1),
            (Blocked::new(spec).unwrap().into(), 1),
            (Counting::new(spec).unwrap().into(), 1),
            (grown.into(), layers + 1), // and the list of them
            // Four generations, each with its list of layers, and the list of them.
            (Windowed::new(spec, Window::last_keys(3)).unwrap().into(), 9),
            (Fuse::with_spec(spec, 0..400u64).unwrap().into(), 1),
            (Sharded::new(spec, 5).unwrap().into(), 6),
            (Cascade::from_keys(spec.fpr(), 0..400u64, 400..5000u64).unwrap().into(), 2),
        ];
        for (mut filter, arrays) in kinds {
            let mut offered = 0;
            let mut by = |_| {
                offered += 1;
                None
            };
            // SAFETY: it leaves the memory alone.
            filter.relocate(&mut unsafe { Relocate::new(&mut by) });
            assert_eq!(offered, arrays, "{}", filter.kind());
        }
    }

    #[test]
    fn words_are_the_same_memory() {
        let atomics = AlignedBuf::zeroed(20).unwrap().into_atomics();
        assert_eq!(atomics.words().len(), 3);
        atomics.words()[1].store(0x0102u64.to_le(), Relaxed);
        let pages = atomics.into_aligned();
        assert_eq!(pages.as_ref()[8..10], [2, 1]);
        assert_eq!(pages.clone().as_ref(), pages.as_ref());
        let mut pages = pages;
        assert_eq!(pages.words_mut(), [0, 0x0102u64.to_le()]);
    }
}
