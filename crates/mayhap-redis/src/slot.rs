//! The slot of a key, and names of keys in a given slot.

use crc::{CRC_16_XMODEM, Crc};
use mayhap::sizing::MAX_SHARDS;

/// The slots of a cluster.
pub const SLOTS: u16 = 16384;

const CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// The slot of a key: of its hash tag, if it has one, or of the whole key.
///
/// ```
/// use mayhap_redis::slot_of;
/// assert_eq!(slot_of(b"123456789"), 0x31c3);
/// assert_eq!(slot_of(b"seen:{7}"), slot_of(b"7"));
/// ```
pub fn slot_of(key: &[u8]) -> u16 {
    slot_of_tag(tag_of(key).unwrap_or(key))
}

fn slot_of_tag(tag: &[u8]) -> u16 {
    CRC16.checksum(tag) % SLOTS
}

/// The hash tag: between the first brace and the next closing one.
fn tag_of(key: &[u8]) -> Option<&[u8]> {
    let open = key.iter().position(|byte| *byte == b'{')?;
    let rest = &key[open + 1..];
    let close = rest.iter().position(|byte| *byte == b'}')?;
    (close > 0).then(|| &rest[..close])
}

/// The key of shard `shard` of `shards`: `name:{tag}`.
///
/// The tag is the first of `i`, `i.1`, `i.2` … whose slot is in the `i`th of as many equal slot
/// ranges as there are shards. So nodes with equal slot ranges, as clusters have them, get equal
/// numbers of shards; and equally numbered shards of all filters share a slot.
pub(crate) fn shard_key(name: &[u8], shard: u32, shards: u32) -> Vec<u8> {
    let edge =
        |shard: u32| (u64::from(shard) * u64::from(SLOTS)).div_ceil(u64::from(shards)) as u16;
    let range = edge(shard)..edge(shard + 1);
    // Enough to reach every slot.
    let more = (1..1 << 20).map(|more| format!("{shard}.{more}"));
    let tags = std::iter::once(shard.to_string()).chain(more);
    let tag = tags.into_iter().find(|tag| range.contains(&slot_of_tag(tag.as_bytes())));
    let tag = tag.unwrap_or_else(|| shard.to_string());
    [name, b":{", tag.as_bytes(), b"}"].concat()
}

/// Every key that the first shard of a filter of this name can have, whatever the number of shards:
/// those are the tags whose slot is lower than that of every tag before them.
pub(crate) fn first_shard_keys(name: &[u8]) -> Vec<Vec<u8>> {
    // The first of the most shards lies in the slots below this.
    let narrowest = SLOTS.div_ceil(MAX_SHARDS as u16);
    let more = (1..1 << 20).map(|more| format!("0.{more}"));
    let (mut keys, mut lowest) = (Vec::new(), u16::MAX);
    for tag in std::iter::once("0".to_owned()).chain(more) {
        let slot = slot_of_tag(tag.as_bytes());
        if slot < lowest {
            keys.push([name, b":{", tag.as_bytes(), b"}"].concat());
            lowest = slot;
        }
        if lowest < narrowest {
            break;
        }
    }
    keys
}

/// Another key in the same slot, recognisable by its name.
pub(crate) fn sibling_key(key: &[u8], what: &str) -> Vec<u8> {
    let slot = slot_of(key);
    let as_it_is = [key, b":", what.as_bytes()].concat();
    let wrapped = [b"{", key, b"}:", what.as_bytes()].concat();
    // Where the braces of a name are in the way: any tag of the slot.
    let shown: Vec<u8> = key.iter().copied().map(escape_braces).collect();
    let tagged = |n: u32| [&shown[..], format!(":{what}:{{{n}}}").as_bytes()].concat();
    let mut all = [as_it_is, wrapped].into_iter().chain((0..1 << 20).map(tagged));
    all.find(|key| slot_of(key) == slot).unwrap_or_else(|| key.to_vec())
}

fn escape_braces(byte: u8) -> u8 {
    if matches!(byte, b'{' | b'}') { b'_' } else { byte }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_servers() {
        // As `CLUSTER KEYSLOT` answers.
        let known: [(&[u8], u16); 6] = [
            (b"123456789", 12739),
            (b"foo", 12182),
            (b"{user1000}.following", 3443),
            (b"foo{}{bar}", 8363),
            (b"foo{{bar}}zap", 4015),
            (b"", 0),
        ];
        for (key, slot) in known {
            assert_eq!(slot_of(key), slot, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn the_first_shard_has_one_of_few_names() {
        let keys = first_shard_keys(b"seen");
        assert!(keys.len() < 20, "{}", keys.len());
        for shards in (1..=MAX_SHARDS).step_by(5).chain([MAX_SHARDS]) {
            assert!(keys.contains(&shard_key(b"seen", 0, shards)), "of {shards}");
        }
    }

    /// Frozen: clusters hold keys with these names.
    #[test]
    fn golden_names() {
        let names = |shards: u32| -> Vec<String> {
            (0..shards.min(4))
                .map(|shard| String::from_utf8(shard_key(b"seen", shard, shards)).unwrap())
                .collect()
        };
        assert_eq!(names(1), ["seen:{0}"]);
        assert_eq!(names(3), ["seen:{0.1}", "seen:{1}", "seen:{2.4}"]);
        assert_eq!(names(64), ["seen:{0.178}", "seen:{1.2}", "seen:{2.303}", "seen:{3.63}"]);
    }

    #[test]
    fn shards_are_spread_evenly_over_any_number_of_nodes() {
        for shards in [1, 3, 7, 64, 100, 1000] {
            let slots: Vec<u16> =
                (0..shards).map(|shard| slot_of(&shard_key(b"a}b", shard, shards))).collect();
            assert!(slots.is_sorted());
            for nodes in [1, 3, 5, 6, 16] {
                let mut counts = vec![0; nodes];
                slots.iter().for_each(|slot| counts[usize::from(*slot) * nodes / 16384] += 1);
                let even = shards as usize / nodes;
                assert!(
                    counts.iter().all(|count| (even.saturating_sub(1)..=even + 2).contains(count)),
                    "{shards} on {nodes}: {counts:?}"
                );
            }
        }
        let last = slot_of(&shard_key(b"x", 4095, 4096));
        assert!(last >= SLOTS - 4, "{last}");
    }

    #[test]
    fn a_key_beside_another_is_in_its_slot_and_shows_its_name() {
        let names: [&[u8]; 9] =
            [b"seen", b"seen:{7}", b"a{b", b"a}b", b"{}x", b"{", b"}", b"", b"x{}{y}"];
        for key in names {
            let other = sibling_key(key, "loading-1");
            assert_ne!(other, key);
            assert_eq!(slot_of(&other), slot_of(key), "{}", String::from_utf8_lossy(key));
            assert!(String::from_utf8(other).unwrap().contains("loading-1"));
        }
    }
}
