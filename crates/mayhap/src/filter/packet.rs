//! The filter that fits in a packet header. Needs neither the standard library nor an allocator.

use crate::Key;
use crate::hash::{Hash, Secret};
use crate::scheme::{Native, Scheme};
use core::fmt;

/// A Bloom filter of a few bytes: on the stack, `Copy`, without `std` or an allocator.
///
/// Made to be sent: [`to_bytes`](Packet::to_bytes) is the whole filter, and a receiver that knows the seed
/// reads it with [`from_bytes`](Packet::from_bytes). The seed (or secret) and the limit are not
/// part of the bytes: both sides agree on them, as on `BYTES` and `PROBES`. With 256 bits and 5 probes
/// 20 keys are held at a rate of about 0.4%.
///
/// Never a false negative. But the bytes come from the network, and a packet of ones contains
/// every key: a router that trusted it would send it down every link. So agree on a
/// [limit](Packet::with_limit) and *drop what exceeds it*: no honest packet does, since
/// [`insert`](Packet::insert) and [`union`](Packet::union) refuse to go past it.
/// [`within_limit`](Packet::within_limit) checks it. `contains` does not look at the limit:
/// its `false` is always certain.
///
/// With a public seed anybody can make a packet that contains chosen keys; with a
/// [secret](Packet::with_secret) only those who know it.
///
/// ```
/// use mayhap::packet::{Packet, PacketError};
/// type Header = Packet<32, 5>; // 256 bits, five probes a link
///
/// let mut path = Header::new().with_seed(7).with_limit(128);
/// path.insert("link 12")?; // an error, were the packet full
/// path.insert("link 40")?;
/// let wire: [u8; 32] = path.to_bytes();
///
/// let arrived = Header::from_bytes(wire).with_seed(7).with_limit(128).within_limit()?;
/// assert!(arrived.contains("link 40"));
/// assert!(!arrived.contains("link 41")); // certainly not on the path
///
/// let forged = Header::from_bytes([0xff; 32]).with_seed(7).with_limit(128);
/// assert_eq!(forged.within_limit(), Err(PacketError::Overfull { bits: 256, limit: 128 }));
/// # Ok::<(), PacketError>(())
/// ```
///
/// Sizes that make no sense do not compile:
///
/// ```compile_fail,E0080
/// mayhap::packet::Packet::<0, 5>::new();
/// ```
/// ```compile_fail,E0080
/// mayhap::packet::Packet::<8, 65>::new();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<const BYTES: usize, const PROBES: u32> {
    bytes: [u8; BYTES],
    scheme: Native,
    /// The most bits that may be set.
    limit: u32,
}

impl<const BYTES: usize, const PROBES: u32> Default for Packet<BYTES, PROBES> {
    fn default() -> Self {
        Packet::new()
    }
}

impl<const BYTES: usize, const PROBES: u32> Packet<BYTES, PROBES> {
    /// Bits in the packet.
    pub const BITS: u32 = {
        assert!(BYTES >= 1, "a packet has at least one byte");
        assert!(BYTES <= 1 << 16, "a packet has at most 65536 bytes");
        assert!(PROBES >= 1, "a key needs at least one probe");
        assert!(PROBES <= 64, "a key has at most 64 probes");
        BYTES as u32 * 8
    };

    /// An empty packet: seed 0, no limit.
    pub const fn new() -> Self {
        Packet::from_bytes([0; BYTES])
    }

    /// The packet that has these bytes: seed 0, no limit. Set both as the sender did.
    pub const fn from_bytes(bytes: [u8; BYTES]) -> Self {
        Packet { bytes, scheme: Native::xxh3(0), limit: Self::BITS }
    }

    /// Hash with XXH3-64 under this seed. The seed is not part of the bytes, and keys that are in
    /// already do not follow: set it first.
    pub const fn with_seed(self, seed: u64) -> Self {
        self.with_scheme(Native::xxh3(seed))
    }

    /// Hash with SipHash under this secret, against senders who choose their bits. The secret is
    /// not part of the bytes, and keys that are in already do not follow: set it first.
    pub const fn with_secret(self, secret: Secret) -> Self {
        self.with_scheme(Native::sip13(secret))
    }

    /// Hash as another filter does.
    pub const fn with_scheme(self, scheme: Native) -> Self {
        Packet { scheme, ..self }
    }

    /// Let at most so many bits be set; half of [`BITS`](Packet::BITS) is a good choice. More than
    /// there are is no limit.
    pub const fn with_limit(self, bits: u32) -> Self {
        Packet { limit: if bits < Self::BITS { bits } else { Self::BITS }, ..self }
    }

    /// The packet itself, unless it is [overfull](Packet::is_overfull): what a receiver does
    /// first.
    pub fn within_limit(self) -> Result<Self, PacketError> {
        self.check(&self.bytes).map(|()| self)
    }

    /// Whether more bits are set than the limit allows. An honest sender with the same limit
    /// never made such a packet: drop it.
    pub fn is_overfull(&self) -> bool {
        self.check(&self.bytes).is_err()
    }

    fn check(&self, bytes: &[u8; BYTES]) -> Result<(), PacketError> {
        let (bits, limit) = (ones(bytes), self.limit);
        if bits > limit { Err(PacketError::Overfull { bits, limit }) } else { Ok(()) }
    }

    /// Whether the key may be in; `false` is certain.
    #[inline]
    pub fn contains(&self, key: impl Key) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    #[inline]
    pub fn contains_hash(&self, hash: Hash) -> bool {
        self.positions(hash).all(|(byte, bit)| self.bytes[byte] & bit != 0)
    }

    /// Insert a key. `true`: it was certainly new. An insert that would pass the limit is refused
    /// and changes nothing.
    #[inline]
    pub fn insert(&mut self, key: impl Key) -> Result<bool, PacketError> {
        self.insert_hash(self.hash(key))
    }

    /// Insert a hashed key, as [`insert`](Packet::insert) does.
    #[inline]
    pub fn insert_hash(&mut self, hash: Hash) -> Result<bool, PacketError> {
        let mut bytes = self.bytes;
        for (byte, bit) in self.positions(hash) {
            bytes[byte] |= bit;
        }
        self.become_if_allowed(bytes)
    }

    /// Add everything the other packet holds. They must hash alike; a union that would pass
    /// the limit is refused. A refusal changes nothing.
    pub fn union(&mut self, other: &Self) -> Result<(), PacketError> {
        self.become_if_allowed(self.combine(other, |ours, theirs| ours | theirs)?).map(|_| ())
    }

    /// Keep only bits that both packets have; they must hash alike.
    ///
    /// Keys in both packets stay. Keys in only one are mostly removed; some remain as false positives, never
    /// more than in either of the two.
    pub fn intersect(&mut self, other: &Self) -> Result<(), PacketError> {
        self.bytes = self.combine(other, |ours, theirs| ours & theirs)?;
        Ok(())
    }

    fn combine(
        &self,
        other: &Self,
        with: impl Fn(u8, u8) -> u8,
    ) -> Result<[u8; BYTES], PacketError> {
        if self.scheme != other.scheme {
            return Err(PacketError::Unlike);
        }
        Ok(core::array::from_fn(|i| with(self.bytes[i], other.bytes[i])))
    }

    /// Set more bits, unless they are too many; whether any was clear. Nothing new is always
    /// allowed.
    #[inline]
    fn become_if_allowed(&mut self, bytes: [u8; BYTES]) -> Result<bool, PacketError> {
        let new = bytes != self.bytes;
        if new {
            self.check(&bytes)?;
            self.bytes = bytes;
        }
        Ok(new)
    }

    /// Remove all keys; seed and limit stay.
    pub fn clear(&mut self) {
        self.bytes = [0; BYTES];
    }

    /// Hash a key once, for lookups and inserts in this and every filter that hashes alike.
    #[inline]
    pub fn hash(&self, key: impl Key) -> Hash {
        self.scheme.hash(key)
    }

    /// Byte and bit of each probe.
    #[inline]
    fn positions(&self, hash: Hash) -> impl Iterator<Item = (usize, u8)> {
        let positions = self.scheme.positions(hash, u64::from(Self::BITS), PROBES);
        positions.map(|at| ((at >> 3) as usize, 1 << (at & 7)))
    }

    /// How keys are hashed and probed.
    pub const fn scheme(&self) -> Native {
        self.scheme
    }

    /// The most bits that may be set.
    pub const fn limit(&self) -> u32 {
        self.limit
    }

    /// The whole filter, the first bit in the lowest place of the first byte.
    pub const fn to_bytes(self) -> [u8; BYTES] {
        self.bytes
    }

    /// The whole filter, the first bit in the lowest place of the first byte.
    pub const fn as_bytes(&self) -> &[u8; BYTES] {
        &self.bytes
    }

    /// The share of bits that are set.
    pub fn fill(&self) -> f64 {
        f64::from(ones(&self.bytes)) / f64::from(Self::BITS)
    }

    /// The current false-positive rate, from the bits.
    pub fn fpr_now(&self) -> f64 {
        // Not `powi`, which `core` does not have.
        let fill = self.fill();
        (0..PROBES).fold(1.0, |rate, _| rate * fill)
    }

    /// How many distinct keys are in, estimated from the bits alone.
    #[cfg(feature = "std")]
    pub fn estimate(&self) -> u64 {
        let shape = crate::sizing::ClassicShape { bits: u64::from(Self::BITS), probes: PROBES };
        shape.keys_at_fill(self.fill()).round() as u64
    }
}

fn ones(bytes: &[u8]) -> u32 {
    bytes.iter().map(|byte| byte.count_ones()).sum()
}

impl<const BYTES: usize, const PROBES: u32> fmt::Display for Packet<BYTES, PROBES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "packet: {} of {} bits set, {} allowed, {PROBES} probes, rate {:.3e} now",
            ones(&self.bytes),
            Self::BITS,
            self.limit,
            self.fpr_now(),
        )
    }
}

/// Why a [`Packet`] was refused, or refused to change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketError {
    /// More bits set than the limit allows: too many keys, or a forgery.
    Overfull {
        /// The bits that are set, or would be.
        bits: u32,
        /// The most that may be.
        limit: u32,
    },
    /// Two packets whose seeds or secrets differ: their bits do not mean the same.
    Unlike,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PacketError::Overfull { bits, limit } => {
                write!(f, "overfull packet: {bits} bits set where {limit} are allowed")
            }
            PacketError::Unlike => f.write_str("unlike packets: seeds or secrets differ"),
        }
    }
}

impl core::error::Error for PacketError {}

#[cfg(all(test, feature = "std"))]
mod tests {
    use super::*;
    use crate::Contains;
    use proptest::collection::vec;
    use proptest::prelude::*;

    type Header = Packet<32, 5>;

    fn holding(packet: Header, keys: &[u64]) -> Header {
        keys.iter().fold(packet, |mut packet, key| {
            packet.insert(key).unwrap();
            packet
        })
    }

    proptest! {
        /// Whatever was not refused is found, at any limit, also after a journey.
        #[test]
        fn no_false_negatives(keys in vec(any::<Vec<u8>>(), 0..100), limit in any::<u16>()) {
            let mut packet = Header::new().with_seed(3).with_limit(u32::from(limit) % 300);
            let taken = keys.iter().filter(|key| packet.insert(key).is_ok()).collect::<Vec<_>>();
            let arrived = Header::from_bytes(packet.to_bytes()).with_seed(3);
            prop_assert!(taken.iter().all(|key| packet.contains(key) && arrived.contains(key)));
            prop_assert!(!packet.is_overfull());
        }

        #[test]
        fn a_refusal_changes_nothing(bytes in any::<[u8; 32]>(), key in any::<u64>(), limit in 0u32..256) {
            let packet = Header::from_bytes(bytes).with_limit(limit);
            let mut tried = packet;
            match tried.insert(key) {
                Ok(new) => {
                    prop_assert_eq!(new, !packet.contains(key));
                    prop_assert!(tried.contains(key));
                    prop_assert!(!new || !tried.is_overfull());
                }
                Err(PacketError::Overfull { bits, limit: told }) => {
                    prop_assert!(bits > told && told == limit && tried == packet);
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }

        #[test]
        fn a_union_is_all_inserts_in_one_and_commutes(
            ours in vec(any::<u64>(), 0..20),
            theirs in vec(any::<u64>(), 0..20),
        ) {
            let (mut a, mut b) = (holding(Header::new(), &ours), holding(Header::new(), &theirs));
            let both = holding(a, &theirs);
            let (a_was, b_was) = (a, b);
            a.union(&b_was).unwrap();
            b.union(&a_was).unwrap();
            prop_assert_eq!((a, b), (both, both));
            a.intersect(&b_was).unwrap();
            prop_assert_eq!(a, b_was);
            let mut narrow = a_was.with_limit(ones(&both.bytes).saturating_sub(1));
            let before = narrow;
            let refused = narrow.union(&b_was).is_err();
            prop_assert_eq!(refused, both != a_was);
            prop_assert_eq!(narrow, before);
        }

        #[test]
        fn a_batch_is_a_loop(keys in vec(any::<u64>(), 0..40), asked in vec(any::<u64>(), 0..99)) {
            let packet = holding(Header::new(), &keys);
            let bytes: Vec<_> = asked.iter().map(|key| key.to_le_bytes()).collect();
            let keys: Vec<&[u8]> = bytes.iter().map(|key| &key[..]).collect();
            let mut answers = vec![true];
            packet.contains_bytes_batch(&keys, &mut answers);
            let want: Vec<bool> = asked.iter().map(|key| packet.contains(key)).collect();
            prop_assert_eq!(answers, want);
        }
    }

    #[test]
    fn seeds_must_agree_to_merge_and_to_find() {
        let ours = holding(Header::new().with_seed(1), &[1, 2, 3]);
        let theirs = holding(Header::new().with_seed(2), &[1, 2, 3]);
        let mut merged = ours;
        assert_eq!(merged.union(&theirs), Err(PacketError::Unlike));
        assert_eq!(merged.intersect(&theirs), Err(PacketError::Unlike));
        assert_eq!(merged, ours);
        let misread = Header::from_bytes(ours.to_bytes()).with_seed(2);
        assert!([1u64, 2, 3].iter().any(|key| !misread.contains(key)));
    }

    #[test]
    fn a_loop_is_noticed_on_the_second_visit() {
        let mut trace = Packet::<16, 4>::new().with_limit(64);
        for hop in ["a", "b", "c", "d"] {
            assert_eq!(trace.insert(hop), Ok(true));
        }
        assert_eq!(trace.insert("b"), Ok(false));
        trace.clear();
        assert_eq!(trace.insert("b"), Ok(true));
        assert_eq!(trace.limit(), 64);
    }

    #[test]
    fn the_extremes_work() {
        let mut smallest = Packet::<1, 64>::default();
        assert_eq!(smallest.insert("ada"), Ok(true));
        assert_eq!(
            smallest.with_limit(0).within_limit().unwrap_err().to_string(),
            format!("overfull packet: {} bits set where 0 are allowed", ones(&smallest.bytes))
        );
        assert_eq!(
            Packet::<1, 1>::new().with_limit(0).insert("ada"),
            Err(PacketError::Overfull { bits: 1, limit: 0 })
        );
        assert_eq!(Packet::<65536, 64>::BITS, 524_288);
        let full = Header::from_bytes([0xff; 32]);
        assert_eq!((full.fill(), full.fpr_now(), full.is_overfull()), (1.0, 1.0, false));
        assert!(full.estimate() > 100);
    }

    #[test]
    fn bits_tell_fill_keys_and_rate() {
        let packet = holding(Header::new().with_limit(128), &(0..20).collect::<Vec<_>>());
        assert!(packet.estimate().abs_diff(20) <= 3, "{}", packet.estimate());
        let rate = (0..100_000u64).filter(|key| packet.contains(key + 20)).count() as f64 / 1e5;
        let sigma = (packet.fpr_now() / 1e5).sqrt();
        assert!((rate - packet.fpr_now()).abs() < 5.0 * sigma, "{rate} {packet}");
        let said = "packet: 84 of 256 bits set, 128 allowed, 5 probes, rate 3.804e-3 now";
        assert_eq!(packet.to_string(), said);
    }

    /// A changed hash or probe rule would move these lists. They were found by a program that
    /// shares no code with this one.
    #[test]
    fn golden_false_positives() {
        let first_ten = |packet: Header| -> Vec<u64> {
            let packet = holding(packet, &(0..20).collect::<Vec<_>>());
            (20..).filter(|key: &u64| packet.contains(key)).take(10).collect()
        };
        let seeded = [133, 569, 625, 680, 686, 1074, 1300, 1464, 2383, 2424];
        assert_eq!(first_ten(Header::new()), seeded);
        let keyed = [1593, 1999, 2060, 2106, 2453, 3019, 3087, 4743, 5008, 5526];
        assert_eq!(first_ten(Header::new().with_secret(Secret::from_bytes([7; 16]))), keyed);
    }

    /// The bytes on the wire, from that same program.
    #[test]
    fn golden_bytes() {
        let mut packet = Packet::<8, 3>::new();
        (0..4u64).for_each(|key| _ = packet.insert(key).unwrap());
        assert_eq!(packet.to_bytes(), [0x10, 0x08, 0x40, 0x10, 0x20, 0x09, 0xa1, 0x80]);
    }
}
