//! Filters on real servers, started by the tests on free ports of this machine.

mod cluster;
mod identity;
mod loading;
mod outages;
mod shards;
mod transfer;

use mayhap_redis::{Address, FilterError, Filters};
use mayhap_testkit::{Make, Server, makes};
use std::sync::Arc;

/// The newest server there is.
fn make() -> Option<Make> {
    makes().last().copied()
}

fn connect(server: &Server) -> Arc<Filters> {
    try_connect(&format!("redis://127.0.0.1:{}", server.port), "BF").unwrap()
}

fn try_connect(url: &str, prefix: &str) -> Result<Arc<Filters>, FilterError> {
    let (address, _) = Address::parse(url)?;
    Filters::connect(address, prefix).map(Arc::new)
}

/// The temporary keys of a server.
fn on_their_way(server: &Server) -> usize {
    server.client().say("KEYS *ing-*").array().len()
}
