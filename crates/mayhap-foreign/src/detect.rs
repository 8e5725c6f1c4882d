//! What the bytes say they are.

use crate::{
    Format, bits_and_blooms, bloomfilter_js, dcso, guava, leveldb, num_base64, orc, parquet, poppy,
    redisbloom, rocksdb, spark, valkey_bloom,
};

/// What bytes can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// They say so.
    Certain(Format),
    /// One of these, or none: nothing in the bytes tells.
    OneOf(Vec<Format>),
}

/// Look at a file. Some formats have a magic number or lengths that fit nothing else; others are bare
/// bits, and any bytes could be one.
///
/// ```
/// use mayhap_foreign::{Detection, Format, detect};
/// let guava = [1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
/// assert_eq!(detect(&guava), Detection::Certain(Format::Guava));
/// let Detection::OneOf(candidates) = detect(b"[1,2,3]") else { panic!() };
/// assert_eq!(candidates, [Format::BloomfilterJs, Format::BloomfilterJsOld]);
/// ```
pub fn detect(bytes: &[u8]) -> Detection {
    let certain: Vec<Format> =
        Format::ALL.into_iter().filter(|format| says(*format, bytes)).collect();
    match certain[..] {
        [only] => Detection::Certain(only),
        [] => Detection::OneOf(
            Format::ALL.into_iter().filter(|format| fits(*format, bytes)).collect(),
        ),
        _ => Detection::OneOf(certain),
    }
}

/// Whether the bytes are of this format by magic, or by fields and lengths that agree.
fn says(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Mayhap => bytes.starts_with(b"\x89MAY\r\n\x1a\n"),
        Format::Guava => guava::read(bytes).is_ok(),
        Format::BitsAndBlooms => bits_and_blooms::says(bytes),
        Format::Spark => spark::read(bytes).is_ok(),
        Format::Dcso => dcso::says(bytes),
        Format::Poppy => poppy::says(bytes),
        Format::NumBase64 => num_base64::says(bytes),
        Format::Parquet => parquet::is_parquet(bytes),
        Format::Rocksdb => rocksdb::is_sst(bytes),
        Format::Redisbloom => redisbloom::Chain::open(bytes).is_ok(),
        Format::RedisbloomDump => redisbloom::dump::is_dump(bytes),
        Format::ValkeyBloom => valkey_bloom::Chain::open(bytes).is_ok(),
        Format::Orc => orc::read(bytes, orc::Column::Bytes).is_ok(),
        _ => false,
    }
}

/// Whether the bytes could be of this format, which has nothing to be known by.
fn fits(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Leveldb | Format::LeveldbOld | Format::Goleveldb | Format::Badger => {
            leveldb::read(bytes, leveldb::Program::Leveldb).is_ok()
        }
        Format::Rocksdb => rocksdb::Filter::open(bytes).is_ok(),
        Format::ParquetBitset => !bytes.is_empty() && bytes.len().is_multiple_of(32),
        Format::Kevburnsjr => !bytes.is_empty() && bytes.len().is_multiple_of(4),
        Format::BloomfilterJs | Format::BloomfilterJsOld => bloomfilter_js::says(bytes),
        _ => false,
    }
}
