//! ORC's `BloomFilter` message (protobuf): 1 `uint32` probes; then either 2 repeated `fixed64` words, as
//! the stream `BLOOM_FILTER` has them, or 3 `bytes` of little-endian words, as `BLOOM_FILTER_UTF8` does.
//! Sources: ORC `orc_proto.proto`, `BloomFilter.java`, `BloomFilterIO.java`.
//!
//! Not in the message: the type of the column. Strings and binary are hashed by one lane of MurmurHash3,
//! integers, dates and the bits of doubles by another function. An ORC file has one message for every
//! row-index stride (10,000 rows) of a column; this codec reads one message.
//! Golden files: `testdata/foreign/orc/`.

use crate::family::{Choices, Family, FormatRow, flat_from_parts, never, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{orc_bytes, orc_long};
use crate::int_double_hash::{MAX_INT_POSITION, int_double_hash};
use crate::{ForeignError, Format, KeyType, Modulus, Reader, ids, limits};
use mayhap::key::KeyEncoding;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Orc,
        name: "orc",
        programs: "Apache ORC",
        file: "one `BloomFilter` message of a column's index",
        detected: "yes",
        key_types: &[
            (KeyType::Bytes, KeyEncoding::Bytes),
            (KeyType::I64, KeyEncoding::I64),
            (KeyType::I32, KeyEncoding::I64),
        ],
        needs_probes: false,
        choices: Choices::NONE,
    }],
    is_certain: |_, bytes| read(bytes, Column::Bytes).is_ok(),
    is_possible: never,
    open: |_, file, options| open_flat(read(file.as_ref(), Column::of(options.key_type)), file),
    create: |_, new| owned(create(new.keys, new.fpr, Column::of(new.options.key_type))),
    from_parts: flat_from_parts::<Orc>,
};

/// What the column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Strings and binary.
    Bytes,
    /// Integers, dates and the bits of doubles: keys are 8 bytes little-endian.
    Long,
}

impl Column {
    /// The column whose keys are of this type.
    pub(crate) fn of(keys: KeyType) -> Column {
        match keys {
            KeyType::I64 | KeyType::I32 => Column::Long,
            KeyType::Bytes | KeyType::Utf16 => Column::Bytes,
        }
    }
}

/// Which field has the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Field 2, a tag before every word.
    Original,
    /// Field 3.
    Utf8,
}

/// What a message has beside its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orc {
    /// What the column's values are; the message does not say.
    pub column: Column,
    /// Which field has the words.
    pub stream: Stream,
}

/// ORC's scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrcScheme {
    column: Column,
    modulus: Modulus,
}

impl Scheme for OrcScheme {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        match self.column {
            Column::Bytes => ids::ORC_BYTES,
            Column::Long => ids::ORC_LONG,
        }
    }

    /// A key of a column of integers that is not 8 bytes long is none, and hashed as bytes.
    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        match (self.column, bytes.try_into()) {
            (Column::Long, Ok(long)) => orc_long(i64::from_le_bytes(long)),
            _ => orc_bytes(bytes),
        }
    }

    #[inline]
    fn positions(&self, hash: u64, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let (modulus, low, high) = (self.modulus, hash as i32, (hash >> 32) as i32);
        (1..=u64::from(probes)).map(move |i| modulus.rem(int_double_hash(low, high, i)))
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        bits.min(MAX_INT_POSITION)
    }
}

const PROBES: u8 = 0x08;
const WORD: u8 = 0x11;
const BYTES: u8 = 0x1a;

impl FlatFormat for Orc {
    type Scheme = OrcScheme;

    fn format(&self) -> Format {
        Format::Orc
    }

    fn scheme(&self, bits: u64) -> Option<OrcScheme> {
        let modulus = Modulus::new(bits).filter(|_| bits.is_multiple_of(64))?;
        Some(OrcScheme { column: self.column, modulus })
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        to.write_all(&[PROBES])?;
        write_varint(to, content.probes.into())?;
        match self.stream {
            Stream::Original => {
                let mut to = std::io::BufWriter::new(to);
                for word in content.bits.chunks(8) {
                    to.write_all(&[WORD])?;
                    to.write_all(word)?;
                }
                to.flush()?;
            }
            Stream::Utf8 => {
                to.write_all(&[BYTES])?;
                write_varint(to, content.bits.len() as u64)?;
                to.write_all(content.bits)?;
            }
        }
        Ok(())
    }

    fn in_format(&self, format: Format) -> Option<Orc> {
        (format == Format::Orc).then_some(*self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let stream = match self.stream {
            Stream::Original => "BLOOM_FILTER",
            Stream::Utf8 => "BLOOM_FILTER_UTF8",
        };
        vec![("stream", stream.to_owned())]
    }

    fn data(&self) -> Vec<u8> {
        vec![self.column as u8, self.stream as u8]
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<Orc, ForeignError> {
        let column = match data.u8("column")? {
            0 => Column::Bytes,
            1 => Column::Long,
            other => return Err(ForeignError::field("column", other, "0 or 1")),
        };
        match data.u8("stream")? {
            0 => Ok(Orc { column, stream: Stream::Original }),
            1 => Ok(Orc { column, stream: Stream::Utf8 }),
            other => Err(ForeignError::field("stream", other, "0 or 1")),
        }
    }
}

fn write_varint(to: &mut dyn Write, mut value: u64) -> Result<(), ForeignError> {
    while value >= 0x80 {
        to.write_all(&[value as u8 | 0x80])?;
        value >>= 7;
    }
    Ok(to.write_all(&[value as u8])?)
}

/// Only the shortest spelling, so that a message has but one.
fn varint(r: &mut Reader<'_>, field: &'static str) -> Result<u64, ForeignError> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = r.u8(field)?;
        let part = u64::from(byte & 0x7f);
        if part << shift >> shift != part || (byte == 0 && shift > 0) {
            break;
        }
        value |= part << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ForeignError::field(field, "longer than needed", "a varint of at most 64 bits"))
}

/// Find one's way in a message.
pub(crate) fn read(bytes: &[u8], column: Column) -> Result<ParsedLayout<Orc>, ForeignError> {
    let mut r = Reader::new(bytes);
    expect_tag(r.u8("tag of probes")?, &[PROBES], "field 1, a varint (08)")?;
    let probes = limits::probes(varint(&mut r, "probes")?)?;
    let words = "field 2, fixed64 (11), or field 3, bytes (1a)";
    let tag = r.u8("tag of words")?;
    expect_tag(tag, &[WORD, BYTES], words)?;
    let (stream, bits) = if tag == BYTES {
        let length = varint(&mut r, "length of words")?;
        if !length.is_multiple_of(8) {
            return Err(ForeignError::field("length of words", length, "a multiple of 8"));
        }
        let bits = BitSource::InFile(r.skip("words", length)?);
        r.end()?;
        (Stream::Utf8, bits)
    } else {
        (Stream::Original, BitSource::Owned(words_of(bytes, r.at() - 1, words)?))
    };
    Ok(ParsedLayout { frame: Orc { column, stream }, bits, probes, target: (0, 0.0, 0) })
}

/// The words from `at` on, each behind a tag.
fn words_of(bytes: &[u8], at: usize, need: &'static str) -> Result<AlignedBuf, ForeignError> {
    let fields = bytes.get(at..).unwrap_or_default();
    let (fields, cut) = fields.as_chunks::<9>();
    if !cut.is_empty() {
        return Err(ForeignError::Truncated { field: "words", need: 9, have: cut.len() as u64 });
    }
    let mut words = AlignedBuf::zeroed(fields.len() as u64 * 8)?;
    for (word, [tag, field @ ..]) in words.as_mut().as_chunks_mut().0.iter_mut().zip(fields) {
        expect_tag(*tag, &[WORD], need)?;
        *word = *field;
    }
    Ok(words)
}

fn expect_tag(got: u8, tags: &[u8], need: &'static str) -> Result<(), ForeignError> {
    if tags.contains(&got) {
        return Ok(());
    }
    Err(ForeignError::field("tag", format!("{got:02x}"), need))
}

/// Read a message, knowing what its column holds.
///
/// ```
/// use mayhap::key::KeyEncoding;
/// use mayhap_foreign::orc::{self, Column};
/// let mut filter = orc::create(100, 0.05, Column::Long)?;
/// let key = KeyEncoding::I64.encode(42)?;
/// filter.insert(&key);
/// assert!(orc::decode(&filter.encode()?, Column::Long)?.contains(&key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode(bytes: &[u8], column: Column) -> Result<FlatFilter<Orc>, ForeignError> {
    FlatFilter::decode(read(bytes, column)?, bytes)
}

/// What `new BloomFilterUtf8(n, p)` makes.
pub fn create(keys: u64, fpr: f64, column: Column) -> Result<FlatFilter<Orc>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
    let n = keys as f64;
    let bits = (-n * fpr.ln() / (LN_2 * LN_2)) as u64;
    // A whole word more where the last is full.
    let bits = bits + (64 - bits % 64);
    let probes = limits::probes(limits::round(bits as f64 / n * LN_2).max(1))?;
    FlatFilter::empty(Orc { column, stream: Stream::Utf8 }, bits / 8, probes, (keys, fpr))
}
