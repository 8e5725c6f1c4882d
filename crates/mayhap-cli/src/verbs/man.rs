//! `mayhap man DIR`.

use crate::Cli;
use crate::exit::{Exit, HintExt};
use crate::manual;
use anyhow::Context;
use clap::{Args, Command, CommandFactory};
use clap_mangen::Man as Page;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const MANUAL: &str = "\
EXAMPLES:
  mayhap man ~/.local/share/man/man1 && man mayhap-build

EXIT STATUS:
  0  written
  2  an error, reported on standard error";

/// Write the manual pages into a directory, one per verb.
///
/// Generated from the same definitions as --help: mayhap man ~/.local/share/man/man1
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, ""))]
pub struct Man {
    /// The directory; created if it does not exist
    dir: PathBuf,
}

impl Man {
    pub fn run(self) -> anyhow::Result<Exit> {
        let dir = &self.dir;
        std::fs::create_dir_all(dir)
            .with_context(|| format!("making the folder {}", dir.display()))
            .hint("give a folder that you may write to")?;
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        write_all(&root, dir)
            .with_context(|| format!("writing manual pages to {}", dir.display()))?;
        Ok(Exit::Yes)
    }
}

/// The page of a command, and those of its verbs.
fn write_all(command: &Command, dir: &Path) -> io::Result<()> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write_all(verb, dir)?;
    }
    let page = Page::new(command.clone());
    let mut text = Vec::new();
    render(command, &page, &mut text)?;
    std::fs::write(dir.join(page.get_filename()), text)
}

fn render(command: &Command, page: &Page, to: &mut Vec<u8>) -> io::Result<()> {
    let after = command.get_after_long_help().or(command.get_after_help());
    let after = after.map(ToString::to_string).unwrap_or_default();
    page.render_title(to)?;
    page.render_name_section(to)?;
    page.render_synopsis_section(to)?;
    page.render_description_section(to)?;
    page.render_options_section(to)?;
    if command.has_subcommands() {
        page.render_subcommands_section(to)?;
    }
    write_sections(&after, to)
}

/// `EXAMPLES:` and the like become sections, what is below them is kept line by line.
fn write_sections(text: &str, to: &mut Vec<u8>) -> io::Result<()> {
    let mut is_open = false;
    for line in text.lines() {
        let title = line.strip_suffix(':').filter(|title| {
            !title.is_empty() && title.chars().all(|c| c.is_ascii_uppercase() || c == ' ')
        });
        if let Some(title) = title {
            if is_open {
                writeln!(to, ".fi")?;
            }
            writeln!(to, ".SH {title}\n.nf")?;
            is_open = true;
        } else {
            if !is_open {
                writeln!(to, ".SH NOTES\n.nf")?;
                is_open = true;
            }
            // A line of its own text must not look like a request of roff's.
            writeln!(to, "\\&{}", line.replace('\\', "\\e").replace('-', "\\-"))?;
        }
    }
    if is_open {
        writeln!(to, ".fi")?;
    }
    Ok(())
}
