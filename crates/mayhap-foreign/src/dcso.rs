//! DCSO bloom (Go), version 1, little-endian: `u64` flags (the lowest byte is the version, 1), `u64` n,
//! `f64` p, `u64` probes, `u64` m, `u64` N (keys counted in), ⌈m/64⌉ words, and whatever the maker
//! appended; plain or gzipped as a whole. Source: DCSO/bloom `bloom.go`.
//!
//! flor (Python) and poppy version 1 (Rust) read and write the same; CIRCL's `hashlookup-full.bloom` is
//! one, of upper-case hexadecimal SHA-1 sums. Golden files: `testdata/foreign/dcso/`.

use crate::family::{BYTES, Choices, Family, FormatRow, flat_from_parts, never, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{LANES, fnv1_64, fnv1_64_of_each, in_lanes};
use crate::{ForeignError, Format, Modulus, Reader, Variant, ids, limits};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::{Read, Write};

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Dcso,
        name: "dcso",
        programs: "DCSO bloom (Go), flor (Python), CIRCL's hashlookup-full.bloom",
        file: "version 1, plain or gzipped",
        detected: "yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices::variants(&[Variant::Plain, Variant::Gzip]),
    }],
    is_certain: |_, bytes| matches_magic(bytes),
    is_possible: never,
    open: |_, file, _| open_flat(read(file.as_ref()), file),
    create: |_, new| owned(create(new.keys, new.fpr, new.variant() == Some(Variant::Gzip))),
    from_parts: flat_from_parts::<Dcso>,
};

/// What a file has beside its bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dcso {
    flags: u64,
    m: u64,
    gzip: bool,
    appended: Vec<u8>,
}

impl Dcso {
    /// The same, gzipped or not.
    pub fn with_gzip(self, gzip: bool) -> Dcso {
        Dcso { gzip, ..self }
    }

    /// What the maker appended to the filter.
    pub fn appended(&self) -> &[u8] {
        &self.appended
    }

    fn new(flags: u64, m: u64, gzip: bool) -> Result<Dcso, ForeignError> {
        if flags & 0xff != 1 {
            return Err(ForeignError::field("version", flags & 0xff, "1"));
        }
        if m == 0 {
            return Err(ForeignError::field("m", m, "at least 1"));
        }
        Ok(Dcso { flags, m, gzip, appended: Vec::new() })
    }

    fn bytes(&self) -> u64 {
        self.m.div_ceil(64) * 8
    }

    fn write_plain(
        &self,
        content: &FileContent<'_>,
        to: &mut dyn Write,
    ) -> Result<(), ForeignError> {
        let FileContent { capacity, fpr, probes, keys, .. } = *content;
        for field in [self.flags, capacity, fpr.to_bits(), probes.into(), self.m, keys] {
            to.write_all(&field.to_le_bytes())?;
        }
        to.write_all(content.bits)?;
        Ok(to.write_all(&self.appended)?)
    }
}

/// The largest prime below 2⁶⁴, and the generator.
const PRIME: u64 = 18_446_744_073_709_551_557;
const GENERATOR: u64 = 18_446_744_073_709_550_147;

/// A remainder by the prime, which is so large that one subtraction is enough.
#[inline(always)]
const fn below_prime(h: u64) -> u64 {
    if h < PRIME { h } else { h - PRIME }
}

/// DCSO's scheme: a walk of multiplications. Products overflow before they are reduced; what was an
/// oversight is the format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcsoProbe(Modulus);

impl Scheme for DcsoProbe {
    type Hash = u64;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        ids::DCSO
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        below_prime(fnv1_64(bytes))
    }

    #[inline]
    fn positions(&self, hash: u64, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let (modulus, mut h) = (self.0, hash);
        (0..probes).map(move |_| {
            h = below_prime(h.wrapping_mul(GENERATOR));
            modulus.rem(h)
        })
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        self.0.get().min(bits)
    }
}

impl FlatFormat for Dcso {
    type Scheme = DcsoProbe;

    fn format(&self) -> Format {
        Format::Dcso
    }

    fn scheme(&self, bits: u64) -> Option<DcsoProbe> {
        (bits.checked_div(8) == Some(self.bytes())).then(|| Modulus::new(self.m).map(DcsoProbe))?
    }

    fn hash_keys(_: &DcsoProbe, keys: &[&[u8]], hashes: &mut Vec<u64>) {
        let hash_lanes = |keys: [&[u8]; LANES]| fnv1_64_of_each(keys).map(below_prime);
        in_lanes(keys, hashes, hash_lanes, |key| below_prime(fnv1_64(key)));
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        if !self.gzip {
            return self.write_plain(content, to);
        }
        let mut gzip = GzEncoder::new(to, Compression::default());
        self.write_plain(content, &mut gzip)?;
        gzip.finish()?;
        Ok(())
    }

    fn in_format(&self, format: Format) -> Option<Dcso> {
        // poppy reads and writes the same bytes, but never gzip.
        match format {
            Format::Dcso => Some(self.clone()),
            Format::Poppy => Some(self.clone().with_gzip(false)),
            _ => None,
        }
    }

    fn in_variant(&self, variant: Variant) -> Option<Dcso> {
        match variant {
            Variant::Plain => Some(self.clone().with_gzip(false)),
            Variant::Gzip => Some(self.clone().with_gzip(true)),
            _ => None,
        }
    }

    fn counts(&self) -> bool {
        true
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let encoding = if self.gzip { "gzip" } else { "plain" };
        let mut details = vec![("encoding", encoding.to_owned())];
        if !self.appended.is_empty() {
            details.push(("appended", format!("{} bytes", self.appended.len())));
        }
        details
    }

    fn data(&self) -> Vec<u8> {
        let mut data = vec![self.gzip.into()];
        data.extend(self.flags.to_le_bytes());
        data.extend(self.m.to_le_bytes());
        data.extend(&self.appended);
        data
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<Dcso, ForeignError> {
        let gzip = data.u8("gzip")? != 0;
        let dcso = Dcso::new(data.u64_le("flags")?, data.u64_le("m")?, gzip)?;
        Ok(Dcso { appended: data.rest().to_vec(), ..dcso })
    }
}

/// Fields before the words: the frame, the probes, and what it was made for.
type Head = (Dcso, u32, (u64, f64, u64));

const HEAD: usize = 48;

fn read_head(r: &mut Reader<'_>, gzip: bool) -> Result<Head, ForeignError> {
    let (flags, n, p) = (r.u64_le("flags")?, r.u64_le("n")?, r.f64_le("p")?);
    let (probes, m, keys) = (r.u64_le("probes")?, r.u64_le("m")?, r.u64_le("N")?);
    let frame = Dcso::new(flags, m, gzip)?;
    if !(p > 0.0 && p < 1.0) {
        return Err(ForeignError::field("p", p, "between 0 and 1"));
    }
    if keys > 1 << 56 {
        return Err(ForeignError::field("N", keys, "at most 2^56"));
    }
    Ok((frame, limits::probes(probes)?, (n, p, keys)))
}

/// Find one's way in a file, plain or gzipped.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedLayout<Dcso>, ForeignError> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return read_gzip(bytes);
    }
    let mut r = Reader::new(bytes);
    let (frame, probes, target) = read_head(&mut r, false)?;
    let bits = BitSource::InFile(r.skip("words", frame.bytes())?);
    let frame = Dcso { appended: r.rest().to_vec(), ..frame };
    Ok(ParsedLayout { frame, bits, probes, target })
}

/// No byte of deflate stands for more than this many.
const MAX_INFLATION: u64 = 1032;

fn read_gzip(bytes: &[u8]) -> Result<ParsedLayout<Dcso>, ForeignError> {
    let bad = |error| ForeignError::field("gzip", error, "a whole DCSO filter");
    let mut inflated = MultiGzDecoder::new(bytes);
    let mut head = [0; HEAD];
    inflated.read_exact(&mut head).map_err(bad)?;
    let (frame, probes, target) = read_head(&mut Reader::new(&head), true)?;
    let (need, have) = (frame.bytes(), (bytes.len() as u64).saturating_mul(MAX_INFLATION));
    if need > have {
        return Err(ForeignError::Truncated { field: "words", need, have });
    }
    let mut bits = AlignedBuf::zeroed(need)?;
    inflated.read_exact(bits.as_mut()).map_err(bad)?;
    let mut appended = Vec::new();
    inflated.read_to_end(&mut appended).map_err(bad)?;
    let frame = Dcso { appended, ..frame };
    Ok(ParsedLayout { frame, bits: BitSource::Owned(bits), probes, target })
}

/// Whether bytes are such a file, told without reading its bits.
pub(crate) fn matches_magic(bytes: &[u8]) -> bool {
    let mut r = Reader::new(bytes);
    let plain = |r: &mut Reader<'_>| {
        let (frame, ..) = read_head(r, false)?;
        // Bytes behind the version are never set, but by whoever changed the format.
        r.skip("words", frame.bytes()).map(|_| frame.flags == 1)
    };
    bytes.starts_with(&[0x1f, 0x8b, 8]) || plain(&mut r).unwrap_or(false)
}

/// Read a filter, plain or gzipped.
pub fn decode(bytes: &[u8]) -> Result<FlatFilter<Dcso>, ForeignError> {
    FlatFilter::decode(read(bytes)?, bytes)
}

/// What `bloom.Initialize(n, p)` makes, to be written plain or gzipped.
///
/// ```
/// let mut filter = mayhap_foreign::dcso::create(100, 0.02, false)?;
/// filter.insert("DA39A3EE5E6B4B0D3255BFEF95601890AFD80709");
/// assert_eq!((filter.shape().bits, filter.shape().probes), (832, 6)); // 814 in whole words
/// assert_eq!(mayhap_foreign::dcso::decode(&filter.encode()?)?.keys(), 1);
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn create(keys: u64, fpr: f64, gzip: bool) -> Result<FlatFilter<Dcso>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
    let n = keys as f64;
    // The absolute value of a rounded-up negative: the magnitude is rounded down.
    let m = (n * fpr.ln() / (LN_2 * LN_2)).ceil().abs().max(1.0);
    let probes = limits::probes((LN_2 * m / n).ceil().max(1.0) as u64)?;
    let frame = Dcso::new(1, m as u64, gzip)?;
    let bytes = frame.bytes();
    FlatFilter::empty(frame, bytes, probes, (keys, fpr))
}
