//! Every golden file in `testdata/foreign/`: members, a thousand probes, and the bytes.

mod guava;
mod parquet;
mod redisbloom;
mod rocksdb;
mod valkey_bloom;
mod vectors;
