//! The server's allocator, so that `used_memory`, `maxmemory` and `MEMORY USAGE` include our
//! memory.

use super::api::{GetApi, find};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::c_void;
use std::sync::OnceLock;

/// What `malloc` aligns to.
pub const MALLOC_ALIGN: usize = 16;
/// From this size on it is worth checking first whether the allocation succeeds.
const LARGE: usize = 64 << 10;

struct Heap {
    alloc: unsafe extern "C" fn(usize) -> *mut c_void,
    calloc: unsafe extern "C" fn(usize, usize) -> *mut c_void,
    realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    /// Return null if there is no memory; the others abort the server then.
    try_alloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    try_calloc: Option<unsafe extern "C" fn(usize, usize) -> *mut c_void>,
}

static HEAP: OnceLock<Heap> = OnceLock::new();

/// Use the server's allocator from now on. Must come before anything is allocated: memory of one
/// allocator cannot be freed by the other.
pub fn init(get: GetApi) {
    // SAFETY: the names have these types in `redismodule.h`.
    let heap = unsafe {
        let (Some(alloc), Some(calloc), Some(realloc), Some(free)) = (
            find(get, c"RedisModule_Alloc"),
            find(get, c"RedisModule_Calloc"),
            find(get, c"RedisModule_Realloc"),
            find(get, c"RedisModule_Free"),
        ) else {
            return;
        };
        let try_alloc = find(get, c"RedisModule_TryAlloc");
        let try_calloc = find(get, c"RedisModule_TryCalloc");
        Heap { alloc, calloc, realloc, free, try_alloc, try_calloc }
    };
    _ = HEAP.set(heap);
}

/// The server's allocator once there is a server; the system's in tests.
struct ServerMemory;

#[global_allocator]
static GLOBAL: ServerMemory = ServerMemory;

impl ServerMemory {
    /// The server's heap, if it can serve this layout: it does not align beyond `malloc`.
    #[inline(always)]
    fn heap(layout: Layout) -> Option<&'static Heap> {
        if layout.align() > MALLOC_ALIGN { None } else { HEAP.get() }
    }
}

// SAFETY: each pointer goes back to where it came from, because the choice depends on the layout
// and on `HEAP` only, which is set before the first allocation or never. The server's functions
// keep the contract of `malloc` and its like.
unsafe impl GlobalAlloc for ServerMemory {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises: the size is not 0.
        unsafe {
            match ServerMemory::heap(layout) {
                None => System.alloc(layout),
                Some(heap) => heap.try_alloc.unwrap_or(heap.alloc)(layout.size()).cast(),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        // SAFETY: as the caller promises: the size is not 0.
        unsafe {
            let Some(heap) = ServerMemory::heap(layout) else { return System.alloc_zeroed(layout) };
            if let Some(try_calloc) = heap.try_calloc {
                return try_calloc(size, 1).cast();
            }
            // Older servers abort in `calloc` if memory is out. Zeroing the result of `try_alloc`
            // would touch every page of it, so try, free, and allocate again.
            if let Some(try_alloc) = heap.try_alloc.filter(|_| size >= LARGE) {
                let probe = try_alloc(size);
                if probe.is_null() {
                    return std::ptr::null_mut();
                }
                (heap.free)(probe);
            }
            (heap.calloc)(size, 1).cast()
        }
    }

    #[inline]
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: it came from the same place, see above.
        unsafe {
            match ServerMemory::heap(layout) {
                None => System.dealloc(pointer, layout),
                Some(heap) => (heap.free)(pointer.cast()),
            }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as for the others; the new size is not 0 and its layout valid by the caller's
        // promise.
        unsafe {
            match ServerMemory::heap(layout) {
                None => System.realloc(pointer, layout, size),
                // Shrinking is usually in place, and needs no new memory.
                Some(heap) if size < LARGE || size <= layout.size() => {
                    (heap.realloc)(pointer.cast(), size).cast()
                }
                // There is no fallible `realloc`, so move by hand.
                Some(_) => {
                    let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !moved.is_null() {
                        moved.copy_from_nonoverlapping(pointer, layout.size().min(size));
                        self.dealloc(pointer, layout);
                    }
                    moved
                }
            }
        }
    }
}
