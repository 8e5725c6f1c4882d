//! Flags that every verb has.

use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;

/// Flags that every verb has.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Everywhere")]
pub struct Globals {
    /// Machine-readable output: JSON instead of text
    #[arg(long, global = true, display_order = 900)]
    pub json: bool,

    /// When to use colours; NO_COLOR is respected
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", display_order = 901)]
    pub color: Color,

    /// No progress bar (there is one only if standard error is a terminal)
    #[arg(long, global = true, display_order = 902)]
    pub no_progress: bool,

    /// No summaries and no warnings; for `check` no output at all, only the exit code
    #[arg(short, long, global = true, display_order = 903)]
    pub quiet: bool,

    /// Threads; the default is one per core
    #[arg(short = 'j', long, global = true, value_name = "N", display_order = 904)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Write each line as soon as it is known, for a reader at the other end of a pipe
    #[arg(long, global = true, display_order = 905)]
    pub line_buffered: bool,
}

impl Globals {
    /// How many threads to use.
    pub fn threads(&self) -> NonZeroUsize {
        let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        self.threads.and_then(|threads| NonZeroUsize::new(threads.into())).unwrap_or_else(cores)
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that can show them
    Auto,
    /// Also in pipes and files
    Always,
    /// Never
    Never,
}

impl Color {
    /// Decide for all streams of the process.
    pub fn write_global(self) {
        let choice = match self {
            Color::Auto => anstream::ColorChoice::Auto,
            Color::Always => anstream::ColorChoice::AlwaysAnsi,
            Color::Never => anstream::ColorChoice::Never,
        };
        choice.write_global();
    }
}
