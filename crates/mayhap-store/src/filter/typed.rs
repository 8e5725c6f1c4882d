//! Keys that come as values, not as text: strings, byte strings and integers of a program's own memory.
//!
//! Mayhap's own filters take values by the engine's encoding of keys. Where a filter's file says how text
//! becomes its keys (normalized, as decimal numbers, in hex), text is read by those rules here too, so
//! that a value is found whichever host added it.

use super::{Each, Filter, HostError, KeySource, Tally};
use crate::key_rules::{KeyRequest, KeyRules, KeyRulesError};
use crate::keys::{KeyBuffer, Normalizer, TextEncoding};
use mayhap::key::KeyValue;
use mayhap::scheme::Native;
use mayhap::{Hash, Key};
use mayhap_foreign::Format;
use std::ops::ControlFlow;

/// A batch of values.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TypedBatch<'a> {
    /// Strings and byte strings.
    Bytes(&'a [&'a [u8]]),
    /// Signed integers.
    Signed(&'a [i64]),
    /// Unsigned integers.
    Unsigned(&'a [u64]),
}

/// Where values come from: a list, a column. One call of a closure per batch; a break ends the pass.
pub trait TypedKeys: Sync {
    /// Whether the values can be gone through again.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// How many there are, where that is known.
    fn count(&self) -> Option<u64>;

    /// Every value, in order, in batches of some thousand at the most.
    fn each(&self, each: &mut EachBatch<'_>) -> Result<(), HostError>;
}

/// Takes a batch of values; a break ends the pass.
pub type EachBatch<'a> = dyn FnMut(TypedBatch<'_>) -> ControlFlow<()> + Send + 'a;

impl<K: AsRef<[u8]> + Sync> TypedKeys for &[K] {
    fn count(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn each(&self, each: &mut EachBatch<'_>) -> Result<(), HostError> {
        for chunk in self.chunks(super::CHUNK) {
            let slices: Vec<&[u8]> = chunk.iter().map(AsRef::as_ref).collect();
            if each(TypedBatch::Bytes(&slices)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// How values become the bytes of a filter's keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueRules {
    rules: KeyRules,
    /// Whether another program's filter hashes them.
    foreign: bool,
}

/// A value that is no key of a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// An integer, and the filter's keys are text or bytes.
    #[error("the integer {number} is no key of this filter, whose keys are {need}")]
    Integer {
        /// The integer.
        number: i128,
        /// What the keys are.
        need: String,
    },
    /// Text that the key type cannot read.
    #[error("{text:?} is no key of this filter, whose keys are {need}")]
    Text {
        /// The text.
        text: String,
        /// What the keys are.
        need: String,
    },
}

impl ValueRules {
    /// The rules of a new filter of Mayhap's own.
    pub fn new(rules: KeyRules) -> ValueRules {
        ValueRules { rules, foreign: false }
    }

    /// The rules of a new filter in another program's format.
    pub fn of_format(format: Format, asked: &KeyRequest) -> Result<ValueRules, KeyRulesError> {
        Ok(ValueRules { rules: KeyRules::of_format(format, asked)?, foreign: true })
    }

    /// Whether strings and byte strings are their bytes, and integers the engine's eight.
    pub fn are_direct(&self) -> bool {
        !self.foreign && self.rules == KeyRules::default()
    }

    /// The bytes that are hashed for a value; `buffer` holds what must be made for it.
    pub fn encode<'a>(
        &'a self,
        value: KeyValue<'a>,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], ValueError> {
        match value {
            KeyValue::Integer(number) => self.integer(number, buffer),
            KeyValue::Text(text) => self.text(text.as_bytes(), buffer),
            KeyValue::Bytes(bytes) => self.text(bytes, buffer),
            // Whatever the engine may add: no value of ours.
            _ => Err(ValueError::Text { text: format!("{value:?}"), need: self.need() }),
        }
    }

    fn takes_integers(&self) -> bool {
        use TextEncoding::{I32, I32Be, I64};
        matches!(self.rules.encoding, I64 | I32 { .. } | I32Be)
    }

    fn integer<'a>(&self, number: i128, buffer: &'a mut Vec<u8>) -> Result<&'a [u8], ValueError> {
        let refused = || ValueError::Integer { number, need: self.need() };
        let rules = &self.rules;
        if !self.foreign && (self.takes_integers() || *rules == KeyRules::default()) {
            let bytes = match (i64::try_from(number), u64::try_from(number)) {
                (Ok(signed), _) => signed.to_le_bytes(),
                (_, Ok(unsigned)) => unsigned.to_le_bytes(),
                _ => return Err(refused()),
            };
            buffer.clear();
            buffer.extend_from_slice(&bytes);
            return Ok(buffer);
        }
        let reads = self.takes_integers() && rules.normalizer == Normalizer::None;
        if reads && rules.encoding.encode(number.to_string().as_bytes(), buffer) {
            return Ok(buffer);
        }
        Err(refused())
    }

    fn text<'a>(&self, text: &'a [u8], buffer: &'a mut Vec<u8>) -> Result<&'a [u8], ValueError> {
        if self.rules == KeyRules::default() {
            return Ok(text);
        }
        let mut normal = Vec::new();
        // What cannot be normalized is a key as it is, as it is for text from files.
        let text = match self.rules.normalizer {
            Normalizer::None => text,
            normalizer if normalizer.apply(text, &mut normal) => &normal,
            _ => text,
        };
        if self.rules.encoding.encode(text, buffer) {
            return Ok(buffer);
        }
        let text = String::from_utf8_lossy(text).into_owned();
        Err(ValueError::Text { text, need: self.need() })
    }

    /// What its keys are, in messages.
    fn need(&self) -> String {
        let encoding = match self.rules.encoding {
            TextEncoding::Bytes => "bytes",
            TextEncoding::Hex => "bytes written in hex",
            TextEncoding::I64 => "integers of 64 bits",
            TextEncoding::I32 { .. } | TextEncoding::I32Be => "integers of 32 bits",
            TextEncoding::Utf16 => "text as UTF-16",
        };
        match self.rules.normalizer {
            Normalizer::None => encoding.to_owned(),
            normalizer => format!("{encoding}, normalized by {}", normalizer.name()),
        }
    }

    /// All values as keys. Where they must be encoded one by one, they are so at once: a value that is no
    /// key is found before anything is done with the others.
    pub fn source<'k>(&self, keys: &'k dyn TypedKeys) -> Result<TypedSource<'k>, HostError> {
        if self.are_direct() {
            return Ok(TypedSource(Source::Direct(keys)));
        }
        let (mut encoded, mut buffer, mut failed) = (KeyBuffer::default(), Vec::new(), None);
        keys.each(&mut |batch| {
            let mut push = |value| match self.encode(value, &mut buffer) {
                Ok(bytes) => {
                    encoded.push(bytes);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            };
            match batch {
                TypedBatch::Bytes(keys) => keys.iter().try_for_each(|key| push((*key).into())),
                TypedBatch::Signed(keys) => keys.iter().try_for_each(|key| push((*key).into())),
                TypedBatch::Unsigned(keys) => keys.iter().try_for_each(|key| push((*key).into())),
            }
        })?;
        match failed {
            Some(error) => Err(HostError::new(error)),
            None => Ok(TypedSource(Source::Encoded(encoded))),
        }
    }
}

/// Values as the keys of one filter.
pub struct TypedSource<'k>(Source<'k>);

enum Source<'k> {
    Direct(&'k dyn TypedKeys),
    Encoded(KeyBuffer),
}

impl TypedSource<'_> {
    fn pass(&self, each: &mut EachBatch<'_>) -> Result<Tally, HostError> {
        let mut records = 0;
        match &self.0 {
            Source::Direct(keys) => keys.each(&mut |batch| {
                records += match batch {
                    TypedBatch::Bytes(keys) => keys.len(),
                    TypedBatch::Signed(keys) => keys.len(),
                    TypedBatch::Unsigned(keys) => keys.len(),
                } as u64;
                each(batch)
            })?,
            Source::Encoded(keys) => {
                let all: Vec<&[u8]> = keys.iter().collect();
                for chunk in all.chunks(super::CHUNK) {
                    records += chunk.len() as u64;
                    if each(TypedBatch::Bytes(chunk)).is_break() {
                        break;
                    }
                }
            }
        }
        Ok(Tally { records, ..Tally::default() })
    }
}

impl KeySource for TypedSource<'_> {
    fn is_repeatable(&self) -> bool {
        match &self.0 {
            Source::Direct(keys) => keys.is_repeatable(),
            Source::Encoded(_) => true,
        }
    }

    fn count(&self) -> Result<Option<u64>, HostError> {
        Ok(match &self.0 {
            Source::Direct(keys) => keys.count(),
            Source::Encoded(keys) => Some(keys.keys() as u64),
        })
    }

    fn hashes(&self, scheme: Native, each: &mut Each<'_, [Hash]>) -> Result<Tally, HostError> {
        let mut hashes = Vec::new();
        self.pass(&mut |batch| {
            match batch {
                TypedBatch::Bytes(keys) => scheme.hash_batch(keys, &mut hashes),
                TypedBatch::Signed(keys) => scheme.hash_batch(keys, &mut hashes),
                TypedBatch::Unsigned(keys) => scheme.hash_batch(keys, &mut hashes),
            }
            each(&hashes)
        })
    }

    fn hashes_unordered(
        &self,
        scheme: Native,
        each: &(dyn Fn(&[Hash]) + Sync),
    ) -> Result<Tally, HostError> {
        self.hashes(scheme, &mut |hashes| {
            each(hashes);
            ControlFlow::Continue(())
        })
    }

    fn keys(&self, each: &mut Each<'_, KeyBuffer>) -> Result<Tally, HostError> {
        let mut buffer = KeyBuffer::default();
        self.pass(&mut |batch| {
            buffer.clear();
            match batch {
                TypedBatch::Bytes(keys) => keys.iter().for_each(|key| buffer.push(key)),
                TypedBatch::Signed(keys) => push_all(keys, &mut buffer),
                TypedBatch::Unsigned(keys) => push_all(keys, &mut buffer),
            }
            each(&buffer)
        })
    }
}

fn push_all<K: Key>(keys: &[K], buffer: &mut KeyBuffer) {
    keys.iter().for_each(|key| buffer.push(key.key_bytes().as_ref()));
}

impl Filter {
    /// How values become its keys, where the caller has something to say about it, too.
    pub fn value_rules(&self, asked: &KeyRequest) -> Result<ValueRules, KeyRulesError> {
        let rules = self.key_rules(asked)?;
        Ok(ValueRules { rules, foreign: self.format() != Format::Mayhap })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_rules::KeyType;
    use crate::{BuildSpec, Slice};

    fn rules(key_type: KeyType, normalizer: Normalizer) -> KeyRules {
        let asked = KeyRequest { key_type: Some(key_type), normalizer: Some(normalizer) };
        KeyRules::new(&asked).unwrap()
    }

    #[test]
    fn values_are_the_keys_that_text_is_by_the_same_rules() {
        let mut buffer = Vec::new();
        let numbers = ValueRules::new(rules(KeyType::I64, Normalizer::None));
        for value in [KeyValue::Integer(-7), KeyValue::Text("-7"), KeyValue::Bytes(b" -7 ")] {
            assert_eq!(numbers.encode(value, &mut buffer).unwrap(), (-7i64).to_le_bytes());
        }
        let error = numbers.encode("seven".into(), &mut buffer).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#""seven" is no key of this filter, whose keys are integers of 64 bits"#
        );
        let urls = ValueRules::new(rules(KeyType::Bytes, Normalizer::Url));
        assert_eq!(urls.encode("HTTP://A.b/#x".into(), &mut buffer).unwrap(), b"http://a.b/");
        let error = urls.encode(7u8.into(), &mut buffer).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the integer 7 is no key of this filter, whose keys are bytes, normalized by url"
        );
    }

    #[test]
    fn direct_values_are_the_engines_keys() -> Result<(), Box<dyn std::error::Error>> {
        let direct = ValueRules::default();
        assert!(direct.are_direct());
        let mut buffer = Vec::new();
        assert_eq!(direct.encode(u64::MAX.into(), &mut buffer)?, u64::MAX.to_le_bytes());
        assert_eq!(direct.encode("ada".into(), &mut buffer)?, b"ada");
        assert!(direct.encode(KeyValue::Integer(1 << 64), &mut buffer).is_err());
        let built = Filter::build(&BuildSpec::default(), &Slice(&["ada", "eve"]))?;
        let list = [&b"ada"[..], b"bob"];
        let mut answers = Vec::new();
        built.filter.contains_source(&direct.source(&list.as_slice())?, &mut answers)?;
        assert_eq!(answers, [true, false]);
        Ok(())
    }
}
