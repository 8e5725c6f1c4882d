//! What can be asked about: anything with one frozen spelling in bytes.

/// A value with one documented spelling in bytes.
///
/// Strings and byte strings are their own bytes. Integers, of whatever width, are the eight
/// little-endian bytes of their 64-bit value (signed ones sign-extended), so `7u8`, `7i64` and
/// `7usize` are one key, on every platform and in every release. That is why filters do not take
/// [`std::hash::Hash`]: its output may change with the compiler.
///
/// ```
/// use mayhap::Key;
/// assert_eq!("ada".key_bytes().as_ref(), b"ada");
/// assert_eq!(7u8.key_bytes().as_ref(), 7i64.key_bytes().as_ref());
/// assert_eq!((-1i32).key_bytes().as_ref(), [0xff; 8]);
/// ```
pub trait Key {
    /// The bytes that are hashed.
    fn key_bytes(&self) -> impl AsRef<[u8]>;
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        (**self).key_bytes()
    }
}

impl Key for [u8] {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl Key for str {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

#[cfg(feature = "std")]
impl Key for String {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

#[cfg(feature = "std")]
impl Key for Vec<u8> {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.as_slice()
    }
}

macro_rules! integer_keys {
    ($($int:ty as $wide:ty),*) => {$(
        impl Key for $int {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (*self as $wide).to_le_bytes()
            }
        }
    )*};
}

integer_keys!(u8 as u64, u16 as u64, u32 as u64, u64 as u64, usize as u64);
integer_keys!(i8 as i64, i16 as i64, i32 as i64, i64 as i64, isize as i64);
