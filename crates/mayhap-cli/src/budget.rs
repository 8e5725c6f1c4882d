//! How much memory may be taken.

use crate::exit::refuse;
use crate::numbers::{self, bytes};
use clap::Args;
use mayhap_store::memory::Budget;

/// How much memory may be taken.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MaxMemory {
    /// Never take more memory than this; the default is half of the machine's
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    max_memory: Option<u64>,
}

impl MaxMemory {
    /// What may be taken.
    pub fn budget(self) -> Budget {
        self.max_memory.map_or_else(Budget::default, Budget::of_bytes)
    }

    /// Fails where more is needed, with the plan that shows what would fit.
    pub fn check(self, need: u64, keys: u64) -> anyhow::Result<()> {
        self.budget().check(need).map_err(|over| {
            let have = bytes(over.have);
            refuse(
                format!("{} of memory needed, {have} allowed", bytes(over.need)),
                format!(
                    "`mayhap plan -n {keys} --memory {}` shows what can be had there; \
                     --max-memory {} allows more",
                    numbers::size_flag(over.have),
                    numbers::size_flag(over.need.next_multiple_of(1_000_000)),
                ),
            )
        })
    }
}
