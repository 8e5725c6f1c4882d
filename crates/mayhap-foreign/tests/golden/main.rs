//! Every golden file in `testdata/foreign/`: members, a thousand probes, and the bytes.

mod bits_and_blooms;
mod bloomfilter_js;
mod dcso;
mod guava;
mod kevburnsjr;
mod leveldb;
mod num_base64;
mod orc;
mod parquet;
mod poppy;
mod redisbloom;
mod rocksdb;
mod spark;
mod uniform;
mod valkey_bloom;
mod vectors;
