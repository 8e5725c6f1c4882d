//! Other programs' Bloom filters, byte for byte.
#![forbid(unsafe_code)]

mod base64_text;
pub mod bits_and_blooms;
pub mod bloomfilter_js;
mod bytes;
pub mod dcso;
mod error;
mod foreign;
mod format;
pub mod frame;
pub mod guava;
pub mod hash;
pub mod ids;
pub mod kevburnsjr;
mod key;
pub mod leveldb;
mod limits;
mod modulus;
pub mod orc;
mod reader;
pub mod spark;
mod walk;

pub use bytes::Bytes;
pub use error::ForeignError;
pub use foreign::{Foreign, Parts, Summary};
pub use format::{Format, UnknownFormat};
pub use key::{KeyType, UnknownKeyType};
pub use modulus::Modulus;
pub use reader::Reader;
