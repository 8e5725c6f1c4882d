//! A list of [kevburnsjr's](crate::kevburnsjr) filters as programs in Go keep one for a user in Redis: each
//! element is `count::base64`, the decimal count of its keys and its bytes in standard base64; index 0
//! is the newest (`LPUSH`). In a file, one element is a line. Source: the exposure lists described by
//! github.com/checkking/notes, with that package.
//!
//! A key is in if any element has it. New keys go to the newest element; when that has its fill, a new
//! one is put before it. Nothing says how many probes there are, nor how many keys fill an element:
//! `EstimateParameters(1000, 0.001)` there, so 10 probes and 1,000 keys.
//! Golden files: `testdata/foreign/num-base64-list/`.

use crate::KeyType;
use crate::family::{Choices, Family, FormatRow, never};
use crate::flat::FlatFilter;
use crate::kevburnsjr::{self, Kevburnsjr};
use crate::{Foreign, ForeignError, Format, Parts, StoredArray, Summary, base64_text, ids, limits};
use base64::engine::general_purpose::STANDARD;
use mayhap::format::Array;
use mayhap::key::KeyEncoding;
use mayhap::key::{ByteKeys, KeyOf};
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use std::any::Any;
use std::borrow::Cow;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::NumBase64,
        name: "num-base64",
        programs: "programs that keep such filters in a Redis list",
        file: "`count::base64`, one element a line, newest first",
        detected: "yes",
        key_types: &[(KeyType::Bytes, KeyEncoding::Bytes), (KeyType::I32, KeyEncoding::I32Be)],
        needs_probes: true,
        choices: Choices::NONE,
    }],
    is_certain: |_, bytes| matches_magic(bytes),
    is_possible: never,
    open: |format, file, options| {
        Ok(Box::new(List::decode(file.as_ref(), options.probes_of(format)?)?))
    },
    create: |_, new| Ok(Box::new(List::create(new.keys, new.fpr)?)),
    from_parts: |_, _, arrays, (capacity, fpr, _)| {
        Ok(Box::new(List::from_parts(&arrays, (capacity, fpr))?))
    },
};

/// One element of a list.
#[derive(Clone, Debug)]
pub struct Element {
    /// The keys counted in: those that were not already there when they came.
    pub keys: u64,
    /// Its filter.
    pub filter: FlatFilter<Kevburnsjr>,
}

impl Element {
    /// Read one element.
    ///
    /// ```
    /// use mayhap_foreign::num_base64::Element;
    /// let mut element = Element::read(b"0::AAAAAAAAAAA=", 4)?;
    /// assert!(element.insert("42"));
    /// assert!(element.filter.contains("42"));
    /// assert!(element.to_string()?.starts_with("1::"));
    /// # Ok::<(), mayhap_foreign::ForeignError>(())
    /// ```
    pub fn read(text: &[u8], probes: u32) -> Result<Element, ForeignError> {
        let colons = text.windows(2).position(|pair| pair == b"::");
        let (count, payload) = match colons {
            Some(at) => (&text[..at], &text[at + 2..]),
            None => return Err(ForeignError::field("element", "no ::", "count::base64")),
        };
        // One spelling a number, or the list would come out as another.
        let plain = count == b"0" || !count.starts_with(b"0");
        let digits = plain && count.iter().all(u8::is_ascii_digit);
        let keys = str::from_utf8(count).ok().filter(|_| digits).and_then(|text| text.parse().ok());
        let keys = keys.filter(|keys| *keys <= 1 << 56).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&count[..count.len().min(40)]);
            ForeignError::field("count", format!("{shown:?}"), "a decimal number up to 2^56")
        })?;
        let mut decoder = base64_text::Decoder::new(payload, &STANDARD)?;
        let mut bits = AlignedBuf::zeroed(decoder.left())?;
        decoder.fill("element", bits.as_mut())?;
        // Refuses what is not whole buckets.
        let laid = kevburnsjr::read(bits.as_ref(), probes)?;
        let filter = FlatFilter::assemble(laid.frame, bits, laid.probes, (0, 0.0, keys))?;
        Ok(Element { keys, filter })
    }

    /// Insert a key. `true`: it was certainly new, and counted.
    pub fn insert(&mut self, key: impl KeyOf<ByteKeys>) -> bool {
        let new = self.filter.insert(key);
        self.keys = (self.keys + u64::from(new)).min(1 << 56);
        new
    }

    /// The element's text.
    pub fn to_string(&self) -> Result<String, ForeignError> {
        let mut text = Vec::new();
        self.write(&mut text)?;
        String::from_utf8(text).map_err(|_| ForeignError::field("element", "bytes", "text"))
    }

    fn write(&self, to: &mut dyn Write) -> Result<(), ForeignError> {
        write_element(to, self.keys, self.filter.as_bytes())
    }
}

/// Write one element, without a line's end.
pub(crate) fn write_element(
    to: &mut dyn Write,
    keys: u64,
    bits: &[u8],
) -> Result<(), ForeignError> {
    write!(to, "{keys}::")?;
    base64_text::write(to, STANDARD, &[bits])
}

/// A list of elements, newest first.
#[derive(Clone, Debug)]
pub struct List {
    elements: Vec<Element>,
    /// The keys and the rate an element is made for; 0 where nobody said.
    check_target: (u64, f64),
    /// Whether the last line has an end.
    ends: bool,
}

impl List {
    /// Read a list, one element a line, newest first.
    pub fn decode(text: &[u8], probes: u32) -> Result<List, ForeignError> {
        let ends = text.ends_with(b"\n");
        let lines = text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n');
        let elements = lines.map(|line| Element::read(line, probes)).collect::<Result<_, _>>()?;
        Ok(List { elements, check_target: (0, 0.0), ends })
    }

    /// A list of one empty element; each is made for so many keys at a rate.
    pub fn create(keys: u64, fpr: f64) -> Result<List, ForeignError> {
        let filter = kevburnsjr::create(keys, fpr)?;
        let elements = vec![Element { keys: 0, filter }];
        Ok(List { elements, check_target: (keys.max(1), fpr), ends: true })
    }

    /// Say how many keys an element is for. Without it a list does not grow.
    pub fn with_target(self, keys: u64, fpr: f64) -> List {
        List { check_target: (keys, fpr), ..self }
    }

    /// The elements, newest first.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Whether the key may be in; `false` is certain.
    pub fn contains(&self, key: &[u8]) -> bool {
        // Hashed once: elements may differ in size, and hashing does not know of it.
        let Some(first) = self.elements.first() else { return false };
        let hash = first.filter.scheme().hash_bytes(key);
        self.elements.iter().any(|element| element.filter.contains_hash(hash))
    }

    /// Insert a key into the newest element, or into a new one where that is full. `true`: it was
    /// certainly new *there*; what older elements hold is inserted again, as in the Go programs, so that
    /// it outlives them.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, ForeignError> {
        let full =
            |element: &Element| self.check_target.0 > 0 && element.keys >= self.check_target.0;
        if let Some(newest) = self.elements.first().filter(|element| full(element)) {
            if newest.filter.contains(key) {
                return Ok(false);
            }
            let bytes = newest.filter.as_bytes().len() as u64;
            let probes = newest.filter.shape().probes;
            let filter = FlatFilter::empty(Kevburnsjr::Raw, bytes, probes, self.check_target)?;
            self.elements.insert(0, Element { keys: 0, filter });
        }
        Ok(self.elements.first_mut().is_some_and(|newest| newest.insert(key)))
    }

    /// Write the list, one element a line.
    pub fn write_to(&self, to: &mut dyn Write) -> Result<(), ForeignError> {
        for (i, element) in self.elements.iter().enumerate() {
            if i > 0 {
                to.write_all(b"\n")?;
            }
            element.write(to)?;
        }
        if self.ends {
            to.write_all(b"\n")?;
        }
        Ok(())
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Result<Vec<u8>, ForeignError> {
        let mut file = Vec::new();
        self.write_to(&mut file)?;
        Ok(file)
    }

    /// Put together what [`Foreign::parts`] took apart.
    pub(crate) fn from_parts(
        arrays: &[StoredArray],
        check_target: (u64, f64),
    ) -> Result<List, ForeignError> {
        let element = |array: &StoredArray| {
            let param = |i: usize| array.params.get(i).copied().unwrap_or(0);
            let (probes, keys) = (limits::probes(param(1))?, param(2).min(1 << 56));
            let filter = kevburnsjr::decode(array.bytes.as_ref(), probes)?;
            Ok(Element { keys, filter })
        };
        let elements = arrays.iter().map(element).collect::<Result<Vec<_>, ForeignError>>()?;
        Ok(List { elements, check_target, ends: true })
    }
}

/// Whether text is such a list, told by its first element.
pub(crate) fn matches_magic(text: &[u8]) -> bool {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && text[digits..].starts_with(b"::")
}

impl Foreign for List {
    fn summary(&self) -> Summary {
        let share = |of: fn(&FlatFilter<Kevburnsjr>) -> f64| {
            let elements = self.elements.iter().map(|element| of(&element.filter));
            elements.sum::<f64>() / self.elements.len().max(1) as f64
        };
        let absent_keys = |element: &Element| 1.0 - element.filter.fpr_now();
        Summary {
            format: Format::NumBase64,
            scheme: ids::KEVBURNSJR,
            details: vec![("elements", self.elements.len().to_string())],
            capacity: self.check_target.0.saturating_mul(self.elements.len() as u64),
            fpr: self.check_target.1,
            keys: Some(
                self.elements.iter().map(|element| element.keys).fold(0, u64::saturating_add),
            ),
            layers: self.elements.len() as u64,
            bits: self.elements.iter().map(|element| element.filter.shape().bits).sum(),
            probes: self.elements.first().map_or(0, |element| element.filter.shape().probes),
            fill: share(|filter| filter.fill()),
            estimate: (self.elements.iter().map(|element| element.filter.estimate()))
                .fold(0, u64::saturating_add),
            fpr_now: 1.0 - self.elements.iter().map(absent_keys).product::<f64>(),
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        List::contains(self, key)
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        answers.clear();
        answers.extend(keys.iter().map(|key| List::contains(self, key)));
    }

    fn insert_batch(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        new.clear();
        for key in keys {
            let known = List::contains(self, key);
            new.push(self.insert(key)? && !known);
        }
        Ok(())
    }

    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError> {
        let Some(other) = (other as &dyn Any).downcast_ref::<List>() else {
            let from = other.summary().format;
            return Err(ForeignError::Untranslatable { from, to: Format::NumBase64 });
        };
        // Elements side by side lose nothing, whatever their sizes.
        self.elements.extend(other.elements.iter().cloned());
        Ok(())
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        match (format, self.elements.as_slice()) {
            (Format::NumBase64, _) => self.write_to(to),
            (Format::Kevburnsjr, [only]) => only.filter.write_to(to),
            (Format::Kevburnsjr, _) => Err(ForeignError::Refused {
                format: Format::NumBase64,
                what: "a list of several elements is no single filter: merge or split it first",
            }),
            (to, _) => Err(ForeignError::Untranslatable { from: Format::NumBase64, to }),
        }
    }

    fn parts(&self) -> Parts<'_> {
        let array = |element: &'_ Element| {
            let shape = element.filter.shape();
            vec![shape.bits, shape.probes.into(), element.keys]
        };
        let arrays = self.elements.iter().map(|element| Array {
            params: array(element),
            bytes: Cow::Borrowed(element.filter.as_bytes()),
        });
        Parts {
            format: Format::NumBase64,
            scheme: ids::KEVBURNSJR,
            data: Vec::new(),
            capacity: self.check_target.0,
            fpr: self.check_target.1,
            keys: self.elements.iter().map(|element| element.keys).sum::<u64>().min(1 << 56),
            arrays: arrays.collect(),
        }
    }
}
