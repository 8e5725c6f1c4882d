//! Tuples of keys: each key's length, then its bytes.

use super::Key;
use alloc::vec::Vec;

/// Tuples up to this many encoded bytes take no memory of the heap.
const INLINE: usize = 64;

/// The bytes of a tuple.
enum Encoded {
    Inline([u8; INLINE], usize),
    Heap(Vec<u8>),
}

impl Encoded {
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        // LEB128: seven bits a byte, lowest first, the highest bit on all but the last.
        let mut length = bytes.len();
        while length > 0x7f {
            self.extend(&[length as u8 | 0x80]);
            length >>= 7;
        }
        self.extend(&[length as u8]);
        self.extend(bytes);
    }

    #[inline]
    fn extend(&mut self, more: &[u8]) {
        match self {
            Encoded::Inline(bytes, used) => {
                if let Some(place) = bytes[*used..].get_mut(..more.len()) {
                    place.copy_from_slice(more);
                    *used += more.len();
                } else {
                    let mut all = Vec::with_capacity(*used + more.len() + INLINE);
                    all.extend_from_slice(&bytes[..*used]);
                    all.extend_from_slice(more);
                    *self = Encoded::Heap(all);
                }
            }
            Encoded::Heap(bytes) => bytes.extend_from_slice(more),
        }
    }
}

impl AsRef<[u8]> for Encoded {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Encoded::Inline(bytes, used) => &bytes[..*used],
            Encoded::Heap(bytes) => bytes,
        }
    }
}

macro_rules! tuples {
    ($(($($K:ident $at:tt),*))*) => {$(
        impl<$($K: Key),*> Key for ($($K,)*) {
            #[inline]
            fn key_bytes(&self) -> impl AsRef<[u8]> {
                let mut encoded = Encoded::Inline([0; INLINE], 0);
                $(encoded.push(self.$at.key_bytes().as_ref());)*
                encoded
            }
        }
    )*};
}

tuples! {
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}
