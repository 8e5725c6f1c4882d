//! The common shape of a foreign file: one array of bits, with something around it.

use crate::foreign::not_respelled;
use crate::{
    Bytes, Foreign, ForeignError, Format, Leaf, Parts, Reader, Summary, Variant, limits, pieces,
};
use mayhap::format::Array;
use mayhap::sizing::ClassicShape;
use mayhap::{ByteKeys, Classic, Pages, Scheme};
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::io::Write;
use std::ops::{Deref, DerefMut, Range};

/// What a format keeps beside its bits, and how it puts the two together.
///
/// A family of this shape is a frame and a scheme; opening, querying, inserting, merging, writing
/// and keeping it in our own file then follow.
pub trait Frame: Clone + fmt::Debug + Send + Sync + 'static {
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
        pieces::one_by_one(scheme)(keys, hashes);
    }

    /// Write the file.
    fn write(&self, content: &Content<'_>, to: &mut dyn Write) -> Result<(), ForeignError>;

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
pub type HashOf<F> = <<F as Frame>::Scheme as Scheme>::Hash;

/// What a frame goes around.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
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
pub enum Place {
    /// In the file, as the scheme wants them.
    At(Range<usize>),
    /// Taken out of text or compression.
    Own(Pages),
}

/// A file as its codec found it.
#[derive(Debug)]
pub struct Laid<F> {
    /// What is around the bits.
    pub frame: F,
    /// The bits.
    pub bits: Place,
    /// Probes a key.
    pub probes: u32,
    /// The keys it was made for, the rate, the keys counted in: 0 where the file does not say.
    pub made_for: (u64, f64, u64),
}

/// A filter with its frame: the engine's [`Classic`], which it dereferences to, and what its file
/// has beside the bits.
#[derive(Clone, Debug)]
pub struct Framed<F: Frame, B = Pages> {
    frame: F,
    filter: Classic<F::Scheme, B>,
}

impl<F: Frame> Framed<F> {
    /// An empty filter with so many bytes of bits.
    pub fn empty(
        frame: F,
        bytes: u64,
        probes: u32,
        (capacity, fpr): (u64, f64),
    ) -> Result<Framed<F>, ForeignError> {
        let bits = Pages::zeroed(bytes)?;
        Framed::assemble(frame, bits, probes, (capacity, fpr, 0))
    }

    /// Copy a filter out of a file that its codec has read.
    pub fn decode(laid: Laid<F>, file: &[u8]) -> Result<Framed<F>, ForeignError> {
        let bits = match laid.bits {
            Place::Own(bits) => bits,
            Place::At(range) => Pages::copy_of(file.get(range).unwrap_or_default())?,
        };
        Framed::assemble(laid.frame, bits, laid.probes, laid.made_for)
    }
}

impl<F: Frame, B: AsRef<[u8]>> Framed<F, B> {
    /// Put frame and bits together.
    pub fn assemble(
        frame: F,
        bits: B,
        probes: u32,
        (capacity, fpr, keys): (u64, f64, u64),
    ) -> Result<Framed<F, B>, ForeignError> {
        let count = bits.as_ref().len() as u64 * 8;
        let shape = ClassicShape { bits: count, probes };
        let filter = frame.scheme(count).and_then(|s| Classic::from_parts(s, shape, bits));
        let filter = filter.ok_or_else(|| {
            let got = format!("{count} bits, {probes} probes");
            ForeignError::field("shape", got, "at least one bit, and 1 to 2048 probes")
        })?;
        Ok(Framed { frame, filter: filter.made_for(capacity, fpr, keys) })
    }

    /// What the file has beside the bits.
    pub fn frame(&self) -> &F {
        &self.frame
    }

    /// The filter in memory of its own.
    pub fn to_owned(&self) -> Result<Framed<F>, ForeignError> {
        let bits = Pages::copy_of(self.as_bytes())?;
        let made_for = (self.capacity(), self.fpr(), self.keys());
        Framed::assemble(self.frame.clone(), bits, self.shape().probes, made_for)
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

    fn content(&self) -> Content<'_> {
        Content {
            bits: self.as_bytes(),
            probes: self.shape().probes,
            capacity: self.capacity(),
            fpr: self.fpr(),
            keys: self.keys(),
        }
    }

    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hash = |keys: &[&[u8]], hashes: &mut _| F::hash_keys(self.scheme(), keys, hashes);
        pieces::each(keys, answers, hash, |hashes, found| self.contains_batch(hashes, found));
    }
}

impl<F: Frame, B> Deref for Framed<F, B> {
    type Target = Classic<F::Scheme, B>;

    fn deref(&self) -> &Classic<F::Scheme, B> {
        &self.filter
    }
}

impl<F: Frame> DerefMut for Framed<F> {
    fn deref_mut(&mut self) -> &mut Classic<F::Scheme> {
        &mut self.filter
    }
}

/// A framed filter over bytes of its own, or over a file's until something is inserted.
#[derive(Clone, Debug)]
pub enum Flat<F: Frame> {
    /// In memory.
    Own(Framed<F>),
    /// In the file.
    Lent(Framed<F, Bytes>),
}

macro_rules! either {
    ($flat:expr, $filter:ident => $does:expr) => {
        match $flat {
            Flat::Own($filter) => $does,
            Flat::Lent($filter) => $does,
        }
    };
}

impl<F: Frame> Flat<F> {
    /// Use a file that its codec has read, in place where that is possible.
    pub fn open(laid: Laid<F>, file: &Bytes) -> Result<Flat<F>, ForeignError> {
        let Laid { frame, bits, probes, made_for } = laid;
        match bits {
            Place::Own(bits) => Framed::assemble(frame, bits, probes, made_for).map(Flat::Own),
            Place::At(range) => {
                let have = file.as_ref().len() as u64;
                let need = range.end as u64;
                let bits = file.slice(range);
                let bits = bits.ok_or(ForeignError::Truncated { field: "bits", need, have })?;
                Framed::assemble(frame, bits, probes, made_for).map(Flat::Lent)
            }
        }
    }

    /// Put together what [`Foreign::parts`] took apart.
    pub fn from_parts(
        format: Format,
        data: &mut Reader<'_>,
        leaves: Vec<Leaf>,
        made_for: (u64, f64, u64),
    ) -> Result<Flat<F>, ForeignError> {
        let count = leaves.len();
        let Ok([leaf]) = <[Leaf; 1]>::try_from(leaves) else {
            return Err(ForeignError::field("arrays", count, "1"));
        };
        let probes = limits::probes(leaf.params.get(1).copied().unwrap_or(0))?;
        let frame = F::from_data(format, data)?;
        Framed::assemble(frame, leaf.bytes, probes, made_for).map(Flat::Lent)
    }

    fn owned(&mut self) -> Result<&mut Framed<F>, ForeignError> {
        if let Flat::Lent(lent) = self {
            *self = Flat::Own(lent.to_owned()?);
        }
        match self {
            Flat::Own(own) => Ok(own),
            Flat::Lent(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
        }
    }

    fn frame(&self) -> &F {
        either!(self, filter => filter.frame())
    }
}

impl<F: Frame> Foreign for Flat<F> {
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
            bits: filter.scheme().reach(filter.shape().bits),
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
        pieces::each(keys, new, hash, |hashes, new| filter.insert_batch_new(hashes, new));
        Ok(())
    }

    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError> {
        let Some(other) = (other as &dyn Any).downcast_ref::<Flat<F>>() else {
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

    fn respell(&mut self, variant: Variant) -> Result<(), ForeignError> {
        let format = self.frame().format();
        let frame = self.frame().in_variant(variant);
        let frame = frame.ok_or_else(|| not_respelled(format, variant))?;
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
