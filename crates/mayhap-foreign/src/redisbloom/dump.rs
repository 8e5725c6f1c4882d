//! The payload of Redis' `DUMP`, which `RESTORE` takes.
//!
//! `07` (a module's value), the module's id as an RDB length (nine characters of six bits, here
//! `MBbloom--`, and ten bits of encoding version), then tagged values (2: number, 4: double,
//! 5: string) and 0: items, links, options, growth, and for each link entries, error, hashes, bits
//! an entry, bits, n2, the bits themselves and items. Then `u16` LE RDB version and `u64` LE CRC-64
//! of all before it. Strings may be compressed. Source: Redis `src/rdb.c`, RedisBloom
//! `src/rebloom.c`.
//!
//! Redis takes strings up to 512 MB (`proto-max-bulk-len`): larger chains go by
//! [`chunks`](super::Chain::chunks).
//!
//! ```
//! use mayhap_foreign::redisbloom::{Chain, Scaling, dump};
//! let mut chain = Chain::reserve(1_000, 0.01, Scaling::By(2))?;
//! chain.insert("ada")?;
//! let payload = dump::encode(&chain, dump::Options::default()); // RESTORE key 0 <payload>
//! assert!(dump::decode(&payload)?.contains("ada"));
//! # Ok::<(), mayhap_foreign::ForeignError>(())
//! ```

use super::{Chain, Header, Layout, LinkInfo, lzf};
use crate::{ForeignError, Reader};
use crc::{CRC_64_REDIS, Crc, Digest, Table};
use mayhap::mem::AlignedBuf;
use std::borrow::Cow;
use std::io::{self, Write};

/// A module's value, its parts tagged.
const MODULE_2: u8 = 7;
/// `MBbloom--`, six bits a character.
const MODULE_ID: u64 = 0x3016_e5a2_89be_f804 >> 10;
/// The newest encoding version of RedisBloom.
const ENCODING: u64 = 4;
/// RDB version and checksum.
const FOOTER_BYTES: usize = 10;
/// What Redis ends its dumps with. Sixteen tables: payloads are large.
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);
/// Strings up to this long are never compressed.
const SHORT: usize = 20;

mod tag {
    pub const END: u64 = 0;
    pub const NUMBER: u64 = 2;
    pub const DOUBLE: u64 = 4;
    pub const STRING: u64 = 5;
}

/// How to write a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// A server refuses a version newer than its own. 8 is that of Redis 4.0, the first with
    /// modules, and every server since takes it; Redis 7.0 itself writes 10.
    pub rdb_version: u16,
    /// Make long strings shorter where that is possible, as servers do unless told not to.
    pub compress: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { rdb_version: 8, compress: true }
    }
}

/// Whether these bytes begin as the payload of a RedisBloom filter does.
pub fn is_dump(bytes: &[u8]) -> bool {
    let mut fields = Reader::new(bytes);
    let id = fields.u8("type").and_then(|kind| Ok((kind, length(&mut fields)?)));
    id.is_ok_and(|(kind, id)| kind == MODULE_2 && id >> 10 == MODULE_ID)
}

/// Read a payload into memory of its own.
pub fn decode(payload: &[u8]) -> Result<Chain, ForeignError> {
    read(payload, |bits| Ok(AlignedBuf::copy_of(&bits)?))
}

/// Likewise, and the options by which the chain, unchanged, gives the same payload again.
pub fn decode_with_options(payload: &[u8]) -> Result<(Chain, Options), ForeignError> {
    let (mut is_long, mut was_compressed) = (false, false);
    let chain = read(payload, |bits| {
        is_long |= bits.len() > SHORT;
        was_compressed |= bits.len() > SHORT && matches!(bits, Cow::Owned(_));
        Ok(AlignedBuf::copy_of(&bits)?)
    })?;
    let compress = was_compressed || !is_long;
    Ok((chain, Options { rdb_version: rdb_version_of(payload), compress }))
}

/// Query a payload where it lies; what is compressed in it is copied.
pub fn open(payload: &[u8]) -> Result<Chain<Cow<'_, [u8]>>, ForeignError> {
    read(payload, Ok)
}

/// Take a payload apart; `part` makes what holds the bits of a link.
pub fn read<'a, B: AsRef<[u8]>>(
    payload: &'a [u8],
    mut part: impl FnMut(Cow<'a, [u8]>) -> Result<B, ForeignError>,
) -> Result<Chain<B>, ForeignError> {
    let value = unsealed(payload)?;
    let mut fields = Reader::new(value);
    let kind = fields.u8("type")?;
    if kind != MODULE_2 {
        return Err(ForeignError::field("type of the value", kind, "7, a module's"));
    }
    let id = length(&mut fields)?;
    if id >> 10 != MODULE_ID {
        let got = format!("{:#x}", id >> 10);
        return Err(ForeignError::field("module", got, "RedisBloom's `MBbloom--`"));
    }
    let encoding = id & 0x3ff;
    if !(1..=ENCODING).contains(&encoding) {
        return Err(ForeignError::field("encoding version", encoding, "1 to 4"));
    }
    let items = number(&mut fields, "items")?;
    let count = number(&mut fields, "number of links")?;
    let options = if encoding >= 2 { small(number(&mut fields, "options")?)? } else { 0 };
    let growth =
        if encoding >= 4 { small(number(&mut fields, "growth")?)? } else { super::DEFAULT_GROWTH };
    let (mut infos, mut bits) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let entries = number(&mut fields, "entries")?;
        let error = double(&mut fields, "error rate")?;
        let hashes = small(number(&mut fields, "hashes")?)?;
        let bits_per_entry = double(&mut fields, "bits an entry")?;
        let bit_count = number(&mut fields, "bits of a link")?;
        let n2 = number(&mut fields, "n2")?;
        let n2 = u8::try_from(n2).map_err(|_| ForeignError::field("n2", n2, "0 to 63"))?;
        let array = string(&mut fields, "bits")?;
        let items = number(&mut fields, "items of a link")?;
        let bytes = array.len() as u64;
        infos.push(LinkInfo {
            bytes,
            bits: bit_count,
            items,
            error,
            bits_per_entry,
            hashes,
            entries,
            n2,
        });
        bits.push(array);
    }
    let end = length(&mut fields)?;
    if end != tag::END {
        return Err(ForeignError::field("tag", end, "0, the end"));
    }
    fields.end()?;
    let mut header = Header { options, growth, layout: Layout::default(), links: infos };
    header.check(items, true)?; // payloads of any age come in one layout
    header.links.iter_mut().for_each(|link| *link = link.renewed());
    let mut bits = bits.into_iter();
    Chain::of_header(&header, |_| part(bits.next().unwrap_or_default()))
}

/// The value, once the checksum is found right.
fn unsealed(payload: &[u8]) -> Result<&[u8], ForeignError> {
    let Some((value, _)) = payload.split_last_chunk::<FOOTER_BYTES>() else {
        let (need, have) = (FOOTER_BYTES as u64, payload.len() as u64);
        return Err(ForeignError::Truncated { field: "checksum", need, have });
    };
    let (sealed, crc) = payload.split_at(payload.len() - 8);
    if CRC64.checksum(sealed).to_le_bytes() != *crc {
        let need = "that of the bytes before it; copy the payload again, as bytes";
        return Err(ForeignError::field("checksum", "another", need));
    }
    Ok(value)
}

/// What Redis wants behind a value: RDB version and checksum.
pub fn footer(value: &[u8], rdb_version: u16) -> [u8; FOOTER_BYTES] {
    let mut footer = [0; FOOTER_BYTES];
    let (version, crc) = footer.split_at_mut(2);
    version.copy_from_slice(&rdb_version.to_le_bytes());
    let mut digest = CRC64.digest();
    digest.update(value);
    digest.update(version);
    crc.copy_from_slice(&digest.finalize().to_le_bytes());
    footer
}

/// The version in the footer of a payload that was found whole.
fn rdb_version_of(payload: &[u8]) -> u16 {
    let footer = payload.last_chunk::<FOOTER_BYTES>();
    footer.map_or(0, |footer| u16::from_le_bytes([footer[0], footer[1]]))
}

/// An RDB length: two bits say how many more bytes it has.
fn length(fields: &mut Reader<'_>) -> Result<u64, ForeignError> {
    let first = fields.u8("length")?;
    match (first >> 6, first) {
        (0, _) => Ok(first.into()),
        (1, _) => Ok(u64::from(first & 0x3f) << 8 | u64::from(fields.u8("length")?)),
        (_, 0x80) => Ok(fields.u32_be("length")?.into()),
        (_, 0x81) => fields.u64_be("length"),
        _ => Err(ForeignError::field("length", format!("{first:#x}"), "an RDB length")),
    }
}

fn tagged(fields: &mut Reader<'_>, what: &'static str, want: u64) -> Result<(), ForeignError> {
    let got = length(fields)?;
    if got == want {
        return Ok(());
    }
    let need = "2 before a number, 4 before a double, 5 before a string";
    Err(ForeignError::field(what, format!("behind tag {got}"), need))
}

fn number(fields: &mut Reader<'_>, what: &'static str) -> Result<u64, ForeignError> {
    tagged(fields, what, tag::NUMBER)?;
    length(fields)
}

fn small(number: u64) -> Result<u32, ForeignError> {
    u32::try_from(number).map_err(|_| ForeignError::field("number", number, "below 2^32"))
}

fn double(fields: &mut Reader<'_>, what: &'static str) -> Result<f64, ForeignError> {
    tagged(fields, what, tag::DOUBLE)?;
    fields.f64_le(what)
}

/// A string as it is, as a number, or compressed.
fn string<'a>(fields: &mut Reader<'a>, what: &'static str) -> Result<Cow<'a, [u8]>, ForeignError> {
    tagged(fields, what, tag::STRING)?;
    let mut ahead = fields.clone();
    let encoding = ahead.u8(what)?;
    if encoding >> 6 != 3 {
        let bytes = length(fields)?;
        return fields.take(what, bytes).map(Cow::Borrowed);
    }
    *fields = ahead;
    // Redis spells a few bytes that happen to be a decimal number as that number.
    let decimal = |number: i32| Ok(Cow::Owned(number.to_string().into_bytes()));
    match encoding & 0x3f {
        0 => decimal(i8::from_le_bytes(fields.array(what)?).into()),
        1 => decimal(i16::from_le_bytes(fields.array(what)?).into()),
        2 => decimal(i32::from_le_bytes(fields.array(what)?)),
        3 => {
            let (short, long) = (length(fields)?, length(fields)?);
            let compressed = fields.take(what, short)?;
            if long > short.saturating_mul(lzf::MAX_EXPANSION) {
                let got = format!("{long} bytes out of {short}");
                return Err(ForeignError::field(what, got, "88 bytes out of one at most"));
            }
            let bytes = lzf::decompress(compressed, long as usize);
            let bad = || ForeignError::field(what, "no LZF", "bytes that LZF made");
            bytes.map(Cow::Owned).ok_or_else(bad)
        }
        other => Err(ForeignError::field("encoding of a string", other, "0 to 3")),
    }
}

/// The payload.
pub fn encode<B: AsRef<[u8]>>(chain: &Chain<B>, options: Options) -> Vec<u8> {
    let mut payload = Vec::new();
    match write(chain, options, &mut payload) {
        Ok(()) => payload,
        Err(_) => unreachable!("a vector takes all bytes"),
    }
}

/// Write the payload, without a copy of the bits.
pub fn write<B: AsRef<[u8]>>(
    chain: &Chain<B>,
    options: Options,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut out = ChecksumWriter { out, crc: CRC64.digest() };
    out.write_all(&[MODULE_2])?;
    // Redis spells ids at full length, and so do these first bytes.
    out.write_all(&[0x81])?;
    out.write_all(&(MODULE_ID << 10 | ENCODING).to_be_bytes())?;
    let header = chain.header();
    out.number(chain.items())?;
    out.number(header.links.len() as u64)?;
    out.number(header.options.into())?;
    out.number(header.growth.into())?;
    for (info, link) in header.links.iter().zip(chain.links()) {
        out.number(info.entries)?;
        out.double(info.error)?;
        out.number(info.hashes.into())?;
        out.double(info.bits_per_entry)?;
        out.number(info.renewed().bits)?;
        out.number(info.n2.into())?;
        out.string(link.filter().as_bytes(), options.compress)?;
        out.number(info.items)?;
    }
    out.length(tag::END)?;
    out.write_all(&options.rdb_version.to_le_bytes())?;
    let crc = out.crc.finalize();
    out.out.write_all(&crc.to_le_bytes())
}

/// Bytes on their way out, summed up.
struct ChecksumWriter<W> {
    out: W,
    crc: Digest<'static, u64, Table<16>>,
}

impl<W: Write> ChecksumWriter<W> {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.crc.update(bytes);
        self.out.write_all(bytes)
    }

    fn length(&mut self, length: u64) -> io::Result<()> {
        match length {
            0..0x40 => self.write_all(&[length as u8]),
            0x40..0x4000 => self.write_all(&(length as u16 | 0x4000).to_be_bytes()),
            0x4000..=0xffff_ffff => {
                self.write_all(&[0x80])?;
                self.write_all(&(length as u32).to_be_bytes())
            }
            _ => {
                self.write_all(&[0x81])?;
                self.write_all(&length.to_be_bytes())
            }
        }
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        self.length(tag::NUMBER)?;
        self.length(number)
    }

    fn double(&mut self, double: f64) -> io::Result<()> {
        self.length(tag::DOUBLE)?;
        self.write_all(&double.to_le_bytes())
    }

    fn string(&mut self, bytes: &[u8], compress: bool) -> io::Result<()> {
        self.length(tag::STRING)?;
        let short = (compress && bytes.len() > SHORT).then(|| lzf::compress(bytes)).flatten();
        if let Some(short) = short {
            self.write_all(&[0xc3])?;
            self.length(short.len() as u64)?;
            self.length(bytes.len() as u64)?;
            return self.write_all(&short);
        }
        self.length(bytes.len() as u64)?;
        self.write_all(bytes)
    }
}
