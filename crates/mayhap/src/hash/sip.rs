//! SipHash-1-3 with 128-bit output: a keyed function whose values cannot be foretold without
//! the secret.

use core::fmt;
use siphasher::sip128::SipHasher13;

/// The 128-bit secret of a keyed filter.
///
/// Whoever knows it can forge keys that collide; without it nobody can. It is never printed and
/// never written to a file: a file holds only [`check`](Secret::check), which tells a right
/// secret from a wrong one.
///
/// ```
/// use mayhap::Secret;
/// let secret = Secret::from_bytes(*b"sixteen bytes...");
/// assert_eq!(format!("{secret:?}"), "Secret(..)");
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl Secret {
    /// The secret with these bytes; they should come from the system's random source.
    pub const fn from_bytes(bytes: [u8; 16]) -> Secret {
        Secret(bytes)
    }

    /// The bytes, for a caller that must store them somewhere safe.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0
    }

    /// A value that depends on the secret but does not give it away: it is what a file keeps.
    pub fn check(&self) -> u64 {
        sip13_128(b"mayhap secret check", self).0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// SipHash-1-3-128 of `bytes`: (first half, second half).
#[inline]
pub(crate) fn sip13_128(bytes: &[u8], secret: &Secret) -> (u64, u64) {
    let hash = SipHasher13::new_with_key(&secret.0).hash(bytes);
    (hash.h1, hash.h2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret 00 01 … 0f and inputs of 0 and 15 bytes, from an independent implementation
    /// that reproduces the published SipHash-2-4-128 vectors.
    #[test]
    fn known_answers() {
        let secret = Secret::from_bytes(core::array::from_fn(|i| i as u8));
        let input: [u8; 15] = core::array::from_fn(|i| i as u8);
        assert_eq!(sip13_128(b"", &secret), (0xbea5_8827_b2bc_7ee7, 0x0130_30dd_6adb_62fd));
        assert_eq!(sip13_128(&input, &secret), (0x6c52_bdb2_0555_7ec1, 0x0901_7e1e_eccd_2129));
    }

    #[test]
    fn the_check_tells_secrets_apart_and_hides_them() {
        let (a, b) = (Secret::from_bytes([1; 16]), Secret::from_bytes([2; 16]));
        assert_eq!(a.check(), a.check());
        assert_ne!(a.check(), b.check());
        assert_ne!(a.check(), u64::from_le_bytes([1; 8]));
    }
}
