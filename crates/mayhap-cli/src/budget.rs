//! How much memory may be taken.

use crate::numbers::{self, bytes};
use crate::verbs::plan::table_for;
use clap::Args;
use mayhap_store::ChangeError;
use mayhap_store::budget::{Budget, OverBudget};

/// How much memory may be taken.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct MaxMemory {
    /// Memory limit; the default is half of the machine's memory
    #[arg(long, value_name = "SIZE", value_parser = numbers::size)]
    max_memory: Option<u64>,
}

impl MaxMemory {
    /// What may be taken.
    pub fn budget(self) -> Budget {
        self.max_memory.map_or_else(Budget::default, Budget::of_bytes)
    }

    /// Fails where more is needed for so many keys.
    pub fn check(self, need: u64, keys: u64) -> Result<(), ChangeError> {
        self.budget().check(need).map_err(|over| ChangeError::Memory { over, keys })
    }
}

/// The way out where so many keys need more memory than allowed: the plan of what can be had.
pub fn hint(over: &OverBudget, keys: u64) -> String {
    let enough = numbers::size_flag(over.need.next_multiple_of(1_000_000));
    let mut hint = format!("--max-memory {enough} allows it");
    if let Some(plan) = table_for(keys.max(1), over.have) {
        hint += &format!("; what {} can do:\n\n{}", bytes(over.have), plan.trim_end());
    }
    hint
}
