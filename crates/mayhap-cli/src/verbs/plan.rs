//! `mayhap plan`.

use crate::exit::Exit;
use crate::globals::Globals;
use clap::Args;

/// Plan
#[derive(Args)]
pub struct Plan {}

impl Plan {
    pub fn run(self, _globals: &Globals) -> anyhow::Result<Exit> {
        Ok(Exit::Yes)
    }
}
