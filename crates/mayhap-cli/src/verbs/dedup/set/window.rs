//! How much more a window takes.

use mayhap::window::Moment;
use mayhap::{Blocked, Hash, Windowed};

/// How many of this many more keys a window of time takes now, before its rate is exceeded: every
/// generation keeps its part of the rate for as many keys as the window is made for. Time goes
/// on: later there is room again.
pub fn room(window: &mut Windowed, now: Moment, wanted: u64) -> u64 {
    window.advance(now);
    window.spec().capacity().saturating_sub(newest_keys(window)).min(wanted)
}

/// Keys in the newest generation, in all of its layers.
fn newest_keys(window: &Windowed) -> u64 {
    let newest = window.generations().next().unwrap_or_default();
    newest.iter().map(Blocked::keys).fold(0, u64::saturating_add)
}

/// Whether the newest generation has the key: then it is not written when it comes again.
pub fn newest_contains(window: &Windowed, hash: Hash) -> bool {
    let newest = window.generations().next().unwrap_or_default();
    newest.iter().any(|layer| layer.contains_hash(hash))
}

/// How many keys the newest generation of a window of keys takes before the oldest is forgotten.
pub fn newest_room(window: &Windowed) -> u64 {
    let newest = window.generations().next().and_then(|layers| layers.first());
    newest.map_or(0, |newest| newest.spec().capacity().saturating_sub(newest.keys()))
}
