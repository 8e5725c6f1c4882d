//! What each kind writes in its file, and how it is read back.

use super::cascade::cascade;
use super::error::FormatError;
use super::header::{Header, Leaf, MAX_KEYS};
use super::layers::{scalable, sharded, windowed};
use super::notes::Notes;
use super::section::{Container, Section};
use super::writer::{Array, Outline, file_bytes, write, write_range};
#[cfg(feature = "bitmap")]
use crate::filter::Bitmap;
use crate::filter::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Kind, Scalable, Sharded, Windowed,
};
use crate::hash::Secret;
use crate::kernel::Pages;
use crate::scheme::{Native, Scheme, SchemeId};
use crate::sizing::{BlockedShape, ClassicShape};
use crate::spec::{Spec, SpecError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

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

/// Check a whole file: every checksum, every length, every parameter. What passes can be opened
/// (given the secret, if it is keyed), and was not changed in a single bit since it was written.
///
/// ```
/// use mayhap::format::{self, FormatError, Notes};
/// use mayhap::{Blocked, Spec};
/// let mut file = Blocked::new(Spec::new(1_000, 0.01)?)?.encode(&Notes::new());
/// assert!(format::verify(&file).is_ok());
/// file[5_000] ^= 1;
/// assert_eq!(format::verify(&file), Err(FormatError::BodyChecksum { block: 0 }));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub fn verify(bytes: &[u8]) -> Result<Header, FormatError> {
    let container = Container::open(bytes)?;
    container.verify()?;
    let header = container.header();
    if header.scheme.0 >= SchemeId::FIRST_FOREIGN.0 && header.kind == Kind::Classic {
        check_foreign(header)?;
        return Ok(header.clone());
    }
    check_scheme(header)?;
    // The secret decides answers, not whether a file is well made: any scheme will do.
    AnyFilter::build(header, Native::default(), borrowed(&container)?)?;
    Ok(header.clone())
}

/// Whether the arrays of another program's filter are as long as they say. What else its
/// parameters and scheme data must be only its codec knows.
fn check_foreign(header: &Header) -> Result<(), FormatError> {
    no_params(header)?;
    if header.leaves.is_empty() {
        return Err(FormatError::field("leaves", 0, "at least 1"));
    }
    for leaf in &header.leaves {
        match leaf.params[..] {
            [bits, probes, ..] if bits > 0 && probes > 0 && bits.div_ceil(8) == leaf.bytes => {}
            _ => {
                let got = format!("{:?} for {} bytes", leaf.params, leaf.bytes);
                return Err(FormatError::field("shape", got, "as many bits as there are, probes"));
            }
        }
    }
    Ok(())
}

/// Whether the scheme is one of ours that suits the kind, and spelled as we spell it.
fn check_scheme(header: &Header) -> Result<(), FormatError> {
    match (header.kind, header.scheme) {
        (Kind::Bitmap, SchemeId::EXACT) => {}
        (Kind::Bitmap, id) => return Err(FormatError::field("scheme", id.0, "0 in an exact set")),
        (_, SchemeId::XXH3 | SchemeId::SIP13) => {}
        (_, id) => return Err(FormatError::UnknownScheme { id }),
    }
    if !header.scheme_data.is_empty() {
        let got = header.scheme_data.len();
        return Err(FormatError::field("scheme data", got, "empty in our own schemes"));
    }
    Ok(())
}

/// The file's scheme, with the secret if it needs one.
fn scheme(header: &Header, secret: Option<Secret>) -> Result<Native, FormatError> {
    check_scheme(header)?;
    match (header.is_keyed(), secret) {
        (false, None) => Ok(Native::seeded(header.fingerprint)),
        (false, Some(_)) => Err(FormatError::NotKeyed),
        (true, None) => Err(FormatError::SecretNeeded),
        (true, Some(secret)) if secret.check() == header.fingerprint => Ok(Native::keyed(secret)),
        (true, Some(_)) => Err(FormatError::WrongSecret),
    }
}

/// Fails where a certain kind is wanted and another is here.
fn expect_kind(header: &Header, need: Option<Kind>) -> Result<(), FormatError> {
    match need {
        Some(need) if need != header.kind => Err(FormatError::WrongKind { got: header.kind, need }),
        _ => Ok(()),
    }
}

/// All arrays as slices.
fn borrowed<'a>(container: &Container<&'a [u8]>) -> Result<Vec<&'a [u8]>, FormatError> {
    let leaves = 0..container.header().leaves.len();
    leaves.map(|leaf| container.slice(leaf).ok_or(FormatError::Footer)).collect()
}

/// All arrays where they lie.
fn sections<B: AsRef<[u8]> + Clone>(
    container: &Container<B>,
) -> Result<Vec<Section<B>>, FormatError> {
    let leaves = 0..container.header().leaves.len();
    leaves.map(|leaf| container.section(leaf).ok_or(FormatError::Footer)).collect()
}

/// All arrays copied.
fn copied(container: &Container<&[u8]>) -> Result<Vec<Pages>, FormatError> {
    let copy = |bytes: &[u8]| {
        let memory = |_| FormatError::Memory { bytes: bytes.len() as u64 };
        Pages::copy_of(bytes).map_err(memory)
    };
    borrowed(container)?.into_iter().map(copy).collect()
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

fn no_params(header: &Header) -> Result<(), FormatError> {
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

fn classic<T: AsRef<[u8]>>(
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

fn blocked<T: AsRef<[u8]>>(
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

fn counting<T: AsRef<[u8]>>(
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

fn fuse<T: AsRef<[u8]>>(
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
fn bitmap<T: AsRef<[u8]>>(
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
    fn build(
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

/// The doors out: the same words on each.
macro_rules! doors_out {
    ([$($bound:tt)*] $over:ty) => {
        impl $($bound)* $over {
            /// The bytes of a file that holds this filter and the notes.
            pub fn encode(&self, notes: &Notes) -> Vec<u8> {
                self.encoded(notes)
            }

            /// Write a file that holds this filter and the notes, in one pass and without a
            /// copy of its bits.
            pub fn write_to(&self, to: impl Write, notes: &Notes) -> io::Result<()> {
                write(to, &self.outline(), notes)
            }

            /// How long that file is, without writing it.
            pub fn file_bytes(&self, notes: &Notes) -> u64 {
                // A filter keeps the limits of its outline.
                file_bytes(&self.outline(), notes).unwrap_or(u64::MAX)
            }

            /// Write some bytes of that file: see [`write_range`](super::write_range).
            pub fn write_range_to(
                &self,
                to: impl Write,
                notes: &Notes,
                range: Range<u64>,
            ) -> io::Result<()> {
                write_range(to, &self.outline(), notes, range)
            }
        }
    };
}

macro_rules! open {
    ($section:ty, $kind:expr, $build:path) => {
        impl<B: AsRef<[u8]> + Clone> $section {
            /// Open a file in place: a slice, a shared vector, a mapped file. Header, lengths
            /// and footer are checked and the bits are not read, so this is instant whatever
            /// the size; [`verify`] reads everything.
            ///
            /// A secret is needed where the filter is keyed and refused where it is not.
            pub fn open(bytes: B, secret: Option<Secret>) -> Result<Self, FormatError> {
                let container = Container::open(bytes)?;
                let header = container.header();
                expect_kind(header, $kind)?;
                $build(header, scheme(header, secret)?, sections(&container)?)
            }
        }
    };
}

macro_rules! decode {
    ($owned:ty, $kind:expr, $build:path) => {
        impl $owned {
            /// Copy a filter out of a file, every byte of which is checked first.
            ///
            /// A secret is needed where the filter is keyed and refused where it is not.
            pub fn decode(bytes: &[u8], secret: Option<Secret>) -> Result<Self, FormatError> {
                let container = Container::open(bytes)?;
                let header = container.header();
                expect_kind(header, $kind)?;
                container.verify()?;
                let scheme = scheme(header, secret)?;
                // What is wrong with a file is found before anything is copied.
                $build(header, scheme, borrowed(&container)?)?;
                $build(header, scheme, copied(&container)?)
            }
        }
    };
}

macro_rules! doors {
    ($($filter:ident $(<$scheme:ident>)?, $kind:expr, $build:path;)*) => {$(
        doors_out!([<B: AsRef<[u8]>>] $filter<$($scheme,)? B>);
        open!($filter<$($scheme,)? Section<B>>, $kind, $build);
        decode!($filter, $kind, $build);
    )*};
}

doors! {
    Classic<Native>, Some(Kind::Classic), classic;
    Blocked, Some(Kind::Blocked), blocked;
    Counting, Some(Kind::Counting), counting;
    Scalable, Some(Kind::Scalable), scalable;
    Windowed, Some(Kind::Windowed), windowed;
    Fuse, Some(Kind::Fuse), fuse;
    Cascade, Some(Kind::Cascade), cascade;
    Sharded, Some(Kind::Sharded), sharded;
    AnyFilter, None, AnyFilter::build;
}

impl AnyFilter {
    /// Whether [`decode`](AnyFilter::decode) would give a filter: every byte is checked, nothing
    /// copied.
    pub fn check(bytes: &[u8], secret: Option<Secret>) -> Result<(), FormatError> {
        let container = Container::open(bytes)?;
        container.verify()?;
        let header = container.header();
        AnyFilter::build(header, scheme(header, secret)?, borrowed(&container)?).map(drop)
    }

    /// Take a filter out of the end of `bytes`: the file from byte `from` on, every byte of which is
    /// checked first. What was taken is gone from `bytes`, and its memory given back while the
    /// copy is made, so that the two together never take much more than one. Where there is an
    /// error nothing is taken.
    pub fn take(
        bytes: &mut Vec<u8>,
        from: usize,
        secret: Option<Secret>,
    ) -> Result<AnyFilter, FormatError> {
        let file = bytes.get(from..).unwrap_or_default();
        AnyFilter::check(file, secret)?;
        let container = Container::open(file)?;
        let header = container.header().clone();
        let scheme = scheme(&header, secret)?;
        // All that can fail comes first. Memory is not there before it is written to.
        let zeroed = |leaf: &Leaf| {
            Pages::zeroed(leaf.bytes).map_err(|_| FormatError::Memory { bytes: leaf.bytes })
        };
        let mut arrays = header.leaves.iter().map(zeroed).collect::<Result<Vec<_>, _>>()?;
        for (leaf, array) in header.leaves.iter().zip(&mut arrays).rev() {
            // The check has found that all of it is here.
            bytes.truncate(from.saturating_add((leaf.at + leaf.bytes) as usize));
            pour(bytes, array.as_mut());
        }
        bytes.truncate(from);
        AnyFilter::build(&header, scheme, arrays)
    }
}

/// Fill `to` with the last bytes of `from`, which loses them, piece by piece from the end.
fn pour(from: &mut Vec<u8>, to: &mut [u8]) {
    const PIECE: usize = 16 << 20;
    for piece in to.rchunks_mut(PIECE) {
        let at = from.len().saturating_sub(piece.len());
        piece.copy_from_slice(&from[at..]);
        from.truncate(at);
        // Not for small ones: giving back costs more than it gives.
        if from.capacity() - at >= PIECE {
            from.shrink_to_fit();
        }
    }
}

#[cfg(feature = "bitmap")]
doors_out!([] Bitmap);

#[cfg(feature = "bitmap")]
impl Bitmap {
    /// Read a set from a file, every byte of which is checked first.
    pub fn decode(bytes: &[u8]) -> Result<Bitmap, FormatError> {
        let container = Container::open(bytes)?;
        let header = container.header();
        expect_kind(header, Some(Kind::Bitmap))?;
        container.verify()?;
        bitmap(header, scheme(header, None)?, borrowed(&container)?)
    }
}
