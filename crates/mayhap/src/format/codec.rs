//! Writing filters to files and reading them: the same for every kind.

use super::container::{Container, Section};
use super::error::FormatError;
use super::fields::expect_no_params;
use super::header::{ArrayHeader, Header, read_header};
use super::metadata::Metadata;
use super::reader::{ReadError, read_arrays};
use super::writer::{FileLayout, file_bytes, lay_out, lengths, write, write_range};
#[cfg(feature = "bitmap")]
use crate::filter::Bitmap;
use crate::filter::{AnyFilter, Kind, for_each_kind};
use crate::hash::Secret;
use crate::kernel::AlignedBuf;
use crate::scheme::{Native, SchemeId};
use std::io::{self, Read, Write};
use std::ops::Range;

/// What a kind writes in its file, and how it is read back. The code lives with the kind.
pub(crate) trait Codec<B>: Sized {
    /// Header fields and arrays.
    fn layout(&self) -> FileLayout<'_>;

    /// The filter of a header over its arrays. Whatever the bytes: an error or a usable filter.
    ///
    /// This is what opening in place costs, so it reads no array whole.
    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError>;

    /// The rest of the checks, for kinds whose arrays can be wrong though every checksum is right:
    /// done wherever a file is read whole.
    fn check_body(&self) -> Result<(), FormatError> {
        Ok(())
    }
}

/// The bytes of a file.
fn encoded(layout: &FileLayout<'_>, metadata: &Metadata) -> Vec<u8> {
    let bytes: usize = layout.arrays.iter().map(|array| array.bytes.len()).sum();
    let mut file = Vec::with_capacity(bytes + 8192);
    // A filter is within the limits of its layout, and writing to a vector cannot fail.
    write(&mut file, layout, metadata).expect("a filter's own layout is within its limits");
    file
}

/// Verify a whole file: every checksum, every length, every parameter. What passes can be opened
/// (given the secret, if it is keyed), and has not changed in a single bit since it was written.
///
/// ```
/// use mayhap::format::{self, FormatError, Metadata};
/// use mayhap::{Blocked, Spec};
/// let mut file = Blocked::new(Spec::new(1_000, 0.01)?)?.encode(&Metadata::new());
/// assert!(format::verify(&file).is_ok());
/// file[5_000] ^= 1;
/// assert_eq!(format::verify(&file), Err(FormatError::BodyChecksum { block: 0 }));
/// # Ok::<(), mayhap::SpecError>(())
/// ```
pub fn verify(bytes: &[u8]) -> Result<Header, FormatError> {
    let container = Container::open(bytes)?;
    container.verify()?;
    container.check_parameters()?;
    Ok(container.header().clone())
}

impl<B: AsRef<[u8]>> Container<B> {
    /// Check that the parameters are those of a filter, whoever has its secret. Together with
    /// [`verify`](Container::verify) this is all that [`verify`](verify()) does.
    pub fn check_parameters(&self) -> Result<(), FormatError> {
        let header = self.header();
        if header.scheme.0 >= SchemeId::FIRST_FOREIGN.0 && header.kind == Kind::Classic {
            return check_foreign(header);
        }
        check_scheme(header)?;
        // The secret decides answers, not whether a file is well made: any scheme will do.
        let any = Secret::from_bytes([0; 16]);
        let secret = header.is_keyed().then_some(any);
        let scheme = native(header, secret)?;
        AnyFilter::read(header, scheme, borrowed(self)?)?.check_body()
    }
}

impl<B: AsRef<[u8]>> AnyFilter<B> {
    /// What a file of this filter says of itself.
    pub fn header(&self, metadata: &Metadata) -> Header {
        let layout = self.layout();
        let header = lay_out(&layout, &lengths(&layout), metadata).ok();
        let header = header.and_then(|(header, _)| read_header(&header).ok());
        header.expect("a filter's own layout is within its limits")
    }
}

impl<B: AsRef<[u8]> + Clone> AnyFilter<Section<B>> {
    /// Open in place a filter whose header is parsed already. A secret is needed where the filter is
    /// keyed and refused where it is not.
    pub fn from_container(
        container: &Container<B>,
        secret: Option<Secret>,
    ) -> Result<Self, FormatError> {
        let header = container.header();
        AnyFilter::read(header, scheme(header, secret)?, sections(container)?)
    }
}

/// Whether the arrays of another program's filter have the stated lengths. Only its codec knows
/// what else its parameters and scheme data must be.
fn check_foreign(header: &Header) -> Result<(), FormatError> {
    expect_no_params(header)?;
    if header.arrays.is_empty() {
        return Err(FormatError::field("leaves", 0, "at least 1"));
    }
    for entry in &header.arrays {
        match entry.params[..] {
            [bits, probes, ..] if bits > 0 && probes > 0 && bits.div_ceil(8) == entry.bytes => {}
            _ => {
                let got = format!("{:?} for {} bytes", entry.params, entry.bytes);
                return Err(FormatError::field("shape", got, "as many bits as there are, probes"));
            }
        }
    }
    Ok(())
}

/// Whether the scheme is one of Mayhap's that suits the kind, in its canonical encoding.
fn check_scheme(header: &Header) -> Result<(), FormatError> {
    match (header.kind, header.scheme) {
        (Kind::Bitmap, SchemeId::EXACT) => {}
        (Kind::Bitmap, id) => return Err(FormatError::field("scheme", id.0, "0 in an exact set")),
        (_, id) if id.is_keyed() || id.has_seed() => {}
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
        (false, Some(_)) => Err(FormatError::NotKeyed),
        (true, None) => Err(FormatError::SecretNeeded),
        (true, Some(secret)) if secret.check() != header.seed_or_key_check => {
            Err(FormatError::WrongSecret)
        }
        _ => native(header, secret),
    }
}

/// The scheme that a header names, with this secret.
fn native(header: &Header, secret: Option<Secret>) -> Result<Native, FormatError> {
    if header.scheme == SchemeId::EXACT {
        return Ok(Native::default()); // which hashes nothing
    }
    let unknown = FormatError::UnknownScheme { id: header.scheme };
    Native::of_id(header.scheme, header.seed_or_key_check, secret).ok_or(unknown)
}

/// Fails if the file holds another kind than expected.
fn expect_kind(header: &Header, need: Option<Kind>) -> Result<(), FormatError> {
    match need {
        Some(need) if need != header.kind => Err(FormatError::WrongKind { got: header.kind, need }),
        _ => Ok(()),
    }
}

/// All arrays as slices.
fn borrowed<B: AsRef<[u8]>>(container: &Container<B>) -> Result<Vec<&[u8]>, FormatError> {
    let arrays = 0..container.header().arrays.len();
    arrays.map(|entry| container.bytes(entry).ok_or(FormatError::Footer)).collect()
}

/// All arrays in place (zero-copy).
fn sections<B: AsRef<[u8]> + Clone>(
    container: &Container<B>,
) -> Result<Vec<Section<B>>, FormatError> {
    let arrays = 0..container.header().arrays.len();
    arrays.map(|entry| container.section(entry).ok_or(FormatError::Footer)).collect()
}

/// All arrays copied.
fn copied<B: AsRef<[u8]>>(container: &Container<B>) -> Result<Vec<AlignedBuf>, FormatError> {
    let copy = |bytes: &[u8]| {
        let memory = |_| FormatError::Memory { bytes: bytes.len() as u64 };
        AlignedBuf::copy_of(bytes).map_err(memory)
    };
    borrowed(container)?.into_iter().map(copy).collect()
}

/// Writing: the same methods on every kind.
macro_rules! impl_write {
    ([$($bound:tt)*] $over:ty, $filter:ident => $layout:expr) => {
        impl $($bound)* $over {
            /// Encode a file with this filter and the metadata.
            pub fn encode(&self, metadata: &Metadata) -> Vec<u8> {
                let $filter = self;
                encoded(&$layout, metadata)
            }

            /// Write a file with this filter and the metadata, in one pass and without copying its
            /// bits.
            pub fn write_to(&self, to: impl Write, metadata: &Metadata) -> io::Result<()> {
                let $filter = self;
                write(to, &$layout, metadata)
            }

            /// The length of that file, without writing it.
            pub fn file_bytes(&self, metadata: &Metadata) -> u64 {
                let $filter = self;
                // A filter is within the limits of its layout.
                file_bytes(&$layout, metadata).unwrap_or(u64::MAX)
            }

            /// Write some bytes of that file: see [`write_range`](super::write_range).
            pub fn write_range_to(
                &self,
                to: impl Write,
                metadata: &Metadata,
                range: Range<u64>,
            ) -> io::Result<()> {
                let $filter = self;
                write_range(to, &$layout, metadata, range)
            }
        }
    };
}

/// Reading: in place, or into memory of its own.
macro_rules! impl_read {
    ($in_place:ty, $owned:ty, $kind:expr, $read:path) => {
        impl<B: AsRef<[u8]> + Clone> $in_place {
            /// Open a file in place (zero-copy): a slice, a shared vector, a mapped file. Header,
            /// lengths and footer are checked and the bits are not read, so this is instant
            /// whatever the size; [`verify`] reads everything.
            ///
            /// A secret is required if the filter is keyed and rejected if it is not.
            pub fn open(bytes: B, secret: Option<Secret>) -> Result<Self, FormatError> {
                let container = Container::open(bytes)?;
                let header = container.header();
                expect_kind(header, $kind)?;
                $read(header, scheme(header, secret)?, sections(&container)?)
            }
        }

        impl $owned {
            /// Copy a filter out of a file, after verifying every byte.
            ///
            /// A secret is required if the filter is keyed and rejected if it is not.
            pub fn decode(bytes: &[u8], secret: Option<Secret>) -> Result<Self, FormatError> {
                let container = Container::open(bytes)?;
                let header = container.header();
                expect_kind(header, $kind)?;
                container.verify()?;
                let scheme = scheme(header, secret)?;
                // Errors in a file are found before anything is copied.
                $read(header, scheme, borrowed(&container)?)?.check_body()?;
                $read(header, scheme, copied(&container)?)
            }

            /// Read a filter from a file, a socket or any other source, straight to where it stays:
            /// no second copy is made. Every byte is verified, and no byte behind the file is read.
            ///
            /// A secret is required if the filter is keyed and rejected if it is not.
            pub fn read_from(
                mut from: impl Read,
                secret: Option<Secret>,
            ) -> Result<Self, ReadError> {
                let (header, scheme, arrays) = read_arrays(&mut from, |header| {
                    expect_kind(header, $kind)?;
                    scheme(header, secret)
                })?;
                Ok($read(&header, scheme, arrays)?)
            }
        }
    };
}

macro_rules! impl_codecs {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        $(
            impl_write!([<B: AsRef<[u8]>>] $crate::filter::$Kind<$($param,)* B>, filter => Codec::<B>::layout(filter));
            impl_read!($crate::filter::$Kind<$($param,)* Section<B>>, $crate::filter::$Kind, Some(Kind::$Kind), read_kind::<_, $crate::filter::$Kind<$($param,)* _>>);
        )*
        $(
            #[cfg(feature = $feature)]
            impl_write!([] $crate::filter::$Copied, filter => Codec::<&[u8]>::layout(filter));
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
    /// Copy a filter whose header is parsed already out of its file. The bytes are not verified:
    /// see [`Container::verify`].
    pub fn copy_from<B: AsRef<[u8]>>(
        container: &Container<B>,
        secret: Option<Secret>,
    ) -> Result<AnyFilter, FormatError> {
        let header = container.header();
        let scheme = scheme(header, secret)?;
        // What is wrong with a file is found before anything is copied.
        AnyFilter::read(header, scheme, borrowed(container)?)?.check_body()?;
        AnyFilter::read(header, scheme, copied(container)?)
    }

    /// Whether [`decode`](AnyFilter::decode) would give a filter: every byte is checked, nothing
    /// copied.
    pub fn check(bytes: &[u8], secret: Option<Secret>) -> Result<(), FormatError> {
        let container = Container::open(bytes)?;
        container.verify()?;
        let header = container.header();
        AnyFilter::read(header, scheme(header, secret)?, borrowed(&container)?)?.check_body()
    }

    /// Move a filter out of the end of `bytes`: the file from byte `from` on, after verifying every
    /// byte. What was moved is removed from `bytes`, and its memory freed while the copy is made,
    /// so that the two together never take much more than one. On an error nothing is moved.
    pub fn decode_draining(
        bytes: &mut Vec<u8>,
        from: usize,
        secret: Option<Secret>,
    ) -> Result<AnyFilter, FormatError> {
        let file = bytes.get(from..).unwrap_or_default();
        AnyFilter::check(file, secret)?;
        let container = Container::open(file)?;
        let header = container.header().clone();
        let scheme = scheme(&header, secret)?;
        // Everything that can fail comes first. Zeroed memory is not committed before it is written
        // to.
        let zeroed = |entry: &ArrayHeader| {
            AlignedBuf::zeroed(entry.bytes).map_err(|_| FormatError::Memory { bytes: entry.bytes })
        };
        let mut arrays = header.arrays.iter().map(zeroed).collect::<Result<Vec<_>, _>>()?;
        for (entry, array) in header.arrays.iter().zip(&mut arrays).rev() {
            // Verification has found that all of it is here.
            bytes.truncate(from.saturating_add((entry.at + entry.bytes) as usize));
            drain_tail(bytes, array.as_mut());
        }
        bytes.truncate(from);
        AnyFilter::read(&header, scheme, arrays)
    }
}

/// Fill `to` with the last bytes of `from`, which is truncated in steps from the end.
fn drain_tail(from: &mut Vec<u8>, to: &mut [u8]) {
    const CHUNK: usize = 16 << 20;
    for chunk in to.rchunks_mut(CHUNK) {
        let at = from.len().saturating_sub(chunk.len());
        chunk.copy_from_slice(&from[at..]);
        from.truncate(at);
        // Not for small ones: reallocating costs more than it frees.
        if from.capacity() - at >= CHUNK {
            from.shrink_to_fit();
        }
    }
}

#[cfg(feature = "bitmap")]
impl Bitmap {
    /// Read a set from a file, after verifying every byte.
    pub fn decode(bytes: &[u8]) -> Result<Bitmap, FormatError> {
        let container = Container::open(bytes)?;
        let header = container.header();
        expect_kind(header, Some(Kind::Bitmap))?;
        container.verify()?;
        Codec::read(header, scheme(header, None)?, borrowed(&container)?)
    }

    /// Read a set from a file, a socket or any other source, after verifying every byte.
    pub fn read_from(mut from: impl Read) -> Result<Bitmap, ReadError> {
        let (header, scheme, arrays) = read_arrays(&mut from, |header| {
            expect_kind(header, Some(Kind::Bitmap))?;
            scheme(header, None)
        })?;
        Ok(Codec::read(&header, scheme, arrays)?)
    }
}
