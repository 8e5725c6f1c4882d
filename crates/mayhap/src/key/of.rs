//! Which values the filters of a scheme take.

use super::Key;

/// A value that filters of a [`Scheme`](crate::scheme::Scheme) can be asked about, by that scheme's
/// [`Keys`](crate::scheme::Scheme::Keys).
///
/// Mayhap's own filters take every [`Key`]. Another program's filter takes bytes only: it hashes an
/// `int` as four bytes or as eight, in an order of its own, and an integer that became other bytes
/// would be "certainly absent" although it is in. [`KeyEncoding`](super::KeyEncoding) makes the bytes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of this filter, which takes bytes",
    label = "bytes are wanted here",
    note = "another program's filter hashes an integer as 4 or 8 bytes, in an order of its own: \
            say which with `KeyEncoding::I32.encode(7)?`"
)]
pub trait KeyOf<Keys: ?Sized>: Key {}

/// Every [`Key`]: what filters of this crate's own schemes take.
#[derive(Clone, Copy, Debug)]
pub enum AnyKey {}

/// Strings and byte strings: what other programs' filters take.
#[derive(Clone, Copy, Debug)]
pub enum ByteKeys {}

impl<K: Key + ?Sized> KeyOf<AnyKey> for K {}
