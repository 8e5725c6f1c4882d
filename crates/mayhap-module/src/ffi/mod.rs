//! The server's side of the house: its functions, its memory, its keys. All `unsafe` is here.
//!
//! Written by hand after `redismodule.h`, so that building needs no C compiler and no libclang.
//! Every function is looked up by name when the module is loaded; those that older servers lack
//! are `Option`s. No panic leaves: each entry point catches what comes.

mod alloc;
mod api;
mod command;
mod config;
mod data_type;
mod docs;
mod keys;
mod load;
mod rdb;

pub use load::RedisModule_OnLoad;

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Run it, and have a value even where it panics: a panic that left the module would end the
/// server.
fn guarded<T>(fallback: T, run: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(fallback)
}
