//! The rate you ask for is the rate you get, measured.
//!
//! Each test asks enough strangers that a sizing error of 10% would stand out: the bound is five
//! standard deviations, and it is checked to be well below 10%.

use mayhap::{Blocked, Classic, Hash, Insert, Native, Scheme, Spec, SpecError};

/// How many strangers to ask for a bound of ±4% at this rate: (5 / 0.04)² expected hits.
fn strangers(fpr: f64) -> u64 {
    ((5.0f64 / 0.04).powi(2) / fpr) as u64
}

/// Fills a filter to its capacity, asks strangers, and returns measured rate / target.
fn measured<F>(filter: &mut F, scheme: Native, keys: u64, fpr: f64) -> f64
where
    F: Insert<Hash = Hash>,
{
    let mut answers = Vec::new();
    let batch = |first: u64, last: u64| -> Vec<Hash> {
        (first..last).map(|key| scheme.hash(key)).collect()
    };
    for first in (0..keys).step_by(4096) {
        filter.insert_batch(&batch(first, keys.min(first + 4096)));
    }
    let (mut hits, asked) = (0, strangers(fpr).next_multiple_of(4096));
    for first in (keys..keys + asked).step_by(4096) {
        filter.contains_batch(&batch(first, first + 4096), &mut answers);
        hits += answers.iter().filter(|answer| **answer).count();
    }
    for first in (0..keys).step_by(4096) {
        filter.contains_batch(&batch(first, keys.min(first + 4096)), &mut answers);
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
        let ratio = measured(&mut Blocked::new(spec)?, spec.scheme(), keys, fpr);
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
        let ratio = measured(&mut Classic::new(spec)?, spec.scheme(), keys, fpr);
        holds("classic", keys, fpr, ratio);
    }
    Ok(())
}

/// The control: a filter made for 10% fewer keys than it gets must fail the very same bound.
#[test]
fn a_sizing_error_of_ten_percent_would_show() -> Result<(), SpecError> {
    let (keys, fpr) = (1_000_000, 0.001);
    let spec = Spec::new(keys * 9 / 10, fpr)?;
    let ratio = measured(&mut Blocked::new(spec)?, spec.scheme(), keys, fpr);
    assert!(ratio > 1.5, "{ratio}");
    let spec = Spec::new(keys, fpr * 1.1)?;
    let ratio = measured(&mut Blocked::new(spec)?, spec.scheme(), keys, fpr);
    assert!(std::panic::catch_unwind(|| holds("control", keys, fpr, ratio)).is_err(), "{ratio}");
    Ok(())
}

#[test]
fn keyed_filters_meet_their_rate_too() -> Result<(), SpecError> {
    let secret = mayhap::Secret::from_bytes(*b"nobody knows it!");
    let spec = Spec::new(300_000, 0.01)?.with_secret(secret);
    let ratio = measured(&mut Blocked::new(spec)?, spec.scheme(), 300_000, 0.01);
    holds("keyed", 300_000, 0.01, ratio);
    Ok(())
}
