//! How filters are written to files and read from them: the same for every kind.

use super::container::{Container, Section};
use super::error::FormatError;
use super::fields::expect_no_params;
use super::header::{Header, Leaf};
use super::notes::Notes;
use super::writer::{Outline, file_bytes, write, write_range};
#[cfg(feature = "bitmap")]
use crate::filter::Bitmap;
use crate::filter::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Kind, Ribbon, Scalable, Sharded,
    Windowed, for_each_kind,
};
use crate::hash::Secret;
use crate::kernel::Pages;
use crate::scheme::{Native, SchemeId};
use std::io::{self, Write};
use std::ops::Range;

/// What a kind writes in its file, and how it is read back. The code lives with the kind.
pub(crate) trait Codec<B>: Sized {
    /// Header fields and arrays.
    fn layout(&self) -> Outline<'_>;

    /// The filter of a header over its arrays. Whatever the bytes: an error or a filter that answers.
    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError>;
}

/// The bytes of a file.
fn encoded(layout: &Outline<'_>, notes: &Notes) -> Vec<u8> {
    let bytes: usize = layout.arrays.iter().map(|array| array.bytes.len()).sum();
    let mut file = Vec::with_capacity(bytes + 8192);
    // A filter keeps the limits of its layout and a vector takes everything.
    write(&mut file, layout, notes).expect("a filter's own layout is within its limits");
    file
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
    AnyFilter::read(header, Native::default(), borrowed(&container)?)?;
    Ok(header.clone())
}

/// Whether the arrays of another program's filter are as long as they say. What else its
/// parameters and scheme data must be only its codec knows.
fn check_foreign(header: &Header) -> Result<(), FormatError> {
    expect_no_params(header)?;
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

/// Writing: the same methods on every kind.
macro_rules! impl_write {
    ([$($bound:tt)*] $over:ty, $filter:ident => $layout:expr) => {
        impl $($bound)* $over {
            /// The bytes of a file that holds this filter and the notes.
            pub fn encode(&self, notes: &Notes) -> Vec<u8> {
                let $filter = self;
                encoded(&$layout, notes)
            }

            /// Write a file that holds this filter and the notes, in one pass and without a
            /// copy of its bits.
            pub fn write_to(&self, to: impl Write, notes: &Notes) -> io::Result<()> {
                let $filter = self;
                write(to, &$layout, notes)
            }

            /// How long that file is, without writing it.
            pub fn file_bytes(&self, notes: &Notes) -> u64 {
                let $filter = self;
                // A filter keeps the limits of its layout.
                file_bytes(&$layout, notes).unwrap_or(u64::MAX)
            }

            /// Write some bytes of that file: see [`write_range`](super::write_range).
            pub fn write_range_to(
                &self,
                to: impl Write,
                notes: &Notes,
                range: Range<u64>,
            ) -> io::Result<()> {
                let $filter = self;
                write_range(to, &$layout, notes, range)
            }
        }
    };
}

/// Reading: in place, or into memory of its own.
macro_rules! impl_read {
    ($in_place:ty, $owned:ty, $kind:expr, $read:path) => {
        impl<B: AsRef<[u8]> + Clone> $in_place {
            /// Open a file in place: a slice, a shared vector, a mapped file. Header, lengths
            /// and footer are checked and the bits are not read, so this is instant whatever
            /// the size; [`verify`] reads everything.
            ///
            /// A secret is needed where the filter is keyed and refused where it is not.
            pub fn open(bytes: B, secret: Option<Secret>) -> Result<Self, FormatError> {
                let container = Container::open(bytes)?;
                let header = container.header();
                expect_kind(header, $kind)?;
                $read(header, scheme(header, secret)?, sections(&container)?)
            }
        }

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
                $read(header, scheme, borrowed(&container)?).map(drop)?;
                $read(header, scheme, copied(&container)?)
            }
        }
    };
}

macro_rules! impl_codecs {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal $copied_about:literal;)* }
    ) => {
        $(
            impl_write!([<B: AsRef<[u8]>>] $Kind<$($param,)* B>, filter => Codec::<B>::layout(filter));
            impl_read!($Kind<$($param,)* Section<B>>, $Kind, Some(Kind::$Kind), read_kind::<_, $Kind<$($param,)* _>>);
        )*
        $(
            #[cfg(feature = $feature)]
            impl_write!([] $Copied, filter => Codec::<&[u8]>::layout(filter));
        )*
    };
}

for_each_kind!(impl_codecs);
impl_write!([<B: AsRef<[u8]>>] AnyFilter<B>, filter => filter.layout());
impl_read!(AnyFilter<Section<B>>, AnyFilter, None, AnyFilter::read);

fn read_kind<B, K: Codec<B>>(
    header: &Header,
    scheme: Native,
    arrays: Vec<B>,
) -> Result<K, FormatError> {
    K::read(header, scheme, arrays)
}

impl AnyFilter {
    /// Whether [`decode`](AnyFilter::decode) would give a filter: every byte is checked, nothing
    /// copied.
    pub fn check(bytes: &[u8], secret: Option<Secret>) -> Result<(), FormatError> {
        let container = Container::open(bytes)?;
        container.verify()?;
        let header = container.header();
        AnyFilter::read(header, scheme(header, secret)?, borrowed(&container)?).map(drop)
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
        AnyFilter::read(&header, scheme, arrays)
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
impl Bitmap {
    /// Read a set from a file, every byte of which is checked first.
    pub fn decode(bytes: &[u8]) -> Result<Bitmap, FormatError> {
        let container = Container::open(bytes)?;
        let header = container.header();
        expect_kind(header, Some(Kind::Bitmap))?;
        container.verify()?;
        Codec::read(header, scheme(header, None)?, borrowed(&container)?)
    }
}
