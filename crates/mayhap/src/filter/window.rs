//! What a forgetting filter remembers, and when a moment's generation begins.

use crate::spec::SpecError;
use std::fmt;

/// The most generations a window is cut into.
const MAX_GENERATIONS: u32 = 1024;

/// What a [`Windowed`](crate::Windowed) filter remembers: so many keys, or so much time; and in how many
/// generations it forgets.
///
/// With more generations it forgets more exactly, and asks in more places. Four is a good start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    generations: u32,
    /// Nothing where keys are counted.
    ticks: Option<u64>,
}

impl Window {
    /// The last keys, as many as the [`Spec`](crate::Spec)'s capacity.
    pub const fn last_keys(generations: u32) -> Window {
        Window { generations, ticks: None }
    }

    /// The keys of the last `ticks`, of whatever length: the clock is the caller's.
    pub const fn span(ticks: u64, generations: u32) -> Window {
        Window { generations, ticks: Some(ticks) }
    }

    /// How many generations the window is cut into.
    pub const fn generations(&self) -> u32 {
        self.generations
    }

    /// The time it spans, in the caller's ticks. `None` where keys are counted.
    pub const fn ticks(&self) -> Option<u64> {
        self.ticks
    }

    pub(super) fn check(&self) -> Result<(), SpecError> {
        let Window { generations, ticks } = *self;
        let some_each = ticks.is_none_or(|ticks| ticks >= u64::from(generations));
        if some_each && (1..=MAX_GENERATIONS).contains(&generations) {
            return Ok(());
        }
        Err(SpecError::Window { generations, span: ticks.unwrap_or(0) })
    }

    /// The number of the generation that a moment falls into. The window slides in `G` equal
    /// steps, whether or not `G` divides the span: two moments at most `ticks` apart are at most
    /// `G` generations apart, and two that are `ticks` and a step apart are more.
    pub(super) fn generation_at(&self, now: u64) -> Option<u64> {
        let steps = u128::from(now) * u128::from(self.generations);
        // At least one tick each, so there are no more generations than moments.
        Some(steps.checked_div(self.ticks?.into())? as u64)
    }

    /// The first moment of a generation; one of keys is begun by no moment.
    pub(super) fn start_of(&self, generation: u64) -> u64 {
        let Some(ticks) = self.ticks else { return u64::MAX };
        let steps = u128::from(generation) * u128::from(ticks);
        let start = steps.div_ceil(self.generations.max(1).into());
        u64::try_from(start).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ticks {
            Some(ticks) => write!(f, "{ticks} ticks in {} generations", self.generations),
            None => write!(f, "last keys in {} generations", self.generations),
        }
    }
}
