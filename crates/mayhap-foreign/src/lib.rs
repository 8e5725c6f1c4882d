//! Other programs' Bloom filters, byte for byte.
#![forbid(unsafe_code)]

mod error;
mod format;
pub mod hash;
pub mod ids;
mod modulus;
mod reader;
pub mod redisbloom;
pub mod rocksdb;

pub use error::ForeignError;
pub use format::{Format, UnknownFormat};
pub use modulus::Modulus;
pub use reader::Reader;
