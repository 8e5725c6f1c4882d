//! The frozen numbers of other programs' schemes, as our files write them.
//!
//! Append-only: an id never changes its meaning. Two formats share one exactly where they hash
//! and probe alike, which is where bits can be moved from one to the other.

use mayhap::scheme::SchemeId;

/// Guava `MURMUR128_MITZ_32`.
pub const GUAVA_32: SchemeId = SchemeId(256);
/// Guava `MURMUR128_MITZ_64`.
pub const GUAVA_64: SchemeId = SchemeId(257);
/// LevelDB since 1.18, goleveldb, Badger.
pub const LEVELDB: SchemeId = SchemeId(258);
/// LevelDB before 1.18, on machines whose `char` is signed.
pub const LEVELDB_OLD: SchemeId = SchemeId(259);
/// RocksDB FastLocalBloom.
pub const ROCKSDB_FAST_LOCAL: SchemeId = SchemeId(260);
/// RocksDB's full filter before format version 5.
pub const ROCKSDB_LEGACY: SchemeId = SchemeId(261);
/// RocksDB Ribbon.
pub const ROCKSDB_RIBBON: SchemeId = SchemeId(262);
/// RedisBloom with MurmurHash64A, as all commands make it.
pub const REDISBLOOM_64: SchemeId = SchemeId(263);
/// RedisBloom with MurmurHash2, as very old ones are.
pub const REDISBLOOM_32: SchemeId = SchemeId(264);
/// valkey-bloom.
pub const VALKEY_BLOOM: SchemeId = SchemeId(265);
/// bits-and-blooms, once willf/bloom.
pub const BITS_AND_BLOOMS: SchemeId = SchemeId(266);
/// Parquet's split blocks.
pub const PARQUET: SchemeId = SchemeId(267);
/// Spark sketch, version 1.
pub const SPARK_V1: SchemeId = SchemeId(268);
/// Spark sketch, version 2.
pub const SPARK_V2: SchemeId = SchemeId(269);
/// DCSO bloom, flor, poppy version 1.
pub const DCSO: SchemeId = SchemeId(270);
/// poppy version 2.
pub const POPPY_V2: SchemeId = SchemeId(271);
/// kevburnsjr/bloomfilter.
pub const KEVBURNSJR: SchemeId = SchemeId(272);
/// bloomfilter.js since 0.0.19.
pub const BLOOMFILTER_JS: SchemeId = SchemeId(273);
/// bloomfilter.js up to 0.0.18.
pub const BLOOMFILTER_JS_OLD: SchemeId = SchemeId(274);
/// ORC, strings and binary.
pub const ORC_BYTES: SchemeId = SchemeId(275);
/// ORC, integers.
pub const ORC_LONG: SchemeId = SchemeId(276);
