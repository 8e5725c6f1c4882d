//! Any format by its name: open, make, put together again.

use crate::adapter::Kept;
use crate::bloomfilter_js::Generation;
use crate::frame::{Flat, Frame};
use crate::leveldb::Program;
use crate::num_base64::List;
use crate::poppy::{AnyPoppy, Optimisation, Poppy};
use crate::{
    Bytes, Foreign, ForeignError, Format, Growth, KeyType, Leaf, Making, Reader, Seed, Variant,
    bits_and_blooms, bloomfilter_js, dcso, guava, kevburnsjr, leveldb, orc, parquet, redisbloom,
    rocksdb, spark, valkey_bloom, wrap,
};

/// What a file does not say, and its reader must.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// Probes a key, for formats that keep no count of them.
    pub probes: Option<u32>,
    /// The column of a Parquet file.
    pub column: Option<String>,
    /// What the keys are.
    pub key_type: KeyType,
    /// How a new filter is made.
    pub making: Making,
}

impl Options {
    /// Nothing known but what the file says; keys are bytes.
    pub fn new() -> Options {
        Options::default()
    }

    /// With so many probes a key.
    pub fn with_probes(self, probes: u32) -> Options {
        Options { probes: Some(probes), ..self }
    }

    /// With this column of a Parquet file.
    pub fn with_column(self, column: impl Into<String>) -> Options {
        Options { column: Some(column.into()), ..self }
    }

    /// With keys of this type.
    pub fn with_key_type(self, key_type: KeyType) -> Options {
        Options { key_type, ..self }
    }

    /// With a new filter made like this.
    pub fn with_making(self, making: Making) -> Options {
        Options { making, ..self }
    }

    /// The probes, which this format's file does not say.
    fn probes_of(&self, format: Format) -> Result<u32, ForeignError> {
        self.probes.ok_or_else(|| ForeignError::Missing {
            format,
            option: "--probes",
            hint: "the number of hash functions its program was given".to_owned(),
        })
    }
}

/// Open a file of this format, in place where its bits can be used as they lie: a mapped file is open
/// at once, whatever its size.
///
/// ```
/// use mayhap_foreign::{Bytes, Format, Options};
/// let file = Bytes::new(vec![0xff; 36]); // from kevburnsjr's ToBytes
/// let error = mayhap_foreign::open(Format::Kevburnsjr, &file, &Options::new()).unwrap_err();
/// assert!(error.to_string().contains("--probes"));
/// let filter = mayhap_foreign::open(Format::Kevburnsjr, &file, &Options::new().with_probes(20))?;
/// assert!(filter.contains(b"anything"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn open(
    format: Format,
    file: &Bytes,
    options: &Options,
) -> Result<Box<dyn Foreign>, ForeignError> {
    let bytes = file.as_ref();
    options.key_type.check(format)?;
    Ok(match format {
        Format::Mayhap => wrap::open(file)?.filter,
        Format::Guava => Box::new(Flat::open(guava::read(bytes)?, file)?),
        Format::Leveldb | Format::LeveldbOld | Format::Goleveldb | Format::Badger => {
            let program = Program::of(format).unwrap_or(Program::Leveldb);
            Box::new(Flat::open(leveldb::read(bytes, program)?, file)?)
        }
        Format::BitsAndBlooms => Box::new(Flat::open(bits_and_blooms::read(bytes)?, file)?),
        Format::Spark => Box::new(Flat::open(spark::read(bytes)?, file)?),
        Format::Dcso => Box::new(Flat::open(dcso::read(bytes)?, file)?),
        // Its first version is DCSO's format.
        Format::Poppy if bytes.first() == Some(&1) => {
            Box::new(Flat::open(dcso::read(bytes)?, file)?)
        }
        Format::Poppy => Box::new(AnyPoppy::open(file)?),
        Format::Kevburnsjr => {
            let probes = options.probes_of(format)?;
            Box::new(Flat::open(kevburnsjr::read(bytes, probes)?, file)?)
        }
        Format::NumBase64 => Box::new(List::decode(bytes, options.probes_of(format)?)?),
        Format::BloomfilterJs | Format::BloomfilterJsOld => {
            let generation = Generation::of(format).unwrap_or(Generation::Since19);
            let laid = bloomfilter_js::read(bytes, generation, options.probes_of(format)?)?;
            Box::new(Flat::open(laid, file)?)
        }
        Format::Orc => {
            let column = orc::Column::of(options.key_type);
            Box::new(Flat::open(orc::read(bytes, column)?, file)?)
        }
        Format::Rocksdb => rocksdb::open_any(file)?,
        Format::Redisbloom | Format::RedisbloomDump => redisbloom::open_any(format, file)?,
        Format::ValkeyBloom => valkey_bloom::open_any(file)?,
        Format::Parquet => Box::new(parquet::Column::open(file, &column_of(file, options)?)?),
        Format::ParquetBitset => Box::new(Flat::open(parquet::lay(bytes)?, file)?),
    })
}

/// An empty filter for so many keys at a rate, sized as the format's own program would.
///
/// ```
/// use mayhap_foreign::{Format, Options};
/// let mut filter = mayhap_foreign::create(Format::Guava, 1_000, 0.01, &Options::new())?;
/// filter.insert_batch(&[b"ada", b"eve"], &mut Vec::new())?;
/// let mut file = Vec::new();
/// filter.write_as(Format::Guava, &mut file)?;
/// assert_eq!(file.len(), 1206);
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn create(
    format: Format,
    keys: u64,
    fpr: f64,
    options: &Options,
) -> Result<Box<dyn Foreign>, ForeignError> {
    options.key_type.check(format)?;
    options.making.check(format)?;
    let Making { bits_per_key, growth, seed, variant } = options.making;
    Ok(match format {
        Format::Guava => {
            let release = match variant {
                Some(Variant::Before33_4) => guava::Release::Before33_4,
                _ => guava::Release::default(),
            };
            flat(guava::create(keys, fpr, release)?)
        }
        Format::Leveldb | Format::LeveldbOld | Format::Goleveldb | Format::Badger => {
            let program = Program::of(format).unwrap_or(Program::Leveldb);
            flat(match bits_per_key {
                Some(bits) => leveldb::with_bits_per_key(program, keys, bits as u32)?,
                None => leveldb::create(program, keys, fpr)?,
            })
        }
        Format::BitsAndBlooms => {
            let spelling = match variant {
                Some(Variant::Json) => bits_and_blooms::Spelling::Json,
                _ => bits_and_blooms::Spelling::Binary,
            };
            flat(bits_and_blooms::create(keys, fpr, spelling)?)
        }
        // By default what every release of Spark reads; the second version needs 4.1.
        Format::Spark => {
            let version = match (variant, seed) {
                (_, Some(Seed::Number(seed))) => spark::Spark::V2 { seed },
                (Some(Variant::V2), _) => spark::Spark::V2 { seed: 0 },
                _ => spark::Spark::V1,
            };
            flat(spark::create(keys, fpr, version)?)
        }
        Format::Dcso => flat(dcso::create(keys, fpr, variant == Some(Variant::Gzip))?),
        Format::Poppy => {
            let optimisation = match variant {
                Some(Variant::Space) => Optimisation::Space,
                Some(Variant::Speed) => Optimisation::Speed,
                Some(Variant::Best) => Optimisation::Best,
                _ => Optimisation::None,
            };
            Box::new(AnyPoppy::Own(Poppy::create(keys, fpr, optimisation)?))
        }
        Format::Kevburnsjr => flat(kevburnsjr::create(keys, fpr)?),
        Format::NumBase64 => Box::new(List::create(keys, fpr)?),
        Format::BloomfilterJs | Format::BloomfilterJsOld => {
            let generation = Generation::of(format).unwrap_or(Generation::Since19);
            flat(bloomfilter_js::create(generation, keys, fpr)?)
        }
        Format::Orc => flat(orc::create(keys, fpr, orc::Column::of(options.key_type))?),
        Format::Rocksdb => {
            let is_legacy = variant == Some(Variant::Legacy);
            rocksdb::create_any(keys, fpr, bits_per_key, is_legacy)?
        }
        // As BF.RESERVE does: it grows where more keys come than were thought.
        Format::Redisbloom | Format::RedisbloomDump => {
            let scaling = match growth {
                None => redisbloom::Scaling::By(2),
                Some(Growth::By(growth)) => redisbloom::Scaling::By(growth),
                Some(Growth::Never) => redisbloom::Scaling::Fixed,
            };
            redisbloom::create_any(format, keys, fpr, scaling)?
        }
        Format::ValkeyBloom => {
            let expansion = match growth {
                None => 2,
                Some(Growth::By(0)) => {
                    return Err(ForeignError::field("expansion", 0, "1 or more, or nonscaling"));
                }
                Some(Growth::By(expansion)) => expansion,
                Some(Growth::Never) => 0,
            };
            let seed = match seed {
                Some(Seed::Keys(seed)) => seed,
                _ => valkey_bloom::Seed::FIXED,
            };
            valkey_bloom::create_any(keys, fpr, expansion, seed)?
        }
        Format::ParquetBitset => flat(parquet::create(keys, fpr)?),
        Format::Parquet => {
            let what = "a file is made with its data, by a writer of Parquet: make the bits alone \
                        with --format parquet-bitset";
            return Err(ForeignError::Refused { format, what });
        }
        Format::Mayhap => {
            let what = "filters of our own are made by the engine";
            return Err(ForeignError::Refused { format, what });
        }
    })
}

fn flat<F: Frame>(filter: crate::frame::Framed<F>) -> Box<dyn Foreign> {
    Box::new(Flat::Own(filter))
}

/// The column asked for, or the only one that has filters.
fn column_of(file: &Bytes, options: &Options) -> Result<String, ForeignError> {
    if let Some(column) = &options.column {
        return Ok(column.clone());
    }
    let inside = parquet::File::read(file.as_ref())?;
    let mut names: Vec<&str> = inside.filters().iter().map(|found| found.column.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    if let [only] = names[..] {
        return Ok(only.to_owned());
    }
    let hint = match names.len() {
        0 => "though no column of this one has a filter".to_owned(),
        _ => format!("one of {}", names.join(", ")),
    };
    Err(ForeignError::Missing { format: Format::Parquet, option: "--column", hint })
}

/// Those of several arrays.
fn from_kept(
    format: Format,
    data: &mut Reader<'_>,
    kept: Vec<Kept>,
) -> Result<Box<dyn Foreign>, ForeignError> {
    match format {
        Format::Rocksdb => rocksdb::from_kept(data, kept),
        Format::Redisbloom | Format::RedisbloomDump => redisbloom::from_kept(data, kept),
        Format::ValkeyBloom => valkey_bloom::from_kept(data, kept),
        Format::Parquet => Ok(Box::new(parquet::Column::from_parts(data, kept)?)),
        _ => Err(ForeignError::field("format", format, "that of a foreign filter")),
    }
}

/// Put together what [`Foreign::parts`] took apart.
pub(crate) fn from_parts(
    format: Format,
    data: &mut Reader<'_>,
    leaves: Vec<Leaf>,
    made_for: (u64, f64, u64),
) -> Result<Box<dyn Foreign>, ForeignError> {
    fn flat<F: Frame>(
        format: Format,
        data: &mut Reader<'_>,
        leaves: Vec<Leaf>,
        made_for: (u64, f64, u64),
    ) -> Result<Box<dyn Foreign>, ForeignError> {
        Ok(Box::new(Flat::<F>::from_parts(format, data, leaves, made_for)?))
    }
    let build = match format {
        Format::Guava => flat::<guava::Guava>,
        Format::Leveldb | Format::LeveldbOld | Format::Goleveldb | Format::Badger => {
            flat::<Program>
        }
        Format::BitsAndBlooms => flat::<bits_and_blooms::BitsAndBlooms>,
        Format::Spark => flat::<spark::Spark>,
        Format::Dcso => flat::<dcso::Dcso>,
        Format::Kevburnsjr => flat::<kevburnsjr::Kevburnsjr>,
        Format::BloomfilterJs | Format::BloomfilterJsOld => flat::<Generation>,
        Format::Orc => flat::<orc::Orc>,
        Format::Poppy => return Ok(Box::new(AnyPoppy::from_parts(data, leaves, made_for)?)),
        Format::NumBase64 => {
            return Ok(Box::new(List::from_parts(&leaves, (made_for.0, made_for.1))?));
        }
        Format::ParquetBitset => flat::<parquet::Bitset>,
        _ => {
            let kept = leaves.into_iter().map(|leaf| (leaf.params, leaf.bytes)).collect();
            return from_kept(format, data, kept);
        }
    };
    build(format, data, leaves, made_for)
}
