//! What handlers see of the server.

use crate::settings::CuckooSettings;
use crate::{CommandError, Filter, KeyArg, Settings};
use mayhap::Secret;

/// What goes to replicas and the append-only file.
#[derive(Clone, Debug, PartialEq)]
pub enum Replicate {
    /// The command as it came.
    Verbatim,
    /// Another command: its name, without the prefix or as `CF.…`, and its arguments.
    As(&'static str, Vec<Vec<u8>>),
}

/// A clock that is read only if the time matters: with most filters it does not, and on older
/// servers reading it costs as much as a lookup.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// Returns milliseconds since 1970.
    Server(fn() -> u64),
    /// A constant time.
    Fixed(u64),
}

impl Clock {
    /// Milliseconds since 1970.
    pub fn ms(self) -> u64 {
        match self {
            Clock::Server(now_ms) => now_ms(),
            Clock::Fixed(ms) => ms,
        }
    }
}

/// The keys of the selected database, as one command sees them.
///
/// The server implements it over its own keys, the tests over a map.
pub trait Keyspace {
    /// The filter of this key, for lookups. An error if the key holds something else.
    fn read(&mut self, key: KeyArg<'_>) -> Result<Option<&Filter>, CommandError>;

    /// The filter of this key, for changes, followed by [`changed`](Keyspace::changed).
    fn write(&mut self, key: KeyArg<'_>) -> Result<Option<&mut Filter>, CommandError>;

    /// Store a filter under a key that does not exist, with an expiry (ms since 1970) if any.
    fn create(
        &mut self,
        key: KeyArg<'_>,
        filter: Filter,
        expires_ms: Option<i64>,
    ) -> Result<(), CommandError>;

    /// Replace a filter. Its expiry does not change.
    fn replace(&mut self, key: KeyArg<'_>, filter: Filter) -> Result<(), CommandError>;

    /// The filter was changed: signal watchers, publish `event`, and replicate. Several calls in
    /// one command are replicated as one transaction.
    fn changed(&mut self, key: KeyArg<'_>, event: &'static str, replicate: Replicate);

    /// The operator's settings.
    fn settings(&self) -> Settings;

    /// What filters of `CF.*` are made like when a command does not say.
    fn cuckoo_settings(&self) -> CuckooSettings {
        CuckooSettings::default()
    }

    /// The time. On servers that keep one it does not move while a command, script or transaction
    /// runs.
    fn clock(&self) -> Clock;

    /// Sixteen random bytes.
    fn secret(&mut self) -> Secret;

    /// How many bytes a filter may grow by, given its size: the operator's limit and the memory of
    /// the server. No limit for what a primary or the append-only file says.
    fn room_bytes(&mut self, has: u64) -> u64;
}

#[cfg(test)]
pub mod memory;
