//! Error replies.

use mayhap::{MergeError, SpecError, Unsupported};
use mayhap_foreign::ForeignError;
use std::borrow::Cow;
use std::fmt;

/// Why a command failed; nothing has changed then.
///
/// The texts of compatible commands are those of RedisBloom, because clients compare them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Wrong number of arguments: the server has its own message for it.
    Arity,
    /// The whole line, including the error code.
    Text(Cow<'static, str>),
}

impl CommandError {
    /// The key holds something else.
    pub const WRONG_TYPE: CommandError =
        CommandError::text("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// The filter does not exist.
    pub const NOT_FOUND: CommandError = CommandError::text("ERR not found");
    /// The filter exists already.
    pub const EXISTS: CommandError = CommandError::text("ERR item exists");
    /// The filter is full and may not grow.
    pub const FULL: CommandError = CommandError::text("ERR non scaling filter is full");
    /// The filter cannot grow: out of memory; handlers add details.
    pub const NO_ROOM_TO_GROW: CommandError =
        CommandError::text("ERR problem inserting into filter");
    /// The filter cannot be created: out of memory; handlers add details.
    pub const NO_MEMORY: CommandError =
        CommandError::text("ERR Insufficient memory to create filter");
    /// Not a valid dump.
    pub const BAD_DATA: CommandError = CommandError::text("ERR received bad data");
    /// The filter is still loading.
    pub const LOADING: CommandError = CommandError::text(
        "ERR filter is still loading: LOADCHUNK has not been given its last chunk",
    );
    /// An unknown option.
    pub const UNKNOWN_ARGUMENT: CommandError = CommandError::text("Unknown argument received");

    /// The whole line, including the error code.
    pub const fn text(line: &'static str) -> CommandError {
        CommandError::Text(Cow::Borrowed(line))
    }

    /// Mayhap's own message.
    pub fn said(what: impl fmt::Display) -> CommandError {
        CommandError::Text(format!("ERR {what}").into())
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CommandError::Arity => f.write_str("ERR wrong number of arguments"),
            CommandError::Text(line) => f.write_str(line),
        }
    }
}

impl std::error::Error for CommandError {}

impl From<SpecError> for CommandError {
    fn from(error: SpecError) -> CommandError {
        match error {
            SpecError::Memory { .. } => CommandError::NO_MEMORY,
            other => CommandError::said(other),
        }
    }
}

impl From<MergeError> for CommandError {
    fn from(error: MergeError) -> CommandError {
        CommandError::said(error)
    }
}

impl From<Unsupported> for CommandError {
    fn from(error: Unsupported) -> CommandError {
        CommandError::said(error)
    }
}

impl From<ForeignError> for CommandError {
    fn from(error: ForeignError) -> CommandError {
        CommandError::said(error)
    }
}
