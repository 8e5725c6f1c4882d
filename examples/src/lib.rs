//! One runnable program per scenario. Each is a page long and says at its top why it is built so;
//! `cargo run --release -p mayhap-examples --example crawler` runs one, and `cargo test -p
//! mayhap-examples` tests the promises of all.

pub mod guard;
