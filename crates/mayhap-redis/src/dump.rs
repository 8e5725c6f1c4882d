//! What goes over the wire before a filter of ours: the head of a dump, see docs/REDIS.md.
//!
//! The module reads and writes the same; a test holds the two against each other.

use crate::identity::ShardId;
use mayhap::Secret;

const MAGIC: [u8; 8] = *b"\x89MHDUMP\n";
const VERSION: u16 = 1;
/// With the identity of a shard.
const SHARD_VERSION: u16 = 2;
const PART_BYTES: usize = 26;
const FRONT_BYTES: usize = 12;
const NATIVE: u8 = 1;

/// What a dump begins with that is one filter of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// Which shard it is, if it is one.
    pub shard: Option<ShardId>,
    /// What it is hashed under.
    pub secret: Option<Secret>,
    /// Bytes of the file that follows.
    pub bytes: u64,
}

/// Bytes of a head of one part that is no shard.
pub(crate) const HEAD_BYTES: usize = FRONT_BYTES + PART_BYTES + 4;

/// Whether these bytes begin as a dump of ours does.
pub(crate) fn is_ours(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl Head {
    /// Its bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        let version = if self.shard.is_some() { SHARD_VERSION } else { VERSION };
        bytes.extend(version.to_le_bytes());
        bytes.extend(1u16.to_le_bytes());
        bytes.extend(self.shard.iter().flat_map(ShardId::encode));
        bytes.push(NATIVE);
        bytes.push(self.secret.is_some().into());
        bytes.extend(self.secret.map_or([0; 16], Secret::to_bytes));
        bytes.extend(self.bytes.to_le_bytes());
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        bytes
    }

    /// Read a head, and nothing after it. What is wrong with it, in words.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Head, String> {
        let cut_off = || "the head of a dump is cut off".to_owned();
        let (front, crc) = bytes.split_last_chunk::<4>().ok_or_else(cut_off)?;
        let (start, parts) = front.split_at_checked(FRONT_BYTES).ok_or_else(cut_off)?;
        if !is_ours(start) {
            return Err("not a dump of ours".to_owned());
        }
        if crc32c::crc32c(front).to_le_bytes() != *crc {
            return Err("the head of a dump fails its checksum".to_owned());
        }
        let version = u16::from_le_bytes([start[8], start[9]]);
        let (shard, parts) = match version {
            VERSION => (None, parts),
            SHARD_VERSION => {
                let (shard, parts) = parts.split_first_chunk().ok_or_else(cut_off)?;
                let shard = ShardId::decode(shard);
                (Some(shard.ok_or("the head of a dump has no identity")?), parts)
            }
            _ => return Err(format!("a dump of version {version}: written by a newer release")),
        };
        let count = u16::from_le_bytes([start[10], start[11]]);
        if count != 1 {
            return Err(format!("{count} filters in one key, put there by BF.MERGE … LAYERS"));
        }
        let part: &[u8; PART_BYTES] = parts.try_into().map_err(|_| cut_off())?;
        let (secret, bytes) = (&part[2..18], &part[18..]);
        let mut length = [0; 8];
        length.copy_from_slice(bytes);
        let mut kept = [0; 16];
        kept.copy_from_slice(secret);
        let secret = match (part[0], part[1], kept) {
            (NATIVE, 1, secret) => Some(Secret::from_bytes(secret)),
            (NATIVE, 0, kept) if kept == [0; 16] => None,
            _ => return Err("a dump of a make that is not known".to_owned()),
        };
        Ok(Head { shard, secret, bytes: u64::from_le_bytes(length) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::FilterId;
    use mayhap_module::filter::{Head as Theirs, ShardId as ShardOfModule};

    #[test]
    fn heads_are_those_of_the_module() {
        for (bytes, secret) in [(0, None), (77, Some(Secret::from_bytes([9; 16])))] {
            let ours = Head { shard: None, secret, bytes };
            let theirs = Theirs::of_file(bytes, secret);
            assert_eq!(ours.encode(), theirs.encode());
            assert_eq!(Head::decode(&theirs.encode()), Ok(ours));
            assert_eq!(theirs.encode().len(), HEAD_BYTES);
            let shard = FilterId::parse("0123456789abcdef0123456789abcdef").unwrap().shard(1, 9);
            let ours = Head { shard: Some(shard), ..ours };
            let shard = ShardOfModule::parse(shard.to_string().as_bytes()).unwrap();
            let theirs = theirs.with_shard(shard).encode();
            assert_eq!(ours.encode(), theirs);
            assert_eq!(Head::decode(&theirs), Ok(ours));
        }
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let secret = Some(Secret::from_bytes([3; 16]));
        let head = Head { shard: None, secret, bytes: 5 };
        let id = FilterId::parse("0123456789abcdef0123456789abcdef").unwrap();
        every_change_is_noticed(&head.encode());
        every_change_is_noticed(&Head { shard: Some(id.shard(1, 9)), ..head }.encode());
    }

    fn every_change_is_noticed(head: &[u8]) {
        for bit in 0..8 * head.len() {
            let mut bad = head.to_vec();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Head::decode(&bad).is_err(), "bit {bit}");
        }
        assert!((0..head.len()).all(|cut| Head::decode(&head[..cut]).is_err()));
        assert!(Head::decode(&[head, &[0]].concat()).is_err());
    }
}
