//! bloomfilter.js (npm `bloomfilter`): `[].slice.call(filter.buckets)` as JSON, an array of signed 32-bit
//! numbers. Source: jasondavies/bloomfilter.js `bloomfilter.js`, releases 0.0.18 and 0.0.21.
//!
//! Not in the text: the number of probes, and the generation. Up to 0.0.18 two 32-bit hashes walk with
//! signed remainders; since 0.0.19 both halves of a 64-bit hash do, by enhanced double hashing. Keys
//! are JavaScript strings: UTF-16 units are hashed, whatever a file of keys is encoded in. Bytes that
//! are not UTF-8 become U+FFFD, as when Node reads them.
//! Golden files: `testdata/foreign/bloomfilter-js/`.

use crate::frame::{Content, Frame, Framed, Laid, Place};
use crate::hash::{
    LANES, Rows, SideBySide, fnv1a_32_mixed, fnv1a_32_mixed_twice_of_rows, fnv1a_64,
    fnv1a_64_of_each, in_lanes, side_by_side,
};
use crate::kevburnsjr::SEEDS;
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use mayhap::{Pages, Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::Write;

/// Which hashes; nothing else is beside the bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// 0.0.17 and 0.0.18.
    UpTo18,
    /// 0.0.19 and later.
    Since19,
}

/// The scheme of a generation, over buckets kept little-endian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JsScheme {
    generation: Generation,
    modulus: Modulus,
}

/// Both hashes, below the number of bits.
type Pair = (u64, u64);

impl JsScheme {
    /// Both hashes, which JavaScript takes as signed, as positions. The remainders of the old
    /// generation may be negative, but a position is what m more makes of one, and so the same.
    #[inline(always)]
    fn reduce(&self, hashes: [u32; 2]) -> Pair {
        hashes.map(|hash| self.modulus.rem_signed((hash as i32).into())).into()
    }
}

impl Generation {
    /// Of any text.
    fn hash_units(self, units: impl Iterator<Item = u16> + Clone) -> [u32; 2] {
        match self {
            Generation::UpTo18 => {
                // A unit's high byte counts only where there is one.
                let bytes = units.flat_map(|unit| {
                    let [high, low] = unit.to_be_bytes();
                    (high != 0).then_some(high).into_iter().chain([low])
                });
                SEEDS.map(|seed| fnv1a_32_mixed(bytes.clone(), seed))
            }
            Generation::Since19 => halves(fnv1a_64(units)),
        }
    }
}

const fn halves(hash: u64) -> [u32; 2] {
    [(hash >> 32) as u32, hash as u32]
}

impl Scheme for JsScheme {
    type Hash = Pair;

    fn id(&self) -> SchemeId {
        match self.generation {
            Generation::UpTo18 => ids::BLOOMFILTER_JS_OLD,
            Generation::Since19 => ids::BLOOMFILTER_JS,
        }
    }

    fn hash_bytes(&self, bytes: &[u8]) -> Pair {
        let generation = self.generation;
        self.reduce(if bytes.is_ascii() {
            generation.hash_units(bytes.iter().map(|byte| u16::from(*byte)))
        } else {
            generation.hash_units(String::from_utf8_lossy(bytes).encode_utf16())
        })
    }

    #[inline]
    fn positions(&self, (a, b): Pair, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let JsScheme { generation, modulus } = *self;
        let (mut x, mut step, mut count) = (a, b, 0);
        (0..probes).map(move |_| {
            let at = x;
            x = modulus.add(x, step);
            // Old ones take equal steps.
            if generation == Generation::Since19 {
                count = modulus.add(count, 1);
                step = modulus.add(step, count);
            }
            at
        })
    }
}

impl SideBySide<16> for JsScheme {
    type Word = u32;
    type Hash = Pair;

    #[inline(always)]
    fn of_each(&self, keys: &[&[u8]; 16], rows: &Rows<u32, 16>) -> [Pair; 16] {
        // Most keys' bytes are their units.
        if !rows.is_ascii() {
            return keys.map(|key| self.hash_bytes(key));
        }
        fnv1a_32_mixed_twice_of_rows(rows, SEEDS).map(|pair| self.reduce(pair))
    }

    fn of_one(&self, key: &[u8]) -> Pair {
        self.hash_bytes(key)
    }
}

impl Frame for Generation {
    type Scheme = JsScheme;

    fn format(&self) -> Format {
        match self {
            Generation::UpTo18 => Format::BloomfilterJsOld,
            Generation::Since19 => Format::BloomfilterJs,
        }
    }

    fn scheme(&self, bits: u64) -> Option<JsScheme> {
        // Positions are kept in an Int32Array or Uint32Array.
        let fits = bits.is_multiple_of(32) && bits <= u32::MAX.into();
        let modulus = Modulus::new(bits).filter(|_| fits)?;
        Some(JsScheme { generation: *self, modulus })
    }

    fn hash_keys(scheme: &JsScheme, keys: &[&[u8]], hashes: &mut Vec<Pair>) {
        if scheme.generation == Generation::UpTo18 {
            return side_by_side(scheme, keys, hashes);
        }
        let of_one = |key: &[u8]| scheme.hash_bytes(key);
        let of_each = |keys: [&[u8]; LANES]| {
            // Most keys' bytes are their units.
            if !keys.iter().all(|key| key.is_ascii()) {
                return keys.map(of_one);
            }
            fnv1a_64_of_each(keys).map(|hash| scheme.reduce(halves(hash)))
        };
        in_lanes(keys, hashes, of_each, of_one);
    }

    fn write(&self, content: &Content<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        let mut to = std::io::BufWriter::new(to);
        for (i, bucket) in content.bits.as_chunks().0.iter().enumerate() {
            let before = if i == 0 { "[" } else { "," };
            write!(to, "{before}{}", i32::from_le_bytes(*bucket))?;
        }
        to.write_all(b"]")?;
        Ok(to.flush()?)
    }

    fn in_format(&self, format: Format) -> Option<Generation> {
        (format == self.format()).then_some(*self)
    }

    fn data(&self) -> Vec<u8> {
        Vec::new()
    }

    fn from_data(format: Format, _: &mut Reader<'_>) -> Result<Generation, ForeignError> {
        Generation::of(format)
            .ok_or_else(|| ForeignError::field("format", format, "one of bloomfilter.js"))
    }
}

impl Generation {
    /// The generation of a format.
    pub(crate) fn of(format: Format) -> Option<Generation> {
        [Generation::UpTo18, Generation::Since19].into_iter().find(|g| g.format() == format)
    }
}

/// Find one's way in a file.
pub(crate) fn read(
    text: &[u8],
    generation: Generation,
    probes: u32,
) -> Result<Laid<Generation>, ForeignError> {
    let probes = limits::probes(probes.into())?;
    let bad = |error| ForeignError::field("JSON", error, "an array of 32-bit integers");
    let buckets = match as_written(text) {
        Some(buckets) => buckets,
        None => serde_json::from_slice::<Vec<i32>>(text).map_err(bad)?,
    };
    let mut bits = Pages::zeroed(buckets.len() as u64 * 4)?;
    for (bytes, bucket) in bits.as_mut().as_chunks_mut().0.iter_mut().zip(buckets) {
        *bytes = bucket.to_le_bytes();
    }
    Ok(Laid { frame: generation, bits: Place::Own(bits), probes, made_for: (0, 0.0, 0) })
}

/// The numbers of an array in the words that `JSON.stringify` has for it, without a space, in a fraction
/// of the time that JSON takes: millions of numbers are longer in reading than in asking. `None` for
/// any other text, which may be an array all the same.
fn as_written(text: &[u8]) -> Option<Vec<i32>> {
    let [b'[', numbers @ .., b']'] = text else { return None };
    let mut buckets = Vec::new();
    let mut rest = numbers.iter();
    loop {
        let is_negative = rest.as_slice().first() == Some(&b'-');
        if is_negative {
            rest.next();
        }
        let starts_with_zero = rest.as_slice().first() == Some(&b'0');
        let (mut size, mut digits, mut ends) = (0u64, 0, true);
        for byte in rest.by_ref() {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                (*byte == b',').then_some(())?;
                ends = false;
                break;
            }
            size = size.wrapping_mul(10).wrapping_add(digit.into());
            digits += 1;
        }
        // Zero has one digit and no sign, others do not begin with it. Ten digits do not wrap round.
        let most = if starts_with_zero { 1 - i32::from(is_negative) } else { 10 };
        (1..=most).contains(&digits).then_some(())?;
        let bucket = if is_negative { -(size as i64) } else { size as i64 };
        buckets.push(i32::try_from(bucket).ok()?);
        if ends {
            return Some(buckets);
        }
    }
}

/// Whether text could be buckets, told by its first and last characters.
pub(crate) fn says(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let [b'[', first, .., b']'] = text else { return false };
    first.is_ascii_digit() || *first == b'-'
}

/// Read the buckets of a filter, knowing its generation and number of probes.
///
/// ```
/// use mayhap_foreign::bloomfilter_js::{self, Generation};
/// let filter = bloomfilter_js::decode(b"[-1,-1]", Generation::Since19, 4)?;
/// assert!(filter.contains("anything"));
/// assert_eq!(filter.encode()?, b"[-1,-1]");
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn decode(
    text: &[u8],
    generation: Generation,
    probes: u32,
) -> Result<Framed<Generation>, ForeignError> {
    Framed::decode(read(text, generation, probes)?, text)
}

/// What `new BloomFilter(m, k)` makes: m is rounded up to whole buckets.
pub fn with_shape(
    generation: Generation,
    bits: u64,
    probes: u32,
    wish: (u64, f64),
) -> Result<Framed<Generation>, ForeignError> {
    Framed::empty(generation, bits.max(1).div_ceil(32).saturating_mul(4), probes, wish)
}

/// An empty filter for so many keys at a rate. The package leaves sizes to the caller; these are the
/// textbook's.
pub fn create(
    generation: Generation,
    keys: u64,
    fpr: f64,
) -> Result<Framed<Generation>, ForeignError> {
    let keys = limits::wish(keys, fpr)?.max(1);
    let n = keys as f64;
    let m = (-n * fpr.ln() / (LN_2 * LN_2)).ceil().max(1.0);
    let probes = limits::probes(limits::round(m / n * LN_2).max(1))?;
    with_shape(generation, m as u64, probes, (keys, fpr))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn what_is_not_written_so_is_left_to_json() {
        for text in
            ["", "[", "]", "[]", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 ,2]", "[ 1]", "1,2", "[--1]"]
        {
            assert_eq!(as_written(text.as_bytes()), None, "{text}");
        }
        for text in
            ["[-]", "[-0]", "[00]", "[01]", "[-01]", "[1.0]", "[1e3]", "[+1]", "[1]\n", "[[1]]"]
        {
            assert_eq!(as_written(text.as_bytes()), None, "{text}");
        }
        for text in ["[2147483648]", "[-2147483649]", "[4294967297]", "[18446744073709551617]"] {
            assert_eq!(as_written(text.as_bytes()), None, "{text}");
        }
        assert_eq!(as_written(b"[0,-1,10]"), Some(vec![0, -1, 10]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(buckets in vec(any::<i32>(), 1..50), shift in 0..32u32) {
            let buckets: Vec<i32> = buckets.iter().map(|bucket| bucket >> shift).collect();
            let text = serde_json::to_vec(&buckets).unwrap();
            prop_assert_eq!(as_written(&text), Some(buckets));
        }

        /// Nothing is taken that JSON would refuse, or reads otherwise.
        #[test]
        fn what_is_taken_is_json(text in "\\[[-0-9, .e]{0,30}\\]") {
            if let Some(buckets) = as_written(text.as_bytes()) {
                prop_assert_eq!(serde_json::from_str::<Vec<i32>>(&text).unwrap(), buckets);
            }
        }
    }
}
