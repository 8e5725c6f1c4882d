//! Hash and probe rule under a frozen id, on which every file depends.
//!
//! A filter's bits mean nothing without the rule that turns a key into positions. A [`Scheme`] is
//! that rule. Ids are written in files, so they are append-only: an id never changes its meaning,
//! and a better rule gets a new one.

#[cfg(feature = "std")]
use crate::Key;
use crate::hash::{
    EightByteSeeds, Hash, Secret, flipped_seed, reduce, sip13_128, xxh3_64, xxh3_64_of_eight,
    xxh3_64_of_nine_to_sixteen,
};
#[cfg(feature = "std")]
use crate::hash::{is_short, xxh3_64_side_by_side};
use crate::key::{AnyKey, KeyOf};

/// The frozen number of a scheme.
///
/// Ids below 256 belong to this crate; those from 256 on to codecs for other programs' filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SchemeId(pub u16);

impl SchemeId {
    /// No hash at all: an exact set.
    pub const EXACT: SchemeId = SchemeId(0);
    /// XXH3-64 with a 64-bit seed, and each kind's first probe rule.
    pub const XXH3: SchemeId = SchemeId(1);
    /// SipHash-1-3-128 with a secret, its halves folded by xor, and each kind's first probe rule.
    pub const SIP13: SchemeId = SchemeId(2);
    /// XXH3-64 with a 64-bit seed, but keys of eight bytes by two folded products; lines of `Blocked`
    /// may have [columns](crate::sizing::ProbeRule::Columns).
    pub const XXH3_V2: SchemeId = SchemeId(3);
    /// SipHash-1-3-128 as in [`SIP13`](SchemeId::SIP13); lines of `Blocked` may have
    /// [columns](crate::sizing::ProbeRule::Columns).
    pub const SIP13_V2: SchemeId = SchemeId(4);
    /// The first id of other programs' schemes.
    pub const FIRST_FOREIGN: SchemeId = SchemeId(256);

    /// The name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            SchemeId::EXACT => "exact",
            SchemeId::XXH3 => "xxh3-64",
            SchemeId::SIP13 => "siphash-1-3-128",
            SchemeId::XXH3_V2 => "xxh3-64-v2",
            SchemeId::SIP13_V2 => "siphash-1-3-128-v2",
            _ => "foreign",
        }
    }

    /// Whether keys are hashed under a secret.
    pub fn is_keyed(self) -> bool {
        matches!(self, SchemeId::SIP13 | SchemeId::SIP13_V2)
    }

    /// Whether keys are hashed with a seed that may be shown.
    pub fn has_seed(self) -> bool {
        matches!(self, SchemeId::XXH3 | SchemeId::XXH3_V2)
    }

    /// Whether it is one of those whose filters may have [columns](crate::sizing::ProbeRule::Columns).
    pub(crate) fn has_columns(self) -> bool {
        matches!(self, SchemeId::XXH3_V2 | SchemeId::SIP13_V2)
    }
}

/// How key bytes become a hash, and a hash the positions of a [`Classic`](crate::Classic) filter.
pub trait Scheme {
    /// The hash of a key.
    type Hash: Copy;

    /// Which values are keys: [`AnyKey`], or only bytes
    /// ([`ByteKeys`](crate::key::ByteKeys)) where another program decides how values are encoded.
    type Keys: ?Sized;

    /// The id written in files.
    fn id(&self) -> SchemeId;

    /// Hash the bytes of a key.
    fn hash_bytes(&self, bytes: &[u8]) -> Self::Hash;

    /// The `probes` positions of a hashed key, each below `bits`.
    fn positions(&self, hash: Self::Hash, bits: u64, probes: u32) -> impl Iterator<Item = u64>;

    /// How many of an array's bits positions can fall on: all of them, unless the scheme cannot
    /// address the last ones, or pads the array. Fill and estimates count only these.
    fn addressable_bits(&self, bits: u64) -> u64 {
        bits
    }

    /// The current false-positive rate. Probes that may fall anywhere hit with the probability that
    /// a bit is set; a scheme that keeps a key's probes close together counts by blocks.
    #[cfg(feature = "std")]
    fn fpr_now(&self, bytes: &[u8], bits: u64, probes: u32) -> f64 {
        fill(bytes, self.addressable_bits(bits)).powi(probes as i32)
    }

    /// The seed, where there is one that may be shown.
    fn seed(&self) -> Option<u64> {
        None
    }

    /// If it can be determined, panics in debug builds if another scheme made these hashes.
    #[doc(hidden)]
    #[inline(always)]
    fn check_origin(&self, _hashes: &[Self::Hash]) {}

    /// Hash a key.
    #[inline]
    fn hash(&self, key: impl KeyOf<Self::Keys>) -> Self::Hash
    where
        Self: Sized,
    {
        self.hash_bytes(key.key_bytes().as_ref())
    }
}

/// The share of `bits` bits that are set.
#[cfg(feature = "std")]
pub(crate) fn fill(bytes: &[u8], bits: u64) -> f64 {
    let ones: u64 = bytes.iter().map(|byte| u64::from(byte.count_ones())).sum();
    // More can be set only where a foreign file sets bits that nobody reads.
    (ones as f64 / bits.max(1) as f64).min(1.0)
}

/// Mayhap's own scheme: seeded and fast, or keyed and safe against chosen keys.
///
/// ```
/// use mayhap::scheme::{Native, Scheme};
/// use mayhap::Secret;
/// let fast = Native::seeded(0);
/// assert_eq!(fast.hash("ada"), fast.hash(b"ada"));
/// assert_ne!(fast.hash("ada"), Native::seeded(1).hash("ada"));
/// assert!(Native::keyed(Secret::from_bytes([7; 16])).is_keyed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Native(Mode);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A seed, and its form for keys of eight bytes.
    Xxh3(u64, u64),
    Sip13(Secret),
    /// Likewise.
    Seeded(u64, EightByteSeeds),
    Keyed(Secret),
}

impl Default for Native {
    fn default() -> Native {
        Native::seeded(0)
    }
}

impl Native {
    /// XXH3-64 with this seed.
    pub const fn seeded(seed: u64) -> Native {
        Native::xxh3(seed)
    }

    /// SipHash-1-3-128 with this secret.
    pub const fn keyed(secret: Secret) -> Native {
        Native::sip13(secret)
    }

    /// XXH3-64 with this seed for keys of any length, and the first probe rule:
    /// [`SchemeId::XXH3`].
    pub const fn xxh3(seed: u64) -> Native {
        Native(Mode::Xxh3(seed, flipped_seed(seed)))
    }

    /// SipHash-1-3-128 with this secret, and the first probe rule: [`SchemeId::SIP13`].
    pub const fn sip13(secret: Secret) -> Native {
        Native(Mode::Sip13(secret))
    }

    /// XXH3-64 with this seed, keys of eight bytes by two folded products, and lines that may have
    /// columns: [`SchemeId::XXH3_V2`].
    pub const fn columns(seed: u64) -> Native {
        Native(Mode::Seeded(seed, EightByteSeeds::new(seed)))
    }

    /// SipHash-1-3-128 with this secret, and lines that may have columns: [`SchemeId::SIP13_V2`].
    pub const fn columns_keyed(secret: Secret) -> Native {
        Native(Mode::Keyed(secret))
    }

    /// Whether a secret is needed for lookups.
    pub const fn is_keyed(&self) -> bool {
        matches!(self.0, Mode::Keyed(_) | Mode::Sip13(_))
    }

    /// The seed, unless keyed.
    pub const fn seed(&self) -> Option<u64> {
        match self.0 {
            Mode::Seeded(seed, _) | Mode::Xxh3(seed, _) => Some(seed),
            Mode::Keyed(_) | Mode::Sip13(_) => None,
        }
    }

    /// The secret, if keyed.
    pub const fn secret(&self) -> Option<Secret> {
        match self.0 {
            Mode::Seeded(..) | Mode::Xxh3(..) => None,
            Mode::Keyed(secret) | Mode::Sip13(secret) => Some(secret),
        }
    }

    /// What hashes keys of filters of the second schemes that are not keyed.
    #[cfg(feature = "std")]
    pub(crate) const fn short_hash(&self) -> Option<ShortHash> {
        match self.0 {
            Mode::Seeded(seed, eight) => Some(ShortHash { seed, eight }),
            _ => None,
        }
    }

    /// The scheme of this id: with this seed, or this secret. `None` for ids that are not Mayhap's,
    /// or where neither is what it needs.
    pub fn of_id(id: SchemeId, seed: u64, secret: Option<Secret>) -> Option<Native> {
        match (id, secret) {
            (SchemeId::XXH3, None) => Some(Native::xxh3(seed)),
            (SchemeId::XXH3_V2, None) => Some(Native::columns(seed)),
            (SchemeId::SIP13, Some(secret)) => Some(Native::sip13(secret)),
            (SchemeId::SIP13_V2, Some(secret)) => Some(Native::columns_keyed(secret)),
            _ => None,
        }
    }

    /// Hash many keys: `hashes` is cleared and filled, one hash per key.
    ///
    /// The mode is dispatched once per batch, not once per key.
    #[cfg(feature = "std")]
    pub fn hash_batch<K: Key>(&self, keys: &[K], hashes: &mut Vec<Hash>) {
        hashes.clear();
        match self.0 {
            // Several at a time with SIMD: half the time of one by one.
            Mode::Xxh3(seed, flipped_seed) => {
                let eight = |bytes| xxh3_64_of_eight(bytes, flipped_seed);
                crate::kernel::vectorize(HashMany { keys, seed, eight, hashes });
            }
            Mode::Seeded(seed, eight) => {
                let eight = |bytes| eight.hash(bytes);
                crate::kernel::vectorize(HashMany { keys, seed, eight, hashes });
            }
            // Several in SIMD lanes: a single one is latency-bound.
            Mode::Keyed(secret) | Mode::Sip13(secret) => {
                crate::kernel::sip::hash_batch(keys, &secret, hashes);
            }
        }
        crate::origin::note(self, hashes);
    }

    /// What a file stores: the seed, or the check value of the secret.
    pub fn seed_or_key_check(&self) -> u64 {
        match &self.0 {
            Mode::Seeded(seed, _) | Mode::Xxh3(seed, _) => *seed,
            Mode::Keyed(secret) | Mode::Sip13(secret) => secret.check(),
        }
    }
}

impl Scheme for Native {
    type Hash = Hash;
    type Keys = AnyKey;

    fn seed(&self) -> Option<u64> {
        Native::seed(self)
    }

    #[inline(always)]
    fn check_origin(&self, hashes: &[Hash]) {
        crate::origin::check(self, hashes);
    }

    fn id(&self) -> SchemeId {
        match self.0 {
            Mode::Xxh3(..) => SchemeId::XXH3,
            Mode::Sip13(_) => SchemeId::SIP13,
            Mode::Seeded(..) => SchemeId::XXH3_V2,
            Mode::Keyed(_) => SchemeId::SIP13_V2,
        }
    }

    /// Always inlined: an integer's eight bytes then cost a handful of instructions.
    #[inline(always)]
    fn hash_bytes(&self, bytes: &[u8]) -> Hash {
        match &self.0 {
            Mode::Seeded(seed, eight) => seeded(bytes, *seed, |bytes| eight.hash(bytes)),
            Mode::Xxh3(seed, flipped_seed) => {
                seeded(bytes, *seed, |bytes| xxh3_64_of_eight(bytes, *flipped_seed))
            }
            Mode::Keyed(secret) | Mode::Sip13(secret) => keyed(bytes, secret),
        }
    }

    /// A Weyl sequence from the hash, each term mixed once. Plain double hashing (a + i·b) was
    /// rejected: its progressions overlap, and at 0.01% that shows in the false-positive rate.
    #[inline]
    fn positions(&self, hash: Hash, bits: u64, probes: u32) -> impl Iterator<Item = u64> {
        (1..=u64::from(probes)).map(move |i| {
            let x = hash.0.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            reduce((x ^ (x >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93), bits)
        })
    }

    #[cfg(feature = "std")]
    fn fpr_now(&self, bytes: &[u8], bits: u64, probes: u32) -> f64 {
        crate::sizing::ClassicShape::new(bits, probes).fpr_at_fill(fill(bytes, bits))
    }
}

/// What hashes a key where it is seeded, and all that it needs to know: for kernels that hash and
/// look up in one function.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortHash {
    eight: EightByteSeeds,
    seed: u64,
}

#[cfg(feature = "std")]
impl Default for ShortHash {
    fn default() -> ShortHash {
        ShortHash { eight: EightByteSeeds::new(0), seed: 0 }
    }
}

#[cfg(feature = "std")]
impl ShortHash {
    #[inline(always)]
    pub(crate) fn hash(&self, bytes: &[u8]) -> Hash {
        seeded(bytes, self.seed, |bytes| self.eight.hash(bytes))
    }
}

/// Many keys to be hashed with a seed; `eight` hashes those of eight bytes.
#[cfg(feature = "std")]
struct HashMany<'a, K, F> {
    keys: &'a [K],
    seed: u64,
    eight: F,
    hashes: &'a mut Vec<Hash>,
}

#[cfg(feature = "std")]
impl<K: Key, F: Fn([u8; 8]) -> u64> crate::kernel::Vectorize for HashMany<'_, K, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let HashMany { keys, seed, eight, hashes } = self;
        let hash = |key: &K| seeded(key.key_bytes().as_ref(), seed, &eight);
        // A batch with one short key usually has many; for integers this is known at compile time.
        let short = keys.first().is_some_and(|key| is_short(key.key_bytes().as_ref()));
        let (groups, rest) = if short { keys.as_chunks() } else { (&[][..], keys) };
        for group in groups {
            match xxh3_64_side_by_side(group, seed) {
                Some(of_group) => hashes.extend(of_group.map(Hash)),
                None => hashes.extend(group.iter().map(hash)),
            }
        }
        hashes.extend(rest.iter().map(hash));
    }
}

/// Eight bytes are usually an integer, whose length is known at compile time: then this check costs
/// nothing.
#[inline(always)]
fn seeded(bytes: &[u8], seed: u64, eight: impl Fn([u8; 8]) -> u64) -> Hash {
    match bytes.try_into() {
        Ok(bytes) => Hash(eight(bytes)),
        Err(_) => {
            let short = xxh3_64_of_nine_to_sixteen(bytes, seed);
            Hash(short.unwrap_or_else(|| xxh3_64(bytes, seed)))
        }
    }
}

/// Out of line, so that the seeded hash can be inlined.
#[inline(never)]
fn keyed(bytes: &[u8], secret: &Secret) -> Hash {
    let [(first, second)] = sip13_128([bytes], secret);
    Hash(first ^ second)
}
