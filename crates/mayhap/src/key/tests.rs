use super::*;
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

fn hex<K: Key>(key: K) -> String {
    key.key_bytes().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Every example of `docs/FORMAT.md`, as it is written there.
macro_rules! examples {
    ($($key:expr),* $(,)?) => { vec![$((stringify!($key).replace(['\n', ' '], ""), hex($key))),*] };
}

/// The encodings are frozen: what the document says is what the code does, and neither changes.
#[test]
fn encodings_are_those_of_the_document() {
    let document = include_str!("../../docs/FORMAT.md");
    let v6 = "2001:db8::7".parse::<Ipv6Addr>().unwrap();
    #[rustfmt::skip]
    let mut examples = examples![
        "ada", b"ada", "naïve", "",
        7u8, 7i64, -1i32, u64::MAX, i64::MIN, NonZero::<u16>::MAX,
        7u128, -1i128, NonZero::<u128>::MAX,
        'a', 'ï',
        Ipv4Addr::new(192, 0, 2, 7), v6, IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(v6),
        SocketAddrV4::new(Ipv4Addr::LOCALHOST, 6379),
        SocketAddrV6::new(v6, 6379, 0, 0),
        SocketAddrV6::new(v6, 6379, 0, 3),
        ("ada", 7u64), (1u8, 2u8, 3u8), ("", "", "", ""), (("a", "b"), 'c'),
    ];
    #[cfg(unix)]
    examples.extend(examples![std::path::Path::new("/tmp/ä")]);
    for (name, bytes) in &examples {
        let row = format!("| `{name}` | `{bytes}` |");
        assert!(document.replace(", ", ",").contains(&row), "not in FORMAT.md: {row}");
    }
    let rows = document.lines().filter(|line| line.starts_with("| `") && line.ends_with("` |"));
    assert_eq!(rows.count(), examples.len() + usize::from(cfg!(not(unix))));
}

#[test]
fn pointers_are_what_they_point_at() {
    let want = hex("ada");
    assert_eq!(hex(Box::<str>::from("ada")), want);
    assert_eq!(hex(Rc::<str>::from("ada")), want);
    assert_eq!(hex(Arc::new(String::from("ada"))), want);
    assert_eq!(hex(Cow::Borrowed("ada")), want);
    assert_eq!(hex(Cow::<[u8]>::Owned(b"ada".to_vec())), want);
    assert_eq!(hex::<&mut String>(&mut String::from("ada")), want);
    assert_eq!(hex(Box::new((Arc::new(7u8), "x"))), hex((7i64, 'x')));
    assert_eq!(hex(SocketAddr::from(([127, 0, 0, 1], 80))), "7f0000010050");
}

/// Neither moving a border between parts nor another nesting gives the same bytes.
#[test]
fn parts_of_tuples_do_not_run_together() {
    let keys = [
        hex(("ab", "c")),
        hex(("a", "bc")),
        hex(("abc", "")),
        hex(("", "abc")),
        hex(("a", "b", "c")),
        hex((("a", "b"), "c")),
        hex(("a", ("b", "c"))),
    ];
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key), "{key}");
    }
}

/// The same rule whether they fit the inline buffer or not, around its end and around the first
/// length of two bytes.
#[test]
fn long_tuples_follow_the_same_rule() {
    for length in [0, 1, 55, 56, 61, 62, 63, 64, 126, 127, 128, 129, 300, 70_000] {
        let text = "x".repeat(length);
        let mut want = Vec::new();
        for part in [text.as_bytes(), b"end"] {
            let mut rest = part.len();
            while rest > 127 {
                want.push((rest % 128 + 128) as u8);
                rest /= 128;
            }
            want.push(rest as u8);
            want.extend(part);
        }
        assert!((&text, "end").key_bytes().as_ref() == want, "{length}");
    }
}

#[cfg(feature = "uuid")]
#[test]
fn uuids_are_their_sixteen_bytes() {
    assert_eq!(hex(uuid::Uuid::from_u128(0x0102 << 112)), format!("0102{}", "00".repeat(14)));
}

#[cfg(feature = "bytes")]
#[test]
fn shared_bytes_are_bytes() {
    assert_eq!(hex(bytes::Bytes::from_static(b"ada")), hex("ada"));
    assert_eq!(hex(bytes::BytesMut::from(&b"ada"[..])), hex("ada"));
}
