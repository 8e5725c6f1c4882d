//! What each family of formats says about itself, and everything that goes by it: detect, open, create,
//! take out of a Mayhap file.

use crate::flat::{CowFlat, FlatFilter, FlatFormat, ParsedLayout};
use crate::options::{Missing, Options, Seed, Variant};
use crate::{Bytes, Foreign, ForeignError, Format, KeyType, Reader, StoredArray};
use mayhap::key::KeyEncoding;

/// What opening and making give.
pub(crate) type Opened = Result<Box<dyn Foreign>, ForeignError>;

/// Formats that share a codec. The constant of this type lives beside the codec; the list of formats
/// names the module.
pub(crate) struct Family {
    /// Its formats.
    pub rows: &'static [FormatRow],
    /// Whether bytes are of this format by magic, or by fields and lengths that agree.
    pub is_certain: fn(Format, &[u8]) -> bool,
    /// Whether bytes could be of this format, which has nothing to be known by.
    pub is_possible: fn(Format, &[u8]) -> bool,
    /// Open a file, in place where its bits can be used as they are.
    pub open: fn(Format, &Bytes, &Options) -> Opened,
    /// An empty filter, sized as the format's own program would.
    pub create: fn(Format, &Request<'_>) -> Opened,
    /// Put together what [`Foreign::parts`] took apart.
    pub from_parts: fn(Format, &mut Reader<'_>, Vec<StoredArray>, Target) -> Opened,
}

/// What a stored filter was made for, and the keys counted in; 0 where nobody said.
pub(crate) type Target = (u64, f64, u64);

/// A new filter that is asked for.
pub(crate) struct Request<'a> {
    pub keys: u64,
    pub fpr: f64,
    pub options: &'a Options,
}

/// One format: a row of the table in docs/FORMATS.md, and what can be chosen.
pub struct FormatRow {
    /// The format.
    pub format: Format,
    /// The name people type. Frozen: it is written in files.
    pub name: &'static str,
    /// Whose format it is.
    pub programs: &'static str,
    /// What a file of it is.
    pub file: &'static str,
    /// Whether bytes say that they are of it.
    pub detected: &'static str,
    /// What keys can be, and how programs make bytes of them.
    pub key_types: &'static [(KeyType, KeyEncoding)],
    /// Whether the number of probes must be said to open a file.
    pub needs_probes: bool,
    /// What a new filter leaves to choose.
    pub choices: Choices,
}

/// What a format leaves to choose for a new filter.
#[derive(Clone, Copy)]
pub struct Choices {
    /// Bits per key instead of a rate.
    pub bits_per_key: BitsPerKey,
    /// What happens when it is full.
    pub growth: bool,
    /// What hashes depend on.
    pub seed: SeedChoice,
    /// Its forms, the default first.
    pub variants: &'static [Variant],
}

/// Whether a format takes a number of bits per key.
#[derive(Clone, Copy, PartialEq)]
pub enum BitsPerKey {
    /// It is made for a rate.
    No,
    /// Whole numbers.
    Whole,
    /// Any.
    Any,
}

/// Whether a format takes a seed.
#[derive(Clone, Copy, PartialEq)]
pub enum SeedChoice {
    /// It has none.
    No,
    /// A number, in this variant, which it chooses.
    Number(Variant),
    /// Two SipHash keys.
    Keys,
}

impl Choices {
    /// Keys and a rate, and nothing else.
    pub const NONE: Choices = Choices {
        bits_per_key: BitsPerKey::No,
        growth: false,
        seed: SeedChoice::No,
        variants: &[],
    };

    /// Forms to choose from, the default first.
    pub const fn variants(variants: &'static [Variant]) -> Choices {
        Choices { variants, ..Choices::NONE }
    }
}

/// Keys are byte strings only.
pub(crate) const BYTES: &[(KeyType, KeyEncoding)] = &[(KeyType::Bytes, KeyEncoding::Bytes)];

/// No bytes are of it unless somebody says so.
pub(crate) fn never(_: Format, _: &[u8]) -> bool {
    false
}

/// A flat filter over a file that its codec has read.
pub(crate) fn open_flat<F: FlatFormat>(
    laid: Result<ParsedLayout<F>, ForeignError>,
    file: &Bytes,
) -> Opened {
    Ok(Box::new(CowFlat::open(laid?, file)?))
}

/// A flat filter that was just made.
pub(crate) fn owned<F: FlatFormat>(made: Result<FlatFilter<F>, ForeignError>) -> Opened {
    Ok(Box::new(CowFlat::Owned(made?)))
}

/// A flat filter out of a Mayhap file.
pub(crate) fn flat_from_parts<F: FlatFormat>(
    format: Format,
    data: &mut Reader<'_>,
    arrays: Vec<StoredArray>,
    target: Target,
) -> Opened {
    Ok(Box::new(CowFlat::<F>::from_parts(format, data, arrays, target)?))
}

/// What bytes can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// They say so.
    Certain(Format),
    /// One of these, or none: nothing in the bytes tells.
    OneOf(Vec<Format>),
}

/// Look at a file. Some formats have a magic number or lengths that fit nothing else; others are bare
/// bits, and any bytes could be one.
///
/// ```
/// use mayhap_foreign::{Detection, Format, detect};
/// let guava = [1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
/// assert_eq!(detect(&guava), Detection::Certain(Format::Guava));
/// let Detection::OneOf(candidates) = detect(b"[1,2,3]") else { panic!() };
/// assert_eq!(candidates, [Format::BloomfilterJs, Format::BloomfilterJsOld]);
/// ```
pub fn detect(bytes: &[u8]) -> Detection {
    let is_certain = |format: &Format| (format.family().is_certain)(*format, bytes);
    // Mayhap files are asked about most often, and are large: nothing else of them is to be touched.
    if is_certain(&Format::Mayhap) {
        return Detection::Certain(Format::Mayhap);
    }
    let certain: Vec<Format> = Format::ALL.into_iter().filter(is_certain).collect();
    let is_possible = |format: &Format| (format.family().is_possible)(*format, bytes);
    match certain[..] {
        [only] => Detection::Certain(only),
        [] => Detection::OneOf(Format::ALL.into_iter().filter(is_possible).collect()),
        _ => Detection::OneOf(certain),
    }
}

/// Open a file of this format, in place where its bits can be used as they are: a mapped file is open
/// at once, whatever its size.
///
/// ```
/// use mayhap_foreign::{Bytes, Format, Options};
/// let file = Bytes::new(vec![0xff; 36]); // from kevburnsjr's ToBytes
/// let error = mayhap_foreign::open(Format::Kevburnsjr, &file, &Options::new()).unwrap_err();
/// assert!(error.to_string().contains("probes"));
/// let filter = mayhap_foreign::open(Format::Kevburnsjr, &file, &Options::new().with_probes(20))?;
/// assert!(filter.contains(b"anything"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn open(
    format: Format,
    file: &Bytes,
    options: &Options,
) -> Result<Box<dyn Foreign>, ForeignError> {
    options.key_type.check(format)?;
    if format.row().needs_probes && options.probes.is_none() {
        return Err(ForeignError::Missing { format, what: Missing::Probes });
    }
    (format.family().open)(format, file, options)
}

/// An empty filter for so many keys at a rate, sized as the format's own program would.
///
/// ```
/// use mayhap_foreign::{Format, Options};
/// let mut filter = mayhap_foreign::create(Format::Guava, 1_000, 0.01, &Options::new())?;
/// filter.insert_batch(&[b"ada", b"eve"], &mut Vec::new())?;
/// let mut file = Vec::new();
/// filter.write_as(Format::Guava, &mut file)?;
/// assert_eq!(file.len(), 1206);
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn create(
    format: Format,
    keys: u64,
    fpr: f64,
    options: &Options,
) -> Result<Box<dyn Foreign>, ForeignError> {
    options.key_type.check(format)?;
    options.making.check(format)?;
    (format.family().create)(format, &Request { keys, fpr, options })
}

impl Request<'_> {
    /// The form that was chosen, if one was.
    pub fn variant(&self) -> Option<Variant> {
        self.options.making.variant
    }

    /// The seed that was chosen, if one was.
    pub fn seed(&self) -> Option<Seed> {
        self.options.making.seed
    }
}

/// Whether bytes start as text does: no control characters but those that end lines and columns. Bare
/// bits can look like anything, but hardly like a list of words.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1024)];
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\r\n".contains(byte);
    let is_utf8 = match str::from_utf8(start) {
        Ok(_) => true,
        // Cut off in the middle of a character.
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !start.iter().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_words_is_no_filter() {
        for text in ["ada\nbob\neve\n", "héhé\n", "x", &"日".repeat(400)] {
            assert_eq!(detect(text.as_bytes()), Detection::OneOf(vec![]), "{text}");
        }
        assert_ne!(detect(&[0x80, 0x81, 0x82, 3]), Detection::OneOf(vec![]));
        assert_ne!(detect(&[0, 1, 2, 3]), Detection::OneOf(vec![]));
    }

    #[test]
    fn every_format_has_one_row_and_every_row_a_format() {
        for format in Format::ALL {
            assert_eq!(format.row().format, format);
            let rows = format.family().rows.iter().filter(|row| row.format == format);
            assert_eq!(rows.count(), 1, "{format}");
            assert_eq!(format.row().key_types.first(), BYTES.first(), "{format}");
        }
    }
}
