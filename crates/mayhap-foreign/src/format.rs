//! The list of formats. A new one is one row here, and a `FormatRow` in its family's module; detection,
//! opening, options, tables and tests follow from the two.

use crate::family::{Family, FormatRow};
use std::fmt;
use std::str::FromStr;

macro_rules! formats {
    ($($(#[$about:meta])+ $Format:ident => $family:ident,)*) => {
        /// A layout of bytes that some program writes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Format {
            $($(#[$about])+ $Format,)*
        }

        impl Format {
            /// Every format, in the order people read them.
            pub const ALL: [Format; [$(Format::$Format),*].len()] = [$(Format::$Format),*];

            /// What its family says.
            pub(crate) fn family(self) -> &'static Family {
                match self {
                    $(Format::$Format => &crate::$family::FAMILY,)*
                }
            }
        }
    };
}

formats! {
    /// A Mayhap file, see [`mayhap::format`](mod@mayhap::format).
    Mayhap => wrap,
    /// Guava `BloomFilter.writeTo`.
    Guava => guava,
    /// LevelDB since 1.18.
    Leveldb => leveldb,
    /// LevelDB before 1.18.
    LeveldbOld => leveldb,
    /// goleveldb.
    Goleveldb => leveldb,
    /// Badger.
    Badger => leveldb,
    /// A RocksDB filter block, or an SST file with one in it.
    Rocksdb => rocksdb,
    /// The chunks of RedisBloom's `BF.SCANDUMP`, one after another.
    Redisbloom => redisbloom,
    /// What Redis' `DUMP` gives of a RedisBloom filter.
    RedisbloomDump => redisbloom,
    /// What valkey-bloom's `BF.LOAD` takes.
    ValkeyBloom => valkey_bloom,
    /// bits-and-blooms/bloom, once willf/bloom: binary or JSON.
    BitsAndBlooms => bits_and_blooms,
    /// A Parquet file.
    Parquet => parquet,
    /// The bits of one Parquet filter.
    ParquetBitset => parquet,
    /// Spark's `BloomFilter.writeTo`, versions 1 and 2.
    Spark => spark,
    /// DCSO bloom (also flor and poppy version 1), plain or gzipped.
    Dcso => dcso,
    /// poppy version 2 (and version 1, which is DCSO's).
    Poppy => poppy,
    /// kevburnsjr/bloomfilter `ToBytes`.
    Kevburnsjr => kevburnsjr,
    /// Elements of a Redis list, `count::base64`, one a line, newest first.
    NumBase64 => num_base64,
    /// bloomfilter.js since 0.0.19.
    BloomfilterJs => bloomfilter_js,
    /// bloomfilter.js up to 0.0.18.
    BloomfilterJsOld => bloomfilter_js,
    /// ORC's `BloomFilter` message.
    Orc => orc,
}

impl Format {
    /// What there is to say about it.
    pub fn row(self) -> &'static FormatRow {
        let rows = self.family().rows;
        // A test holds that every format is in its family.
        rows.iter().find(|row| row.format == self).unwrap_or(&rows[0])
    }

    /// The name people type.
    pub fn name(self) -> &'static str {
        self.row().name
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
