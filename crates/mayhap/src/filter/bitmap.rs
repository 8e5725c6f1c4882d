//! An exact set of integers.

mod kind;
use crate::Key;
use roaring::RoaringTreemap;
use std::fmt;
use std::io::{self, Write};

/// An exact set of 64-bit integers: no false positives, no false negatives, with removal.
///
/// Compressed by the `roaring` crate: dense ids cost from a bit each down to almost nothing (whole
/// runs, see [`compact`](Bitmap::compact)), scattered 32-bit ones about 16 bits, and random 64-bit
/// ones more than in a hash set. So: for ids handed out in order this beats every filter; for random
/// ids or strings take [`Blocked`](crate::Blocked).
///
/// ```
/// # use mayhap::Bitmap;
/// let mut seen: Bitmap = (1000..2000).collect();
/// assert!(!seen.insert(1999));
/// assert!(seen.insert(2000)); // new, and no "certainly" needed
/// assert!(seen.remove(1000));
/// assert!(!seen.contains(1000) && seen.contains(1001));
/// assert_eq!((seen.keys(), seen.fpr_now()), (1000, 0.0));
/// ```
///
/// # Keys
/// By its [spelling](Key) every integer is a key of eight bytes, and every key of eight bytes an
/// integer: `-1` is `u64::MAX`, and `"password"` is one too. Such keys are kept exactly; others
/// cannot be kept at all. So as a [`Contains`](crate::Contains) it answers for any key (one of three bytes is
/// certainly absent), and as an [`Insert`](crate::Insert) it refuses all others, as
/// [`insert_key`](Bitmap::insert_key) does.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bitmap {
    ids: RoaringTreemap,
}

impl Bitmap {
    /// An empty set.
    pub fn new() -> Bitmap {
        Bitmap::default()
    }

    /// Insert an id. `true`: it was new.
    pub fn insert(&mut self, id: u64) -> bool {
        self.ids.insert(id)
    }

    /// Insert them all; returns how many were new. Fastest in ascending order.
    pub fn insert_batch(&mut self, ids: &[u64]) -> u64 {
        ids.iter().map(|id| u64::from(self.insert(*id))).sum()
    }

    /// Insert them all; `new` is cleared and filled, `true` for each that was new.
    pub fn insert_batch_new(&mut self, ids: &[u64], new: &mut Vec<bool>) {
        new.clear();
        new.extend(ids.iter().map(|id| self.insert(*id)));
    }

    /// Insert a key, if it is an integer. `true`: it was new.
    ///
    /// ```
    /// # use mayhap::Bitmap;
    /// let mut seen = Bitmap::new();
    /// assert_eq!(seen.insert_key(7u8), Ok(true));
    /// assert_eq!(seen.insert_key("ada").unwrap_err().bytes, 3);
    /// ```
    pub fn insert_key(&mut self, key: impl Key) -> Result<bool, NotAnInteger> {
        let bytes = key.key_bytes();
        let bytes = bytes.as_ref();
        let id = integer(bytes).ok_or(NotAnInteger { bytes: bytes.len() })?;
        Ok(self.insert(id))
    }

    /// Remove an id. `false`: it was not in.
    pub fn remove(&mut self, id: u64) -> bool {
        self.ids.remove(id)
    }

    /// Remove them all; returns how many were in.
    pub fn remove_batch(&mut self, ids: &[u64]) -> u64 {
        ids.iter().map(|id| u64::from(self.remove(*id))).sum()
    }

    /// Remove a key. `false`: it was not in, as no key but an integer ever is.
    pub fn remove_key(&mut self, key: impl Key) -> bool {
        integer(key.key_bytes().as_ref()).is_some_and(|id| self.remove(id))
    }

    /// Whether the id is in.
    pub fn contains(&self, id: u64) -> bool {
        self.ids.contains(id)
    }

    /// Look up all of them: `answers` is cleared and filled, one answer per id.
    pub fn contains_batch(&self, ids: &[u64], answers: &mut Vec<bool>) {
        answers.clear();
        answers.extend(ids.iter().map(|id| self.contains(*id)));
    }

    /// Whether the key is in: no key but an integer ever is.
    pub fn contains_key(&self, key: impl Key) -> bool {
        integer(key.key_bytes().as_ref()).is_some_and(|id| self.contains(id))
    }

    /// Take in everything the other set holds.
    pub fn union(&mut self, other: &Bitmap) {
        self.ids |= &other.ids;
    }

    /// Keep only what both sets hold.
    pub fn intersect(&mut self, other: &Bitmap) {
        self.ids &= &other.ids;
    }

    /// Remove all keys.
    pub fn clear(&mut self) {
        self.ids.clear();
    }

    /// Store runs of ids as runs where that is smaller; worth it once the set has settled.
    pub fn compact(&mut self) {
        self.ids.optimize();
    }

    /// The ids, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.ids.iter()
    }

    /// How many ids are in.
    pub fn keys(&self) -> u64 {
        self.ids.len()
    }

    /// How many ids are in: no estimate here, but the name all kinds share.
    pub fn estimate(&self) -> u64 {
        self.keys()
    }

    /// How dense it is: the share of ids in, out of all from the least to the greatest.
    pub fn fill(&self) -> f64 {
        match (self.ids.min(), self.ids.max()) {
            (Some(least), Some(greatest)) => self.keys() as f64 / ((greatest - least) as f64 + 1.0),
            _ => 0.0,
        }
    }

    /// The false-positive rate: none.
    pub fn fpr_now(&self) -> f64 {
        0.0
    }

    /// Bytes that [`to_bytes`](Bitmap::to_bytes) gives; dense ids take about as many in memory.
    pub fn bytes(&self) -> u64 {
        self.ids.serialized_size() as u64
    }

    /// The set in Roaring's portable 64-bit format, which other languages read too.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.ids.serialized_size());
        // Writing to a vector cannot fail; were it to, a cut-off set would not be opened again.
        let _ = self.ids.serialize_into(&mut bytes);
        bytes
    }

    /// The set that [`to_bytes`](Bitmap::to_bytes) wrote.
    ///
    /// `None` for anything else: cut off or with bytes to spare, out of order, with counts or
    /// offsets that are not as they would be written. Costs memory in proportion to the bytes
    /// that are there (and 256 KiB at most for a header that lies), whatever they claim.
    pub fn from_bytes(bytes: &[u8]) -> Option<Bitmap> {
        let ids = RoaringTreemap::deserialize_from(bytes).ok()?;
        // What the reader skips or forgives does not survive being written again.
        let mut rest = Expect(bytes);
        let same = ids.serialize_into(&mut rest).is_ok() && rest.0.is_empty();
        let sound = same && ids.bitmaps().all(|(_, part)| !part.is_empty());
        sound.then_some(Bitmap { ids })
    }
}

/// A writer that only accepts what it expects.
struct Expect<'a>(&'a [u8]);

impl Write for Expect<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.strip_prefix(bytes).ok_or(io::ErrorKind::InvalidData)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The integer that is spelled by these bytes, if any.
fn integer(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

impl FromIterator<u64> for Bitmap {
    fn from_iter<I: IntoIterator<Item = u64>>(ids: I) -> Bitmap {
        Bitmap { ids: ids.into_iter().collect() }
    }
}

impl Extend<u64> for Bitmap {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, ids: I) {
        self.ids.extend(ids);
    }
}

impl fmt::Display for Bitmap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bitmap: {} keys, {} bytes, exact", self.keys(), self.bytes())
    }
}

/// A key that a [`Bitmap`] cannot hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotAnInteger {
    /// How long the key is; an integer is eight bytes.
    pub bytes: usize,
}

impl fmt::Display for NotAnInteger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "key of {} bytes: a bitmap holds integers, which are keys of 8", self.bytes)
    }
}

impl std::error::Error for NotAnInteger {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contains, Insert};
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Ids that meet: near the edges of the parts (2³²) and containers (2¹⁶), and runs of them.
    fn ids() -> impl Strategy<Value = BTreeSet<u64>> {
        let edges = [0, 1 << 16, 1 << 32, 5 << 32, u64::MAX - 9000];
        let run = (prop::sample::select(edges.to_vec()), 0u64..3000, 0u64..6000);
        let runs = vec(run, 0..4).prop_map(|runs| {
            runs.into_iter().flat_map(|(edge, from, len)| edge + from..edge + from + len).collect()
        });
        (runs, btree_set(any::<u64>(), 0..20))
            .prop_map(|(runs, loose): (BTreeSet<_>, _)| &runs | &loose)
    }

    fn made(ids: &BTreeSet<u64>, compact: bool) -> Bitmap {
        let mut bitmap: Bitmap = ids.iter().copied().collect();
        if compact {
            bitmap.compact();
        }
        bitmap
    }

    fn is(bitmap: &Bitmap, ids: &BTreeSet<u64>) -> bool {
        bitmap.iter().eq(ids.iter().copied()) && bitmap.keys() == ids.len() as u64
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn it_is_a_set(
            start in ids(),
            compact in any::<bool>(),
            steps in vec((any::<bool>(), 0u64..1 << 17), 0..200),
        ) {
            let mut bitmap = made(&start, compact);
            let mut want = start;
            for (insert, id) in steps {
                if insert {
                    prop_assert_eq!(bitmap.insert(id), want.insert(id));
                } else {
                    prop_assert_eq!(bitmap.remove(id), want.remove(&id));
                }
                prop_assert_eq!(bitmap.contains(id), insert);
            }
            prop_assert!(is(&bitmap, &want));
            let all: Vec<u64> = want.iter().copied().collect();
            prop_assert_eq!(bitmap.remove_batch(&all), all.len() as u64);
            prop_assert_eq!(bitmap.to_bytes(), Bitmap::new().to_bytes());
        }

        #[test]
        fn sets_combine_as_sets_do(a in ids(), b in ids(), runs in any::<[bool; 2]>()) {
            let (one, other) = (made(&a, runs[0]), made(&b, runs[1]));
            let (mut union, mut common) = (one.clone(), one);
            union.union(&other);
            prop_assert!(is(&union, &(&a | &b)));
            common.intersect(&other);
            prop_assert!(is(&common, &(&a & &b)));
            prop_assert_eq!(Bitmap::from_bytes(&common.to_bytes()), Some(common));
        }

        #[test]
        fn bytes_give_the_set_back(ids in ids(), compact in any::<bool>()) {
            let bitmap = made(&ids, compact);
            let bytes = bitmap.to_bytes();
            prop_assert_eq!(bytes.len() as u64, bitmap.bytes());
            let again = Bitmap::from_bytes(&bytes);
            prop_assert_eq!(again.as_ref(), Some(&bitmap));
            prop_assert!(is(&again.unwrap(), &ids));
            let mut long = bytes.clone();
            long.push(0);
            prop_assert_eq!(Bitmap::from_bytes(&long), None);
        }

        /// Bytes that are hardly a set at all, then every operation on what is accepted.
        #[test]
        fn hostile_bytes_are_refused_or_harmless(
            ids in ids(),
            compact in any::<bool>(),
            edits in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            noise in vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = made(&ids, compact).to_bytes();
            for (at, byte) in edits {
                let at = at.index(bytes.len().min(64)); // headers, where it hurts
                bytes[at] = byte;
            }
            for bytes in [bytes, noise] {
                if let Some(mut bitmap) = Bitmap::from_bytes(&bytes) {
                    prop_assert_eq!(bitmap.to_bytes(), bytes);
                    prop_assert_eq!(bitmap.iter().count() as u64, bitmap.keys());
                    let first = bitmap.iter().next();
                    prop_assert!(first.is_none_or(|id| bitmap.remove(id) && bitmap.insert(id)));
                    bitmap.compact();
                    bitmap.union(&made(&ids, !compact));
                    prop_assert!(ids.iter().all(|id| bitmap.contains(*id)));
                }
            }
        }
    }

    #[test]
    fn every_truncation_and_every_odd_spelling_is_refused() {
        let mut bitmap: Bitmap = (0..5000).chain([1 << 40, u64::MAX]).collect();
        bitmap.compact();
        let bytes = bitmap.to_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(Bitmap::from_bytes(&bytes[..cut]), None, "{cut} bytes");
        }
        let part = |high: u32, low: &[u8]| [&high.to_le_bytes()[..], low].concat();
        let parts =
            |parts: &[Vec<u8>]| [&(parts.len() as u64).to_le_bytes()[..], &parts.concat()].concat();
        let one = &Bitmap::from_iter([7]).to_bytes()[12..];
        let empty = [12346u32.to_le_bytes(), [0; 4]].concat();
        assert!(Bitmap::from_bytes(&parts(&[part(1, one), part(2, one)])).is_some());
        assert!(Bitmap::from_bytes(&parts(&[part(2, one), part(1, one)])).is_none());
        assert!(Bitmap::from_bytes(&parts(&[part(1, one), part(1, one)])).is_none());
        assert!(Bitmap::from_bytes(&parts(&[part(1, &empty)])).is_none());
        // Parts and containers by the billion, and nothing behind them.
        assert!(Bitmap::from_bytes(&[0xff; 8]).is_none());
        let many = [12346u32.to_le_bytes(), 65536u32.to_le_bytes()].concat();
        assert!(Bitmap::from_bytes(&parts(&[part(1, &many)])).is_none());
    }

    /// The portable format, written out by hand.
    #[test]
    fn golden_bytes() {
        let want = [
            &1u64.to_le_bytes()[..], // one part
            &2u32.to_le_bytes(),     // ids from 2 · 2³² on
            &12346u32.to_le_bytes(), // no runs
            &1u32.to_le_bytes(),     // one container
            &[0, 0, 1, 0],           // ids from 0 on, 1 + 1 of them
            &16u32.to_le_bytes(),    // where they are
            &[3, 0, 5, 0],
        ];
        assert_eq!(Bitmap::from_iter([(2 << 32) + 3, (2 << 32) + 5]).to_bytes(), want.concat());
    }

    #[test]
    fn batches_are_loops() {
        let mut bitmap = Bitmap::new();
        assert_eq!(bitmap.insert_batch(&[1, 2, 2, u64::MAX]), 3);
        let mut answers = vec![true];
        bitmap.insert_batch_new(&[2, 3], &mut answers);
        assert_eq!(answers, [false, true]);
        bitmap.contains_batch(&[0, 1, 2, 3, u64::MAX], &mut answers);
        assert_eq!(answers, [false, true, true, true, true]);
        let keys: [&[u8]; 3] = [&1u64.to_le_bytes(), b"one", &5u64.to_le_bytes()];
        bitmap.contains_bytes_batch(&keys, &mut answers);
        assert_eq!(answers, [true, false, false]);
        bitmap.extend([9]);
        assert_eq!(bitmap.to_string(), format!("bitmap: 5 keys, {} bytes, exact", bitmap.bytes()));
    }

    #[test]
    fn keys_of_eight_bytes_are_integers_and_no_others() {
        let mut bitmap = Bitmap::new();
        assert_eq!(bitmap.insert_key(-1i32), Ok(true));
        assert!(bitmap.contains(u64::MAX) && bitmap.contains_key([0xff; 8]));
        assert_eq!(bitmap.insert_key("password"), Ok(true));
        assert!(Contains::contains(&bitmap, "password"));
        for key in ["", "ada", "passwords"] {
            let error = bitmap.insert_key(key).unwrap_err();
            assert_eq!(error, NotAnInteger { bytes: key.len() });
            assert_eq!(
                bitmap.try_insert(key).unwrap_err().to_string(),
                "a bitmap filter holds integers only: keys of eight bytes"
            );
            assert!(!bitmap.contains_key(key) && !Contains::contains(&bitmap, key));
            assert!(!bitmap.remove_key(key));
        }
        assert!(bitmap.remove_key("password"));
        assert_eq!(bitmap.keys(), 1);
    }

    #[test]
    fn dense_ids_cost_next_to_nothing() {
        let mut bitmap: Bitmap = (5_000_000..6_000_000).collect();
        assert_eq!((bitmap.fill(), bitmap.estimate()), (1.0, 1_000_000));
        assert!(bitmap.bytes() < 140_000, "{bitmap}"); // about a bit each
        bitmap.compact();
        assert!(bitmap.bytes() < 400, "{bitmap}");
        bitmap.clear();
        assert_eq!((bitmap.fill(), bitmap.keys()), (0.0, 0));
        assert!(Bitmap::from_iter([0, u64::MAX]).fill() < 1e-18);
    }
}
