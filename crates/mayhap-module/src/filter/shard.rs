//! Which shard of which filter a value is.

use crate::CommandError;
use std::fmt;

/// The identity of a shard: a random id that all shards of one filter share, which of them it is,
/// and how many there are. Written `<32 hexadecimal digits>/<index>/<count>`.
///
/// A shard keeps it through `RENAME`, `COPY`, `DUMP` and `RESTORE`, migration, failover and restarts;
/// `BF.CLEAR` takes it away. A key that was deleted and made again has none. So a client that sends
/// the identity along with its items learns that its shard was swapped instead of getting "no"
/// for members.
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

    /// Read the text form.
    pub fn parse(word: &[u8]) -> Option<ShardId> {
        let text = std::str::from_utf8(word).ok()?;
        let (id, place) = text.split_once('/')?;
        let (index, count) = place.split_once('/')?;
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse());
        if id.len() != 32 || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let id = u128::from_str_radix(id, 16).ok()?.to_be_bytes();
        ShardId::new(id, number(index)?.ok()?, number(count)?.ok()?)
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

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}/{}/{}", u128::from_be_bytes(self.id), self.index, self.count)
    }
}

/// Why a key is not the shard that was asked for.
pub fn mismatch(found: Option<ShardId>) -> CommandError {
    CommandError::Text(match found {
        Some(found) => format!("BADSHARD the key holds another shard: {found}").into(),
        None => "BADSHARD the key holds a filter that is not a shard".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
