//! How many lines to make room for, and the filter that has it.

use super::Dedup;
use crate::create_args::WindowSpan;
use crate::exit::error_with_hint;
use crate::globals::Globals;
use crate::progress::Progress;
use anyhow::Context;
use mayhap::sizing::Plan;
use mayhap::{AnyFilter, Blocked, Kind, KindSpec, Scalable, Spec, Window};
use mayhap_store::text::{ExtractRules, InputEstimate, KeyField, KeyReader, Normalizer};

/// The first layer of a filter that grows as lines come: 4 MB at the usual rate.
const START: u64 = 1 << 20;

/// The share of the rate that a filter made for counted lines keeps back, for lines that came
/// after the count: 0.1 bits a line, which nobody misses.
const KEPT_BACK: f64 = 1.0 / 16.0;
/// What the capacity of such a filter is multiplied by: lines that came meanwhile are few.
const COUNTED_GROWTH: u32 = 2;

/// How many lines to make room for. Either way more may come: a file can grow between the count
/// and the reading in earnest.
#[derive(Clone, Copy, Debug)]
pub enum CapacityHint {
    /// So many were counted.
    Counted(u64),
    /// So many are expected.
    Expected(u64),
}

impl CapacityHint {
    pub fn keys(self) -> u64 {
        match self {
            CapacityHint::Counted(keys) | CapacityHint::Expected(keys) => keys,
        }
    }

    /// An empty filter with the room.
    pub fn filter(self, dedup: &Dedup) -> anyhow::Result<AnyFilter> {
        let (keys, rate) = (self.keys().max(1), dedup.rate());
        let spec = Spec::new(keys, rate)?;
        let kind = match (dedup.window, self) {
            (Some(WindowSpan::Keys(_)), _) => {
                KindSpec::Windowed(Window::last_keys(KindSpec::GENERATIONS))
            }
            (Some(WindowSpan::Time(time)), _) => {
                KindSpec::Windowed(Window::time(time, KindSpec::GENERATIONS))
            }
            // Nearly all lines there are: one layer, as long as no more come. A state takes in the
            // lines of runs to come.
            (None, CapacityHint::Counted(_)) if dedup.state.is_none() => KindSpec::Blocked,
            _ => KindSpec::of(Kind::Scalable),
        };
        dedup.max_memory.check(Plan::for_fpr(kind, keys, rate)?.bytes(), keys)?;
        if kind != KindSpec::Blocked {
            return Ok(AnyFilter::create(&kind, spec)?);
        }
        let first = Blocked::new(Spec::new(keys, rate * (1.0 - KEPT_BACK))?)?;
        let growing = Scalable::from_parts(spec, COUNTED_GROWTH, vec![first]);
        Ok(growing.context("no growing filter")?.into())
    }
}

impl Dedup {
    /// How many lines to make room for: as the flags say, or as a first reading tells.
    pub(super) fn room(
        &self,
        reading: &KeyReader,
        globals: &Globals,
    ) -> anyhow::Result<CapacityHint> {
        match (self.window, self.expect) {
            (Some(WindowSpan::Keys(0)), _) => {
                return Err(error_with_hint(
                    "--window 0 would remember nothing",
                    "give a window of at least 1 line",
                ));
            }
            // A window counts what it is told, and is told of a line once for each time it passes.
            (Some(WindowSpan::Keys(_)), _) if self.max_repeat > 1 => {
                return Err(error_with_hint(
                    "--window of a number of lines does not go with --max-repeat",
                    "use a window of time (--window 1h -n LINES), or leave out --max-repeat",
                ));
            }
            (Some(WindowSpan::Keys(keys)), None) => return Ok(CapacityHint::Counted(keys)),
            (Some(WindowSpan::Keys(_)), Some(_)) => {
                return Err(error_with_hint(
                    "--window says how many lines are remembered, and so does -n",
                    "leave out -n",
                ));
            }
            (Some(WindowSpan::Time(_)), None) => {
                return Err(error_with_hint(
                    "--window of a time does not say how many lines come in it",
                    "add -n, the distinct lines to expect within the window",
                ));
            }
            (_, Some(keys)) => return Ok(CapacityHint::Expected(self.times(keys))),
            (None, None) if !reading.is_rereadable() => return Ok(CapacityHint::Expected(START)),
            (None, None) => {}
        }
        let progress = Progress::of(reading.progress(), "count", false, globals);
        let room = if is_cheap(reading.rules()) {
            let InputEstimate { records, distinct } = reading.estimate_input()?;
            // The estimate is off by 0.4% for one in three: five times that is next to never.
            let most = self.times(distinct + distinct / 50 + 100);
            most.min(records)
        } else {
            // To parse everything twice would cost more than the memory is worth.
            reading.count()?
        };
        drop(progress);
        Ok(CapacityHint::Counted(room.max(1)))
    }

    fn times(&self, keys: u64) -> u64 {
        keys.saturating_mul(self.max_repeat.into())
    }
}

/// Whether keys are made at little more than the cost of reading.
fn is_cheap(rules: &ExtractRules) -> bool {
    matches!(rules.part, KeyField::Whole | KeyField::Fields(_))
        && matches!(rules.normalizer, Normalizer::None | Normalizer::Lower | Normalizer::Hex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::MaxMemory;
    use crate::verbs::dedup::set::{FilterSet, Seen};
    use clap::Parser;
    use mayhap::Hash;
    use mayhap::scheme::{Native, Scheme};

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        dedup: Dedup,
    }

    /// What was counted is a guess: ten times as many come, as from a file that grows meanwhile.
    #[test]
    fn more_lines_than_were_counted_all_pass() -> anyhow::Result<()> {
        let dedup = Command::parse_from(["dedup", "-p", "1e-6"]).dedup;
        let filter = CapacityHint::Counted(10_000).filter(&dedup)?;
        let one_layer = filter.bytes();
        assert!(one_layer < 10_000 * 33 / 8, "{one_layer} bytes");
        let mut seen = FilterSet::new(filter, MaxMemory::default())?;
        let hashes: Vec<Hash> = (0..100_000u64).map(|i| Native::default().hash(i)).collect();
        let (mut new, mut passed) = (Vec::new(), 0);
        for hashes in hashes.chunks(777) {
            assert_eq!(seen.room(777), 777);
            seen.insert_new(hashes, &mut new)?;
            passed += new.iter().filter(|new| **new).count();
        }
        // One in a million: of a hundred thousand none, or one once in ten.
        assert!(passed >= 99_998, "{passed}");
        assert!(seen.rate() <= 1e-6, "{}", seen.rate());
        Ok(())
    }
}
