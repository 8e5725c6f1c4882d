//! The module inside real servers, started by the tests on free ports of this machine.
//!
//! `cargo test` builds the library that is loaded along with the tests. Redis is found on the path,
//! Valkey in the virtual environment `target/servers`; `cargo xtask test` installs them. A server
//! that is not there is skipped, unless `CI=true`. `MAYHAP_SERVERS` names others.

mod access;
mod beside;
mod clients;
mod cluster;
mod commands;
mod cuckoo;
mod defrag;
mod hostile;
mod memory;
mod migration;
mod mutation;
mod pages;
mod persistence;
mod settings;
