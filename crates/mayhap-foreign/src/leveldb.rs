//! The LevelDB family's filter blocks: bits, the first in the lowest place of the first byte, then
//! one byte with the number of probes. Nothing else. Sources: LevelDB `util/bloom.cc`,
//! `util/hash.cc`; goleveldb `leveldb/filter/bloom.go`; Badger `y/bloom.go`.
//!
//! Not in the bytes: which program wrote them. Since 1.18 LevelDB hashes the bytes behind a key's
//! last whole word as unsigned (policy `leveldb.BuiltinBloomFilter2`); before, as the machine's
//! `char` (policy `leveldb.BuiltinBloomFilter`). goleveldb kept the old name and hashes as the new
//! one; Badger does too. So the name of a policy does not tell how it hashes.
//!
//! [`Policy`] is what a storage engine plugs in; [`decode`] makes the engine's filter of a block.
//! Golden files: `testdata/foreign/leveldb/`.

use crate::family::{
    BYTES, BitsPerKey, Choices, Family, FormatRow, flat_from_parts, is_text, never, open_flat,
    owned,
};
use crate::flat::{BitSource, FileContent, FlatFilter, FlatFormat, ParsedLayout};
use crate::hash::{Tail, ldbhash};
use crate::{ForeignError, Format, Modulus, Reader, ids, limits};
use mayhap::scheme::{Scheme, SchemeId};
use std::io::Write;

/// What the formats are, and how code that learns the format when it runs comes by them.
pub(crate) const FAMILY: Family = Family {
    rows: &[
        FormatRow {
            format: Format::Leveldb,
            name: "leveldb",
            programs: "LevelDB since 1.18",
            file: "one filter, as `FilterPolicy::CreateFilter` gives it",
            detected: "–",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { bits_per_key: BitsPerKey::Whole, ..Choices::NONE },
        },
        FormatRow {
            format: Format::LeveldbOld,
            name: "leveldb-old",
            programs: "LevelDB before 1.18",
            file: "the same, hashed with signed bytes",
            detected: "–",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { bits_per_key: BitsPerKey::Whole, ..Choices::NONE },
        },
        FormatRow {
            format: Format::Goleveldb,
            name: "goleveldb",
            programs: "syndtr/goleveldb",
            file: "the same as `leveldb`",
            detected: "–",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { bits_per_key: BitsPerKey::Whole, ..Choices::NONE },
        },
        FormatRow {
            format: Format::Badger,
            name: "badger",
            programs: "Badger's `y.Filter`",
            file: "the same as `leveldb`",
            detected: "–",
            key_types: BYTES,
            needs_probes: false,
            choices: Choices { bits_per_key: BitsPerKey::Whole, ..Choices::NONE },
        },
    ],
    is_certain: never,
    is_possible: |_, bytes| !is_text(bytes) && read(bytes, Program::Leveldb).is_ok(),
    open: |format, file, _| open_flat(read(file.as_ref(), program(format)), file),
    create: |format, new| {
        owned(match new.options.making.bits_per_key {
            Some(bits) => with_bits_per_key(program(format), new.keys, bits as u32),
            None => create(program(format), new.keys, new.fpr),
        })
    },
    from_parts: flat_from_parts::<Program>,
};

/// The program of a format of this family.
fn program(format: Format) -> Program {
    Program::of(format).unwrap_or(Program::Leveldb)
}

/// The program a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// LevelDB since 1.18 (September 2014).
    Leveldb,
    /// LevelDB before 1.18, on machines whose `char` is signed.
    LeveldbOld,
    /// goleveldb.
    Goleveldb,
    /// Badger.
    Badger,
}

impl Program {
    const ALL: [Program; 4] =
        [Program::Leveldb, Program::LeveldbOld, Program::Goleveldb, Program::Badger];

    /// The format of its blocks.
    pub const fn format(self) -> Format {
        match self {
            Program::Leveldb => Format::Leveldb,
            Program::LeveldbOld => Format::LeveldbOld,
            Program::Goleveldb => Format::Goleveldb,
            Program::Badger => Format::Badger,
        }
    }

    /// Whose blocks are of this format.
    pub(crate) fn of(format: Format) -> Option<Program> {
        Program::ALL.into_iter().find(|program| program.format() == format)
    }

    const fn tail(self) -> Tail {
        match self {
            Program::LeveldbOld => Tail::Signed,
            _ => Tail::Unsigned,
        }
    }

    /// Probes for so many bits a key. goleveldb's whole numbers overflow from 372 on.
    fn probes(self, bits_per_key: u32) -> u32 {
        let probes = match self {
            Program::Goleveldb => u32::from((u64::from(bits_per_key) * 69 / 100) as u8),
            _ => (f64::from(bits_per_key) * 0.69) as u32,
        };
        probes.clamp(1, MAX_PROBES)
    }
}

/// More are reserved for encodings to come, which a reader takes for "maybe".
const MAX_PROBES: u32 = 30;

/// A frame of one byte.
impl FlatFormat for Program {
    type Scheme = Ldb;

    fn format(&self) -> Format {
        Program::format(*self)
    }

    fn scheme(&self, bits: u64) -> Option<Ldb> {
        // The programs in Go divide by 32 bits; so large a block was never made.
        let fits = matches!(self, Program::Leveldb | Program::LeveldbOld) || bits < 1 << 32;
        let modulus = Modulus::new(bits).filter(|_| fits)?;
        Some(Ldb { tail: self.tail(), modulus })
    }

    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError> {
        to.write_all(content.bits)?;
        Ok(to.write_all(&[limits::u8_of("probes", content.probes)?])?)
    }

    fn in_format(&self, format: Format) -> Option<Program> {
        Program::of(format).filter(|program| program.tail() == self.tail())
    }

    fn data(&self) -> Vec<u8> {
        Vec::new() // the format says it all
    }

    fn from_data(format: Format, _: &mut Reader<'_>) -> Result<Program, ForeignError> {
        let program = Program::of(format);
        program.ok_or_else(|| ForeignError::field("format", format, "one of the LevelDB family"))
    }
}

/// The family's scheme: one 32-bit hash, and its rotation as the step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ldb {
    tail: Tail,
    modulus: Modulus,
}

impl Scheme for Ldb {
    type Hash = u32;
    type Keys = mayhap::key::ByteKeys;

    fn id(&self) -> SchemeId {
        match self.tail {
            Tail::Unsigned => ids::LEVELDB,
            Tail::Signed => ids::LEVELDB_OLD,
        }
    }

    #[inline]
    fn hash_bytes(&self, bytes: &[u8]) -> u32 {
        ldbhash(bytes, self.tail)
    }

    #[inline]
    fn positions(&self, hash: u32, _: u64, probes: u32) -> impl Iterator<Item = u64> {
        let (modulus, step) = (self.modulus, hash.rotate_right(17));
        let places = (0..probes).map(move |i| hash.wrapping_add(i.wrapping_mul(step)));
        places.map(move |place| modulus.rem(place.into()))
    }

    fn addressable_bits(&self, bits: u64) -> u64 {
        bits.min(1 << 32)
    }
}

/// Find one's way in a block.
pub(crate) fn read(bytes: &[u8], program: Program) -> Result<ParsedLayout<Program>, ForeignError> {
    let Some((probes, bits)) = bytes.split_last().filter(|(_, bits)| !bits.is_empty()) else {
        let have = bytes.len() as u64;
        return Err(ForeignError::Truncated { field: "filter block", need: 2, have });
    };
    if !(1..=MAX_PROBES).contains(&u32::from(*probes)) {
        let need = "1 to 30 (with any other, the programs take every key for a member)";
        return Err(ForeignError::field("probes", probes, need));
    }
    let (bits, probes) = (BitSource::InFile(0..bits.len()), (*probes).into());
    Ok(ParsedLayout { frame: program, bits, probes, target: (0, 0.0, 0) })
}

/// Read a filter block.
///
/// Stricter than the programs: a block without bits, or with 0 or more than 30 probes, is an error
/// here and a "no" or "maybe" for every key there; [`Policy::key_may_match`] answers as they do.
///
/// ```
/// use mayhap_foreign::leveldb::{self, Policy, Program};
/// let block = Policy::new(Program::Leveldb, 10).create_filter([b"ada", b"eve"]);
/// let filter = leveldb::decode(&block, Program::Leveldb)?;
/// assert!(filter.contains("ada") && !filter.contains("bob"));
/// assert_eq!(filter.encode()?, block);
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn decode(bytes: &[u8], program: Program) -> Result<FlatFilter<Program>, ForeignError> {
    FlatFilter::decode(read(bytes, program)?, bytes)
}

/// Bits a key for this rate: ⌈−ln p / (ln 2)²⌉, 10 for 1%.
///
/// ```
/// use mayhap_foreign::leveldb::{badger_bits_per_key, bits_per_key};
/// assert_eq!(bits_per_key(0.01), 10);
/// assert_eq!(badger_bits_per_key(0.01), 7); // a number of probes, used for bits
/// ```
pub fn bits_per_key(fpr: f64) -> u32 {
    (-fpr.ln() / LN_2_SQUARED).ceil() as u32
}

/// What Badger's `BloomBitsPerKey` gives: ⌈−ln p / ln 2⌉, which is the best number of *probes*. Badger
/// uses it as bits a key all the same, so that 1% asked for is 4% got.
pub fn badger_bits_per_key(fpr: f64) -> u32 {
    (LN_2 * (-fpr.ln() / LN_2_SQUARED)).ceil() as u32
}

/// As many digits as the programs have.
#[expect(clippy::approx_constant, reason = "more digits would be another number")]
const LN_2: f64 = 0.69314718056;
const LN_2_SQUARED: f64 = LN_2 * LN_2;

/// Bytes of bits for so many keys.
fn bytes_for(keys: u64, bits_per_key: u32) -> u64 {
    keys.saturating_mul(bits_per_key.into()).max(64).div_ceil(8)
}

/// An empty filter for so many keys at a rate, with the program's own way from rate to bits.
pub fn create(program: Program, keys: u64, fpr: f64) -> Result<FlatFilter<Program>, ForeignError> {
    let keys = limits::check_target(keys, fpr)?;
    let bits_per_key = match program {
        Program::Badger => badger_bits_per_key(fpr),
        _ => bits_per_key(fpr),
    };
    let bytes = bytes_for(keys, bits_per_key);
    FlatFilter::empty(program, bytes, program.probes(bits_per_key), (keys, fpr))
}

/// The same with so many bits a key: what `NewBloomFilterPolicy(bits_per_key)` makes of so many keys.
///
/// ```
/// use mayhap_foreign::leveldb::{self, Program};
/// let filter = leveldb::with_bits_per_key(Program::Goleveldb, 1_000, 10)?;
/// assert_eq!((filter.shape().bits, filter.shape().probes), (10_000, 6));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn with_bits_per_key(
    program: Program,
    keys: u64,
    bits_per_key: u32,
) -> Result<FlatFilter<Program>, ForeignError> {
    let probes = program.probes(bits_per_key);
    FlatFilter::empty(program, bytes_for(keys, bits_per_key), probes, (keys, 0.0))
}

/// A filter policy, as the author of a storage engine plugs it in: many keys to one block, and
/// queries of a block where it lies.
///
/// ```
/// use mayhap_foreign::leveldb::{Policy, Program};
/// let policy = Policy::new(Program::Leveldb, 10);
/// let block = policy.create_filter([b"ada", b"eve"]);
/// assert!(policy.key_may_match(b"ada", &block));
/// assert!(!policy.key_may_match(b"bob", &block));
/// assert_eq!(policy.name(), "leveldb.BuiltinBloomFilter2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    program: Program,
    bits_per_key: u32,
}

impl Policy {
    /// As the program would make it, with so many bits a key; see [`bits_per_key`].
    pub const fn new(program: Program, bits_per_key: u32) -> Policy {
        Policy { program, bits_per_key }
    }

    /// The name the program writes into its files. It promises how keys are hashed.
    pub const fn name(&self) -> &'static str {
        match self.program {
            Program::Leveldb => "leveldb.BuiltinBloomFilter2",
            Program::LeveldbOld | Program::Goleveldb => "leveldb.BuiltinBloomFilter",
            Program::Badger => "badger", // which keeps its filters in the table's index, unnamed
        }
    }

    /// One block for these keys. A key that comes twice counts twice, as it does there.
    pub fn create_filter<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Vec<u8> {
        let tail = self.program.tail();
        let hashes: Vec<u32> = keys.into_iter().map(|key| ldbhash(key.as_ref(), tail)).collect();
        self.create_filter_of_hashes(&hashes)
    }

    /// One block for keys that were hashed as they came, as Badger does.
    pub fn create_filter_of_hashes(&self, hashes: &[u32]) -> Vec<u8> {
        let bytes = bytes_for(hashes.len() as u64, self.bits_per_key);
        let probes = self.program.probes(self.bits_per_key);
        let mut block = vec![0; bytes as usize + 1];
        if let Some(scheme) = self.program.scheme(bytes * 8) {
            for hash in hashes {
                for at in scheme.positions(*hash, bytes * 8, probes) {
                    block[(at >> 3) as usize] |= 1 << (at & 7);
                }
            }
        }
        block[bytes as usize] = probes as u8; // at most 30
        block
    }

    /// The hash of a key, for [`create_filter_of_hashes`](Policy::create_filter_of_hashes).
    pub fn hash(&self, key: &[u8]) -> u32 {
        ldbhash(key, self.program.tail())
    }

    /// Whether a block may hold the key; `false` is certain.
    ///
    /// As the programs: no bits hold nothing; 0 probes, or more than 30, hold everything.
    pub fn key_may_match(&self, key: &[u8], block: &[u8]) -> bool {
        let Some((probes, bits)) = block.split_last().filter(|(_, bits)| !bits.is_empty()) else {
            return false;
        };
        let (count, probes) = (bits.len() as u64 * 8, u32::from(*probes));
        let hash = self.hash(key);
        let step = hash.rotate_right(17);
        // Once a block and key: a reciprocal would not pay.
        let at = |i: u32| u64::from(hash.wrapping_add(i.wrapping_mul(step))) % count;
        let is_set = |at: u64| bits[(at >> 3) as usize] & (1 << (at & 7)) != 0;
        probes > MAX_PROBES || (0..probes).all(|i| is_set(at(i)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_follow_each_program() {
        for (bits, cpp, go) in [(0, 1, 1), (5, 3, 3), (10, 6, 6), (371, 30, 30), (372, 30, 1)] {
            assert_eq!(Program::Leveldb.probes(bits), cpp, "{bits} bits");
            assert_eq!(Program::Goleveldb.probes(bits), go, "{bits} bits");
        }
    }

    #[test]
    fn old_and_new_differ_for_high_bytes_at_the_end_only() {
        let [old, new] = [Program::LeveldbOld, Program::Leveldb].map(|p| Policy::new(p, 10));
        assert_eq!(old.hash(b"word"), new.hash(b"word"));
        assert_eq!(old.hash(b"\xffordword"), new.hash(b"\xffordword"));
        assert_eq!(old.hash(b"words"), new.hash(b"words"));
        assert_ne!(old.hash(b"word\xff"), new.hash(b"word\xff"));
    }
}
