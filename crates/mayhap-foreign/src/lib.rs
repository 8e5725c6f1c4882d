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
//! use mayhap::KeyEncoding;
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
//! place, [`create`] a filter from nothing, [`wrap`] one in a checked file of ours.
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
//! Most formats are one array with something around it: a [`Frame`](frame::Frame). Its bits are used as
//! they lie in the file, whatever their order: where words are big-endian, the scheme turns the number
//! of a bit round (`i ^ 56`, one instruction) instead of turning the file. So a file of any size opens at
//! once, nothing is copied until something is inserted, and writing it back is writing the same bytes.
//! Text and compression are the exceptions: they are unpacked once, piece by piece.
//!
//! No reader panics, whatever the bytes, none allocates what the bytes do not pay for, and all are at
//! least as strict as the program the format comes from. `docs/FORMATS.md` tells users what there is.
#![forbid(unsafe_code)]

mod adapter;
mod base64_text;
pub mod bits_and_blooms;
pub mod bloomfilter_js;
mod bytes;
pub mod chain;
pub mod dcso;
mod detect;
mod error;
mod foreign;
mod format;
pub mod frame;
pub mod guava;
pub mod hash;
pub mod ids;
pub mod kevburnsjr;
mod key;
mod layers;
pub mod leveldb;
mod limits;
mod making;
mod modulus;
pub mod num_base64;
mod open;
pub mod orc;
pub mod parquet;
mod pieces;
pub mod poppy;
mod reader;
pub mod redisbloom;
pub mod rocksdb;
pub mod spark;
mod typed;
pub mod valkey_bloom;
mod walk;
pub mod wrap;

pub use bytes::Bytes;
pub use detect::{Detection, detect};
pub use error::ForeignError;
pub use foreign::{Foreign, Leaf, Parts, Summary};
pub use format::{Format, UnknownFormat};
pub use key::{KeyType, UnknownKeyType};
pub use making::{Growth, Making, Seed, UnknownVariant, Variant};
pub use modulus::Modulus;
pub use open::{Options, create, open};
pub use reader::Reader;
pub use typed::TypedFilter;
