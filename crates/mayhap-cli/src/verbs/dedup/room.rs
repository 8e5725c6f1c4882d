//! How many lines to make room for, and the filter that has it.

use super::Dedup;
use crate::exit::refuse;
use crate::globals::Globals;
use crate::kind::{GENERATIONS, GROWTH};
use crate::progress::Progress;
use crate::verbs::build::wish::Span;
use mayhap::sizing::{Layout, Plan};
use mayhap::{AnyFilter, Blocked, Scalable, Spec, Windowed};
use mayhap_store::keys::{Normaliser, Part, Reading, Rules, Survey};

/// The first layer of a filter that grows as lines come: 4 MB at the usual rate.
const START: u64 = 1 << 20;

/// How many lines to make room for.
#[derive(Clone, Copy, Debug)]
pub enum Room {
    /// No more than these will come.
    Known(u64),
    /// So many are expected; more may come.
    Expected(u64),
}

impl Room {
    pub fn keys(self) -> u64 {
        match self {
            Room::Known(keys) | Room::Expected(keys) => keys,
        }
    }

    /// An empty filter with the room.
    pub fn filter(self, dedup: &Dedup) -> anyhow::Result<AnyFilter> {
        let (keys, rate) = (self.keys().max(1), dedup.rate());
        let spec = Spec::new(keys, rate)?;
        let growing = Layout::Scalable { growth: GROWTH };
        let layout = match (dedup.window, self) {
            (Some(Span::Keys(_)), _) => Layout::Windowed { generations: GENERATIONS },
            (Some(Span::Time(_)), _) => Layout::TimeWindowed { generations: GENERATIONS },
            // A state takes in the lines of runs to come.
            (None, Room::Known(_)) if dedup.state.is_none() => Layout::Blocked,
            _ => growing,
        };
        dedup.max_memory.check(Plan::for_rate(layout, keys, rate)?.bytes(), keys)?;
        Ok(match (dedup.window, layout) {
            (Some(Span::Keys(_)), _) => {
                Windowed::new(spec, mayhap::Window::last_keys(GENERATIONS))?.into()
            }
            (Some(Span::Time(time)), _) => {
                let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                Windowed::new(spec, mayhap::Window::span(ms, GENERATIONS))?.into()
            }
            (None, Layout::Blocked) => Blocked::new(spec)?.into(),
            _ => Scalable::new(spec)?.with_growth(GROWTH)?.into(),
        })
    }
}

impl Dedup {
    /// How many lines to make room for: as the flags say, or as a first reading tells.
    pub(super) fn room(&self, reading: &Reading, globals: &Globals) -> anyhow::Result<Room> {
        match (self.window, self.expect) {
            (Some(Span::Keys(keys)), None) => return Ok(Room::Known(keys)),
            (Some(Span::Keys(_)), Some(_)) => {
                return Err(refuse(
                    "--window says how many lines are remembered, and so does -n",
                    "leave out -n",
                ));
            }
            (Some(Span::Time(_)), None) => {
                return Err(refuse(
                    "--window of a time does not say how many lines come in it",
                    "add -n, the distinct lines to expect within the window",
                ));
            }
            (_, Some(keys)) => return Ok(Room::Expected(self.times(keys))),
            (None, None) if !reading.is_rereadable() => return Ok(Room::Expected(START)),
            (None, None) => {}
        }
        let progress = Progress::of(reading.watch(), "count", false, globals);
        let room = if is_cheap(reading.rules()) {
            let Survey { records, distinct } = reading.survey()?;
            // The estimate is off by 0.4% for one in three: five times that is next to never.
            let most = self.times(distinct + distinct / 50 + 100);
            most.min(records)
        } else {
            // To parse everything twice would cost more than the memory is worth.
            reading.count()?
        };
        drop(progress);
        Ok(Room::Known(room.max(1)))
    }

    fn times(&self, keys: u64) -> u64 {
        keys.saturating_mul(self.max_repeat.into())
    }
}

/// Whether keys are made at little more than the cost of reading.
fn is_cheap(rules: &Rules) -> bool {
    matches!(rules.part, Part::Whole | Part::Fields(_))
        && matches!(rules.normaliser, Normaliser::None | Normaliser::Lower | Normaliser::Hex)
}
