//! `mayhap man DIR`.

use crate::Cli;
use crate::exit::{Exit, Hint};
use anyhow::Context;
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Write the manual pages into a folder, one for each verb.
///
/// Made of the same definitions as --help: mayhap man ~/.local/share/man/man1
#[derive(Args)]
pub struct Man {
    /// The folder; made if it is not there
    dir: PathBuf,
}

impl Man {
    pub fn run(self) -> anyhow::Result<Exit> {
        let dir = &self.dir;
        std::fs::create_dir_all(dir)
            .with_context(|| format!("making the folder {}", dir.display()))
            .hint("give a folder that you may write to")?;
        clap_mangen::generate_to(Cli::command(), dir)
            .with_context(|| format!("writing manual pages to {}", dir.display()))?;
        Ok(Exit::Yes)
    }
}
