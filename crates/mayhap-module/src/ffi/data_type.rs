//! Our data types: Mayhap's own, and RedisBloom's, so that its RDB files and `DUMP`s load here and
//! those of `COMPAT` filters load there.

use super::api::{self, Ctx, DefragCtx, Digest, Io, Str, Type, TypeMethods, api};
use super::{guarded, load, rdb};
use crate::filter::{Chunker, Filter, head_of};
use crate::table::Family;
use mayhap::mem::Relocate;
use std::ffi::{CStr, CString, c_int, c_longlong, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

const NAME: &CStr = c"mayhap-bf";
const CUCKOO_NAME: &CStr = c"mayhap-cf";
const REDISBLOOM: &CStr = c"MBbloom--";
/// Chunk size of a rewritten append-only file: small enough for its reader.
const AOF_CHUNK_BYTES: usize = 4 << 20;
/// Of each value so many bytes count as one piece of work: from 64 on the server frees in the
/// background.
const BYTES_A_PIECE: u64 = 16 << 10;

static NATIVE: AtomicPtr<Type> = AtomicPtr::new(null_mut());
/// Null if another module has that type.
static COMPAT: AtomicPtr<Type> = AtomicPtr::new(null_mut());

/// Of filters of `CF.*`.
static CUCKOO: AtomicPtr<Type> = AtomicPtr::new(null_mut());

/// Whether a value of this type is a filter of this family.
#[inline]
pub fn is_ours(of: *mut Type, family: Family) -> bool {
    match family {
        Family::Bloom => of == NATIVE.load(Relaxed) || of == COMPAT.load(Relaxed),
        Family::Cuckoo => of == CUCKOO.load(Relaxed),
    }
}

/// The type a filter is stored under.
pub fn for_filter(filter: &Filter) -> *mut Type {
    if filter.cuckoo().is_some() {
        return CUCKOO.load(Relaxed);
    }
    let compat = COMPAT.load(Relaxed);
    if filter.as_compat().is_some() && !compat.is_null() { compat } else { NATIVE.load(Relaxed) }
}

/// Register our types with the server. `false` if it rejects our own.
pub fn register(ctx: *mut Ctx) -> bool {
    let mut native = methods(rdb::load_native, rdb::save_native);
    let mut cuckoo = methods(rdb::load_cuckoo, rdb::save_native);
    let mut compat = methods(rdb::load_compat, rdb::save_compat);
    // SAFETY: the context is that of loading; the server copies the methods.
    unsafe {
        let native = (api().create_type)(ctx, NAME.as_ptr(), rdb::NATIVE_ENCODING, &mut native);
        if native.is_null() {
            return false;
        }
        NATIVE.store(native, Relaxed);
        let cuckoo =
            (api().create_type)(ctx, CUCKOO_NAME.as_ptr(), rdb::NATIVE_ENCODING, &mut cuckoo);
        if cuckoo.is_null() {
            return false;
        }
        CUCKOO.store(cuckoo, Relaxed);
        // Loaded beside RedisBloom that type is taken, and not needed.
        let compat =
            (api().create_type)(ctx, REDISBLOOM.as_ptr(), rdb::COMPAT_ENCODING, &mut compat);
        COMPAT.store(compat, Relaxed);
    }
    true
}

fn methods(
    load: unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void,
    save: unsafe extern "C" fn(*mut Io, *mut c_void),
) -> TypeMethods {
    TypeMethods {
        version: 3,
        rdb_load: Some(load),
        rdb_save: Some(save),
        aof_rewrite: Some(aof_rewrite),
        mem_usage: Some(mem_usage),
        digest: Some(digest),
        free: Some(free),
        aux_load: null_mut(),
        aux_save: null_mut(),
        aux_save_triggers: 0,
        free_effort: Some(free_effort),
        unlink: null_mut(),
        copy: Some(copy),
        defrag: api().defrag_alloc.map(|_| defrag as unsafe extern "C" fn(_, _, _) -> _),
    }
}

/// # Safety
///
/// `value` must be a value of ours.
pub unsafe fn filter<'a>(value: *const c_void) -> Option<&'a Filter> {
    // SAFETY: values of ours are boxed filters.
    unsafe { value.cast::<Filter>().as_ref() }
}

unsafe extern "C" fn free(value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server gives each value back once.
        drop(unsafe { Box::from_raw(value.cast::<Filter>()) });
    });
}

unsafe extern "C" fn free_effort(_: *mut Str, value: *const c_void) -> usize {
    guarded(1, || {
        // SAFETY: the server gives a value of ours.
        let bytes = unsafe { filter(value) }.map_or(0, Filter::bytes);
        usize::try_from(1 + bytes / BYTES_A_PIECE).unwrap_or(usize::MAX)
    })
}

unsafe extern "C" fn mem_usage(value: *const c_void) -> usize {
    guarded(0, || {
        // SAFETY: the server gives a value of ours.
        let bytes = unsafe { filter(value) }.map_or(0, Filter::memory_bytes);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    })
}

unsafe extern "C" fn copy(_: *mut Str, _: *mut Str, value: *const c_void) -> *mut c_void {
    guarded(null_mut(), || {
        // SAFETY: the server gives a value of ours.
        let copy = unsafe { filter(value) }.and_then(Filter::try_copy);
        copy.map_or(null_mut(), |copy| Box::into_raw(Box::new(copy)).cast())
    })
}

unsafe extern "C" fn digest(digest: *mut Digest, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server gives a value of ours and a digest to add to.
        unsafe {
            let Some(filter) = filter(value) else { return };
            let add =
                |bytes: &[u8]| (api().digest_bytes)(digest, bytes.as_ptr().cast(), bytes.len());
            match filter.loading_filter() {
                Some(loading_filter) => {
                    add(&loading_filter.head().encode());
                    add(loading_filter.body());
                }
                None => {
                    add(&head_of(filter).encode());
                    Chunker::new(AOF_CHUNK_BYTES, add).bodies(filter);
                }
            }
            (api().digest_end)(digest);
        }
    });
}

unsafe extern "C" fn aof_rewrite(aof: *mut Io, key: *mut Str, value: *mut c_void) {
    guarded((), || {
        // SAFETY: the server gives a value of ours, its key, and a file to write to.
        unsafe {
            let Some(filter) = filter(value) else { return };
            let family = if filter.cuckoo().is_some() { Family::Cuckoo } else { Family::Bloom };
            let command = load::full_name(family, "LOADCHUNK");
            let command = CString::new(command).unwrap_or_default();
            let emit = |iterator: u64, bytes: &[u8]| {
                (api().emit_aof)(
                    aof,
                    command.as_ptr(),
                    c"slb".as_ptr(),
                    key,
                    i64::try_from(iterator).unwrap_or(i64::MAX) as c_longlong,
                    bytes.as_ptr(),
                    bytes.len(),
                );
            };
            if let Some(chain) = filter.as_compat() {
                chain
                    .chunks_of(AOF_CHUNK_BYTES)
                    .for_each(|chunk| emit(chunk.iterator, &chunk.bytes));
                return;
            }
            let mut iterator = 1;
            let mut next = |bytes: &[u8]| {
                iterator += bytes.len() as u64;
                emit(iterator, bytes);
            };
            match filter.loading_filter() {
                Some(loading_filter) => {
                    emit(1, &loading_filter.head().encode());
                    loading_filter.body().chunks(AOF_CHUNK_BYTES).for_each(next);
                }
                None => {
                    emit(1, &head_of(filter).encode());
                    Chunker::new(AOF_CHUNK_BYTES, &mut next).bodies(filter);
                }
            }
        }
    });
}

/// Active defragmentation: moves the box of the filter and its arrays, if the server wants them
/// elsewhere. It only moves small allocations: from 16 KiB on one has pages of its own, leaves no
/// gaps among others, and the server looks at no more than its address. So there is no need to stop
/// half way, however large the filter.
unsafe extern "C" fn defrag(ctx: *mut DefragCtx, _: *mut Str, value: *mut *mut c_void) -> c_int {
    guarded(0, || {
        // Otherwise the box would not have come from the server's allocator.
        const { assert!(align_of::<Filter>() <= super::alloc::MALLOC_ALIGN) };
        let Some(alloc) = api().defrag_alloc else { return 0 };
        // SAFETY: the server gives the place of a value of ours, which came from its allocator;
        // a filter may be moved as bytes.
        unsafe {
            let moved = alloc(ctx, *value);
            if !moved.is_null() {
                *value = moved;
            }
            let Some(filter) = value.read().cast::<Filter>().as_mut() else { return 0 };
            let mut by = |memory: NonNull<u8>| {
                NonNull::new(alloc(ctx, memory.as_ptr().cast())).map(NonNull::cast)
            };
            // The server either leaves memory alone and returns null, or returns its copy; and
            // arrays come from its allocator, since they are aligned to words.
            filter.relocate(&mut Relocate::new(&mut by));
        }
        0
    })
}

/// Log a line about what was read.
pub fn log_io(io: *mut Io, line: &str) {
    let line = CString::new(line.replace('\0', " ")).unwrap_or_default();
    // SAFETY: the format takes one string, which ends in a zero.
    unsafe { (api().log_io)(io, c"warning".as_ptr(), c"%s".as_ptr(), line.as_ptr()) };
}

/// Whether reading has failed so far.
pub fn has_failed(io: *mut Io) -> bool {
    // SAFETY: the server gave it to the callback that runs.
    unsafe { (api().is_io_error)(io) != api::OK }
}
