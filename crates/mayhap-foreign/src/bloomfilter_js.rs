//! bloomfilter.js (npm `bloomfilter`): `[].slice.call(filter.buckets)` as JSON, an array of signed 32-bit
//! numbers. Source: jasondavies/bloomfilter.js `bloomfilter.js`, releases 0.0.18 and 0.0.21.
//!
//! Not in the text: the number of probes, and the generation. Up to 0.0.18 two 32-bit hashes walk with
//! signed remainders; since 0.0.19 both halves of a 64-bit hash do, by enhanced double hashing. Keys
//! are JavaScript strings: UTF-16 units are hashed, whatever a file of keys is encoded in. Bytes that
//! are not UTF-8 become U+FFFD, as when Node reads them.
//! Golden files: `testdata/foreign/bloomfilter-js/`.

use crate::KeyType;
use crate::family::{Choices, Family, FormatRow, flat_from_parts, never, open_flat, owned};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{
    KeyLanes, LANES, MultiLane, fnv1a_32_mixed, fnv1a_32_mixed_twice_of_rows, fnv1a_64,
    fnv1a_64_of_each, in_lanes, le64, side_by_side,
};
use crate::kevburnsjr::SEEDS;
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use mayhap::key::KeyEncoding;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::{Scheme, SchemeId};
use std::f64::consts::LN_2;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[
        FormatRow {
            format: Format::BloomfilterJs,
            name: "bloomfilter-js",
            programs: "bloomfilter.js since 0.0.19",
            file: "the buckets as JSON",
            detected: "–",
            key_types: &[
                (KeyType::Bytes, KeyEncoding::Bytes),
                (KeyType::Utf16, KeyEncoding::Bytes),
            ],
            needs_probes: true,
            choices: Choices::NONE,
        },
        FormatRow {
            format: Format::BloomfilterJsOld,
            name: "bloomfilter-js-old",
            programs: "bloomfilter.js up to 0.0.18",
            file: "the buckets as JSON",
            detected: "–",
            key_types: &[
                (KeyType::Bytes, KeyEncoding::Bytes),
                (KeyType::Utf16, KeyEncoding::Bytes),
            ],
            needs_probes: true,
            choices: Choices::NONE,
        },
    ],
    is_certain: never,
    is_possible: |_, bytes| matches_magic(bytes),
    open: |format, file, options| {
        let probes = options.probes_of(format)?;
        open_flat(read(file.as_ref(), generation(format), probes), file)
    },
    create: |format, new| owned(create(generation(format), new.keys, new.fpr)),
    from_parts: flat_from_parts::<Generation>,
};

/// The generation of a format of this family.
fn generation(format: Format) -> Generation {
    Generation::of(format).unwrap_or(Generation::Since19)
}

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
    type Keys = mayhap::key::ByteKeys;

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

impl MultiLane<16> for JsScheme {
    type Word = u32;
    type Hash = Pair;

    #[inline(always)]
    fn hash_lanes(&self, keys: &[&[u8]; 16], rows: &KeyLanes<u32, 16>) -> [Pair; 16] {
        // Most keys' bytes are their units.
        if !rows.is_ascii() {
            return keys.map(|key| self.hash_bytes(key));
        }
        fnv1a_32_mixed_twice_of_rows(rows, SEEDS).map(|pair| self.reduce(pair))
    }

    fn hash_one(&self, key: &[u8]) -> Pair {
        self.hash_bytes(key)
    }
}

impl FlatFormat for Generation {
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
        let hash_one = |key: &[u8]| scheme.hash_bytes(key);
        let hash_lanes = |keys: [&[u8]; LANES]| {
            // Most keys' bytes are their units.
            if !keys.iter().all(|key| key.is_ascii()) {
                return keys.map(hash_one);
            }
            fnv1a_64_of_each(keys).map(|hash| scheme.reduce(halves(hash)))
        };
        in_lanes(keys, hashes, hash_lanes, hash_one);
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
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
) -> Result<ParsedLayout<Generation>, ForeignError> {
    let probes = limits::probes(probes.into())?;
    let bad = |error| ForeignError::field("JSON", error, "an array of 32-bit integers");
    let bits = match as_written(text)? {
        Some(bits) => bits,
        None => {
            let buckets: Vec<i32> = serde_json::from_slice(text).map_err(bad)?;
            let mut bits = AlignedBuf::zeroed(buckets.len() as u64 * 4)?;
            for (bytes, bucket) in bits.as_mut().as_chunks_mut().0.iter_mut().zip(buckets) {
                *bytes = bucket.to_le_bytes();
            }
            bits
        }
    };
    Ok(ParsedLayout {
        frame: generation,
        bits: BitSource::Owned(bits),
        probes,
        target: (0, 0.0, 0),
    })
}

/// The buckets of an array that is spelled as `JSON.stringify` does, without a space. `None` for any
/// other text, which may be an array all the same. It takes a fraction of the time of a reader for all
/// JSON: millions of numbers took that as long as a million questions.
fn as_written(text: &[u8]) -> Result<Option<AlignedBuf>, ForeignError> {
    // A byte counts to 255 without a carry, and so sixteen of them side by side.
    let commas = |part: &[u8]| part.iter().fold(0, |n, byte| n + u8::from(*byte == b','));
    let buckets = 1 + text.chunks(255).map(|part| usize::from(commas(part))).sum::<usize>();
    let [b'[', numbers @ .., b']'] = text else { return Ok(None) };
    if buckets > text.len() / 2 {
        return Ok(None); // there is not a digit for each
    }
    let mut bits = AlignedBuf::zeroed(buckets as u64 * 4)?;
    let whole = fill(bits.as_mut().as_chunks_mut().0, numbers);
    Ok(whole.map(|()| bits))
}

/// As many numbers as there are buckets, with commas between.
fn fill(buckets: &mut [[u8; 4]], mut numbers: &[u8]) -> Option<()> {
    let (last, buckets) = buckets.split_last_mut()?;
    for bucket in buckets {
        let (number, bytes) = number(numbers)?;
        let (b',', rest) = numbers.get(bytes..)?.split_first()? else { return None };
        (*bucket, numbers) = (number.to_le_bytes(), rest);
    }
    let (number, bytes) = number(numbers)?;
    *last = number.to_le_bytes();
    (bytes == numbers.len()).then_some(())
}

/// The number at the front, and its length. No jumps on signs, nor on whether there are nine digits or
/// ten, which nobody foresees.
#[inline(always)]
fn number(text: &[u8]) -> Option<(i32, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let (size, digits) = digits(text.get(sign..)?)?;
    // Zero has no sign.
    let is_spelled_so = size != 0 || sign == 0;
    let negative = sign as i64;
    let number = (size as i64 ^ -negative) + negative;
    i32::try_from(number).ok().filter(|_| is_spelled_so).map(|number| (number, sign + digits))
}

/// One to ten digits at the front as a number, and how many they are.
#[inline(always)]
fn digits(text: &[u8]) -> Option<(u64, usize)> {
    if let Some(front) = text.first_chunk::<16>() {
        let (front, back) = (le64(front, 0), le64(front, 8));
        let more = count_digits(back);
        if count_digits(front) == 8 && more <= 2 && text[0] != b'0' {
            // Those that are there, moved to where the last of eight are.
            let last = back << (56 - 8 * more) << 8;
            return Some((eight(front) * [1, 10, 100][more] + eight(last), 8 + more));
        }
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let most = if text.first() == Some(&b'0') { 1 } else { 10 };
    let size = text.iter().take(digits.min(10)).fold(0, |n, byte| n * 10 + u64::from(byte - b'0'));
    (1..=most).contains(&digits).then_some((size, digits))
}

/// How many of eight characters, from the first, are digits.
#[inline(always)]
const fn count_digits(word: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let number = word ^ (0x30 * EACH);
    let is_none = (number.wrapping_add(0x76 * EACH) | number) & (0x80 * EACH);
    is_none.trailing_zeros() as usize / 8
}

/// Eight digits as a number: in pairs, in fours, and all of them. Bytes of 0 count as digits, too.
#[inline(always)]
const fn eight(digits: u64) -> u64 {
    let ones = digits & 0x0f0f_0f0f_0f0f_0f0f;
    let pairs = (ones.wrapping_mul(10 << 8 | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs.wrapping_mul(100 << 16 | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000 << 32 | 1) >> 32
}

/// Whether text could be buckets, told by its first and last characters.
pub(crate) fn matches_magic(text: &[u8]) -> bool {
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
) -> Result<FlatFilter<Generation>, ForeignError> {
    FlatFilter::decode(read(text, generation, probes)?, text)
}

/// What `new BloomFilter(m, k)` makes: m is rounded up to whole buckets.
pub fn with_shape(
    generation: Generation,
    bits: u64,
    probes: u32,
    check_target: (u64, f64),
) -> Result<FlatFilter<Generation>, ForeignError> {
    FlatFilter::empty(generation, bits.max(1).div_ceil(32).saturating_mul(4), probes, check_target)
}

/// An empty filter for so many keys at a rate. The package leaves sizes to the caller; these are the
/// textbook's.
pub fn create(
    generation: Generation,
    keys: u64,
    fpr: f64,
) -> Result<FlatFilter<Generation>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?.max(1);
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

    fn buckets(text: &str) -> Option<Vec<i32>> {
        let bits = as_written(text.as_bytes()).unwrap()?;
        Some(bits.as_ref().as_chunks().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect())
    }

    #[test]
    fn what_is_not_written_so_is_left_to_json() {
        let structures =
            ["", "[", "]", "[]", "[,]", "[1,]", "[,1]", "[1,,2]", "[1 ,2]", "[ 1]", "1,2"];
        let numbers =
            ["-", "--1", "-0", "00", "01", "-01", "1.0", "1e3", "+1", "1]", "[1]", "00000000012"];
        let large =
            ["2147483648", "-2147483649", "4294967297", "10000000000", "18446744073709551617"];
        for text in structures {
            assert_eq!(buckets(text), None, "{text}");
        }
        for number in numbers.into_iter().chain(large) {
            for text in [format!("[{number}]"), format!("[{number},1234567890,1234567890]")] {
                assert_eq!(buckets(&text), None, "{text}");
            }
        }
        assert_eq!(buckets("[0,-1,10]"), Some(vec![0, -1, 10]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(numbers in vec((any::<i32>(), 0..32u32), 1..50)) {
            let numbers: Vec<i32> = numbers.iter().map(|(number, shift)| number >> shift).collect();
            prop_assert_eq!(buckets(&serde_json::to_string(&numbers).unwrap()), Some(numbers));
        }

        /// Nothing is taken that JSON would refuse, or reads otherwise.
        #[test]
        fn what_is_taken_is_json(text in "\\[-?[0-9]{1,12}([-0-9,]|[-0-9, .e:/]){0,30}\\]") {
            if let Some(buckets) = buckets(&text) {
                prop_assert_eq!(serde_json::from_str::<Vec<i32>>(&text).unwrap(), buckets);
            }
        }
    }
}
