//! How the shards of a filter are known to be its own.
//!
//! A server answers "no" for a key that was deleted and made again. So each shard carries the
//! identity of the whole, and it is compared in the command that answers.

use crate::FilterError;
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A filter over many keys, told from all others: 48 bits of time (ms since 1970), so that what an
/// interrupted load left can be told from one under way, then 80 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FilterId([u8; 16]);

impl FilterId {
    /// One that nobody else has.
    pub(crate) fn random() -> Result<FilterId, FilterError> {
        let mut bytes = [0; 16];
        let failed = |error| FilterError::Io { what: format!("no random numbers: {error}") };
        getrandom::fill(&mut bytes).map_err(failed)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        bytes[..6].copy_from_slice(&(now.as_millis() as u64).to_be_bytes()[2..]);
        Ok(FilterId(bytes))
    }

    /// From 32 hexadecimal digits.
    pub(crate) fn parse(text: &str) -> Option<FilterId> {
        let whole = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()?;
        Some(FilterId(number.to_be_bytes()))
    }

    /// How long ago it was made, as far as clocks agree.
    pub(crate) fn age(&self) -> Duration {
        let mut ms = [0; 8];
        ms[2..].copy_from_slice(&self.0[..6]);
        let made = Duration::from_millis(u64::from_be_bytes(ms));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(made)
    }

    /// One of its shards.
    pub(crate) fn shard(self, index: u32, count: u32) -> ShardId {
        ShardId { id: self, index, count }
    }
}

impl fmt::Display for FilterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// The identity of one shard; written `id/index/count`, as `BF.SHARDMEXISTS` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardId {
    pub id: FilterId,
    pub index: u32,
    pub count: u32,
}

impl ShardId {
    /// Bytes in the head of a dump.
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn encode(&self) -> Vec<u8> {
        [&self.id.0[..], &self.index.to_le_bytes(), &self.count.to_le_bytes()].concat()
    }

    /// `None` where these bytes are no identity.
    pub(crate) fn decode(bytes: &[u8; ShardId::BYTES]) -> Option<ShardId> {
        let (id, place) = bytes.split_first_chunk::<16>()?;
        let (index, count) = place.split_first_chunk::<4>()?;
        let count = u32::from_le_bytes(count.try_into().ok()?);
        let index = u32::from_le_bytes(*index);
        (index < count).then_some(ShardId { id: FilterId(*id), index, count })
    }

    /// Items that are in this shard and in no other filter: where the module knows no identities,
    /// they are asked for along with the others.
    pub(crate) fn witnesses(&self) -> [Vec<u8>; WITNESSES] {
        std::array::from_fn(|n| format!("mayhap shard {self} witness {n}").into_bytes())
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.id, self.index, self.count)
    }
}

/// So many that another filter has all of them once in 10¹² times at a rate of 1%.
pub(crate) const WITNESSES: usize = 6;

/// How shards are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// They are not: the filter was made by a release that had no identities.
    None,
    /// The module keeps the identity in each.
    Stamp(FilterId),
    /// Each holds items that say so.
    Witness(FilterId),
}

impl Mark {
    /// The names under which a descriptor notes them.
    pub(crate) const STAMP: &'static str = "mayhap.shard-id";
    pub(crate) const WITNESS: &'static str = "mayhap.shard-witness";

    /// The note for a descriptor.
    pub(crate) fn note(self) -> Option<(&'static str, String)> {
        match self {
            Mark::None => None,
            Mark::Stamp(id) => Some((Mark::STAMP, id.to_string())),
            Mark::Witness(id) => Some((Mark::WITNESS, id.to_string())),
        }
    }

    pub(crate) fn id(self) -> Option<FilterId> {
        match self {
            Mark::None => None,
            Mark::Stamp(id) | Mark::Witness(id) => Some(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_module::filter::ShardId as Theirs;

    #[test]
    fn identities_are_those_of_the_module() {
        let id = FilterId::random().unwrap();
        let ours = id.shard(3, 64);
        let theirs = Theirs::parse(ours.to_string().as_bytes()).unwrap();
        assert_eq!(theirs.to_string(), ours.to_string());
        assert_eq!(theirs.encode()[..], ours.encode());
        assert_eq!(ShardId::decode(&theirs.encode()), Some(ours));
        assert_eq!(ShardId::decode(&[0xff; 24]), None);
        assert_eq!(FilterId::parse(&id.to_string()), Some(id));
        assert_eq!(FilterId::parse("+0112233445566778899aabbccddeeff"), None);
        assert_ne!(id, FilterId::random().unwrap());
        assert!(id.age() < Duration::from_secs(600));
    }
}
