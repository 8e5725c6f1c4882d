//! The encoding of a list (numbers are LEB128 varints unless said otherwise):
//!
//! ```text
//! B7 01                  magic and version
//! bytes of the body      0 where there is none yet
//!   touched              seconds since 1970
//!   touched − last new
//!   slices, then for each, newest first:
//!     started            as touched − started, zigzag (a merged list may have newer slices)
//!     capacity, range
//!     2·ids + whole      whole is 1 while fingerprints are 64-bit hashes
//!     bytes of the code, the code (golomb.rs)
//!   offers, then for each, earliest end first:
//!     until, ids, bytes of the code, the code
//! CRC-32C of the body    4 bytes, little-endian; none without a body
//! entries, each:         operations not yet compacted into the body, oldest first
//!   operation            1 byte: 1 mark, 2 mark unseen, 3 offer
//!   bytes of the rest
//!     now, (offer only: ttl,) hashes of 8 bytes each, little-endian
//!   CRC-32C of the entry its low 2 bytes, little-endian
//! ```
//!
//! Entries are what makes a mark on Redis one round trip: they are appended without reading, and
//! appends commute. The list is the body with its entries applied in order. Whoever finds too many
//! compacts them into a new body.

use crate::golomb::{self, Range};
use crate::list::{List, MAX_SLICES, Offer, Operation};
use crate::policy::{Policy, Seconds};
use crate::slice::{Shape, Slice};
use mayhap::Hash;
use std::fmt;

/// The first bytes of every record: magic and version.
pub const MAGIC: [u8; 2] = [0xb7, 1];
const VERSION: u8 = MAGIC[1];

/// A record without a body or entries.
#[cfg(feature = "redis")]
pub(crate) const EMPTY: [u8; 3] = [MAGIC[0], MAGIC[1], 0];

/// Maximum ids of an entry; far beyond what a list keeps, low enough to reject garbage.
const MAX_OFFERS: u64 = 1 << 20;

/// Why these bytes are not a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// Another program's value.
    NotOurs {
        /// Its first bytes.
        start: Vec<u8>,
    },
    /// Written by a newer release; upgrading is the only remedy.
    TooNew {
        /// The version found.
        version: u8,
    },
    /// Truncated, corrupted or never written by Mayhap.
    Damaged {
        /// The part that is invalid.
        what: &'static str,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordError::NotOurs { start } => {
                let start = String::from_utf8_lossy(start);
                write!(
                    f,
                    "not a seen list: it begins with {start:?}; is the key or prefix another program's?"
                )
            }
            RecordError::TooNew { version } => write!(
                f,
                "a seen list of version {version}, and this release knows up to {VERSION}: written by a newer release"
            ),
            RecordError::Damaged { what } => write!(f, "a damaged seen list: bad {what}"),
        }
    }
}

impl std::error::Error for RecordError {}

const fn damaged(what: &'static str) -> RecordError {
    RecordError::Damaged { what }
}

/// Encode a list, without entries.
pub fn encode(list: &List) -> Vec<u8> {
    let mut body = vec![];
    varint(list.touched, &mut body);
    varint(list.touched.saturating_sub(list.last_new), &mut body);
    varint(list.slices.len() as u64, &mut body);
    let mut code = vec![];
    for slice in &list.slices {
        varint(zigzag(list.touched.wrapping_sub(slice.started) as i64), &mut body);
        varint(slice.shape.capacity, &mut body);
        varint(slice.shape.range, &mut body);
        varint(slice.ids() << 1 | u64::from(slice.whole), &mut body);
        code.clear();
        golomb::encode(&slice.sorted, slice.universe(), &mut code);
        varint(code.len() as u64, &mut body);
        body.extend_from_slice(&code);
    }
    varint(list.offers.len() as u64, &mut body);
    for offer in &list.offers {
        varint(offer.until, &mut body);
        varint(offer.hashes.len() as u64, &mut body);
        code.clear();
        golomb::encode(&offer.hashes, Range::Full, &mut code);
        varint(code.len() as u64, &mut body);
        body.extend_from_slice(&code);
    }
    let mut out = Vec::with_capacity(body.len() + 10);
    out.extend_from_slice(&MAGIC);
    varint(body.len() as u64, &mut out);
    out.extend_from_slice(&body);
    out.extend_from_slice(&crc32c::crc32c(&body).to_le_bytes());
    out
}

/// Encode one operation, to be appended to a record.
pub fn entry(operation: &Operation, hashes: &[Hash], now: Seconds) -> Vec<u8> {
    let mut rest = vec![];
    varint(now, &mut rest);
    let tag = match operation {
        Operation::Mark => 1,
        Operation::MarkUnseen => 2,
        Operation::Offer { ttl } => {
            varint(*ttl, &mut rest);
            3
        }
    };
    hashes.iter().for_each(|hash| rest.extend_from_slice(&hash.to_u64().to_le_bytes()));
    let mut out = vec![tag];
    varint(rest.len() as u64, &mut out);
    out.extend_from_slice(&rest);
    let crc = crc32c::crc32c(&out) as u16;
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

/// The list at this time, and how many of the bytes are entries.
pub fn decode(bytes: &[u8], policy: &Policy, now: Seconds) -> Result<(List, usize), RecordError> {
    let (body, entries) = split(bytes)?;
    let mut list = if body.is_empty() { List::default() } else { read_body(body)? };
    let mut rest = Reader(entries);
    while !rest.0.is_empty() {
        read_entry(&mut rest, &mut list, policy)?;
    }
    list.forget_old(policy, now);
    Ok((list, entries.len()))
}

/// The body, verified, and the entries after it.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), RecordError> {
    let mut r = Reader(bytes);
    match r.take(2, "magic") {
        Ok(&[magic, VERSION]) if magic == MAGIC[0] => {}
        Ok(&[magic, version]) if magic == MAGIC[0] && version > VERSION => {
            return Err(RecordError::TooNew { version });
        }
        _ => return Err(RecordError::NotOurs { start: bytes[..bytes.len().min(16)].to_vec() }),
    }
    let body_bytes = r.varint("length of the body")?;
    if body_bytes == 0 {
        return Ok((&[], r.0));
    }
    let body = r.take(body_bytes, "body")?;
    let crc = r.take(4, "checksum")?;
    if crc != crc32c::crc32c(body).to_le_bytes() {
        return Err(damaged("checksum of the body"));
    }
    Ok((body, r.0))
}

fn read_body(body: &[u8]) -> Result<List, RecordError> {
    let mut r = Reader(body);
    let touched = r.varint("time")?;
    let last_new = touched.checked_sub(r.varint("time")?).ok_or(damaged("time"))?;
    let mut list = List { touched, last_new, ..List::default() };
    let slices = r.varint("number of slices")?;
    if slices > MAX_SLICES as u64 {
        return Err(damaged("number of slices"));
    }
    for _ in 0..slices {
        list.slices.push(read_slice(&mut r, touched)?);
    }
    let offers = r.varint("number of offers")?;
    if offers > MAX_OFFERS {
        return Err(damaged("number of offers"));
    }
    for _ in 0..offers {
        let until = r.varint("offer")?;
        let hashes = r.numbers(Range::Full, None)?.0;
        if hashes.is_empty() || list.offers.last().is_some_and(|last| last.until >= until) {
            return Err(damaged("offer"));
        }
        list.offers.push(Offer { until, hashes });
    }
    if r.0.is_empty() { Ok(list) } else { Err(damaged("end of the body")) }
}

fn read_slice(r: &mut Reader<'_>, touched: Seconds) -> Result<Slice, RecordError> {
    let started = touched.wrapping_sub(unzigzag(r.varint("slice")?) as u64);
    let capacity = r.varint("slice")?;
    let range = r.varint("slice")?;
    if capacity == 0 || range == 0 || range > 1 << 62 {
        return Err(damaged("slice"));
    }
    let (sorted, whole) = r.numbers(Range::Below(range), Some(Range::Full))?;
    Ok(Slice { started, shape: Shape { capacity, range }, whole, sorted })
}

fn read_entry(r: &mut Reader<'_>, list: &mut List, policy: &Policy) -> Result<(), RecordError> {
    const BAD: RecordError = damaged("entry");
    let start = r.0;
    let tag = r.take(1, "entry")?[0];
    let rest_bytes = r.varint("entry")?;
    let mut rest = Reader(r.take(rest_bytes, "entry")?);
    let crc = crc32c::crc32c(&start[..start.len() - r.0.len()]) as u16;
    if r.take(2, "entry")? != crc.to_le_bytes() {
        return Err(damaged("checksum of an entry"));
    }
    let now = rest.varint("entry")?;
    let operation = match tag {
        1 => Operation::Mark,
        2 => Operation::MarkUnseen,
        3 => Operation::Offer { ttl: rest.varint("entry")? },
        _ => return Err(BAD),
    };
    let (hashes, left) = rest.0.as_chunks::<8>();
    if !left.is_empty() {
        return Err(BAD);
    }
    let hashes: Vec<Hash> =
        hashes.iter().map(|hash| Hash::from_u64(u64::from_le_bytes(*hash))).collect();
    list.apply(&operation, &hashes, policy, now);
    Ok(())
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: u64, what: &'static str) -> Result<&'a [u8], RecordError> {
        let bytes = usize::try_from(bytes).map_err(|_| damaged(what))?;
        let (taken, rest) = self.0.split_at_checked(bytes).ok_or(damaged(what))?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self, what: &'static str) -> Result<u64, RecordError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1, what)?[0];
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(damaged(what))
    }

    /// Coded numbers; with `whole` the lowest bit of their count says which range they have.
    fn numbers(
        &mut self,
        range: Range,
        whole: Option<Range>,
    ) -> Result<(Vec<u64>, bool), RecordError> {
        let count = self.varint("number of ids")?;
        let (count, range, is_whole) = match whole {
            Some(whole) if count & 1 == 1 => (count >> 1, whole, true),
            Some(_) => (count >> 1, range, false),
            None => (count, range, false),
        };
        let count = usize::try_from(count).map_err(|_| damaged("number of ids"))?;
        let bytes = self.varint("length of the ids")?;
        let code = self.take(bytes, "ids")?;
        Ok((golomb::decode(code, count, range)?, is_whole))
    }
}

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
