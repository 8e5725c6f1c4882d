//! Every golden file in `testdata/foreign/`: members, a thousand probes, and the bytes.

mod bits_and_blooms;
mod bloomfilter_js;
mod dcso;
mod guava;
mod kevburnsjr;
mod leveldb;
mod orc;
mod spark;
mod vectors;
