//! What every kind answers to the same question, beside what no structure can do without and what a
//! plain set would take.

use super::Plan;
use crate::filter::{Kind, KindSpec};
use crate::spec::SpecError;

/// Two of keys, rate and memory; the third is asked for.
///
/// ```
/// use mayhap::sizing::Question;
/// let question = Question::Memory { keys: 2_000_000_000, fpr: 0.01 };
/// let smallest = question.compare(4).filter_map(|(_, plan)| plan.ok()).min_by_key(|plan| plan.bytes());
/// assert_eq!(smallest.unwrap().kind().kind(), mayhap::Kind::Ribbon);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Question {
    /// How much memory do these keys need?
    Memory {
        /// Keys to come.
        keys: u64,
        /// The rate to keep.
        fpr: f64,
    },
    /// How often will it err?
    Rate {
        /// Keys to come.
        keys: u64,
        /// Memory to spend.
        bytes: u64,
    },
    /// How many keys will fit?
    Keys {
        /// The rate to keep.
        fpr: f64,
        /// Memory to spend.
        bytes: u64,
    },
}

impl Question {
    /// What one kind answers.
    pub fn plan(self, kind: KindSpec) -> Result<Plan, SpecError> {
        match self {
            Question::Memory { keys, fpr } => Plan::for_fpr(kind, keys, fpr),
            Question::Rate { keys, bytes } => Plan::for_memory(kind, keys, bytes),
            Question::Keys { fpr, bytes } => Plan::for_keys(kind, fpr, bytes),
        }
    }

    /// What every kind answers that can be planned and is one filter; windows have so many
    /// generations.
    pub fn compare(
        self,
        generations: u32,
    ) -> impl Iterator<Item = (KindSpec, Result<Plan, SpecError>)> {
        let specs = Kind::ALL.iter().filter_map(move |kind| match KindSpec::of(*kind) {
            // Parts cost what the whole does.
            KindSpec::Sharded { .. } => None,
            KindSpec::Windowed(_) => {
                Some(KindSpec::Windowed(crate::Window::last_keys(generations)))
            }
            spec => Plan::for_fpr(spec, 1, 0.5).is_ok().then_some(spec),
        });
        specs.map(move |spec| (spec, self.plan(spec)))
    }

    /// The least that any structure needs, whatever it is: keys, rate and bytes with the missing
    /// one filled in.
    pub fn bound(self) -> (u64, f64, u64) {
        match self {
            Question::Memory { keys, fpr } => (keys, fpr, bound_bytes(keys, fpr)),
            Question::Rate { keys, bytes } => {
                let fpr = (-(bytes as f64) * 8.0 / keys.max(1) as f64).exp2();
                (keys, fpr, bytes)
            }
            Question::Keys { fpr, bytes } => {
                ((bytes as f64 * 8.0 / -fpr.log2()) as u64, fpr, bytes)
            }
        }
    }

    /// The word for what was missing.
    pub fn missing(self) -> &'static str {
        match self {
            Question::Memory { .. } => "memory",
            Question::Rate { .. } => "rate",
            Question::Keys { .. } => "keys",
        }
    }
}

/// The bytes that no structure can do without: log2(1/rate) bits per key.
pub fn bound_bytes(keys: u64, fpr: f64) -> u64 {
    (keys as f64 * -fpr.log2() / 8.0).ceil() as u64
}

/// A table of 64-bit hashes: nine bytes per slot, slots a power of two and at most 7/8 full, as in
/// Rust's own `HashSet`.
pub fn hash_set_bytes(keys: u64) -> u64 {
    let slots = (u128::from(keys) * 8).div_ceil(7).next_power_of_two().max(4);
    u64::try_from(slots * 9).unwrap_or(u64::MAX)
}

/// A bitmap of 32-bit ids at its worst: scattered ones take 16 bits each, and at some point a bit
/// for each possible id is less. More keys than that must be closer together: a bit each.
pub fn bitmap_bytes(keys: u64) -> u64 {
    const ALL: u64 = 1 << 32;
    if keys > ALL { keys.div_ceil(8) } else { (keys * 2).min(ALL / 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bits_per_key_are_a_quarter_at_best() {
        let (keys, fpr, bytes) = Question::Rate { keys: 2_000_000_000, bytes: 500_000_000 }.bound();
        assert_eq!((keys, fpr, bytes), (2_000_000_000, 0.25, 500_000_000));
    }

    #[test]
    fn the_bound_is_below_every_kind() {
        let question = Question::Memory { keys: 2_000_000_000, fpr: 0.01 };
        let bound = question.bound().2;
        assert_eq!(bound / 10_000_000, 166); // 1.66 GB
        let mut kinds = Vec::new();
        for (kind, plan) in question.compare(4) {
            assert!(plan.unwrap().bytes() > bound, "{kind:?}");
            kinds.push(kind.kind());
        }
        assert_eq!(kinds[0], Kind::Blocked);
        assert_eq!(kinds.len(), Kind::ALL.len() - 3, "{kinds:?}");
    }

    #[test]
    fn others_are_sized_as_they_are() {
        assert_eq!(hash_set_bytes(7), 8 * 9);
        assert_eq!(hash_set_bytes(8), 16 * 9);
        assert_eq!(bitmap_bytes(2_000_000_000), 1 << 29);
        assert_eq!(bitmap_bytes(1_000), 2_000);
        _ = (hash_set_bytes(u64::MAX), bitmap_bytes(u64::MAX));
    }
}
