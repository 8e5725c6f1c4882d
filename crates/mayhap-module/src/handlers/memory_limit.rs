//! Out-of-memory errors: which filter, how much it needs, and which limit applies.

use crate::{CommandError, KeyArg, Keyspace};

/// Maximum bytes of a name in an error line.
const SHOWN_BYTES: usize = 128;

/// The error itself, and if memory was out its numbers. `has` are the bytes of the filter so far,
/// `need` those that it was to get, `room` those that it could have got.
pub fn explained(
    error: CommandError,
    keys: &dyn Keyspace,
    key: KeyArg<'_>,
    has: u64,
    need: u64,
    room: u64,
) -> CommandError {
    let name = shown(key.name);
    let what = if error == CommandError::NO_MEMORY {
        format!("Insufficient memory to create filter {name}: it takes {need} bytes")
    } else if error == CommandError::NO_ROOM_TO_GROW {
        format!("problem inserting into filter {name}: its next layer takes {need} bytes")
    } else {
        return error;
    };
    let limit = keys.settings().max_filter_bytes;
    let why = match () {
        () if limit > 0 && has.saturating_add(need) > limit => {
            format!("and mayhap.max-filter-bytes leaves {}", limit.saturating_sub(has))
        }
        () if need > room => {
            format!("and {room} are left of maxmemory and of the machine's memory")
        }
        () => "which the server could not allocate".to_owned(),
    };
    CommandError::said(format_args!("{what}, {why}"))
}

/// The name of a filter. One that is being loaded has a temporary name until it is complete, such
/// as `seen:loading-…`, `{seen}:loading-…` or `seen:loading-…:{7}`: the user does not know that
/// one.
fn shown(key: &[u8]) -> String {
    let key = String::from_utf8_lossy(&key[..key.len().min(4 * SHOWN_BYTES)]);
    let name = [":loading-", ":saving-"].iter().find_map(|mark| key.split_once(mark));
    let name = name.map_or(&*key, |(name, _)| match name.strip_prefix('{') {
        Some(inner) => inner.strip_suffix('}').unwrap_or(name),
        None => name,
    });
    match name.char_indices().find(|(at, _)| *at >= SHOWN_BYTES) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyspace::memory::Memory;

    #[test]
    fn names_are_those_that_were_asked_for() {
        for (key, name) in [
            ("seen", "seen"),
            ("seen:loading-1a2b", "seen"),
            ("{seen}:loading-1a2b", "seen"),
            ("seen:{7}:loading-1a2b", "seen:{7}"),
            ("a_b:saving-9:{12}", "a_b"),
            ("{x", "{x"),
        ] {
            assert_eq!(shown(key.as_bytes()), name);
        }
        let long = shown("ä".repeat(1000).as_bytes());
        assert!(long.len() < 140 && long.ends_with("ä…"));
        assert!(shown(&[255; 300]).len() < 140);
    }

    #[test]
    fn memory_errors_name_the_filter_and_what_is_in_its_way() {
        let mut keys = Memory { room: Some(1000), ..Memory::default() };
        let error = keys.say("bf.reserve seen:loading-1 0.01 10000 NONSCALING").unwrap_err();
        assert_eq!(
            error.to_string(),
            "ERR Insufficient memory to create filter seen: it takes 12416 bytes, and 1000 are left of maxmemory and of the machine's memory"
        );
        keys.settings.max_filter_bytes = 2000;
        let error = keys.say("bf.insert k CAPACITY 10000 ITEMS a").unwrap_err().to_string();
        assert!(error.ends_with("bytes, and mayhap.max-filter-bytes leaves 2000"), "{error}");
        keys.say("bf.reserve g 0.01 300").unwrap();
        let items: String = (0..2000).map(|item| format!(" {item}")).collect();
        let Ok(crate::Reply::BoolsUntil(_, error)) = keys.say(&format!("bf.madd g{items}")) else {
            panic!("it grew");
        };
        let error = error.to_string();
        assert!(error.starts_with("ERR problem inserting into filter g: its next"), "{error}");
    }
}
