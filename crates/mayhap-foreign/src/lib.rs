//! Other programs' Bloom filters, byte for byte.
#![forbid(unsafe_code)]

mod adapter;
mod base64_text;
pub mod bits_and_blooms;
pub mod bloomfilter_js;
mod bytes;
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
mod modulus;
pub mod num_base64;
mod open;
pub mod orc;
pub mod parquet;
pub mod poppy;
mod reader;
pub mod redisbloom;
pub mod rocksdb;
pub mod spark;
pub mod valkey_bloom;
mod walk;
pub mod wrap;

pub use bytes::Bytes;
pub use detect::{Detection, detect};
pub use error::ForeignError;
pub use foreign::{Foreign, Leaf, Parts, Summary};
pub use format::{Format, UnknownFormat};
pub use key::{KeyType, UnknownKeyType};
pub use modulus::Modulus;
pub use open::{Options, create, open};
pub use reader::Reader;
