//! Other programs' Bloom filters, byte for byte.
#![forbid(unsafe_code)]

mod bytes;
mod error;
mod foreign;
mod format;
pub mod frame;
pub mod guava;
pub mod hash;
pub mod ids;
mod key;
mod limits;
mod modulus;
mod reader;
pub mod redisbloom;
pub mod rocksdb;

pub use bytes::Bytes;
pub use error::ForeignError;
pub use foreign::{Foreign, Parts, Summary};
pub use format::{Format, UnknownFormat};
pub use key::{KeyType, UnknownKeyType};
pub use modulus::Modulus;
pub use reader::Reader;
