//! What a command answers.

use crate::CommandError;

/// An answer, before it is spelled in one protocol or the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// `OK`.
    Ok,
    /// Nothing was done.
    Null,
    /// A number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// Yes or no: 1 or 0 in RESP2, a boolean in RESP3.
    Bool(bool),
    /// Several of them.
    Bools(Vec<bool>),
    /// As many as went well, then why the next did not.
    BoolsUntil(Vec<bool>, CommandError),
    /// A short text.
    Text(&'static str),
    /// Lines of text.
    Lines(Vec<String>),
    /// A text made for this reply.
    Line(String),
    /// Words of the command itself.
    Words(Vec<&'a [u8]>),
    /// Names and what belongs to them: pairs in RESP2, a map in RESP3.
    Fields(Vec<(&'static str, Reply<'a>)>),
    /// One of them: an array of one in RESP2, a map of one in RESP3.
    Field(&'static str, Box<Reply<'a>>),
    /// A piece of a dump, and the iterator to go on with.
    Chunk(u64, Vec<u8>),
}
