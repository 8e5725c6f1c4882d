//! What handlers see of the server.

use crate::{CommandError, Filter, KeyArg, Settings};
use mayhap::Secret;

/// What replicas and the append-only file are told.
#[derive(Clone, Debug, PartialEq)]
pub enum Replicate {
    /// The command as it came.
    Verbatim,
    /// Another command: its name without the prefix, and its words.
    As(&'static str, Vec<Vec<u8>>),
}

/// A clock that is looked at only where the time matters: with most filters it does not, and on
/// older servers asking costs as much as a lookup.
#[derive(Clone, Copy, Debug)]
pub enum Clock {
    /// Ask this for milliseconds since 1970.
    Ask(fn() -> u64),
    /// It stands.
    At(u64),
}

impl Clock {
    /// Milliseconds since 1970.
    pub fn ms(self) -> u64 {
        match self {
            Clock::Ask(now_ms) => now_ms(),
            Clock::At(ms) => ms,
        }
    }
}

/// The keys of the selected database, as one command sees them.
///
/// The server implements it over its own keys, the tests over a map.
pub trait Keyspace {
    /// The filter at this key, to be asked. An error where something else is there.
    fn read(&mut self, key: KeyArg<'_>) -> Result<Option<&Filter>, CommandError>;

    /// The filter at this key, to be changed. Whoever changes it calls
    /// [`changed`](Keyspace::changed).
    fn write(&mut self, key: KeyArg<'_>) -> Result<Option<&mut Filter>, CommandError>;

    /// Put a filter where nothing is, to expire at this moment (ms since 1970) if any.
    fn create(
        &mut self,
        key: KeyArg<'_>,
        filter: Filter,
        expires_ms: Option<i64>,
    ) -> Result<(), CommandError>;

    /// Put a filter in the place of one that is there. When it expires does not change.
    fn replace(&mut self, key: KeyArg<'_>, filter: Filter) -> Result<(), CommandError>;

    /// The filter was changed: wake those who watch it, tell `event` to those who listen, and
    /// replicas what to do. Several calls in one command are replicated as one transaction.
    fn changed(&mut self, key: KeyArg<'_>, event: &'static str, replicate: Replicate);

    /// What the operator has set.
    fn settings(&self) -> Settings;

    /// The time. On servers that keep one it does not move while a command, script or transaction
    /// runs.
    fn clock(&self) -> Clock;

    /// Sixteen bytes that nobody can guess.
    fn secret(&mut self) -> Secret;

    /// How many bytes a filter may have more than it has, given what it has: the operator's limit
    /// and the memory of the server. No limit for what a primary or the append-only file says.
    fn room_bytes(&mut self, has: u64) -> u64;
}

#[cfg(test)]
pub mod memory;
