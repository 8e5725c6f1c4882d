//! A value inside a JSON document, by JSON pointers (RFC 6901).

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The way to a value: `/user/id`, `/tags/0`; `~1` stands for a slash in a name and `~0` for a
/// tilde. The empty pointer is the whole document.
///
/// A string is its text, without quotes and escapes; numbers, `true` and `false` are taken as
/// written in the document. `null`, arrays and objects are not keys. Of a duplicate name the last
/// counts.
///
/// ```
/// use mayhap_store::text::Pointer;
/// let pointer = Pointer::new("/user/id").unwrap();
/// let mut text = Vec::new();
/// assert_eq!(pointer.find(br#"{"user": {"id": "ad\u0061"}}"#, &mut text), Some(b"ada".as_slice()));
/// assert_eq!(pointer.find(br#"{"user": {"id": 7.50}}"#, &mut text), Some(b"7.50".as_slice()));
/// assert_eq!(pointer.find(br#"{"user": {}}"#, &mut text), None);
/// assert!(Pointer::new("user").is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    steps: Vec<String>,
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escaped = |step: &String| step.replace('~', "~0").replace('/', "~1");
        self.steps.iter().try_for_each(|step| write!(f, "/{}", escaped(step)))
    }
}

impl Pointer {
    /// `None` if the text is not a pointer: it must be empty or begin with a slash.
    pub fn new(text: &str) -> Option<Pointer> {
        let step = |step: &str| {
            let tildes = step.matches('~').count();
            let known = step.matches("~0").count() + step.matches("~1").count();
            (tildes == known).then(|| step.replace("~1", "/").replace("~0", "~"))
        };
        let mut steps = text.split('/');
        if steps.next() != Some("") {
            return None;
        }
        Some(Pointer { steps: steps.map(step).collect::<Option<_>>()? })
    }

    /// The text of the value in a document; `None` if there is none, or the document is not JSON.
    pub fn find<'a>(&self, document: &'a [u8], text: &'a mut Vec<u8>) -> Option<&'a [u8]> {
        let mut reader = serde_json::Deserializer::from_slice(document);
        let found = PointerSeed(&self.steps).deserialize(&mut reader).ok()?;
        reader.end().ok()?;
        let raw = found?.get();
        match raw.as_bytes().first()? {
            b'"' => {
                let string: Text<'_> = serde_json::from_str(raw).ok()?;
                text.clear();
                text.extend_from_slice(string.0.as_bytes());
                Some(text)
            }
            b'n' | b'[' | b'{' => None,
            _ => Some(raw.as_bytes()),
        }
    }
}

/// A string that is copied only if it has escapes.
#[derive(serde::Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Follows the pointer and skips everything else.
#[derive(Clone, Copy)]
struct PointerSeed<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for PointerSeed<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
        if self.0.is_empty() {
            return serde::Deserialize::deserialize(reader).map(Some);
        }
        reader.deserialize_any(self)
    }
}

/// A scalar where the pointer continues.
macro_rules! dead_end {
    ($($visit:ident: $value:ty),*) => {$(
        fn $visit<E>(self, _: $value) -> Result<Self::Value, E> {
            Ok(None)
        }
    )*};
}

impl<'de> Visitor<'de> for PointerSeed<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(Text(name)) = map.next_key()? {
            match self.0 {
                [step, rest @ ..] if *step == name => {
                    found = map.next_value_seed(PointerSeed(rest))?;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let wanted = self.0.first().and_then(|step| index(step));
        let (mut found, mut at) = (None, 0);
        loop {
            if wanted == Some(at) {
                let Some(value) = list.next_element_seed(PointerSeed(&self.0[1..]))? else { break };
                found = value;
            } else if list.next_element::<IgnoredAny>()?.is_none() {
                break;
            }
            at += 1;
        }
        Ok(found)
    }

    dead_end!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An array index: digits, without leading zeros.
fn index(step: &str) -> Option<usize> {
    let canonical = step == "0" || !step.starts_with(['0', '+']);
    canonical.then(|| step.parse().ok()).flatten()
}
