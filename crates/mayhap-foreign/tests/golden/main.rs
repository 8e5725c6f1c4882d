//! Every golden file in `testdata/foreign/`: members, a thousand probes, and the bytes.

mod guava;
mod vectors;
