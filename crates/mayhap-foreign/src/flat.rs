//! The common shape of a foreign file: one array of bits, with something around it.

use crate::foreign::no_such_variant;
use crate::{
    Bytes, Foreign, ForeignError, Format, Parts, Reader, StoredArray, Summary, Variant, chunked,
    limits,
};
use mayhap::Classic;
use mayhap::format::Array;
use mayhap::key::ByteKeys;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use mayhap::sizing::ClassicShape;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::ops::{Deref, DerefMut, Range};

/// What a format keeps beside its bits, and how it puts the two together.
///
/// A family of this shape is a frame and a scheme; opening, querying, inserting, merging, writing
/// and keeping it in our own file then follow.
pub trait FlatFormat: Clone + fmt::Debug + Send + Sync + 'static {
    /// How keys become positions in the array as it lies in the file.
    type Scheme: Scheme<Hash: Send, Keys = ByteKeys>
        + Clone
        + PartialEq
        + fmt::Debug
        + Send
        + Sync
        + 'static;

    /// The format it belongs to.
    fn format(&self) -> Format;

    /// The scheme of an array of so many bits (eight a byte). `None` where there is none.
    fn scheme(&self, bits: u64) -> Option<Self::Scheme>;

    /// Hash many keys: `hashes` is cleared and filled. One by one, unless a hash is such a long chain
    /// of steps that several keys are better hashed side by side.
    fn hash_keys(scheme: &Self::Scheme, keys: &[&[u8]], hashes: &mut Vec<HashOf<Self>>) {
        chunked::hash_each(scheme)(keys, hashes);
    }

    /// Write the file.
    fn write(&self, content: &FileContent<'_>, to: &mut dyn Write) -> Result<(), ForeignError>;

    /// The same filter in another format of the family. `None` where that is none of it.
    fn in_format(&self, format: Format) -> Option<Self>;

    /// The same filter in another form of its format. `None` where bits cannot go from one to the other.
    fn in_variant(&self, _: Variant) -> Option<Self> {
        None
    }

    /// Whether the file counts its keys.
    fn counts(&self) -> bool {
        false
    }

    /// What only this format knows, for people.
    fn details(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Itself as bytes, for our own file.
    fn data(&self) -> Vec<u8>;

    /// Itself from those bytes.
    fn from_data(format: Format, data: &mut Reader<'_>) -> Result<Self, ForeignError>;
}

/// What is left of a key of such a file after hashing.
pub type HashOf<F> = <<F as FlatFormat>::Scheme as Scheme>::Hash;

/// What a frame goes around.
#[derive(Clone, Copy, Debug)]
pub struct FileContent<'a> {
    /// The array, as the format lays it out.
    pub bits: &'a [u8],
    /// Probes a key.
    pub probes: u32,
    /// The keys it was made for; 0 where nobody said.
    pub capacity: u64,
    /// The rate it was made for; 0 where nobody said.
    pub fpr: f64,
    /// The keys counted in.
    pub keys: u64,
}

/// Where the bits of a file are.
#[derive(Debug)]
pub enum BitSource {
    /// In the file, as the scheme wants them.
    InFile(Range<usize>),
    /// Taken out of text or compression.
    Owned(AlignedBuf),
}

/// A file as its codec found it.
#[derive(Debug)]
pub struct ParsedLayout<F> {
    /// What is around the bits.
    pub frame: F,
    /// The bits.
    pub bits: BitSource,
    /// Probes a key.
    pub probes: u32,
    /// The keys it was made for, the rate, the keys counted in: 0 where the file does not say.
    pub target: (u64, f64, u64),
}

/// A filter with its frame: the engine's [`Classic`], which it dereferences to, and what its file
/// has beside the bits.
#[derive(Clone, Debug)]
pub struct FlatFilter<F: FlatFormat, B = AlignedBuf> {
    frame: F,
    filter: Classic<F::Scheme, B>,
}

impl<F: FlatFormat> FlatFilter<F> {
    /// An empty filter with so many bytes of bits.
    pub fn empty(
        frame: F,
        bytes: u64,
        probes: u32,
        (capacity, fpr): (u64, f64),
    ) -> Result<FlatFilter<F>, ForeignError> {
        let bits = AlignedBuf::zeroed(bytes)?;
        FlatFilter::assemble(frame, bits, probes, (capacity, fpr, 0))
    }

    /// Copy a filter out of a file that its codec has read.
    pub fn decode(laid: ParsedLayout<F>, file: &[u8]) -> Result<FlatFilter<F>, ForeignError> {
        let bits = match laid.bits {
            BitSource::Owned(bits) => bits,
            BitSource::InFile(range) => AlignedBuf::copy_of(file.get(range).unwrap_or_default())?,
        };
        FlatFilter::assemble(laid.frame, bits, laid.probes, laid.target)
    }
}

impl<F: FlatFormat, B: AsRef<[u8]>> FlatFilter<F, B> {
    /// Put frame and bits together.
    pub fn assemble(
        frame: F,
        bits: B,
        probes: u32,
        (capacity, fpr, keys): (u64, f64, u64),
    ) -> Result<FlatFilter<F, B>, ForeignError> {
        let count = bits.as_ref().len() as u64 * 8;
        let shape = ClassicShape::new(count, probes);
        let filter = frame.scheme(count).and_then(|s| Classic::from_parts(s, shape, bits));
        let filter = filter.ok_or_else(|| {
            let got = format!("{count} bits, {probes} probes");
            ForeignError::field("shape", got, "at least one bit, and 1 to 2048 probes")
        })?;
        Ok(FlatFilter { frame, filter: filter.with_target(capacity, fpr, keys) })
    }

    /// What the file has beside the bits.
    pub fn frame(&self) -> &F {
        &self.frame
    }

    /// The filter in memory of its own.
    pub fn to_owned(&self) -> Result<FlatFilter<F>, ForeignError> {
        let bits = AlignedBuf::copy_of(self.as_bytes())?;
        let target = (self.capacity(), self.fpr(), self.keys());
        FlatFilter::assemble(self.frame.clone(), bits, self.shape().probes, target)
    }

    /// The bytes of its file.
    pub fn encode(&self) -> Result<Vec<u8>, ForeignError> {
        let mut file = Vec::new();
        self.write_to(&mut file)?;
        Ok(file)
    }

    /// Write its file.
    pub fn write_to(&self, to: &mut dyn Write) -> Result<(), ForeignError> {
        self.frame.write(&self.content(), to)
    }

    fn content(&self) -> FileContent<'_> {
        FileContent {
            bits: self.as_bytes(),
            probes: self.shape().probes,
            capacity: self.capacity(),
            fpr: self.fpr(),
            keys: self.keys(),
        }
    }

    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hash = |keys: &[&[u8]], hashes: &mut _| F::hash_keys(self.scheme(), keys, hashes);
        chunked::each(keys, answers, hash, |hashes, found| self.contains_batch(hashes, found));
    }
}

impl<F: FlatFormat, B> Deref for FlatFilter<F, B> {
    type Target = Classic<F::Scheme, B>;

    fn deref(&self) -> &Classic<F::Scheme, B> {
        &self.filter
    }
}

impl<F: FlatFormat> DerefMut for FlatFilter<F> {
    fn deref_mut(&mut self) -> &mut Classic<F::Scheme> {
        &mut self.filter
    }
}

/// A framed filter over bytes of its own, or over a file's until something is inserted.
#[derive(Clone, Debug)]
pub enum CowFlat<F: FlatFormat> {
    /// In memory.
    Owned(FlatFilter<F>),
    /// In the file.
    Borrowed(FlatFilter<F, Bytes>),
}

macro_rules! either {
    ($flat:expr, $filter:ident => $does:expr) => {
        match $flat {
            CowFlat::Owned($filter) => $does,
            CowFlat::Borrowed($filter) => $does,
        }
    };
}

impl<F: FlatFormat> CowFlat<F> {
    /// Use a file that its codec has read, in place where that is possible.
    pub fn open(laid: ParsedLayout<F>, file: &Bytes) -> Result<CowFlat<F>, ForeignError> {
        let ParsedLayout { frame, bits, probes, target } = laid;
        match bits {
            BitSource::Owned(bits) => {
                FlatFilter::assemble(frame, bits, probes, target).map(CowFlat::Owned)
            }
            BitSource::InFile(range) => {
                let have = file.as_ref().len() as u64;
                let need = range.end as u64;
                let bits = file.slice(range);
                let bits = bits.ok_or(ForeignError::Truncated { field: "bits", need, have })?;
                FlatFilter::assemble(frame, bits, probes, target).map(CowFlat::Borrowed)
            }
        }
    }

    /// Put together what [`Foreign::parts`] took apart.
    pub fn from_parts(
        format: Format,
        data: &mut Reader<'_>,
        arrays: Vec<StoredArray>,
        target: (u64, f64, u64),
    ) -> Result<CowFlat<F>, ForeignError> {
        let count = arrays.len();
        let Ok([array]) = <[StoredArray; 1]>::try_from(arrays) else {
            return Err(ForeignError::field("arrays", count, "1"));
        };
        let probes = limits::probes(array.params.get(1).copied().unwrap_or(0))?;
        let frame = F::from_data(format, data)?;
        FlatFilter::assemble(frame, array.bytes, probes, target).map(CowFlat::Borrowed)
    }

    fn owned(&mut self) -> Result<&mut FlatFilter<F>, ForeignError> {
        if let CowFlat::Borrowed(lent) = self {
            *self = CowFlat::Owned(lent.to_owned()?);
        }
        match self {
            CowFlat::Owned(own) => Ok(own),
            CowFlat::Borrowed(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
        }
    }

    fn frame(&self) -> &F {
        either!(self, filter => filter.frame())
    }
}

impl<F: FlatFormat> Foreign for CowFlat<F> {
    fn summary(&self) -> Summary {
        let frame = self.frame();
        either!(self, filter => Summary {
            format: frame.format(),
            scheme: filter.scheme().id(),
            details: frame.details(),
            capacity: filter.capacity(),
            fpr: filter.fpr(),
            keys: frame.counts().then_some(filter.keys()),
            layers: 1,
            bits: filter.scheme().addressable_bits(filter.shape().bits),
            probes: filter.shape().probes,
            fill: filter.fill(),
            estimate: filter.estimate(),
            fpr_now: filter.fpr_now(),
        })
    }

    fn contains(&self, key: &[u8]) -> bool {
        either!(self, filter => filter.contains(key))
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        either!(self, filter => filter.contains_keys(keys, answers));
    }

    fn insert_batch(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        let filter = self.owned()?;
        let scheme = filter.scheme().clone();
        let hash = |keys: &[&[u8]], hashes: &mut _| F::hash_keys(&scheme, keys, hashes);
        chunked::each(keys, new, hash, |hashes, new| filter.insert_batch_new(hashes, new));
        Ok(())
    }

    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError> {
        let Some(other) = (other as &dyn Any).downcast_ref::<CowFlat<F>>() else {
            let (from, to) = (other.summary().format, self.frame().format());
            return Err(ForeignError::Untranslatable { from, to });
        };
        let ours = self.owned()?;
        either!(other, theirs => ours.filter.union(theirs))?;
        Ok(())
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        let from = self.frame().format();
        let frame = self.frame().in_format(format);
        let frame = frame.ok_or(ForeignError::Untranslatable { from, to: format })?;
        frame.write(&either!(self, filter => filter.content()), to)
    }

    fn set_variant(&mut self, variant: Variant) -> Result<(), ForeignError> {
        let format = self.frame().format();
        let frame = self.frame().in_variant(variant);
        let frame = frame.ok_or_else(|| no_such_variant(format, variant))?;
        either!(self, filter => filter.frame = frame);
        Ok(())
    }

    fn parts(&self) -> Parts<'_> {
        let frame = self.frame();
        either!(self, filter => Parts {
            format: frame.format(),
            scheme: filter.scheme().id(),
            data: frame.data(),
            capacity: filter.capacity(),
            fpr: filter.fpr(),
            keys: filter.keys(),
            arrays: vec![Array {
                params: vec![filter.shape().bits, filter.shape().probes.into()],
                bytes: Cow::Borrowed(filter.as_bytes()),
            }],
        })
    }
}
