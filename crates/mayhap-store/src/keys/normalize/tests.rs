use super::*;
use proptest::prelude::*;

fn normal(normalizer: Normalizer, key: &str) -> Option<String> {
    let mut normal = b"what was before".to_vec();
    normalizer.apply(key.as_bytes(), &mut normal).then(|| String::from_utf8(normal).unwrap())
}

fn each(normalizer: Normalizer, table: &[(&str, &str)]) {
    for (key, want) in table {
        assert_eq!(normal(normalizer, key).as_deref(), Some(*want), "{normalizer:?} of {key:?}");
    }
}

fn none(normalizer: Normalizer, keys: &[&str]) {
    for key in keys {
        assert_eq!(normal(normalizer, key), None, "{normalizer:?} of {key:?}");
    }
}

#[test]
fn names_are_frozen() {
    let names = Normalizer::ALL.map(Normalizer::name);
    assert_eq!(names, ["none", "lower", "hex", "email", "url", "url-loose"]);
    for normalizer in Normalizer::ALL {
        assert_eq!(Normalizer::from_name(normalizer.name()), Some(normalizer));
        assert_eq!(Normalizer::from_name(normalizer.note()), Some(normalizer));
    }
    assert_eq!(Normalizer::from_name("upper"), None);
}

#[test]
fn lower_case() {
    each(Normalizer::Lower, &[("", ""), ("AdA 7", "ada 7"), ("ÄΣ", "äσ"), ("İ", "i\u{307}")]);
    let mut key = Vec::new();
    assert!(Normalizer::Lower.apply(b"A\xffB\xc3", &mut key));
    assert_eq!(key, b"a\xffb\xc3");
}

#[test]
fn hexadecimal() {
    each(Normalizer::Hex, &[(" 0xDEADbeef\r", "deadbeef"), ("0XA", "a"), ("00", "00")]);
    none(Normalizer::Hex, &["", "0x", "xyz", "de ad"]);
}

#[test]
fn e_mail_addresses() {
    each(
        Normalizer::Email,
        &[
            (" Ada@Example.COM ", "ada@example.com"),
            ("mailto:ada@example.com", "ada@example.com"),
            ("<Ada+tag@example.com>", "ada+tag@example.com"),
            ("a.da@gmail.com", "a.da@gmail.com"),
            ("ada@Bücher.example", "ada@xn--bcher-kva.example"),
            ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
            ("\"a@b\"@example.com", "\"a@b\"@example.com"),
            ("ada@example.com.", "ada@example.com"),
            ("ada@[127.0.0.1]", "ada@[127.0.0.1]"),
        ],
    );
    none(Normalizer::Email, &["ada", "@example.com", "ada@", "a da@example.com", ""]);
}

#[test]
fn urls_by_the_standard() {
    each(
        Normalizer::Url,
        &[
            ("HTTP://Example.COM", "http://example.com/"),
            ("http://example.com:80/", "http://example.com/"),
            ("https://example.com:443/a", "https://example.com/a"),
            ("https://example.com:80/a", "https://example.com:80/a"),
            ("http://e.com/a/./b/../c", "http://e.com/a/c"),
            ("http://e.com/a#part", "http://e.com/a"),
            ("http://e.com/?b=2&a=1", "http://e.com/?b=2&a=1"),
            ("http://e.com/%7Eada/A", "http://e.com/%7Eada/A"),
            ("http://bücher.example/ü", "http://xn--bcher-kva.example/%C3%BC"),
            ("  http://e.com/ ", "http://e.com/"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("mailto:Ada@e.com", "mailto:Ada@e.com"),
        ],
    );
    none(Normalizer::Url, &["", "example.com", "/path", "http://", "http://[::1"]);
}

#[test]
fn urls_loosely() {
    each(
        Normalizer::UrlLoose,
        &[
            (
                "https://www.Example.com/a/?utm_source=x&b=2&a=1&fbclid=7#top",
                "example.com/a?a=1&b=2",
            ),
            ("http://example.com/a?a=1&b=2", "example.com/a?a=1&b=2"),
            ("example.com/a?b=2&a=1", "example.com/a?a=1&b=2"),
            ("//example.com/a", "example.com/a"),
            ("http://example.com/", "example.com"),
            ("http://example.com/a//", "example.com/a"),
            ("http://example.com/?", "example.com"),
            ("http://example.com/?GCLID=1&UTM_Medium=2", "example.com"),
            ("http://example.com/?&&x&", "example.com?x"),
            ("http://example.com/?a=2&b=0&a=1", "example.com?a=2&a=1&b=0"),
            ("example.com:8080/x", "example.com:8080/x"),
            ("http://www.com/", "www.com"),
            ("http://www.www.com/", "www.com"),
            ("http://ada:pw@e.com/", "ada:pw@e.com"),
            ("ftp://e.com/f", "e.com/f"),
            ("http://e.com/?utmost=1&ref=2", "e.com?ref=2&utmost=1"),
        ],
    );
    none(Normalizer::UrlLoose, &["", "mailto:ada@e.com", "/path", "?q", "http://", "javascript:x"]);
}

#[test]
fn bytes_that_are_no_text_are_no_url_and_no_address() {
    let mut key = Vec::new();
    for normalizer in [Normalizer::Hex, Normalizer::Email, Normalizer::Url, Normalizer::UrlLoose] {
        assert!(!normalizer.apply(b"http://e.com/\xff@e.com", &mut key), "{normalizer:?}");
    }
}

#[test]
fn the_tracking_list_is_sorted_lower_case() {
    assert!(url::TRACKING_PARAMS.is_sorted());
    assert!(url::TRACKING_PARAMS.iter().all(|name| *name == name.to_ascii_lowercase()));
}

proptest! {
    /// A normal form is its own normal form, or keys of a filter's own list would be missed.
    #[test]
    fn twice_is_once(key in "(https?://)?(www\\.){0,2}[a-zA-Z.]{1,9}(:[0-9]{1,3})?(/[a-zA-Z./%]{0,9})?(\\?[a-z=&_]{0,12})?(#x)?") {
        for normalizer in Normalizer::ALL {
            if let Some(once) = normal(normalizer, &key) {
                // What is no longer of the sort is kept as it is.
                let twice = normal(normalizer, &once).unwrap_or_else(|| once.clone());
                prop_assert_eq!(once, twice, "{:?} of {:?}", normalizer, key);
            }
        }
    }

    #[test]
    fn nothing_panics(key in proptest::collection::vec(any::<u8>(), 0..60), text in ".{0,40}") {
        let mut normal = Vec::new();
        for normalizer in Normalizer::ALL {
            _ = normalizer.apply(&key, &mut normal);
            _ = normalizer.apply(text.as_bytes(), &mut normal);
        }
    }
}
