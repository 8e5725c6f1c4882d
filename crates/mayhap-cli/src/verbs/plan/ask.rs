//! The question behind a plan, and what every kind answers.

use crate::kind::KindArg;
use mayhap::SpecError;
use mayhap::sizing::Plan;

/// Two of three, and which is missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ask {
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

/// What one kind answers.
pub struct Answer {
    /// The kind.
    pub kind: KindArg,
    /// Its plan, or why there is none.
    pub plan: Result<Plan, SpecError>,
}

impl Ask {
    /// What every kind answers.
    pub fn answers(self, generations: u32) -> Vec<Answer> {
        let kinds = KindArg::PLANNED.into_iter();
        let layouts = kinds.filter_map(|kind| Some((kind, kind.layout(generations)?)));
        let answer = |(kind, layout)| {
            let plan = match self {
                Ask::Memory { keys, fpr } => Plan::for_rate(layout, keys, fpr),
                Ask::Rate { keys, bytes } => Plan::for_memory(layout, keys, bytes),
                Ask::Keys { fpr, bytes } => Plan::for_keys(layout, fpr, bytes),
            };
            Answer { kind, plan }
        };
        layouts.map(answer).collect()
    }

    /// The least that any structure needs, whatever it is: keys, rate and bytes with the missing
    /// one filled in.
    pub fn bound(self) -> (u64, f64, u64) {
        match self {
            Ask::Memory { keys, fpr } => (keys, fpr, bound_bytes(keys, fpr)),
            Ask::Rate { keys, bytes } => {
                let fpr = (-(bytes as f64) * 8.0 / keys.max(1) as f64).exp2();
                (keys, fpr, bytes)
            }
            Ask::Keys { fpr, bytes } => ((bytes as f64 * 8.0 / -fpr.log2()) as u64, fpr, bytes),
        }
    }

    /// The rate asked for, or reached at best.
    pub fn fpr(self) -> f64 {
        self.bound().1
    }

    /// The word for what was missing.
    pub fn missing(self) -> &'static str {
        match self {
            Ask::Memory { .. } => "memory",
            Ask::Rate { .. } => "rate",
            Ask::Keys { .. } => "keys",
        }
    }
}

/// The bytes that no structure can do without: log2(1/rate) bits a key.
pub fn bound_bytes(keys: u64, fpr: f64) -> u64 {
    (keys as f64 * -fpr.log2() / 8.0).ceil() as u64
}

/// A table of 64-bit hashes: nine bytes a slot, slots a power of two and at most 7/8 full, as in
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
    fn two_bits_a_key_are_a_quarter_at_best() {
        let (keys, fpr, bytes) = Ask::Rate { keys: 2_000_000_000, bytes: 500_000_000 }.bound();
        assert_eq!((keys, fpr, bytes), (2_000_000_000, 0.25, 500_000_000));
    }

    #[test]
    fn the_bound_is_below_every_kind() {
        let ask = Ask::Memory { keys: 2_000_000_000, fpr: 0.01 };
        let bound = ask.bound().2;
        assert_eq!(bound / 10_000_000, 166); // 1.66 GB
        for answer in ask.answers(4) {
            assert!(answer.plan.unwrap().bytes() > bound, "{:?}", answer.kind);
        }
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
