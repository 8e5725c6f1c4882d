//! How much more a window takes.

use super::most;
use mayhap::{Hash, Windowed};

/// Rounding in the sizes of generations.
const TOLERANCE: f64 = 1.01;

/// How many of so many more keys a window of time takes now, before its rate is exceeded. Time
/// goes on: later there is room again.
pub fn room(window: &mut Windowed, now: u64, wanted: u64) -> u64 {
    window.advance(now);
    let (loads, shapes): (Vec<_>, Vec<_>) = window
        .generations()
        .map(|part| ((part.keys(), part.spec().capacity()), part.shape()))
        .unzip();
    // Keys go into the newest generation, which is the first.
    let more = |part: usize, more: u64| if part == 0 { more } else { 0 };
    let fits = |wanted: u64| {
        let mut loads = loads.iter().enumerate();
        loads.all(|(part, (keys, capacity))| keys.saturating_add(more(part, wanted)) <= *capacity)
    };
    let rate = |wanted: u64| -> f64 {
        let loads = loads.iter().zip(&shapes).enumerate();
        loads.map(|(part, ((keys, _), shape))| shape.fpr_at(keys + more(part, wanted))).sum()
    };
    let allowed = TOLERANCE * window.spec().fpr();
    if fits(wanted) || rate(wanted) <= allowed {
        return wanted;
    }
    most(0, wanted, |wanted| rate(wanted) <= allowed)
}

/// Whether the newest generation has the key: then it is not written when it comes again.
pub fn newest_contains(window: &Windowed, hash: Hash) -> bool {
    window.generations().next().is_some_and(|newest| newest.contains_hash(hash))
}

/// How many keys the newest generation of a window of keys takes before the oldest is forgotten.
pub fn newest_room(window: &Windowed) -> u64 {
    let newest = window.generations().next();
    newest.map_or(0, |newest| newest.spec().capacity().saturating_sub(newest.keys()))
}
