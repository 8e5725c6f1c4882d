//! `mayhap completions SHELL`.

use crate::Cli;
use crate::exit::Exit;
use crate::manual;
use crate::print;
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

const MANUAL: &str = "\
EXAMPLES:
  mayhap completions bash > ~/.local/share/bash-completion/completions/mayhap

EXIT STATUS:
  0  printed
  2  an error, reported on standard error";

/// Print the completion script for a shell
///
/// bash: mayhap completions bash > ~/.local/share/bash-completion/completions/mayhap
/// zsh:  mayhap completions zsh > a folder of $fpath, named _mayhap
/// fish: mayhap completions fish > ~/.config/fish/completions/mayhap.fish
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, ""))]
#[command(verbatim_doc_comment)]
pub struct Completions {
    /// The shell to complete for
    shell: Shell,
}

impl Completions {
    pub fn run(self) -> anyhow::Result<Exit> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "mayhap", &mut script);
        print::out_bytes(|to| to.write_all(&script))?;
        Ok(Exit::Yes)
    }
}
