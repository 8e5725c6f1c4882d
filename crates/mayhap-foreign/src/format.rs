//! The formats by name.

use std::fmt;
use std::str::FromStr;

/// A layout of bytes that some program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Format {
    /// Our own file, see [`mayhap::format`](mod@mayhap::format).
    Mayhap,
    /// Guava `BloomFilter.writeTo`.
    Guava,
    /// LevelDB since 1.18.
    Leveldb,
    /// LevelDB before 1.18.
    LeveldbOld,
    /// goleveldb.
    Goleveldb,
    /// Badger.
    Badger,
    /// A RocksDB filter block, or an SST file with one in it.
    Rocksdb,
    /// The chunks of RedisBloom's `BF.SCANDUMP`, one after another.
    Redisbloom,
    /// What Redis' `DUMP` gives of a RedisBloom filter.
    RedisbloomDump,
    /// What valkey-bloom's `BF.LOAD` takes.
    ValkeyBloom,
    /// bits-and-blooms/bloom, once willf/bloom: binary or JSON.
    BitsAndBlooms,
    /// A Parquet file.
    Parquet,
    /// The bits of one Parquet filter.
    ParquetBitset,
    /// Spark's `BloomFilter.writeTo`, versions 1 and 2.
    Spark,
    /// DCSO bloom (also flor and poppy version 1), plain or gzipped.
    Dcso,
    /// poppy version 2 (and version 1, which is DCSO's).
    Poppy,
    /// kevburnsjr/bloomfilter `ToBytes`.
    Kevburnsjr,
    /// Elements of a Redis list, `count::base64`, one a line, newest first.
    NumBase64,
    /// bloomfilter.js since 0.0.19.
    BloomfilterJs,
    /// bloomfilter.js up to 0.0.18.
    BloomfilterJsOld,
    /// ORC's `BloomFilter` message.
    Orc,
}

impl Format {
    /// Every format, in the order people read them.
    pub const ALL: [Format; 21] = [
        Format::Mayhap,
        Format::Guava,
        Format::Leveldb,
        Format::LeveldbOld,
        Format::Goleveldb,
        Format::Badger,
        Format::Rocksdb,
        Format::Redisbloom,
        Format::RedisbloomDump,
        Format::ValkeyBloom,
        Format::BitsAndBlooms,
        Format::Parquet,
        Format::ParquetBitset,
        Format::Spark,
        Format::Dcso,
        Format::Poppy,
        Format::Kevburnsjr,
        Format::NumBase64,
        Format::BloomfilterJs,
        Format::BloomfilterJsOld,
        Format::Orc,
    ];

    /// The name people type.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Mayhap => "mayhap",
            Format::Guava => "guava",
            Format::Leveldb => "leveldb",
            Format::LeveldbOld => "leveldb-old",
            Format::Goleveldb => "goleveldb",
            Format::Badger => "badger",
            Format::Rocksdb => "rocksdb",
            Format::Redisbloom => "redisbloom",
            Format::RedisbloomDump => "redisbloom-dump",
            Format::ValkeyBloom => "valkey-bloom",
            Format::BitsAndBlooms => "bits-and-blooms",
            Format::Parquet => "parquet",
            Format::ParquetBitset => "parquet-bitset",
            Format::Spark => "spark",
            Format::Dcso => "dcso",
            Format::Poppy => "poppy",
            Format::Kevburnsjr => "kevburnsjr",
            Format::NumBase64 => "num-base64",
            Format::BloomfilterJs => "bloomfilter-js",
            Format::BloomfilterJsOld => "bloomfilter-js-old",
            Format::Orc => "orc",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFormat(String);

impl fmt::Display for UnknownFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = Format::ALL.iter().map(|format| format.name()).collect();
        write!(f, "no format {:?}: there are {}", self.0, names.join(", "))
    }
}

impl std::error::Error for UnknownFormat {}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(name: &str) -> Result<Format, UnknownFormat> {
        let found = Format::ALL.into_iter().find(|format| format.name() == name);
        found.ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for format in Format::ALL {
            assert_eq!(format.name().parse(), Ok(format));
        }
        assert!(
            "guavas".parse::<Format>().unwrap_err().to_string().contains("no format \"guavas\"")
        );
    }
}
