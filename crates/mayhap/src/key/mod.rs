//! What a key is: a value with one documented encoding in bytes.
//!
//! | values | encoded as |
//! |---|---|
//! | `str`, `[u8]`, `[u8; N]`, `Vec<u8>`, `String` | their bytes |
//! | integers up to 64 bits, `NonZero` of them | 8 bytes, little-endian; signed ones sign-extended |
//! | `u128`, `i128`, `NonZero` of them | 16 bytes, little-endian |
//! | `char` | its UTF-8: the same key as the string of that one character |
//! | `Ipv4Addr`, `Ipv6Addr`, `IpAddr` | 4 or 16 bytes, network order |
//! | `SocketAddr` and its two kinds | the address, then the port in network order |
//! | `Path`, `OsStr` and their owned kinds, on Unix | their bytes |
//! | tuples of 2 to 6 keys | each one's length, then its bytes |
//! | `&K`, `Box<K>`, `Rc<K>`, `Arc<K>`, `Cow<K>` | as `K` |
//! | `uuid::Uuid`, `bytes::Bytes`, with the features of these names | 16 bytes; the bytes |
//!
//! The encodings are part of the [file format](crate::format): frozen, the same on every platform
//! and in every release.

#[cfg(feature = "alloc")]
mod encoding;
mod hex;
mod of;
#[cfg(test)]
mod tests;
#[cfg(feature = "alloc")]
mod tuple;
mod values;

#[cfg(feature = "alloc")]
pub use encoding::{EncodedKey, KeyEncoding, KeyMismatch, KeyValue};
pub use hex::decode_hex;
pub use of::{AnyKey, ByteKeys, KeyOf};

/// A value with one documented encoding in bytes: see the [table](self).
///
/// Integers up to 64 bits, of whatever type, are the eight little-endian bytes of their 64-bit
/// value (signed ones sign-extended), so `7u8`, `7i64` and `7usize` are one key, on every platform
/// and in every release. That is why filters do not take [`std::hash::Hash`]: its output may change
/// with the compiler.
///
/// ```
/// use mayhap::{Blocked, Key};
/// assert_eq!("ada".key_bytes().as_ref(), b"ada");
/// assert_eq!(7u8.key_bytes().as_ref(), 7i64.key_bytes().as_ref());
/// assert_eq!((-1i32).key_bytes().as_ref(), [0xff; 8]);
///
/// let mut pairs = Blocked::with_rate(1_000, 0.01)?;
/// pairs.insert(("user 7", 42u64)); // a tuple is a key
/// assert!(pairs.contains((String::from("user 7"), 42u8)));
/// assert!(!pairs.contains(("user", " 742"))); // each part is its own
/// # Ok::<(), mayhap::SpecError>(())
/// ```
///
/// A type of your own is a key once it says its bytes:
///
/// ```
/// use mayhap::Key;
/// struct Order { shop: u32, number: u64 }
/// impl Key for Order {
///     fn key_bytes(&self) -> impl AsRef<[u8]> {
///         let mut bytes = [0; 12];
///         bytes[..4].copy_from_slice(&self.shop.to_le_bytes());
///         bytes[4..].copy_from_slice(&self.number.to_le_bytes());
///         bytes
///     }
/// }
/// ```
///
/// Floats and `bool` are not keys:
///
/// ```compile_fail,E0277
/// let seen = mayhap::Blocked::with_rate(1_000, 0.01).unwrap();
/// seen.contains(0.5f64);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key",
    label = "not a key: strings, bytes, integers, addresses, paths and tuples of them are",
    note = "a float is no key, since equal floats may differ in their bits (0.0 and -0.0) and NaN \
            equals nothing: use `x.to_bits()`, or the text that you compare",
    note = "a `bool` is no key, since a filter of two keys is a mistake: use it in a tuple as \
            `u8::from(x)`",
    note = "a type of your own is a key once it implements `mayhap::Key`"
)]
pub trait Key {
    /// The bytes that are hashed.
    fn key_bytes(&self) -> impl AsRef<[u8]>;
}
