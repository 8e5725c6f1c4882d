//! Is the target false-positive rate met? Many absent keys are looked up, and the share of false
//! positives compared with the target.

use crate::batches::{Inserts, Lookups};
use crate::splitmix::splitmix;
use mayhap::window::Moment;
use mayhap::{Blocked, Classic, Counting, Hash, Quotient, Scalable, Spec, Window, Windowed};

/// Keys in the filters.
const KEYS: u64 = 1_000_000;
/// False positives to wait for: enough to see a 2% error in the rate.
const WRONG: f64 = 40_000.0;
/// But no more lookups than this.
const MAX_PROBES: f64 = 2e8;

/// One kind at one target.
pub struct Rate {
    pub kind: &'static str,
    pub target: f64,
    pub measured: f64,
    /// Standard error of `measured`.
    pub error: f64,
    pub probes: u64,
    pub bits_per_key: f64,
}

impl Rate {
    /// At most 2% above the target, within the sampling error.
    pub fn holds(&self) -> bool {
        self.measured - 2.0 * self.error <= 1.02 * self.target
    }
}

/// All kinds at these targets.
pub fn all(targets: &[f64]) -> Vec<Rate> {
    let mut rates = Vec::new();
    for target in targets {
        eprintln!("rates at {}%", 100.0 * target);
        let spec = Spec::new(KEYS, *target).expect("a sane rate");
        // A kind that is filled key by key is one more line here.
        let classic = filled(Classic::new(spec).expect("memory for a filter"));
        rates.push(measure("Classic", *target, classic.shape().bits, &classic));
        let blocked = filled(Blocked::new(spec).expect("memory for a filter"));
        rates.push(measure("Blocked", *target, blocked.shape().bits(), &blocked));
        let counting = filled(Counting::new(spec).expect("memory for a filter"));
        rates.push(measure("Counting", *target, 8 * counting.as_bytes().len() as u64, &counting));
        let quotient = filled(Quotient::new(spec).expect("memory for a filter"));
        rates.push(measure("Quotient", *target, quotient.shape().bits(), &quotient));
        let scalable = filled(Scalable::new(small(*target)).expect("memory for a filter"));
        rates.push(measure("Scalable, grown", *target, 8 * scalable.bytes(), &scalable));
        let windowed = turned(spec);
        rates.push(measure("Windowed", *target, 8 * windowed.bytes(), &windowed));
        let burst = at_once(spec);
        rates.push(measure("Windowed, burst", *target, 8 * burst.bytes(), &burst));
        rates.push(crate::fuse::rate(spec, member));
        rates.push(crate::ribbon::rate(spec, member));
    }
    rates
}

/// Created for so few keys that it must grow six times.
fn small(target: f64) -> Spec {
    Spec::new(KEYS / 1000, target).expect("a sane rate")
}

/// A window over the last million keys after two million inserts, so that every generation is full
/// and the first have been dropped.
fn turned(spec: Spec) -> Windowed {
    let mut windowed = Windowed::new(spec, Window::last_keys(4)).expect("memory for a filter");
    let hashes: Vec<Hash> = (0..2 * KEYS).map(member).collect();
    windowed.insert_batch(&hashes, Moment::LAST);
    windowed
}

/// A window of time for a million keys that all come at the same moment.
fn at_once(spec: Spec) -> Windowed {
    let window = Window::span(3_600_000, 4);
    let mut windowed = Windowed::new(spec, window).expect("memory for a filter");
    let hashes: Vec<Hash> = (0..KEYS).map(member).collect();
    windowed.insert_batch(&hashes, Moment::ticks(1_000_000_000));
    windowed
}

fn member(i: u64) -> Hash {
    Hash::from_u64(splitmix(i))
}

fn filled<F: Inserts>(mut filter: F) -> F {
    let hashes: Vec<Hash> = (0..KEYS).map(member).collect();
    filter.insert_all(&hashes);
    filter
}

/// Look up absent keys in a filled filter until there are enough false positives.
pub fn measure(kind: &'static str, target: f64, bits: u64, filter: &impl Lookups) -> Rate {
    let probes = (WRONG / target).min(MAX_PROBES) as u64;
    let (mut hashes, mut answers) = (Vec::new(), Vec::new());
    let (mut wrong, mut asked) = (0u64, 0);
    while asked < probes {
        let from = (1 << 40) + asked;
        hashes.clear();
        hashes.extend((from..from + 4096).map(member));
        filter.lookup(&hashes, &mut answers);
        wrong += answers.iter().map(|yes| u64::from(*yes)).sum::<u64>();
        asked += 4096;
    }
    Rate {
        kind,
        target,
        measured: wrong as f64 / asked as f64,
        error: (wrong.max(1) as f64).sqrt() / asked as f64,
        probes: asked,
        bits_per_key: bits as f64 / KEYS as f64,
    }
}
