//! One runnable program a scenario. Each is a page long and says at its top why it is built so;
//! `cargo run --release -p mayhap-examples --example crawler` runs one, and
//! `cargo test -p mayhap-examples` tries the promises of all.

pub mod guard;
