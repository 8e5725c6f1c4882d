//! Spark's `BloomFilter.writeTo` (`common/sketch`), big-endian. Version 1: `i32` 1, `i32` probes, `i32`
//! number of words, the words. Version 2, the default since Spark 4.1: `i32` 2, `i32` probes, `i32`
//! seed, `i32` number of words, the words. Source: `BloomFilterImpl.java`, `BloomFilterImplV2.java`.
//!
//! Its MurmurHash3 is none: see [`hash::spark_murmur3`](crate::hash::spark_murmur3). Integers of every
//! width are hashed as 64-bit ones, strings as UTF-8.
//!
//! SQL's `bloom_filter_agg` and `might_contain` keep the same bytes, but of keys that were hashed before:
//! there a key is the `long` that `xxhash64(column)` gives.
//! Golden files: `testdata/foreign/spark/`.

use crate::family::{
    Choices, Family, FormatRow, SeedChoice, flat_from_parts, never, open_flat, owned,
};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{KeyLanes, MultiLane, side_by_side, spark_murmur3, spark_murmur3_of_rows};
use crate::int_double_hash::{MAX_INT_POSITION, int_double_hash};
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use crate::{KeyType, Seed, Variant};
use mayhap::key::KeyEncoding;
use mayhap::scheme::{Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Spark,
        name: "spark",
        programs: "Apache Spark's sketches, versions 1 and 2",
        file: "what `BloomFilter.writeTo` writes",
        detected: "yes",
        key_types: &[
            (KeyType::Bytes, KeyEncoding::Bytes),
            (KeyType::I64, KeyEncoding::I64),
            (KeyType::I32, KeyEncoding::I64),
        ],
        needs_probes: false,
        choices: Choices {
            seed: SeedChoice::Number(Variant::V2),
            ..Choices::variants(&[Variant::V1, Variant::V2])
        },
    }],
    is_certain: |_, bytes| read(bytes).is_ok(),
    is_possible: never,
    open: |_, file, _| open_flat(read(file.as_ref()), file),
    create: |_, new| {
        // By default what every release of Spark reads; the second version needs 4.1.
        let version = match (new.variant(), new.seed()) {
            (_, Some(Seed::Number(seed))) => Spark::V2 { seed },
            (Some(Variant::V2), _) => Spark::V2 { seed: 0 },
            _ => Spark::V1,
        };
        owned(create(new.keys, new.fpr, version))
    },
    from_parts: flat_from_parts::<Spark>,
};

/// What a file has beside its bits: the version, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spark {
    /// Before Spark 4.1; cannot reach past 2³¹ bits.
    V1,
    /// Since Spark 4.1.
    V2 {
        /// 0 unless the maker chose another.
        seed: i32,
    },
}

/// Spark's scheme. Words are big-endian in the file and used as they lie: bit `i` is the bit `i ^ 56`
/// of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparkScheme {
    version: Spark,
    modulus: Modulus,
}

impl Spark {
    const fn seed(self) -> u32 {
        match self {
            Spark::V1 => 0,
            Spark::V2 { seed } => seed as u32,
        }
    }
}

impl Scheme for SparkScheme {
    type Hash = (i32, i32);
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        match self.version {
            Spark::V1 => ids::SPARK_V1,
            Spark::V2 { .. } => ids::SPARK_V2,
        }
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> (i32, i32) {
        let first = spark_murmur3(bytes, self.version.seed());
        (first as i32, spark_murmur3(bytes, first) as i32)
    }

    #[inline]
    fn positions(&self, (h1, h2): (i32, i32), _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let SparkScheme { version, modulus } = *self;
        let start = i64::from(h1).wrapping_mul(i32::MAX.into());
        (1..=u64::from(probes)).map(move |i| {
            let place = match version {
                Spark::V1 => int_double_hash(h1, h2, i),
                Spark::V2 { .. } => {
                    let place = start.wrapping_add(i64::from(h2).wrapping_mul(i as i64));
                    (if place < 0 { !place } else { place }) as u64
                }
            };
            modulus.rem(place) ^ 56
        })
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        match self.version {
            Spark::V1 => bits.min(MAX_INT_POSITION),
            Spark::V2 { .. } => bits,
        }
    }
}

impl MultiLane<16> for SparkScheme {
    type Word = u32;
    type Hash = (i32, i32);

    #[inline(always)]
    fn hash_lanes(&self, _: &[&[u8]; 16], rows: &KeyLanes<u32, 16>) -> [(i32, i32); 16] {
        let first = spark_murmur3_of_rows(rows, [self.version.seed(); 16]);
        let second = spark_murmur3_of_rows(rows, first);
        std::array::from_fn(|i| (first[i] as i32, second[i] as i32))
    }

    fn hash_one(&self, key: &[u8]) -> (i32, i32) {
        self.hash_bytes(key)
    }
}

impl FlatFormat for Spark {
    type Scheme = SparkScheme;

    fn format(&self) -> Format {
        Format::Spark
    }

    fn scheme(&self, bits: u64) -> Option<SparkScheme> {
        let modulus = Modulus::new(bits).filter(|_| bits.is_multiple_of(64))?;
        Some(SparkScheme { version: *self, modulus })
    }

    fn hash_keys(scheme: &SparkScheme, keys: &[&[u8]], hashes: &mut Vec<(i32, i32)>) {
        side_by_side(scheme, keys, hashes);
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        let words = limits::i32_of("number of words", content.bits.len() as u64 / 8)?;
        let probes = limits::i32_of("probes", content.probes)?;
        let fields = match self {
            Spark::V1 => vec![1, probes, words],
            Spark::V2 { seed } => vec![2, probes, *seed, words],
        };
        for field in fields {
            to.write_all(&field.to_be_bytes())?;
        }
        Ok(to.write_all(content.bits)?)
    }

    fn in_format(&self, format: Format) -> Option<Spark> {
        (format == Format::Spark).then_some(*self)
    }

    fn details(&self) -> Vec<(&'static str, String)> {
        match self {
            Spark::V1 => vec![("version", "1".to_owned())],
            Spark::V2 { seed } => vec![("version", "2".to_owned()), ("seed", seed.to_string())],
        }
    }

    fn data(&self) -> Vec<u8> {
        match self {
            Spark::V1 => 1i32.to_be_bytes().to_vec(),
            Spark::V2 { seed } => [2i32.to_be_bytes(), seed.to_be_bytes()].concat(),
        }
    }

    fn from_data(_: Format, data: &mut Reader<'_>) -> Result<Spark, ForeignError> {
        match data.i32_be("version")? {
            1 => Ok(Spark::V1),
            2 => Ok(Spark::V2 { seed: data.i32_be("seed")? }),
            other => Err(ForeignError::field("version", other, "1 or 2")),
        }
    }
}

/// Find one's way in a file.
pub(crate) fn read(bytes: &[u8]) -> Result<ParsedLayout<Spark>, ForeignError> {
    let mut r = Reader::new(bytes);
    let version = r.i32_be("version")?;
    if !(1..=2).contains(&version) {
        return Err(ForeignError::field("version", version, "1 or 2"));
    }
    // Spark takes none, or less, and then every key for a member.
    let probes = limits::positive_i32("probes", r.i32_be("probes")?)?;
    let probes = limits::probes(probes.into())?;
    let frame = if version == 1 { Spark::V1 } else { Spark::V2 { seed: r.i32_be("seed")? } };
    let words = limits::positive_i32("number of words", r.i32_be("number of words")?)?;
    let bits = BitSource::InFile(r.skip("words", u64::from(words) * 8)?);
    r.end()?;
    Ok(ParsedLayout { frame, bits, probes, target: (0, 0.0, 0) })
}

/// Read what `writeTo` wrote.
pub fn decode(bytes: &[u8]) -> Result<FlatFilter<Spark>, ForeignError> {
    FlatFilter::decode(read(bytes)?, bytes)
}

/// What `BloomFilter.create(n, p)` makes.
///
/// ```
/// use mayhap::key::KeyEncoding;
/// use mayhap_foreign::spark::{self, Spark};
/// let mut filter = spark::create(1_000, 0.03, Spark::V2 { seed: 0 })?;
/// let key = KeyEncoding::I64.encode(42)?;
/// filter.insert(&key); // putLong(42)
/// filter.insert("ada"); // putString("ada")
/// assert!(spark::decode(&filter.encode()?)?.contains(&key));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create(keys: u64, fpr: f64, version: Spark) -> Result<FlatFilter<Spark>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
    let n = keys as f64;
    let bits = (-n * fpr.ln() / (LN_2 * LN_2)) as u64;
    let probes = limits::probes(limits::round(bits as f64 / n * LN_2).max(1))?;
    with_bits(bits, probes, version, (keys, fpr))
}

/// What `BloomFilter.create(n, bits)` makes, with the probes that go with it.
pub fn with_bits(
    bits: u64,
    probes: u32,
    version: Spark,
    check_target: (u64, f64),
) -> Result<FlatFilter<Spark>, ForeignError> {
    let words = limits::i32_of("number of words", bits.div_ceil(64).max(1))?;
    FlatFilter::empty(version, words as u64 * 8, probes, check_target)
}
