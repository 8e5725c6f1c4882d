//! How much memory may be taken.

use crate::exit::refuse;
use crate::numbers::{self, bytes};
use crate::verbs::plan::table_for;
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

    /// Fails where more is needed, with the plan of what can be had instead.
    pub fn check(self, need: u64, keys: u64) -> anyhow::Result<()> {
        self.budget().check(need).map_err(|over| {
            let (need, have) = (bytes(over.need), bytes(over.have));
            let enough = numbers::size_flag(over.need.next_multiple_of(1_000_000));
            let mut hint = format!("--max-memory {enough} allows it");
            if let Some(plan) = table_for(keys.max(1), over.have) {
                hint += &format!("; what {have} can do:\n\n{}", plan.trim_end());
            }
            refuse(format!("{need} of memory needed, {have} allowed"), hint)
        })
    }
}
