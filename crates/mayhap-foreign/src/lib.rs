//! Other programs' Bloom filters, byte for byte.
//!
//! A filter that a Java, Go, Spark, Redis or Parquet job wrote is read, queried, filled, merged and
//! written here as there: members are members, and false positives are the same false positives.
//!
//! # Five minutes
//!
//! Code that knows its format uses the family's module. What it decodes is the engine's
//! [`Classic`](mayhap::Classic) under the family's own scheme, with whatever its file has beside the bits:
//!
//! ```
//! use mayhap::key::KeyEncoding;
//! use mayhap_foreign::guava::{self, Release};
//!
//! let mut seen = guava::create(1_000, 0.01, Release::default())?; // BloomFilter.create(funnel, 1000, 0.01)
//! seen.insert("ada"); // as Funnels.stringFunnel(UTF_8) has it
//! seen.insert(KeyEncoding::I64.encode(42)?); // as Funnels.longFunnel() has it
//! let file = seen.encode()?; // what writeTo writes
//! assert!(guava::decode(&file)?.contains("ada"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Code that learns the format when it runs goes by name: [`detect`] what bytes are, [`open`] them in
//! place, [`create`] a filter from nothing, [`wrap`] one in a checked Mayhap file.
//!
//! ```
//! use mayhap_foreign::{Bytes, Detection, Format, KeyType, Options, detect, open};
//! # let mut made = mayhap_foreign::create(Format::Guava, 100, 0.01, &Options::new())?;
//! # made.insert_batch(&[&42i64.to_le_bytes()], &mut Vec::new())?;
//! # let mut file = Vec::new();
//! # made.write_as(Format::Guava, &mut file)?;
//! assert_eq!(detect(&file), Detection::Certain(Format::Guava));
//! let options = Options::new().with_key_type(KeyType::I64);
//! let filter = open(Format::Guava, &Bytes::new(file), &options)?;
//! assert!(filter.contains(&KeyType::I64.key(Format::Guava, b"42")?));
//! # Ok::<(), mayhap_foreign::ForeignError>(())
//! ```
//!
//! # How files become filters
//!
//! Most formats are one array with something around it: a [`FlatFormat`](flat::FlatFormat). Its bits are used as
//! they lie in the file, whatever their order: where words are big-endian, the scheme turns the number
//! of a bit round (`i ^ 56`, one instruction) instead of turning the file. So a file of any size opens at
//! once, nothing is copied until something is inserted, and writing it back is writing the same bytes.
//! Text and compression are the exceptions: they are unpacked once, piece by piece.
//!
//! No reader panics, whatever the bytes, none allocates what the bytes do not pay for, and all are at
//! least as strict as the program the format comes from. `docs/FORMATS.md` tells users what there is.
#![forbid(unsafe_code)]

mod base64_text;
pub mod bits_and_blooms;
pub mod bloomfilter_js;
mod bytes;
pub mod chain;
mod chunked;
mod cow;
pub mod dcso;
mod error;
mod family;
pub mod flat;
mod foreign;
mod format;
pub mod guava;
pub mod hash;
pub mod ids;
mod int_double_hash;
pub mod kevburnsjr;
mod layers;
pub mod leveldb;
mod limits;
mod modulus;
pub mod num_base64;
mod options;
pub mod orc;
pub mod parquet;
pub mod poppy;
mod reader;
pub mod redisbloom;
pub mod rocksdb;
pub mod spark;
mod typed;
pub mod valkey_bloom;
pub mod wrap;

pub use bytes::Bytes;
pub use error::ForeignError;
pub use family::{BitsPerKey, Choices, Detection, FormatRow, SeedChoice, create, detect, open};
pub use foreign::{Foreign, Parts, StoredArray, Summary};
pub use format::{Format, UnknownFormat};
pub use modulus::Modulus;
pub use options::{
    Choice, CreateOptions, Growth, KeyType, Missing, Options, Seed, UnknownKeyType, UnknownVariant,
    Variant,
};
pub use reader::Reader;
pub use typed::TypedFilter;
