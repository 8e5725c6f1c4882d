//! The window of a forgetting filter, and the generations of time.

use crate::spec::SpecError;
use std::fmt;
use std::time::{Duration, SystemTime};

/// Maximum number of generations of a window.
const MAX_GENERATIONS: u32 = 1024;

/// What a [`Windowed`](crate::Windowed) filter remembers: so many keys, or so much time; and in how many
/// generations it forgets.
///
/// With more generations it forgets more exactly, and each lookup has more places to check. Four is a good
/// start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    generations: u32,
    /// `None` where keys are counted.
    ticks: Option<u64>,
}

impl Window {
    /// The last keys, as many as the [`Spec`](crate::Spec)'s capacity.
    pub const fn last_keys(generations: u32) -> Window {
        Window { generations, ticks: None }
    }

    /// The keys of the last `ticks`, of any unit: the clock is the caller's.
    pub const fn span(ticks: u64, generations: u32) -> Window {
        Window { generations, ticks: Some(ticks) }
    }

    /// The keys of this duration, counted in milliseconds: moments are [`Duration`]s since some
    /// epoch, or [`SystemTime`]s.
    pub fn time(span: Duration, generations: u32) -> Window {
        Window::span(Moment::from(span).to_ticks(), generations)
    }

    /// The number of generations of the window.
    pub const fn generations(&self) -> u32 {
        self.generations
    }

    /// Its span, in the caller's ticks. `None` where keys are counted.
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

    /// The first moment of a generation; a generation of keys has none.
    pub(super) fn start_of(&self, generation: u64) -> u64 {
        let Some(ticks) = self.ticks else { return u64::MAX };
        let steps = u128::from(generation) * u128::from(ticks);
        let start = steps.div_ceil(self.generations.max(1).into());
        u64::try_from(start).unwrap_or(u64::MAX)
    }
}

/// The current time, for a window of time: ticks since an epoch.
///
/// A [`Duration`] since the epoch, and a [`SystemTime`], are milliseconds, the unit of
/// [`Window::time`]. For a clock with other ticks, make windows with
/// [`Window::span`] and moments with [`Moment::ticks`]. A plain number is not accepted: it could be
/// seconds or milliseconds.
///
/// ```compile_fail,E0277
/// # use mayhap::{Spec, Window, Windowed};
/// # let hour = std::time::Duration::from_secs(3600);
/// let mut seen = Windowed::new(Spec::new(100, 0.01)?, Window::time(hour, 4))?;
/// seen.insert("ada", 1_800_000_000u64);
/// # Ok::<(), mayhap::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The time of the last insert or advance, for lookups. Inserts into windows of keys, which ignore the
    /// time, take it too.
    pub const LAST: Moment = Moment(0);

    /// This many ticks since the epoch.
    pub const fn ticks(since: u64) -> Moment {
        Moment(since)
    }

    /// The ticks since the epoch.
    pub const fn to_ticks(self) -> u64 {
        self.0
    }
}

/// Milliseconds since the epoch.
impl From<Duration> for Moment {
    fn from(since: Duration) -> Moment {
        Moment(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Milliseconds since 1970; earlier times are 1970.
impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Moment {
        time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().into()
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

/// Tests of the engine count in ticks.
#[cfg(test)]
mod plain_numbers {
    use super::Moment;

    impl From<u64> for Moment {
        fn from(ticks: u64) -> Moment {
            Moment(ticks)
        }
    }

    impl From<i32> for Moment {
        fn from(ticks: i32) -> Moment {
            Moment(ticks as u64)
        }
    }
}
