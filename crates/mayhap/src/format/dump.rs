//! The head of a dump: what goes before filters in a Redis key's `DUMP`, in an RDB file and in
//! `BF.SCANDUMP`.
//!
//! Little-endian: the magic `89 "MHDUMP" 0a`, `u16` version, `u16` parts, in version 2 the 24 bytes of
//! a [`ShardId`], in version 3 the 16 bytes of [`CuckooParams`], then for each part `u8` codec (1 a Mayhap file, 2 a RedisBloom chain), `u8` whether
//! keyed, 16 bytes of secret (zeros where there is none), `u64` bytes of its body; then CRC-32C of all
//! before it. After the head come the bodies.
//!
//! Version 1 is written for every filter that is not a shard, so that earlier releases read it.
//!
//! Unlike a file, a dump holds the secret: a replica must hash alike. Whoever may dump keys may
//! read it.

use crate::hash::Secret;
use crate::key::decode_hex;
use std::fmt;

const MAGIC: [u8; 8] = *b"\x89MHDUMP\n";
const VERSION: u16 = 1;
/// With the identity of a shard.
const SHARD_VERSION: u16 = 2;
/// Of a filter of `CF.*`.
const CUCKOO_VERSION: u16 = 3;
const PART_BYTES: usize = 26;
const FRONT_BYTES: usize = 12;
/// The most parts.
const MAX_PARTS: u16 = 256;

/// What a dump begins with: how many parts, and how each is to be read.
///
/// ```
/// use mayhap::format::dump::{DumpHead, DumpPart};
/// let head = DumpHead::of_file(4096, None);
/// let bytes = head.encode();
/// assert!(DumpHead::is_head(&bytes));
/// assert_eq!(bytes.len(), DumpHead::ONE_PART_BYTES);
/// assert_eq!(DumpHead::decode(&bytes), Ok(head));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpHead {
    /// Which shard of a larger filter it is, if it is one.
    pub shard: Option<ShardId>,
    /// What a filter of `CF.*` has beside its items; such a filter is never a shard.
    pub cuckoo: Option<CuckooParams>,
    /// The parts, in the order of their bodies.
    pub parts: Vec<DumpPart>,
}

/// How one body of a dump is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DumpPart {
    /// What its bytes are.
    pub codec: DumpCodec,
    /// What it is hashed under.
    pub secret: Option<Secret>,
    /// Bytes of its body.
    pub bytes: u64,
}

/// What the bytes of a body are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpCodec {
    /// A Mayhap file.
    Native = 1,
    /// The chunks of a RedisBloom dump, one after another.
    RedisBloom = 2,
}

/// Why bytes are no dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpError(pub String);

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DumpError {}

impl DumpHead {
    /// Bytes of a head of one part that is no shard.
    pub const ONE_PART_BYTES: usize = FRONT_BYTES + PART_BYTES + 4;

    /// The only part, which is a Mayhap file; what else there is, in words.
    pub fn single_file(&self) -> Result<DumpPart, DumpError> {
        match self.parts[..] {
            [part] if part.codec == DumpCodec::Native => Ok(part),
            [_] => Err(DumpError("a dump of another program's filter".to_owned())),
            _ => Err(DumpError(format!(
                "{} filters in one key, put there by BF.MERGE … LAYERS",
                self.parts.len()
            ))),
        }
    }

    /// Bytes of the head of a filter of `CF.*`.
    pub const CUCKOO_BYTES: usize = DumpHead::ONE_PART_BYTES + CuckooParams::BYTES;

    /// Of a Mayhap file as it is on a disk.
    pub fn of_file(bytes: u64, secret: Option<Secret>) -> DumpHead {
        let part = DumpPart { codec: DumpCodec::Native, secret, bytes };
        DumpHead { shard: None, cuckoo: None, parts: vec![part] }
    }

    /// The same as this shard of a larger filter.
    pub fn with_shard(self, shard: Option<ShardId>) -> DumpHead {
        DumpHead { shard, ..self }
    }

    /// Whether these bytes begin as a head does.
    pub fn is_head(bytes: &[u8]) -> bool {
        bytes.starts_with(&MAGIC)
    }

    /// Bytes of all bodies.
    pub fn body_bytes(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// The bytes of the head.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRONT_BYTES + PART_BYTES * self.parts.len() + 4);
        bytes.extend(MAGIC);
        let version = match (self.shard, self.cuckoo) {
            (None, None) => VERSION,
            (Some(_), _) => SHARD_VERSION,
            (None, Some(_)) => CUCKOO_VERSION,
        };
        bytes.extend(version.to_le_bytes());
        bytes.extend((self.parts.len() as u16).to_le_bytes());
        bytes.extend(self.shard.iter().flat_map(ShardId::encode));
        if version == CUCKOO_VERSION {
            bytes.extend(self.cuckoo.iter().flat_map(CuckooParams::encode));
        }
        for part in &self.parts {
            bytes.push(part.codec as u8);
            bytes.push(part.secret.is_some().into());
            bytes.extend(part.secret.map_or([0; 16], Secret::to_bytes));
            bytes.extend(part.bytes.to_le_bytes());
        }
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Read a head, and nothing after it.
    pub fn decode(bytes: &[u8]) -> Result<DumpHead, DumpError> {
        let wrong = |what: &str| DumpError(what.to_owned());
        let Some((front, crc)) = bytes.split_last_chunk::<4>() else {
            return Err(wrong("head of a dump: cut off"));
        };
        let Some((start, parts)) = front.split_at_checked(FRONT_BYTES) else {
            return Err(wrong("head of a dump: cut off"));
        };
        if start[..8] != MAGIC {
            return Err(wrong("not the head of a dump"));
        }
        if crc32c::crc32c(front).to_le_bytes() != *crc {
            return Err(wrong("head of a dump: its checksum does not fit"));
        }
        let version = u16::from_le_bytes([start[8], start[9]]);
        let mut cuckoo = None;
        let (shard, parts) = match version {
            VERSION => (None, parts),
            CUCKOO_VERSION => {
                let split = parts.split_first_chunk();
                let (params, parts) = split.ok_or_else(|| wrong("head of a dump: cut off"))?;
                cuckoo = CuckooParams::decode(params);
                cuckoo.ok_or_else(|| wrong("head of a dump: no parameters of CF.RESERVE"))?;
                (None, parts)
            }
            SHARD_VERSION => {
                let split = parts.split_first_chunk();
                let (shard, parts) = split.ok_or_else(|| wrong("head of a dump: cut off"))?;
                let shard = ShardId::decode(shard);
                (Some(shard.ok_or_else(|| wrong("head of a dump: no identity"))?), parts)
            }
            _ => {
                return Err(DumpError(format!(
                    "dump of version {version}: written by a newer release"
                )));
            }
        };
        let count = u16::from_le_bytes([start[10], start[11]]);
        if !(1..=MAX_PARTS).contains(&count) || parts.len() != usize::from(count) * PART_BYTES {
            return Err(DumpError(format!("{count} parts in {} bytes of head", parts.len())));
        }
        let parts = parts.chunks_exact(PART_BYTES).map(DumpPart::decode);
        let head = DumpHead { shard, cuckoo, parts: parts.collect::<Result<_, _>>()? };
        let sum = head.parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.bytes));
        sum.filter(|sum| *sum < 1 << 62).ok_or_else(|| wrong("bodies of more than 2^62 bytes"))?;
        Ok(head)
    }
}

impl DumpPart {
    fn decode(bytes: &[u8]) -> Result<DumpPart, DumpError> {
        let wrong = || DumpError("head of a dump: no such part".to_owned());
        let (front, length) = bytes.split_last_chunk::<8>().ok_or_else(wrong)?;
        let ([codec, keyed], secret) = front.split_first_chunk::<2>().ok_or_else(wrong)?;
        let secret: [u8; 16] = secret.try_into().map_err(|_| wrong())?;
        let (codec, secret) = match (codec, keyed) {
            (1, 1) => (DumpCodec::Native, Some(Secret::from_bytes(secret))),
            (1, 0) if secret == [0; 16] => (DumpCodec::Native, None),
            (2, 0) if secret == [0; 16] => (DumpCodec::RedisBloom, None),
            _ => return Err(wrong()),
        };
        Ok(DumpPart { codec, secret, bytes: u64::from_le_bytes(*length) })
    }
}

/// What is kept of a `CF.RESERVE`, and how many items were deleted.
///
/// Buckets and iterations mean nothing to a quotient filter. They are kept because clients read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CuckooParams {
    /// `BUCKETSIZE`.
    pub bucket_size: u16,
    /// `MAXITERATIONS`.
    pub max_iterations: u16,
    /// `EXPANSION`; 0 for a filter that does not grow.
    pub expansion: u16,
    /// Items deleted so far.
    pub deletes: u64,
}

impl CuckooParams {
    /// Their bytes in the head of a dump.
    pub const BYTES: usize = 16;

    /// Little-endian: the three numbers and zero in two bytes each, then the deletes.
    pub fn encode(&self) -> [u8; CuckooParams::BYTES] {
        let mut bytes = [0; CuckooParams::BYTES];
        let small = [self.bucket_size, self.max_iterations, self.expansion, 0];
        let front = small.into_iter().flat_map(u16::to_le_bytes);
        let all = front.chain(self.deletes.to_le_bytes());
        bytes.iter_mut().zip(all).for_each(|(to, from)| *to = from);
        bytes
    }

    /// `None` where the numbers are none that a command takes.
    pub fn decode(bytes: &[u8; CuckooParams::BYTES]) -> Option<CuckooParams> {
        let (front, deletes) = bytes.split_last_chunk::<8>()?;
        let words: [u8; 8] = front.try_into().ok()?;
        let word = |at: usize| u16::from_le_bytes([words[at], words[at + 1]]);
        let [bucket_size, max_iterations, expansion, zero] = [0, 2, 4, 6].map(word);
        let params = CuckooParams {
            bucket_size,
            max_iterations,
            expansion,
            deletes: u64::from_le_bytes(*deletes),
        };
        let valid = (1..=255).contains(&bucket_size) && max_iterations > 0 && expansion <= 32768;
        (valid && zero == 0).then_some(params)
    }

    /// How many buckets RedisBloom would make for so many items: what `CF.INFO` shows.
    pub fn buckets(&self, capacity: u64) -> u64 {
        (capacity / u64::from(self.bucket_size.max(1))).max(1).next_power_of_two()
    }
}

/// The identity of a shard: a random id that all shards of one filter share, which of them it is,
/// and how many there are. Written `<32 hexadecimal digits>/<index>/<count>`.
///
/// A shard in Redis keeps it through `RENAME`, `COPY`, `DUMP` and `RESTORE`, migration, failover and
/// restarts. A key that was deleted and made again has none. So a client that sends the identity
/// along with its items learns that its shard was swapped instead of getting "no" for members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardId {
    id: [u8; 16],
    index: u32,
    count: u32,
}

impl ShardId {
    /// Bytes in the head of a dump.
    pub const BYTES: usize = 24;

    /// `None` unless `index` is below `count`.
    pub fn new(id: [u8; 16], index: u32, count: u32) -> Option<ShardId> {
        (index < count).then_some(ShardId { id, index, count })
    }

    /// Whether a filter can have this many shards. Dumps with more are read: earlier versions had no limit.
    pub fn is_possible(&self) -> bool {
        self.count <= crate::sizing::MAX_SHARDS
    }

    /// One of the shards of a filter, of which there are more than `index`.
    pub fn nth(id: [u8; 16], index: u32, count: u32) -> ShardId {
        debug_assert!(index < count, "shard {index} of {count}");
        ShardId { id, index, count }
    }

    /// The id of the whole filter.
    pub fn filter_id(&self) -> [u8; 16] {
        self.id
    }

    /// Which of the shards it is.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// How many shards there are.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Read the text form.
    pub fn parse(text: &[u8]) -> Option<ShardId> {
        let text = std::str::from_utf8(text).ok()?;
        let (id, place) = text.split_once('/')?;
        let (index, count) = place.split_once('/')?;
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse());
        ShardId::new(parse_filter_id(id)?, number(index)?.ok()?, number(count)?.ok()?)
    }

    /// As the head of a dump has it: the id, then index and count, little-endian.
    pub fn encode(&self) -> [u8; ShardId::BYTES] {
        let mut bytes = [0; ShardId::BYTES];
        bytes[..16].copy_from_slice(&self.id);
        bytes[16..20].copy_from_slice(&self.index.to_le_bytes());
        bytes[20..].copy_from_slice(&self.count.to_le_bytes());
        bytes
    }

    /// `None` where these bytes are no identity.
    pub fn decode(bytes: &[u8; ShardId::BYTES]) -> Option<ShardId> {
        let (id, place) = bytes.split_first_chunk::<16>()?;
        let (index, count) = place.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(count.try_into().ok()?);
        ShardId::new(*id, u32::from_le_bytes(*index), count)
    }
}

/// The id that the shards of one filter share, from 32 hexadecimal digits.
pub fn parse_filter_id(digits: &str) -> Option<[u8; 16]> {
    let mut id = [0; 16];
    decode_hex(digits.as_bytes(), &mut id).then_some(id)
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}/{}/{}", u128::from_be_bytes(self.id), self.index, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let plain = DumpHead::of_file(5, Some(Secret::from_bytes([3; 16])));
        let shard = plain.clone().with_shard(ShardId::new([9; 16], 1, 9));
        let params = CuckooParams { bucket_size: 2, max_iterations: 20, expansion: 1, deletes: 5 };
        let cuckoo = DumpHead { cuckoo: Some(params), ..plain.clone() };
        assert_eq!(cuckoo.encode().len(), DumpHead::CUCKOO_BYTES);
        for head in [plain, shard, cuckoo] {
            let bytes = head.encode();
            assert_eq!(DumpHead::decode(&bytes), Ok(head));
            for bit in 0..8 * bytes.len() {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert!(DumpHead::decode(&bad).is_err(), "bit {bit}");
            }
            assert!((0..bytes.len()).all(|cut| DumpHead::decode(&bytes[..cut]).is_err()));
            assert!(DumpHead::decode(&[&bytes[..], &[0]].concat()).is_err());
        }
    }

    /// What releases before wrote.
    #[test]
    fn the_bytes_of_a_head_are_frozen() {
        let secret = Secret::from_bytes(std::array::from_fn(|i| i as u8));
        let hex = |head: DumpHead| -> String {
            head.encode().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let front = "894d4844554d500a";
        let part = "0101000102030405060708090a0b0c0d0e0f4d00000000000000";
        let head = DumpHead::of_file(77, Some(secret));
        let bytes = hex(head.clone());
        assert_eq!(bytes[..bytes.len() - 8], format!("{front}01000100{part}"));
        let id = std::array::from_fn(|i| 0x10 * i as u8);
        let bytes = hex(head.with_shard(ShardId::new(id, 1, 9)));
        let shard = "00102030405060708090a0b0c0d0e0f00100000009000000";
        assert_eq!(bytes[..bytes.len() - 8], format!("{front}02000100{shard}{part}"));
    }

    #[test]
    fn text_and_bytes_are_read_back() {
        let id = ShardId::new([0xab; 16], 3, 64).unwrap();
        assert_eq!(id.to_string(), format!("{}/3/64", "ab".repeat(16)));
        assert_eq!(ShardId::parse(id.to_string().as_bytes()), Some(id));
        assert_eq!(ShardId::parse(id.to_string().to_uppercase().as_bytes()), Some(id));
        assert_eq!(ShardId::decode(&id.encode()), Some(id));
        let zeros = ShardId::new([0; 16], 0, 1).unwrap();
        assert_eq!(ShardId::parse(zeros.to_string().as_bytes()), Some(zeros));
    }

    #[test]
    fn anything_else_is_no_identity() {
        let id = "ab".repeat(16);
        let wrong = [
            String::new(),
            id.clone(),
            format!("{id}/1"),
            format!("{id}/1/1"),
            format!("{id}/0/0"),
            format!("{id}/+0/1"),
            format!("{id}/0/-1"),
            format!("{id}//1"),
            format!("{id}/0/1/2"),
            format!("{id}/0/99999999999"),
            format!("{}/0/1", &id[1..]),
            format!("{id}0/0/1"),
            format!("+{}/0/1", &id[1..]),
            format!("{}/0/1", "é".repeat(16)),
        ];
        for text in wrong {
            assert_eq!(ShardId::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(ShardId::parse(&[0xff; 40]), None);
        assert_eq!(ShardId::decode(&[0xff; ShardId::BYTES]), None);
    }

    #[test]
    fn parameters_come_back_from_their_bytes() {
        let params = CuckooParams {
            bucket_size: 2,
            max_iterations: 65535,
            expansion: 32768,
            deletes: 7 << 40,
        };
        assert_eq!(CuckooParams::decode(&params.encode()), Some(params));
        for (at, value) in [(0, 0), (1, 1), (6, 1)] {
            let mut bytes = params.encode();
            bytes[at] = value;
            assert_eq!(CuckooParams::decode(&bytes), None, "{at}");
        }
    }

    #[test]
    fn bucket_counts_are_those_of_redisbloom() {
        let buckets = |capacity, bucket_size| {
            CuckooParams { bucket_size, max_iterations: 20, expansion: 1, deletes: 0 }
                .buckets(capacity)
        };
        assert_eq!([buckets(1000, 2), buckets(10_000, 2), buckets(10, 2)], [512, 8192, 8]);
        assert_eq!([buckets(64, 1), buckets(9, 2), buckets(4, 2)], [64, 4, 2]);
    }
}
