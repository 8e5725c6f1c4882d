//! bits-and-blooms/bloom (Go), once willf/bloom: `WriteTo`, `MarshalBinary` and the body of its gob are
//! `u64` m, `u64` probes, then the bitset: `u64` length in bits and ⌈length/64⌉ words, all big-endian.
//! `MarshalJSON` is `{"m":…,"k":…,"b":"…"}`, the bitset in URL-safe base64. Sources:
//! bits-and-blooms/bloom `bloom.go`, bits-and-blooms/bitset `bitset.go`.
//!
//! The bitset package can be switched, for a whole process, to the standard alphabet (which is read
//! and kept here) and to little-endian (which nothing in the bytes tells, and is not).
//! Golden files: `testdata/foreign/bits-and-blooms/`.

use crate::family::{BYTES, Choices, Family, FormatRow, flat_from_parts, never, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::murmur3_128_and_with;
use crate::{ForeignError, Format, Modulus, Reader, Variant, base64_text, ids, limits};
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::f64::consts::LN_2;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::BitsAndBlooms,
        name: "bits-and-blooms",
        programs: "bits-and-blooms/bloom (Go), once willf/bloom",
        file: "`WriteTo` or `MarshalJSON`",
        detected: "yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices::variants(&[Variant::Binary, Variant::Json]),
    }],
    is_certain: |_, bytes| matches_magic(bytes),
    is_possible: never,
    open: |_, file, _| open_flat(read(file.as_ref()), file),
    create: |_, new| {
        let encoding = match new.variant() {
            Some(Variant::Json) => FileEncoding::Json,
            _ => FileEncoding::Binary,
        };
        owned(create(new.keys, new.fpr, encoding))
    },
    from_parts: flat_from_parts::<BitsAndBlooms>,
};

/// How the bytes are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEncoding {
    /// `WriteTo`.
    Binary,
    /// `MarshalJSON`.
    Json,
    /// `MarshalJSON` after `bitset.Base64StdEncoding()`.
    JsonStandard,
}

/// What a file has beside its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitsAndBlooms {
    encoding: FileEncoding,
    /// Positions are below it; not rounded to whole words.
    m: u64,
    /// The bitset's length, which is `m` or, rarely, more.
    length: u64,
}

impl BitsAndBlooms {
    /// As another text or as binary.
    pub fn with_encoding(self, encoding: FileEncoding) -> BitsAndBlooms {
        BitsAndBlooms { encoding, ..self }
    }

    /// How the bytes are spelled.
    pub fn encoding(&self) -> FileEncoding {
        self.encoding
    }

    /// From fields; fails where bits could lie behind the bitset, or there are none.
    fn new(encoding: FileEncoding, m: u64, length: u64) -> Result<BitsAndBlooms, ForeignError> {
        if m == 0 {
            return Err(ForeignError::field("m", m, "at least 1"));
        }
        if length < m {
            return Err(ForeignError::field("length of the bitset", length, "m, or more"));
        }
        Ok(BitsAndBlooms { encoding, m, length })
    }

    fn bytes(&self) -> u64 {
        self.length.div_ceil(64) * 8
    }
}

/// The scheme: two hashes of the key, of two halves each, mixed anew for each probe. Words are
/// big-endian in the file and used as they lie: bit `i` is the bit `i ^ 56` of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FourHashes(Modulus);

impl Scheme for FourHashes {
    type Hash = [u64; 4];
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::BITS_AND_BLOOMS
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> [u64; 4] {
        // The second hash is of the key with a 1 behind it.
        let [(h0, h1), (h2, h3)] = murmur3_128_and_with(bytes, 1, 0);
        [h0, h1, h2, h3]
    }

    #[inline]
    fn positions(&self, h: [u64; 4], _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let modulus = self.0;
        // Chosen by bits, not by an index: the hash need not go through memory.
        let (starts, steps) = (h[0] ^ h[1], h[2] ^ h[3]);
        (0..u64::from(probes)).map(move |i| {
            // The second start for odd probes, the second step for two in four.
            let start = h[0] ^ (starts & (i & 1).wrapping_neg());
            let step = h[2] ^ (steps & ((i + 1) >> 1 & 1).wrapping_neg());
            modulus.rem(start.wrapping_add(i.wrapping_mul(step))) ^ 56
        })
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        self.0.get().min(bits)
    }
}

impl FlatFormat for BitsAndBlooms {
    type Scheme = FourHashes;

    fn format(&self) -> Format {
        Format::BitsAndBlooms
    }

    fn scheme(&self, bits: u64) -> Option<FourHashes> {
        // Words are whole, so a position below m has its bit.
        (bits.checked_div(8) == Some(self.bytes())).then(|| Modulus::new(self.m).map(FourHashes))?
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        let alphabet = match self.encoding {
            FileEncoding::Binary => {
                for field in [self.m, content.probes.into(), self.length] {
                    to.write_all(&field.to_be_bytes())?;
                }
                return Ok(to.write_all(content.bits)?);
            }
            FileEncoding::Json => URL_SAFE,
            FileEncoding::JsonStandard => STANDARD,
        };
        write!(to, r#"{{"m":{},"k":{},"b":""#, self.m, content.probes)?;
        base64_text::write(to, alphabet, &[&self.length.to_be_bytes(), content.bits])?;
        Ok(to.write_all(b"\"}")?)
    }

    fn in_format(&self, format: Format) -> Option<BitsAndBlooms> {
        (format == Format::BitsAndBlooms).then_some(*self)
    }

    fn in_variant(&self, variant: Variant) -> Option<BitsAndBlooms> {
        match variant {
            Variant::Binary => Some(self.with_encoding(FileEncoding::Binary)),
            Variant::Json => Some(self.with_encoding(FileEncoding::Json)),
            _ => None,
        }
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let name = match self.encoding {
            FileEncoding::Binary => "binary",
            FileEncoding::Json => "JSON",
            FileEncoding::JsonStandard => "JSON, standard base64",
        };
        vec![("encoding", name.to_owned())]
    }

    fn data(&self) -> Vec<u8> {
        let mut data = vec![self.encoding as u8];
        data.extend(self.m.to_le_bytes());
        data.extend(self.length.to_le_bytes());
        data
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<BitsAndBlooms, ForeignError> {
        let encoding = match data.u8("encoding")? {
            0 => FileEncoding::Binary,
            1 => FileEncoding::Json,
            2 => FileEncoding::JsonStandard,
            other => return Err(ForeignError::field("encoding", other, "0 to 2")),
        };
        BitsAndBlooms::new(encoding, data.u64_le("m")?, data.u64_le("length of the bitset")?)
    }
}

/// Find one's way in a file, binary or JSON.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedLayout<BitsAndBlooms>, ForeignError> {
    if bytes.first() == Some(&b'{') {
        return read_json(bytes);
    }
    let mut r = Reader::new(bytes);
    let (m, probes) = (r.u64_be("m")?, limits::probes(r.u64_be("probes")?)?);
    let frame = BitsAndBlooms::new(FileEncoding::Binary, m, r.u64_be("length of the bitset")?)?;
    let bits = BitSource::InFile(r.skip("words", frame.bytes())?);
    r.end()?;
    Ok(ParsedLayout { frame, bits, probes, target: (0, 0.0, 0) })
}

fn read_json(bytes: &[u8]) -> Result<ParsedLayout<BitsAndBlooms>, ForeignError> {
    let bad = |error: serde_json::Error| ForeignError::field("JSON", error, "an object of m, k, b");
    let fields: BTreeMap<&str, &RawValue> = serde_json::from_slice(bytes).map_err(bad)?;
    let number = |name: &'static str| {
        let text = fields.get(name).map_or("missing", |value| value.get());
        text.parse().map_err(|_| ForeignError::field(name, shown(text), "a whole number"))
    };
    if let Some(name) = fields.keys().find(|name| !["m", "k", "b"].contains(name)) {
        return Err(ForeignError::field("JSON field", shown(name), "m, k or b"));
    }
    let (m, probes) = (number("m")?, limits::probes(number("k")?)?);
    let text = fields.get("b").map_or("missing", |value| value.get());
    let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let text = text.ok_or_else(|| ForeignError::field("b", "no string", "a string of base64"))?;
    let standard = text.bytes().any(|byte| byte == b'+' || byte == b'/');
    let (alphabet, encoding) = if standard {
        (&STANDARD, FileEncoding::JsonStandard)
    } else {
        (&URL_SAFE, FileEncoding::Json)
    };
    let mut words = base64_text::Decoder::new(text.as_bytes(), alphabet)?;
    let mut length = [0; 8];
    words.fill("length of the bitset", &mut length)?;
    let frame = BitsAndBlooms::new(encoding, m, u64::from_be_bytes(length))?;
    // As many as are here, before as many as are promised.
    words.expect("words", frame.bytes())?;
    let mut bits = AlignedBuf::zeroed(frame.bytes())?;
    words.fill("words", bits.as_mut())?;
    Ok(ParsedLayout { frame, bits: BitSource::Owned(bits), probes, target: (0, 0.0, 0) })
}

/// The start of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Whether bytes are such a file, told without reading its bits.
pub(crate) fn matches_magic(bytes: &[u8]) -> bool {
    bytes.starts_with(b"{\"m\":") || (bytes.first() != Some(&b'{') && read(bytes).is_ok())
}

/// Read what `WriteTo` or `MarshalJSON` wrote.
pub fn decode(bytes: &[u8]) -> Result<FlatFilter<BitsAndBlooms>, ForeignError> {
    FlatFilter::decode(read(bytes)?, bytes)
}

/// What `NewWithEstimates(n, p)` makes, to be written in this spelling.
///
/// ```
/// use mayhap_foreign::bits_and_blooms::{self, FileEncoding};
/// let mut filter = bits_and_blooms::create(100, 0.05, FileEncoding::Json)?;
/// filter.insert("Love");
/// let text = String::from_utf8(filter.encode()?).unwrap();
/// assert!(text.starts_with(r#"{"m":624,"k":5,"b":""#));
/// assert!(bits_and_blooms::decode(text.as_bytes())?.contains("Love"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn create(
    keys: u64,
    fpr: f64,
    encoding: FileEncoding,
) -> Result<FlatFilter<BitsAndBlooms>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
    let n = keys as f64;
    let m = (-n * fpr.ln() / (LN_2 * LN_2)).ceil().max(1.0);
    let probes = limits::probes((LN_2 * m / n).ceil().max(1.0) as u64)?;
    with_shape(m as u64, probes, encoding, (keys, fpr))
}

/// What `New(m, k)` makes.
pub fn with_shape(
    m: u64,
    probes: u32,
    encoding: FileEncoding,
    check_target: (u64, f64),
) -> Result<FlatFilter<BitsAndBlooms>, ForeignError> {
    let frame = BitsAndBlooms::new(encoding, m.max(1), m.max(1))?;
    FlatFilter::empty(frame, frame.bytes(), probes, check_target)
}
