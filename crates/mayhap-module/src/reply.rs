//! Replies of commands.

use crate::CommandError;

/// A reply, before it is encoded in one protocol or the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply<'a> {
    /// `OK`.
    Ok,
    /// Nothing was done.
    Null,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// Yes or no: 1 or 0 in RESP2, a boolean in RESP3.
    Bool(bool),
    /// Several of them.
    Bools(Vec<bool>),
    /// Whether each item was taken: as `Bools`, but -1 in RESP2 where it was not.
    Taken(Vec<bool>),
    /// Several numbers.
    Ints(Vec<i64>),
    /// The successful ones, then the error of the next.
    BoolsUntil(Vec<bool>, CommandError),
    /// A short text.
    Text(&'static str),
    /// Lines of text.
    Lines(Vec<String>),
    /// A text made for this reply.
    Line(String),
    /// Arguments of the command itself.
    Words(Vec<&'a [u8]>),
    /// Names and values: pairs in RESP2, a map in RESP3.
    Fields(Vec<(&'static str, Reply<'a>)>),
    /// One of them: an array of one in RESP2, a map of one in RESP3.
    Field(&'static str, Box<Reply<'a>>),
    /// A chunk of a dump, and the next iterator.
    Chunk(u64, Vec<u8>),
    /// The end of a dump of `CF.SCANDUMP`: 0 and nothing.
    LastChunk,
}
