//! Guava (Java) `BloomFilter.writeTo`: `i8` strategy, `u8` probes, `i32` number of longs, the
//! longs; all big-endian. Source: guava `BloomFilter.java`, `BloomFilterStrategies.java`.
//!
//! Not in the file: the `Funnel`, so the reader must know how a value became bytes (see
//! [`KeyType`]): strings are UTF-8, a `long` is 8 and an `int` 4 bytes little-endian,
//! `unencodedCharsFunnel` is UTF-16, each unit little-endian. Also not there: the wish (n, p), a count
//! of keys, any checksum. Java's object serialization (`ObjectOutputStream`) is another format.
//!
//! OldPanda/bloomfilter (Go) and bloomfilter-py read and write the same bytes.
//! Golden files: `testdata/foreign/guava/`.

use crate::family::{Choices, Family, FormatRow, flat_from_parts, never, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::murmur3_128;
use crate::int_double_hash::{MAX_INT_POSITION, int_double_hash};
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use crate::{KeyType, Variant};
use mayhap::key::KeyEncoding;
use mayhap::scheme::{Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::Write;

/// What the format is, and how code that learns the format when it runs comes by it.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Guava,
        name: "guava",
        programs: "Google Guava (Java), OldPanda/bloomfilter (Go), bloomfilter-py",
        file: "what `BloomFilter.writeTo` writes, both strategies",
        detected: "yes",
        key_types: &[
            (KeyType::Bytes, KeyEncoding::Bytes),
            (KeyType::I64, KeyEncoding::I64),
            (KeyType::I32, KeyEncoding::I32),
            (KeyType::Utf16, KeyEncoding::Utf16),
        ],
        needs_probes: false,
        choices: Choices::variants(&[Variant::Since33_4, Variant::Before33_4]),
    }],
    is_certain: |_, bytes| read(bytes).is_ok(),
    is_possible: never,
    open: |_, file, _| open_flat(read(file.as_ref()), file),
    create: |_, new| {
        let release = match new.variant() {
            Some(Variant::Before33_4) => Release::Before33_4,
            _ => Release::default(),
        };
        owned(create(new.keys, new.fpr, release))
    },
    from_parts: flat_from_parts::<Guava>,
};

/// How Guava gets positions from a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// `MURMUR128_MITZ_32`, ordinal 0: what early releases made. It cannot reach past 2³¹ bits, so
    /// that large filters stay empty behind them.
    Mitz32,
    /// `MURMUR128_MITZ_64`, ordinal 1: what `create` makes today.
    Mitz64,
}

/// What a Guava file has beside its bits: the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guava(pub Strategy);

/// Guava's scheme. Longs are big-endian in the file, and used there as they lie: bit `i` is the
/// bit `i ^ 56` of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mitz {
    strategy: Strategy,
    modulus: Modulus,
}

impl Scheme for Mitz {
    type Hash = (u64, u64);
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        match self.strategy {
            Strategy::Mitz32 => ids::GUAVA_32,
            Strategy::Mitz64 => ids::GUAVA_64,
        }
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> (u64, u64) {
        murmur3_128(bytes, 0)
    }

    #[inline]
    fn positions(&self, (h1, h2): (u64, u64), _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let Mitz { strategy, modulus } = *self;
        let (low, high) = (h1 as i32, (h1 >> 32) as i32);
        (0..u64::from(probes)).map(move |i| {
            let place = match strategy {
                Strategy::Mitz64 => h1.wrapping_add(i.wrapping_mul(h2)) & i64::MAX as u64,
                Strategy::Mitz32 => int_double_hash(low, high, i + 1),
            };
            modulus.rem(place) ^ 56
        })
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        match self.strategy {
            Strategy::Mitz32 => bits.min(MAX_INT_POSITION),
            Strategy::Mitz64 => bits,
        }
    }
}

impl FlatFormat for Guava {
    type Scheme = Mitz;

    fn format(&self) -> Format {
        Format::Guava
    }

    fn scheme(&self, bits: u64) -> Option<Mitz> {
        // A position may be any of a word's.
        let whole = bits.is_multiple_of(64);
        let modulus = Modulus::new(bits).filter(|_| whole)?;
        Some(Mitz { strategy: self.0, modulus })
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        let longs = limits::i32_of("number of longs", content.bits.len() as u64 / 8)?;
        let probes = limits::u8_of("probes", content.probes)?;
        to.write_all(&[self.data()[0], probes])?;
        to.write_all(&longs.to_be_bytes())?;
        Ok(to.write_all(content.bits)?)
    }

    fn in_format(&self, format: Format) -> Option<Guava> {
        (format == Format::Guava).then_some(*self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        let name = match self.0 {
            Strategy::Mitz32 => "MURMUR128_MITZ_32",
            Strategy::Mitz64 => "MURMUR128_MITZ_64",
        };
        vec![("strategy", name.to_owned())]
    }

    fn data(&self) -> Vec<u8> {
        vec![match self.0 {
            Strategy::Mitz32 => 0,
            Strategy::Mitz64 => 1,
        }]
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<Guava, ForeignError> {
        match data.u8("strategy")? {
            0 => Ok(Guava(Strategy::Mitz32)),
            1 => Ok(Guava(Strategy::Mitz64)),
            other => Err(ForeignError::field(
                "strategy",
                other,
                "0 (MURMUR128_MITZ_32) or 1 (MURMUR128_MITZ_64)",
            )),
        }
    }
}

/// Find one's way in a file.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedLayout<Guava>, ForeignError> {
    let mut r = Reader::new(bytes);
    let frame = Guava::from_data(Format::Guava, &mut r)?;
    let probes = limits::probes(r.u8("probes")?.into())?;
    let longs = limits::positive_i32("number of longs", r.i32_be("number of longs")?)?;
    let bits = BitSource::InFile(r.skip("longs", u64::from(longs) * 8)?);
    // Guava leaves what follows unread, so that a stream may hold several things; in a file of its
    // own it means that something was misread.
    r.end()?;
    Ok(ParsedLayout { frame, bits, probes, target: (0, 0.0, 0) })
}

/// Read what `writeTo` wrote.
///
/// ```
/// let file = [1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
/// let filter = mayhap_foreign::guava::decode(&file)?;
/// assert!(filter.contains("anything")); // all bits are set
/// assert_eq!(filter.encode()?, file);
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn decode(bytes: &[u8]) -> Result<FlatFilter<Guava>, ForeignError> {
    FlatFilter::decode(read(bytes)?, bytes)
}

/// How a release of Guava chooses the number of probes. They differ for a handful of keys only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// Before 33.4.0: from the bits, before they are rounded up to whole longs.
    Before33_4,
    /// Since 33.4.0 (December 2024): from the rate alone.
    #[default]
    Since33_4,
}

/// What `BloomFilter.create(funnel, n, p)` makes.
///
/// ```
/// use mayhap_foreign::guava::{self, Release};
/// let mut filter = guava::create(1_000, 0.01, Release::default())?;
/// assert!(filter.insert("ada")); // as stringFunnel(UTF_8) has it
/// assert_eq!((filter.shape().bits, filter.shape().probes), (9_600, 7));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn create(keys: u64, fpr: f64, release: Release) -> Result<FlatFilter<Guava>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
    let n = keys as f64;
    let bits = (-n * fpr.ln() / (LN_2 * LN_2)) as u64;
    let probes = match release {
        Release::Before33_4 => limits::round(bits as f64 / n * LN_2),
        Release::Since33_4 => limits::round(-fpr.ln() / LN_2),
    };
    let longs = bits.div_ceil(64);
    limits::positive_i32("number of longs", limits::i32_of("number of longs", longs)?)?;
    let probes = limits::probes(probes.max(1))?;
    FlatFilter::empty(Guava(Strategy::Mitz64), longs * 8, probes, (keys, fpr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_releases_differ_for_few_keys() {
        let probes = |n, p, release| create(n, p, release).unwrap().shape().probes;
        for (n, p, old, new) in [(3, 0.01, 6, 7), (1, 1e-6, 19, 20), (10_000, 0.03, 5, 5)] {
            assert_eq!(probes(n, p, Release::Before33_4), old, "{n} at {p}");
            assert_eq!(probes(n, p, Release::Since33_4), new, "{n} at {p}");
        }
    }

    #[test]
    fn seven_bytes_cannot_ask_for_gigabytes() {
        let error = decode(&[1, 5, 0x7f, 0xff, 0xff, 0xff, 0]).unwrap_err();
        assert!(matches!(error, ForeignError::Truncated { field: "longs", .. }), "{error}");
    }
}
