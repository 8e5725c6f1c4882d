//! How the shards of a filter are known to be its own.
//!
//! A server answers "no" for a key that was deleted and made again. So each shard carries the
//! identity of the whole, and it is compared in the command that answers.

use crate::FilterError;
pub(crate) use mayhap::format::dump::ShardId;
use mayhap::format::dump::parse_filter_id;
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
        parse_filter_id(text).map(FilterId)
    }

    /// Of the filter that a shard is one of.
    pub(crate) fn of(shard: &ShardId) -> FilterId {
        FilterId(shard.filter_id())
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
        ShardId::nth(self.0, index, count)
    }
}

impl fmt::Display for FilterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Items that are in this shard and in no other filter: where the module knows no identities,
/// they are asked for along with the others.
pub(crate) fn witnesses(shard: &ShardId) -> [Vec<u8>; WITNESSES] {
    std::array::from_fn(|n| format!("mayhap shard {shard} witness {n}").into_bytes())
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

    #[test]
    fn an_id_is_read_back_and_knows_its_age() {
        let id = FilterId::random().unwrap();
        assert_eq!(FilterId::parse(&id.to_string()), Some(id));
        assert_eq!(FilterId::of(&id.shard(3, 64)), id);
        assert_eq!(FilterId::parse("+0112233445566778899aabbccddeeff"), None);
        assert_ne!(id, FilterId::random().unwrap());
        assert!(id.age() < Duration::from_secs(600));
    }
}
