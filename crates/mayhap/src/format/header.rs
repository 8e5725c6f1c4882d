//! The header of a file.

use super::error::FormatError;
use super::metadata::{MAX_NAME, MAX_PAIR_BYTES, MAX_PAIRS, MAX_VALUE, Metadata};
use super::{ALIGN, BLOCK, FOOTER, GROWN_WINDOWS, MAGIC, NEWEST};
use crate::filter::Kind;
use crate::scheme::SchemeId;
use std::collections::BTreeMap;

/// Up to the first field of variable length.
const FIXED: usize = 80;
/// The start of every version: magic, version, kind, and the header's own length.
const PROLOGUE: usize = 16;
const CRC: usize = 4;
/// Maximum bytes of a foreign scheme's description.
pub(super) const MAX_SCHEME_DATA: usize = 4096;
/// Maximum parameters of a filter.
pub(super) const MAX_PARAMS: usize = 64;
/// Maximum arrays of a filter.
pub(super) const MAX_ARRAYS: usize = 4096;
/// Maximum parameters of an array.
pub(super) const MAX_ARRAY_PARAMS: usize = 16;
/// The most keys that can have been counted: far more than there can be, and so few that no sum
/// overflows.
pub(crate) const MAX_KEYS: u64 = 1 << 56;

/// Maximum header length: a reader never buffers more than this before it has verified it.
pub const MAX_HEADER_BYTES: usize = 1 << 20;

// Whoever keeps the single limits keeps the whole one.
const _: () = {
    let pairs = MAX_PAIRS * 6 + MAX_PAIR_BYTES;
    let arrays = MAX_ARRAYS * (18 + 8 * MAX_ARRAY_PARAMS);
    let small = FIXED + MAX_NAME + MAX_SCHEME_DATA + 8 * MAX_PARAMS + CRC;
    assert!(small + pairs + arrays <= MAX_HEADER_BYTES);
};

/// The header of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Header {
    /// The version of the layout.
    pub version: u16,
    /// The kind of filter.
    pub kind: Kind,
    /// How keys are hashed.
    pub scheme: SchemeId,
    /// The seed, or the check value of the secret.
    pub seed_or_key_check: u64,
    /// Data of a foreign scheme; empty in Mayhap's own.
    pub scheme_data: Vec<u8>,
    /// The capacity; 0 if unknown.
    pub capacity: u64,
    /// The target false-positive rate; 0 if unknown, or if the kind is exact.
    pub fpr: f64,
    /// The keys counted in.
    pub keys: u64,
    /// The caller's metadata.
    pub metadata: Metadata,
    /// The kind's parameters, see `docs/FORMAT.md`.
    pub params: Vec<u64>,
    /// Its arrays, and the parameters of each.
    pub arrays: Vec<ArrayHeader>,
    /// Bytes of the header.
    pub header_bytes: u64,
    /// Bytes of the whole file.
    pub file_bytes: u64,
}

/// One array of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayHeader {
    /// Its parameters, see `docs/FORMAT.md`.
    pub params: Vec<u64>,
    /// Its offset in the file.
    pub at: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl Header {
    /// Whether a secret is needed for lookups.
    pub fn is_keyed(&self) -> bool {
        self.scheme.is_keyed()
    }

    /// Bytes of all arrays together.
    pub fn body_bytes(&self) -> u64 {
        self.arrays.iter().map(|entry| entry.bytes).sum()
    }

    /// Where the last array ends and the checksums begin.
    pub(super) fn table_at(&self) -> u64 {
        self.arrays.last().map_or(self.header_bytes, |entry| entry.at + entry.bytes)
    }
}

/// Where arrays of these lengths lie behind a header of this length, and how long that makes the
/// file. `None` past 2⁶⁴ bytes.
pub(super) fn array_offsets(header_bytes: u64, lengths: &[u64]) -> Option<(Vec<u64>, u64)> {
    let mut end = header_bytes;
    let mut array_offsets = Vec::with_capacity(lengths.len());
    for length in lengths {
        let at = end.checked_next_multiple_of(ALIGN)?;
        end = at.checked_add(*length)?;
        array_offsets.push(at);
    }
    let table = end.div_ceil(BLOCK).checked_mul(4)?;
    Some((array_offsets, end.checked_add(table)?.checked_add(FOOTER as u64)?))
}

/// The length of the header of this file, given at least its first 16 bytes.
pub(super) fn stated_header_bytes(bytes: &[u8]) -> Result<usize, FormatError> {
    let have = bytes.len() as u64;
    let start = &bytes[..bytes.len().min(MAGIC.len())];
    if !MAGIC.starts_with(start) {
        let mut magic = [0; 8];
        magic[..start.len()].copy_from_slice(start);
        return Err(FormatError::NotOurs { magic });
    }
    let Some(prologue) = bytes.first_chunk::<PROLOGUE>() else {
        return Err(FormatError::Truncated { need: PROLOGUE as u64, have });
    };
    let stated = u32::from_le_bytes([prologue[12], prologue[13], prologue[14], prologue[15]]);
    let header = stated as usize;
    if !(PROLOGUE + CRC..=MAX_HEADER_BYTES).contains(&header) {
        return Err(FormatError::field("header length", stated, "20 bytes to 1 MiB"));
    }
    if bytes.len() < header {
        return Err(FormatError::Truncated { need: header as u64, have });
    }
    Ok(header)
}

/// Parse the header at the start of a file.
///
/// The rest of the file is not needed: usually 4 KiB are enough. If not, [`FormatError::Truncated`]
/// says how many bytes are needed, never more than [`MAX_HEADER_BYTES`].
///
/// ```
/// use mayhap::format::{self, Metadata};
/// use mayhap::{Blocked, Kind, Spec};
/// let file = Blocked::new(Spec::new(1_000, 0.01)?)?.encode(&Metadata::new());
/// let header = format::read_header(&file[..200]).unwrap();
/// assert_eq!((header.kind, header.capacity), (Kind::Blocked, 1_000));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub fn read_header(bytes: &[u8]) -> Result<Header, FormatError> {
    let length = stated_header_bytes(bytes)?;
    let (checked, crc) = bytes[..length].split_at(length - CRC);
    if crc32c::crc32c(checked).to_le_bytes() != crc {
        return Err(FormatError::HeaderChecksum);
    }
    let mut reader = Reader { rest: &checked[MAGIC.len()..] };
    // Only after the checksum: a corrupted version must not send anybody looking for a newer
    // release.
    let version = reader.u16()?;
    if version > NEWEST {
        return Err(FormatError::TooNew { version, newest: NEWEST });
    }
    if version == 0 {
        return Err(FormatError::field("version", version, "1 or 2"));
    }
    let kind = reader.u16()?;
    let _length = reader.u32()?;
    let flags = reader.u32()?;
    if flags != 0 {
        return Err(FormatError::UnknownFlags { got: flags });
    }
    let kind = Kind::from_id(kind).ok_or(FormatError::UnknownKind { id: kind })?;
    if version >= GROWN_WINDOWS && kind != Kind::Windowed {
        return Err(FormatError::field("version", version, "1 for this kind"));
    }
    let scheme = SchemeId(reader.u16()?);
    let scheme_data = reader.count("scheme data", MAX_SCHEME_DATA)?;
    let seed_or_key_check = reader.u64()?;
    let capacity = reader.u64()?;
    let fpr = f64::from_bits(reader.u64()?);
    if !(0.0..1.0).contains(&fpr) {
        return Err(FormatError::field("rate", fpr, "from 0 to below 1"));
    }
    let keys = reader.u64()?;
    if keys > MAX_KEYS {
        return Err(FormatError::field("keys", keys, "at most 2^56"));
    }
    let created = reader.u64()?;
    let file_bytes = reader.u64()?;
    let pairs = reader.count("pairs", MAX_PAIRS)?;
    let params = reader.count("parameters", MAX_PARAMS)?;
    let arrays = reader.count("leaves", MAX_ARRAYS)?;
    let normalizer = reader.count("normaliser", MAX_NAME)?;
    let scheme_data = reader.take(scheme_data)?.to_vec();
    let normalizer = reader.text("normaliser", normalizer)?;
    let metadata = Metadata::from_header(created, normalizer, reader.pairs(pairs)?);
    let params = reader.u64s(params)?;
    let arrays = (0..arrays).map(|_| reader.array_header()).collect::<Result<Vec<_>, _>>()?;
    if !reader.rest.is_empty() {
        return Err(FormatError::field("header length", length, "the length of its fields"));
    }

    // Both could be computed: they are stored for readers in other languages, and checked here.
    let lengths: Vec<u64> = arrays.iter().map(|entry| entry.bytes).collect();
    let Some((array_offsets, derived)) = array_offsets(length as u64, &lengths) else {
        return Err(FormatError::field("leaves", "past 2^64", "inside the file"));
    };
    if let Some((entry, _)) =
        arrays.iter().zip(&array_offsets).find(|(entry, place)| entry.at != **place)
    {
        return Err(FormatError::field("leaf's place", entry.at, "the next multiple of 4096"));
    }
    if file_bytes != derived {
        return Err(FormatError::field("file length", file_bytes, "that of its parts"));
    }
    Ok(Header {
        version,
        kind,
        scheme,
        seed_or_key_check,
        scheme_data,
        capacity,
        fpr,
        keys,
        metadata,
        params,
        arrays,
        header_bytes: length as u64,
        file_bytes,
    })
}

/// Encode a header whose fields are within all limits. Lengths and offsets are computed here:
/// `header_bytes`, `file_bytes` and each array's `at` are ignored. `None` past 2⁶⁴ bytes.
pub(super) fn header_bytes(header: &Header) -> Option<(Vec<u8>, Vec<u64>)> {
    let pairs = header.metadata.pairs();
    let pair_bytes: usize = pairs.map(|(name, value)| 6 + name.len() + value.len()).sum();
    let leaf_bytes: usize = header.arrays.iter().map(|entry| 18 + 8 * entry.params.len()).sum();
    let normalizer = header.metadata.normalizer();
    let length = FIXED
        + header.scheme_data.len()
        + normalizer.len()
        + pair_bytes
        + 8 * header.params.len()
        + leaf_bytes
        + CRC;
    let lengths: Vec<u64> = header.arrays.iter().map(|entry| entry.bytes).collect();
    let (array_offsets, file_bytes) = array_offsets(length as u64, &lengths)?;

    let mut out = Vec::with_capacity(length);
    out.extend(MAGIC);
    out.extend(header.version.to_le_bytes());
    out.extend(header.kind.id().to_le_bytes());
    out.extend((length as u32).to_le_bytes());
    out.extend(0u32.to_le_bytes()); // flags
    out.extend(header.scheme.0.to_le_bytes());
    out.extend((header.scheme_data.len() as u16).to_le_bytes());
    out.extend(header.seed_or_key_check.to_le_bytes());
    out.extend(header.capacity.to_le_bytes());
    out.extend(header.fpr.to_bits().to_le_bytes());
    out.extend(header.keys.to_le_bytes());
    out.extend(header.metadata.created().to_le_bytes());
    out.extend(file_bytes.to_le_bytes());
    out.extend((header.metadata.pairs().len() as u16).to_le_bytes());
    out.extend((header.params.len() as u16).to_le_bytes());
    out.extend((header.arrays.len() as u16).to_le_bytes());
    out.extend((normalizer.len() as u16).to_le_bytes());
    out.extend(&header.scheme_data);
    out.extend(normalizer.as_bytes());
    for (name, value) in header.metadata.pairs() {
        out.extend((name.len() as u16).to_le_bytes());
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(value.as_bytes());
    }
    for param in &header.params {
        out.extend(param.to_le_bytes());
    }
    for (entry, at) in header.arrays.iter().zip(&array_offsets) {
        out.extend(at.to_le_bytes());
        out.extend(entry.bytes.to_le_bytes());
        out.extend((entry.params.len() as u16).to_le_bytes());
        for param in &entry.params {
            out.extend(param.to_le_bytes());
        }
    }
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    Some((out, array_offsets))
}

/// Reads fields from the front of a header. No count is trusted before the bytes behind it have
/// been seen.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], FormatError> {
        let Some((taken, rest)) = self.rest.split_at_checked(bytes) else {
            return Err(FormatError::field("header length", "too short", "that of its fields"));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_le_bytes)
    }

    fn count(&mut self, name: &'static str, most: usize) -> Result<usize, FormatError> {
        let count = usize::from(self.u16()?);
        if count > most {
            return Err(FormatError::field(name, count, "within its limit, see FORMAT.md"));
        }
        Ok(count)
    }

    fn u64s(&mut self, count: usize) -> Result<Vec<u64>, FormatError> {
        let (words, _) = self.take(8 * count)?.as_chunks();
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    fn text(&mut self, name: &'static str, bytes: usize) -> Result<String, FormatError> {
        let text = str::from_utf8(self.take(bytes)?);
        text.map(str::to_owned).map_err(|error| FormatError::field(name, error, "UTF-8"))
    }

    /// Names are increasing, so that the same metadata has one encoding.
    fn pairs(&mut self, count: usize) -> Result<BTreeMap<String, String>, FormatError> {
        let mut pairs = BTreeMap::new();
        let mut bytes = 0;
        for _ in 0..count {
            let (name, value) = (usize::from(self.u16()?), self.u32()? as usize);
            if !(1..=MAX_NAME).contains(&name) || value > MAX_VALUE {
                let got = format!("{name} and {value} bytes");
                return Err(FormatError::field("pair", got, "within its limit, see FORMAT.md"));
            }
            bytes += name + value;
            let (name, value) = (self.text("pair's name", name)?, self.text("value", value)?);
            if pairs.last_key_value().is_some_and(|(last, _)| *last >= name) {
                return Err(FormatError::field(
                    "pair's name",
                    format!("{name:?}"),
                    "after the one before",
                ));
            }
            pairs.insert(name, value);
        }
        if bytes > MAX_PAIR_BYTES {
            return Err(FormatError::field("pairs' bytes", bytes, "at most 256 KiB"));
        }
        Ok(pairs)
    }

    fn array_header(&mut self) -> Result<ArrayHeader, FormatError> {
        let (at, bytes) = (self.u64()?, self.u64()?);
        let params = self.count("leaf's parameters", MAX_ARRAY_PARAMS)?;
        Ok(ArrayHeader { at, bytes, params: self.u64s(params)? })
    }
}
