//! Values in RDB files and in `DUMP`.
//!
//! Ours: a number (0: whole, 1: still loading), the head of a dump as a string, then its bodies in
//! strings of at most 16 MiB, and an empty string. RedisBloom's is told in
//! [`mayhap_foreign::redisbloom::dump`].
//!
//! What is read is never believed: all of it goes through [`take`], or through the checks
//! of a RedisBloom header, as what `BF.LOADCHUNK` brings does.

use super::api::{Io, api};
use super::data_type::{filter, has_failed, log_io};
use super::guarded;
use crate::filter::{
    Chunker, Filter, LoadingFilter, MAX_CHUNK_BYTES, Part, head_of, reserve_for, take,
};
use crate::table::Family;
use mayhap::format::dump::DumpHead;
use mayhap_foreign::redisbloom::{Chain, Header, Layout, LinkInfo};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// The version of our type.
pub const NATIVE_ENCODING: c_int = 1;
/// That of RedisBloom's.
pub const COMPAT_ENCODING: c_int = 4;
/// The most links a header may have; a chain that doubles has no more than 64.
const MAX_LINKS: u64 = 4096;

const WHOLE: u64 = 0;
const LOADING: u64 = 1;

/// A file that is being read. After an error everything read is nothing.
struct Input(*mut Io);

impl Input {
    fn number(&mut self) -> Option<u64> {
        // SAFETY: the server gave it to the callback that runs.
        let number = unsafe { (api().load_unsigned)(self.0) };
        (!has_failed(self.0)).then_some(number)
    }

    fn double(&mut self) -> Option<f64> {
        // SAFETY: likewise.
        let number = unsafe { (api().load_double)(self.0) };
        (!has_failed(self.0)).then_some(number)
    }

    /// The next string, given to `take` and freed.
    fn bytes<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Option<T> {
        let mut count = 0;
        // SAFETY: the server gives so many bytes, which are ours to free.
        unsafe {
            let start = (api().load_bytes)(self.0, &mut count);
            if start.is_null() || has_failed(self.0) {
                return None;
            }
            let taken = take(std::slice::from_raw_parts(start.cast(), count));
            (api().free)(start.cast());
            Some(taken)
        }
    }
}

/// A file that is being written.
struct Output(*mut Io);

impl Output {
    fn number(&mut self, number: u64) {
        // SAFETY: the server gave it to the callback that runs.
        unsafe { (api().save_unsigned)(self.0, number) };
    }

    fn double(&mut self, number: f64) {
        // SAFETY: likewise.
        unsafe { (api().save_double)(self.0, number) };
    }

    fn bytes(&mut self, bytes: &[u8]) {
        // SAFETY: likewise; the pointer goes with its length.
        unsafe { (api().save_bytes)(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }
}

pub unsafe extern "C" fn load_native(io: *mut Io, encoding: c_int) -> *mut c_void {
    guarded(null_mut(), || boxed(io, native(&mut Input(io), encoding, Family::Bloom)))
}

pub unsafe extern "C" fn load_cuckoo(io: *mut Io, encoding: c_int) -> *mut c_void {
    guarded(null_mut(), || boxed(io, native(&mut Input(io), encoding, Family::Cuckoo)))
}

pub unsafe extern "C" fn load_compat(io: *mut Io, encoding: c_int) -> *mut c_void {
    guarded(null_mut(), || boxed(io, compat(&mut Input(io), encoding)))
}

fn boxed(io: *mut Io, read: Result<Filter, String>) -> *mut c_void {
    match read {
        Ok(filter) => Box::into_raw(Box::new(filter)).cast(),
        Err(why) => {
            log_io(io, &format!("mayhap: not a filter: {why}"));
            null_mut()
        }
    }
}

const CUT_OFF: &str = "cut off";

fn native(input: &mut Input, encoding: c_int, family: Family) -> Result<Filter, String> {
    if encoding > NATIVE_ENCODING {
        return Err(format!("encoding {encoding}: written by a newer release"));
    }
    let state = input.number().ok_or(CUT_OFF)?;
    let head = input.bytes(DumpHead::decode).ok_or(CUT_OFF)?.map_err(|error| error.to_string())?;
    if head.cuckoo.is_some() != (family == Family::Cuckoo) {
        return Err("a filter of CF.* under the type of BF.*, or the reverse".to_owned());
    }
    let (need, mut bodies) = (head.body_bytes(), Vec::new());
    loop {
        let piece = input.bytes(|piece| {
            // No more than was announced, and memory only for what has come.
            if (bodies.len() + piece.len()) as u64 > need {
                return Err("more bytes than announced");
            }
            reserve_for(&mut bodies, piece.len(), need).map_err(|_| "no memory")?;
            bodies.extend_from_slice(piece);
            Ok(piece.len())
        });
        if piece.ok_or(CUT_OFF)?? == 0 {
            break;
        }
    }
    match state {
        WHOLE => {
            let parts = take(&head, &mut bodies).map_err(|error| error.to_string())?;
            let mut filter = Filter::from_parts(parts).ok_or_else(|| "no parts".to_owned())?;
            filter.set_shard(head.shard);
            filter.set_cuckoo(head.cuckoo);
            Ok(filter)
        }
        LOADING => {
            let loading_filter =
                LoadingFilter::resume(head, bodies).ok_or("whole, but said not to be")?;
            Ok(Filter::loading(loading_filter))
        }
        other => Err(format!("state {other}")),
    }
}

pub unsafe extern "C" fn save_native(io: *mut Io, value: *mut c_void) {
    guarded((), || {
        let mut output = Output(io);
        // SAFETY: the server gives a value of ours.
        let Some(filter) = (unsafe { filter(value) }) else { return };
        match filter.loading_filter() {
            Some(loading_filter) => {
                output.number(LOADING);
                output.bytes(&loading_filter.head().encode());
                loading_filter.body().chunks(MAX_CHUNK_BYTES).for_each(|piece| output.bytes(piece));
            }
            None => {
                output.number(WHOLE);
                output.bytes(&head_of(filter).encode());
                Chunker::new(MAX_CHUNK_BYTES, |piece: &[u8]| output.bytes(piece)).bodies(filter);
            }
        }
        Output(io).bytes(&[]);
    });
}

fn compat(input: &mut Input, encoding: c_int) -> Result<Filter, String> {
    if !(2..=COMPAT_ENCODING).contains(&encoding) {
        return Err(format!("RedisBloom's encoding {encoding}: there are 2 to 4"));
    }
    let items = input.number().ok_or(CUT_OFF)?;
    let count = input.number().ok_or(CUT_OFF)?;
    let options = small(input.number().ok_or(CUT_OFF)?)?;
    let growth = if encoding >= 4 { small(input.number().ok_or(CUT_OFF)?)? } else { 2 };
    if !(1..=MAX_LINKS).contains(&count) {
        return Err(format!("{count} links"));
    }
    let (mut links, mut arrays) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let entries = input.number().ok_or(CUT_OFF)?;
        let error = input.double().ok_or(CUT_OFF)?;
        let hashes = small(input.number().ok_or(CUT_OFF)?)?;
        let bits_per_entry = input.double().ok_or(CUT_OFF)?;
        let bits = input.number().ok_or(CUT_OFF)?;
        let n2 = input.number().ok_or(CUT_OFF)?;
        let n2 = u8::try_from(n2).map_err(|_| format!("n2 of {n2}"))?;
        let array = input.bytes(mayhap::mem::AlignedBuf::copy_of).ok_or(CUT_OFF)?;
        let array = array.map_err(|error| error.to_string())?;
        let items = input.number().ok_or(CUT_OFF)?;
        let bytes = array.as_ref().len() as u64;
        links.push(LinkInfo { bytes, bits, items, error, bits_per_entry, hashes, entries, n2 });
        arrays.push(array);
    }
    let header = Header { options, growth, layout: Layout::default(), links };
    let mut head = header.encode();
    // The header writes the sum; what was read must be that too.
    head[..8].copy_from_slice(&items.to_le_bytes());
    let chain = Chain::load_header(&head, u64::MAX).map_err(|error| error.to_string())?;
    let mut chain = chain;
    let mut end = 1;
    for array in &arrays {
        end += array.as_ref().len() as u64;
        chain.load_chunk(end, array.as_ref()).map_err(|error| error.to_string())?;
    }
    Ok(Filter::new(Part::Compat(chain)))
}

fn small(number: u64) -> Result<u32, String> {
    u32::try_from(number).map_err(|_| format!("{number}: too large a number"))
}

pub unsafe extern "C" fn save_compat(io: *mut Io, value: *mut c_void) {
    guarded((), || {
        let mut output = Output(io);
        // SAFETY: the server gives a value of ours; those of this type are chains.
        let Some(chain) = (unsafe { filter(value) }).and_then(Filter::as_compat) else { return };
        let header = chain.header();
        output.number(chain.items());
        output.number(header.links.len() as u64);
        output.number(header.options.into());
        output.number(header.growth.into());
        for (info, link) in header.links.iter().zip(chain.links()) {
            output.number(info.entries);
            output.double(info.error);
            output.number(info.hashes.into());
            output.double(info.bits_per_entry);
            output.number(info.bits);
            output.number(info.n2.into());
            output.bytes(link.filter().as_bytes());
            output.number(info.items);
        }
    });
}
