//! What each kind writes in its file, and how it is read back.

use super::cascade::cascade;
use super::error::FormatError;
use super::header::{Header, MAX_KEYS};
use super::layers::{scalable, sharded, windowed};
use super::notes::Notes;
use super::writer::{Array, Outline, write};
#[cfg(feature = "bitmap")]
use crate::filter::Bitmap;
use crate::filter::{AnyFilter, Blocked, Classic, Counting, Fuse, Kind};
use crate::scheme::{Native, Scheme, SchemeId};
use crate::sizing::{BlockedShape, ClassicShape};
use crate::spec::{Spec, SpecError};
use std::borrow::Cow;

/// A filter that knows what to write.
pub(super) trait Stored {
    /// Header fields and arrays.
    fn outline(&self) -> Outline<'_>;

    /// The bytes of the file.
    fn encoded(&self, notes: &Notes) -> Vec<u8> {
        let outline = self.outline();
        let bytes: usize = outline.arrays.iter().map(|array| array.bytes.len()).sum();
        let mut file = Vec::with_capacity(bytes + 8192);
        // A filter keeps the limits of its outline and a vector takes everything.
        write(&mut file, &outline, notes).expect("our own outline is within its limits");
        file
    }
}

/// The one array of a filter that has but one, and its `N` parameters.
fn only<T, const N: usize>(
    header: &Header,
    sections: Vec<T>,
) -> Result<([u64; N], T), FormatError> {
    no_params(header)?;
    let count = sections.len();
    let (Ok([section]), [leaf]) = (<[T; 1]>::try_from(sections), header.leaves.as_slice()) else {
        return Err(FormatError::field("leaves", count, "1"));
    };
    Ok((params(&leaf.params)?, section))
}

pub(super) fn no_params(header: &Header) -> Result<(), FormatError> {
    if header.params.is_empty() {
        return Ok(());
    }
    Err(FormatError::field("parameters", header.params.len(), "none for this kind"))
}

/// As many parameters as a kind has.
pub(super) fn params<const N: usize>(params: &[u64]) -> Result<[u64; N], FormatError> {
    let wrong = |_| FormatError::field("parameters", params.len(), "as many as the kind has");
    params.try_into().map_err(wrong)
}

/// A parameter that is a small number.
pub(super) fn small(name: &'static str, got: u64) -> Result<u32, FormatError> {
    u32::try_from(got).map_err(|_| FormatError::field(name, got, "within its limit"))
}

/// The wish a filter was made to.
pub(super) fn spec(header: &Header, scheme: Native) -> Result<Spec, FormatError> {
    field_spec(header.capacity, header.fpr, scheme)
}

/// A wish as two fields spell it.
pub(super) fn field_spec(capacity: u64, fpr: f64, scheme: Native) -> Result<Spec, FormatError> {
    let wrong = |error: SpecError| FormatError::field("capacity and rate", error, "a valid wish");
    Spec::new(capacity, fpr).map(|spec| spec.with_scheme(scheme)).map_err(wrong)
}

impl<B: AsRef<[u8]>> Stored for Classic<Native, B> {
    fn outline(&self) -> Outline<'_> {
        let (shape, scheme) = (self.shape(), *self.scheme());
        let array = array([shape.bits, shape.probes.into()], self.as_bytes());
        outline(Kind::Classic, (self.capacity(), self.fpr()), scheme, self.keys(), array)
    }
}

/// An array with its parameters.
fn array<const N: usize>(params: [u64; N], bytes: &[u8]) -> Array<'_> {
    Array { params: params.to_vec(), bytes: Cow::Borrowed(bytes) }
}

/// What is written of a filter with one array.
fn outline(
    kind: Kind,
    (capacity, fpr): (u64, f64),
    scheme: Native,
    keys: u64,
    array: Array<'_>,
) -> Outline<'_> {
    Outline {
        kind,
        scheme: scheme.id(),
        fingerprint: scheme.fingerprint(),
        scheme_data: &[],
        capacity,
        fpr,
        keys: keys.min(MAX_KEYS),
        params: Vec::new(),
        arrays: vec![array],
    }
}

pub(super) fn wish(spec: Spec) -> (u64, f64) {
    (spec.capacity(), spec.fpr())
}

pub(super) fn classic<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Classic<Native, T>, FormatError> {
    let ([bits, probes], section) = only(header, sections)?;
    let shape = ClassicShape { bits, probes: small("probes", probes)? };
    // Nobody sets them, so they would be counted as keys and lost when written again.
    let spare = bits % 8;
    let last = section.as_ref().last().copied().unwrap_or(0);
    if spare != 0 && last >> spare != 0 {
        return Err(FormatError::field("bits past the last", last >> spare, "zero"));
    }
    let filter = shape.is_valid().then(|| Classic::from_parts(scheme, shape, section)).flatten();
    let filter = filter.ok_or_else(|| {
        let got = format!("{bits} bits, {probes} probes");
        FormatError::field("shape", got, "as many bits as there are, and 1 to 64 probes")
    })?;
    Ok(filter.made_for(header.capacity, header.fpr, header.keys))
}

impl<B: AsRef<[u8]>> Stored for Blocked<B> {
    fn outline(&self) -> Outline<'_> {
        let array = array(line_params(self.shape()), self.as_bytes());
        outline(Kind::Blocked, wish(self.spec()), self.scheme(), self.keys(), array)
    }
}

pub(super) fn line_params(shape: BlockedShape) -> [u64; 3] {
    [shape.lines, shape.lines_per_key.into(), shape.probes_per_line.into()]
}

pub(super) fn blocked<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Blocked<T>, FormatError> {
    let (params, section) = only(header, sections)?;
    lines(spec(header, scheme)?, header.keys, params, section)
}

/// A filter of lines, alone or as a part of another.
pub(super) fn lines<T: AsRef<[u8]>>(
    spec: Spec,
    keys: u64,
    [lines, lines_per_key, probes_per_line]: [u64; 3],
    section: T,
) -> Result<Blocked<T>, FormatError> {
    let shape = BlockedShape {
        lines,
        lines_per_key: small("lines a key", lines_per_key)?,
        probes_per_line: small("probes a line", probes_per_line)?,
    };
    // A line count past 2⁵⁵ would wrap or saturate into one that fits.
    let whole = lines.checked_mul(64) == Some(section.as_ref().len() as u64);
    whole.then(|| Blocked::from_parts(spec, shape, keys, section)).flatten().ok_or_else(|| {
        let got = format!("{lines} lines, {lines_per_key} a key, {probes_per_line} probes");
        FormatError::field("shape", got, "as many lines as there are, 1 to 4 a key, 1 to 16 probes")
    })
}

impl<B: AsRef<[u8]>> Stored for Counting<B> {
    fn outline(&self) -> Outline<'_> {
        let shape = self.shape();
        let array = array([shape.bits, shape.probes.into()], self.as_bytes());
        outline(Kind::Counting, wish(self.spec()), self.scheme(), self.keys(), array)
    }
}

pub(super) fn counting<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Counting<T>, FormatError> {
    let ([counters, probes], section) = only(header, sections)?;
    let shape = ClassicShape { bits: counters, probes: small("probes", probes)? };
    let spec = spec(header, scheme)?;
    Counting::from_parts(spec, shape, header.keys, section).ok_or_else(|| {
        let got = format!("{counters} counters, {probes} probes");
        let need = "as many counters as there are, zero past the last, and 1 to 64 probes";
        FormatError::field("shape", got, need)
    })
}

impl<B: AsRef<[u8]>> Stored for Fuse<B> {
    fn outline(&self) -> Outline<'_> {
        let array = array([self.shards(), self.width().into()], self.as_bytes());
        outline(Kind::Fuse, wish(self.spec()), self.scheme(), self.keys(), array)
    }
}

pub(super) fn fuse<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Fuse<T>, FormatError> {
    let ([shards, width], section) = only(header, sections)?;
    let (spec, small_width) = (spec(header, scheme)?, small("width", width)?);
    Fuse::from_bytes(spec, header.keys, shards, small_width, section).ok_or_else(|| {
        let got = format!("{shards} shards of {width} bits");
        FormatError::field("shape", got, "as its directory says, 1 to 32 bits wide")
    })
}

#[cfg(feature = "bitmap")]
impl Stored for Bitmap {
    fn outline(&self) -> Outline<'_> {
        Outline {
            kind: Kind::Bitmap,
            scheme: SchemeId::EXACT,
            fingerprint: 0,
            scheme_data: &[],
            capacity: 0,
            fpr: 0.0,
            keys: self.keys().min(MAX_KEYS),
            params: Vec::new(),
            arrays: vec![Array { params: Vec::new(), bytes: Cow::Owned(self.to_bytes()) }],
        }
    }
}

#[cfg(feature = "bitmap")]
pub(super) fn bitmap<T: AsRef<[u8]>>(
    header: &Header,
    _: Native,
    sections: Vec<T>,
) -> Result<Bitmap, FormatError> {
    let ([], section) = only(header, sections)?;
    // Nothing is asked for and nothing hashed, so there is one way to spell these.
    if (header.capacity, header.fpr.to_bits(), header.fingerprint) != (0, 0, 0) {
        return Err(FormatError::field("capacity, rate or seed", "not 0", "0 in an exact set"));
    }
    let ids = Bitmap::from_bytes(section.as_ref())
        .ok_or_else(|| FormatError::field("ids", "not a set", "in Roaring's portable format"))?;
    if ids.keys() != header.keys {
        return Err(FormatError::field("keys", header.keys, "as many as there are"));
    }
    Ok(ids)
}

impl<T: AsRef<[u8]>> AnyFilter<T> {
    /// The filter of a header over its arrays.
    pub(super) fn build(
        header: &Header,
        scheme: Native,
        sections: Vec<T>,
    ) -> Result<AnyFilter<T>, FormatError> {
        match header.kind {
            Kind::Classic => classic(header, scheme, sections).map(AnyFilter::Classic),
            Kind::Blocked => blocked(header, scheme, sections).map(AnyFilter::Blocked),
            Kind::Counting => counting(header, scheme, sections).map(AnyFilter::Counting),
            Kind::Scalable => scalable(header, scheme, sections).map(AnyFilter::Scalable),
            Kind::Windowed => windowed(header, scheme, sections).map(AnyFilter::Windowed),
            Kind::Fuse => fuse(header, scheme, sections).map(AnyFilter::Fuse),
            #[cfg(feature = "bitmap")]
            Kind::Bitmap => bitmap(header, scheme, sections).map(AnyFilter::Bitmap),
            #[cfg(not(feature = "bitmap"))]
            Kind::Bitmap => Err(FormatError::UnknownKind { id: Kind::Bitmap.id() }),
            Kind::Cascade => cascade(header, scheme, sections).map(AnyFilter::Cascade),
            Kind::Sharded => sharded(header, scheme, sections).map(AnyFilter::Sharded),
        }
    }
}

impl<B: AsRef<[u8]>> Stored for AnyFilter<B> {
    fn outline(&self) -> Outline<'_> {
        match self {
            AnyFilter::Classic(filter) => filter.outline(),
            AnyFilter::Blocked(filter) => filter.outline(),
            AnyFilter::Counting(filter) => filter.outline(),
            AnyFilter::Scalable(filter) => filter.outline(),
            AnyFilter::Windowed(filter) => filter.outline(),
            AnyFilter::Fuse(filter) => filter.outline(),
            AnyFilter::Cascade(filter) => filter.outline(),
            AnyFilter::Sharded(filter) => filter.outline(),
            #[cfg(feature = "bitmap")]
            AnyFilter::Bitmap(ids) => ids.outline(),
        }
    }
}
