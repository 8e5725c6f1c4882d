//! What a command answers when it cannot.

use mayhap::{MergeError, Refused, SpecError};
use mayhap_foreign::ForeignError;
use std::borrow::Cow;
use std::fmt;

/// Why a command was refused; nothing has changed then.
///
/// The texts of compatible commands are those of RedisBloom, because clients compare them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// Too few or too many arguments: the server has its own words for it.
    Arity,
    /// The whole line, its code included.
    Text(Cow<'static, str>),
}

impl CommandError {
    /// A key that holds no filter.
    pub const WRONG_TYPE: CommandError =
        CommandError::text("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// A filter that must be there.
    pub const NOT_FOUND: CommandError = CommandError::text("ERR not found");
    /// A filter that must not be there.
    pub const EXISTS: CommandError = CommandError::text("ERR item exists");
    /// A filter that may not grow.
    pub const FULL: CommandError = CommandError::text("ERR non scaling filter is full");
    /// A filter that cannot grow for want of memory; handlers tell more.
    pub const NO_ROOM_TO_GROW: CommandError =
        CommandError::text("ERR problem inserting into filter");
    /// A filter that cannot be made for want of memory; handlers tell more.
    pub const NO_MEMORY: CommandError =
        CommandError::text("ERR Insufficient memory to create filter");
    /// A dump that is none.
    pub const BAD_DATA: CommandError = CommandError::text("ERR received bad data");
    /// A filter whose chunks have not all come.
    pub const LOADING: CommandError = CommandError::text(
        "ERR filter is still loading: BF.LOADCHUNK has not been given its last chunk",
    );
    /// An option nobody knows.
    pub const UNKNOWN_ARGUMENT: CommandError = CommandError::text("Unknown argument received");

    /// The whole line, its code included.
    pub const fn text(line: &'static str) -> CommandError {
        CommandError::Text(Cow::Borrowed(line))
    }

    /// What happened, in our own words.
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

impl From<Refused> for CommandError {
    fn from(error: Refused) -> CommandError {
        CommandError::said(error)
    }
}

impl From<ForeignError> for CommandError {
    fn from(error: ForeignError) -> CommandError {
        CommandError::said(error)
    }
}
