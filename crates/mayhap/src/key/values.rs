//! The keys there are, but for tuples.

use super::{ByteKeys, Key, KeyOf};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use core::num::NonZero;

/// A value that has its bytes in memory.
macro_rules! by_slice {
    ($([$($generics:tt)*] $Key:ty, $key:ident => $bytes:expr;)*) => {$(
        impl<$($generics)*> Key for $Key {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let $key = self;
                let bytes: &[u8] = $bytes;
                bytes
            }
        }

        impl<$($generics)*> KeyOf<ByteKeys> for $Key {}
    )*};
}

by_slice! {
    [] [u8], key => key;
    [] str, key => key.as_bytes();
}

impl<const N: usize> Key for [u8; N] {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl<const N: usize> KeyOf<ByteKeys> for [u8; N] {}

/// Whatever points at a key is that key.
macro_rules! pointers {
    ($([$($generics:tt)*] $Pointer:ty => $K:ty;)*) => {$(
        impl<$($generics)*> Key for $Pointer where $K: Key {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (**self).key_bytes()
            }
        }

        impl<$($generics)*> KeyOf<ByteKeys> for $Pointer where $K: KeyOf<ByteKeys> {}
    )*};
}

pointers! {
    ['a, K: ?Sized] &'a K => K;
    ['a, K: ?Sized] &'a mut K => K;
}

/// Integers of whatever width as 64-bit ones, and zero-free ones as those.
macro_rules! integers {
    ($($int:ty as $wide:ty),*) => {$(
        impl Key for $int {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (*self as $wide).to_le_bytes()
            }
        }

        impl Key for NonZero<$int> {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                (self.get() as $wide).to_le_bytes()
            }
        }
    )*};
}

integers!(u8 as u64, u16 as u64, u32 as u64, u64 as u64, usize as u64);
integers!(i8 as i64, i16 as i64, i32 as i64, i64 as i64, isize as i64);
integers!(u128 as u128, i128 as i128);

/// Bytes of which there are at most `N`.
struct Short<const N: usize> {
    bytes: [u8; N],
    used: usize,
}

impl<const N: usize> Short<N> {
    #[inline]
    fn empty() -> Self {
        Short { bytes: [0; N], used: 0 }
    }

    /// The same with more at the end; what does not fit is a mistake of this file.
    #[inline]
    fn with(mut self, more: &[u8]) -> Self {
        self.bytes[self.used..][..more.len()].copy_from_slice(more);
        self.used += more.len();
        self
    }
}

impl<const N: usize> AsRef<[u8]> for Short<N> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl Key for char {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        let mut utf8 = [0; 4];
        Short::<4>::empty().with(self.encode_utf8(&mut utf8).as_bytes())
    }
}

impl Key for Ipv4Addr {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.octets()
    }
}

impl Key for Ipv6Addr {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        self.octets()
    }
}

/// As the address of its family: an IPv4 address and the IPv6 address it is mapped to are two keys.
impl Key for IpAddr {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        match self {
            IpAddr::V4(address) => Short::<16>::empty().with(&address.octets()),
            IpAddr::V6(address) => Short::empty().with(&address.octets()),
        }
    }
}

impl Key for SocketAddrV4 {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        v4(self)
    }
}

impl Key for SocketAddrV6 {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        v6(self)
    }
}

impl Key for SocketAddr {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        match self {
            SocketAddr::V4(address) => v4(address),
            SocketAddr::V6(address) => v6(address),
        }
    }
}

fn v4(address: &SocketAddrV4) -> Short<26> {
    Short::empty().with(&address.ip().octets()).with(&address.port().to_be_bytes())
}

/// Flow label and scope only where there is one: unequal addresses are unequal keys all the same,
/// since their lengths tell.
fn v6(address: &SocketAddrV6) -> Short<26> {
    let bytes = Short::empty().with(&address.ip().octets()).with(&address.port().to_be_bytes());
    match (address.flowinfo(), address.scope_id()) {
        (0, 0) => bytes,
        (flow, scope) => bytes.with(&flow.to_be_bytes()).with(&scope.to_be_bytes()),
    }
}

#[cfg(feature = "alloc")]
mod heap {
    use super::super::{ByteKeys, Key, KeyOf};
    use alloc::borrow::{Cow, ToOwned};
    use alloc::boxed::Box;
    use alloc::rc::Rc;
    use alloc::string::String;
    use alloc::sync::Arc;
    use alloc::vec::Vec;

    by_slice! {
        [] String, key => key.as_bytes();
        [] Vec<u8>, key => key;
    }

    pointers! {
        [K: ?Sized] Box<K> => K;
        [K: ?Sized] Rc<K> => K;
        [K: ?Sized] Arc<K> => K;
        ['a, K: ?Sized + ToOwned] Cow<'a, K> => K;
    }
}

#[cfg(all(feature = "std", unix))]
mod unix {
    use super::super::{ByteKeys, Key, KeyOf};
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    by_slice! {
        [] OsStr, key => key.as_bytes();
        [] OsString, key => key.as_os_str().as_bytes();
        [] Path, key => key.as_os_str().as_bytes();
        [] PathBuf, key => key.as_os_str().as_bytes();
    }
}

#[cfg(feature = "bytes")]
mod bytes_crate {
    use super::super::{ByteKeys, Key, KeyOf};

    by_slice! {
        [] bytes::Bytes, key => key;
        [] bytes::BytesMut, key => key;
    }
}

#[cfg(feature = "uuid")]
impl Key for uuid::Uuid {
    #[inline]
    fn key_bytes(&self) -> impl AsRef<[u8]> {
        *self.as_bytes()
    }
}
