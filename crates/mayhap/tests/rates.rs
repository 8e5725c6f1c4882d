//! The rate you ask for is the rate you get, measured.
//!
//! Each test looks up enough absent keys that a sizing error of 10% would stand out: the bound is five
//! standard deviations, and it is checked to be well below 10%.

use mayhap::scheme::{Native, Scheme};
use mayhap::{AnyFilter, Blocked, Classic, Hash, Spec, SpecError};

/// How many absent keys to look up for a bound of ±4% at this rate: (5 / 0.04)² expected hits.
fn absent_keys(fpr: f64) -> u64 {
    ((5.0f64 / 0.04).powi(2) / fpr) as u64
}

/// Fills a filter to its capacity, looks up absent keys, and returns measured rate / target.
fn measured(filter: impl Into<AnyFilter>, scheme: Native, keys: u64, fpr: f64) -> f64 {
    let mut filter = filter.into();
    let mut answers = Vec::new();
    let batch = |first: u64, last: u64| -> Vec<Hash> {
        (first..last).map(|key| scheme.hash(key)).collect()
    };
    for first in (0..keys).step_by(4096) {
        filter.insert_batch(&batch(first, keys.min(first + 4096))).unwrap();
    }
    let (mut hits, asked) = (0, absent_keys(fpr).next_multiple_of(4096));
    for first in (keys..keys + asked).step_by(4096) {
        filter.contains_batch(&batch(first, first + 4096), &mut answers).unwrap();
        hits += answers.iter().filter(|answer| **answer).count();
    }
    for first in (0..keys).step_by(4096) {
        filter.contains_batch(&batch(first, keys.min(first + 4096)), &mut answers).unwrap();
        assert!(answers.iter().all(|answer| *answer), "a key is missing");
    }
    hits as f64 / asked as f64 / fpr
}

fn holds(name: &str, keys: u64, fpr: f64, ratio: f64) {
    // Small filters vary from one to the next by what a few lines happen to hold.
    let luck = 6.0 / (keys as f64).sqrt();
    assert!(ratio < 1.02 + 0.04 + luck, "{name}, {keys} keys at {fpr}: {ratio} of the target");
    assert!(ratio > 0.96 - 0.04 - luck, "{name}, {keys} keys at {fpr}: {ratio}, memory wasted");
}

#[test]
fn blocked_meets_its_rate() -> Result<(), SpecError> {
    for (keys, fpr) in [
        (10_000, 0.05),
        (10_000, 0.01),
        (100_000, 0.02),
        (100_000, 0.005),
        (1_000_000, 0.05),
        (1_000_000, 0.01),
        (1_000_000, 0.001),
        (1_000_000, 0.0001),
        (10_000_000, 0.01),
        (10_000_000, 0.001),
    ] {
        let spec = Spec::new(keys, fpr)?.with_seed(keys);
        let ratio = measured(Blocked::new(spec)?, spec.scheme(), keys, fpr);
        holds("blocked", keys, fpr, ratio);
    }
    Ok(())
}

#[test]
fn classic_meets_its_rate() -> Result<(), SpecError> {
    for (keys, fpr) in [
        (10_000, 0.05),
        (10_000, 0.001),
        (100_000, 0.5),
        (1_000_000, 0.01),
        (1_000_000, 0.0001),
        (10_000_000, 0.01),
    ] {
        let spec = Spec::new(keys, fpr)?.with_seed(keys);
        let ratio = measured(Classic::new(spec)?, spec.scheme(), keys, fpr);
        holds("classic", keys, fpr, ratio);
    }
    Ok(())
}

/// The control: a filter made for 10% fewer keys than it gets must fail the very same bound.
#[test]
fn a_sizing_error_of_ten_percent_would_show() -> Result<(), SpecError> {
    let (keys, fpr) = (1_000_000, 0.001);
    let spec = Spec::new(keys * 9 / 10, fpr)?;
    let ratio = measured(Blocked::new(spec)?, spec.scheme(), keys, fpr);
    assert!(ratio > 1.5, "{ratio}");
    let spec = Spec::new(keys, fpr * 1.1)?;
    let ratio = measured(Blocked::new(spec)?, spec.scheme(), keys, fpr);
    assert!(std::panic::catch_unwind(|| holds("control", keys, fpr, ratio)).is_err(), "{ratio}");
    Ok(())
}

#[test]
fn keyed_filters_meet_their_rate_too() -> Result<(), SpecError> {
    let secret = mayhap::Secret::from_bytes(*b"nobody knows it!");
    let spec = Spec::new(300_000, 0.01)?.with_secret(secret);
    let ratio = measured(Blocked::new(spec)?, spec.scheme(), 300_000, 0.01);
    holds("keyed", 300_000, 0.01, ratio);
    Ok(())
}
