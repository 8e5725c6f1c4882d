//! Keys, as often as they are asked for.

use crate::keys::KeyBuffer;
use mayhap::scheme::Native;
use mayhap::{Hash, Key};
use std::error::Error;
use std::fmt;
use std::ops::ControlFlow;

/// Where keys come from: files of lines, a slice, a column of a table.
///
/// One call of a closure per batch, so that what is done with a key inside is not behind a `dyn`.
/// Batches come in the order of the keys, one at a time, on any thread; a break ends the pass.
pub trait KeySource: Sync {
    /// Whether the keys can be asked for again: a pipe is read once.
    fn is_repeatable(&self) -> bool;

    /// At most how many distinct keys there are, where that can be found out without using them up.
    fn count(&self) -> Result<Option<u64>, HostError>;

    /// The hash of each key.
    fn hashes(&self, scheme: Native, each: &mut Each<'_, [Hash]>) -> Result<Tally, HostError>;

    /// The hash of each key, from many threads at once and in no order.
    fn hashes_unordered(
        &self,
        scheme: Native,
        each: &(dyn Fn(&[Hash]) + Sync),
    ) -> Result<Tally, HostError>;

    /// The bytes of each key.
    fn keys(&self, each: &mut Each<'_, KeyBuffer>) -> Result<Tally, HostError>;

    /// The integer that each key is, if it is one: eight bytes, little-endian.
    fn integers(&self, each: &mut Each<'_, [Option<u64>]>) -> Result<Tally, HostError> {
        let mut integers = Vec::new();
        self.keys(&mut |keys| {
            integers.clear();
            integers.extend(keys.iter().map(integer));
            each(&integers)
        })
    }
}

/// Takes a batch; a break ends the pass.
pub type Each<'a, T> = dyn FnMut(&T) -> ControlFlow<()> + Send + 'a;

/// The integer that a key is.
pub(crate) fn integer(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_le_bytes)
}

/// What went by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Records handed over.
    pub records: u64,
    /// Those of them that are keys as they are: their part cannot be normalized, or there is
    /// none and lines are taken as a whole then.
    pub unparsable: u64,
    /// Those of them that have no key.
    pub missing: u64,
}

impl std::ops::Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
            records: self.records + other.records,
            unparsable: self.unparsable + other.unparsable,
            missing: self.missing + other.missing,
        }
    }
}

/// An error of the host's own, from its [`KeySource`] or [`Lookup`](super::Lookup).
#[derive(Debug)]
pub struct HostError(Box<dyn Error + Send + Sync>);

impl HostError {
    /// What went wrong in the host.
    pub fn new(error: impl Error + Send + Sync + 'static) -> HostError {
        HostError(Box::new(error))
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for HostError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

/// Keys in memory: strings, byte strings, integers.
///
/// ```
/// use mayhap_store::{BuildSpec, Filter, Slice};
/// let built = Filter::build(&BuildSpec::default(), &Slice(&["ada", "eve"]))?;
/// assert_eq!(built.filter.info(0).keys, Some(2));
/// # Ok::<(), mayhap_store::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Slice<'a, K>(pub &'a [K]);

/// Keys of a batch.
const CHUNK: usize = 1024;

impl<K: Key + Sync> Slice<'_, K> {
    fn each_chunk(&self, mut each: impl FnMut(&[K]) -> ControlFlow<()>) -> Tally {
        let mut tally = Tally::default();
        for chunk in self.0.chunks(CHUNK) {
            tally.records += chunk.len() as u64;
            if each(chunk).is_break() {
                break;
            }
        }
        tally
    }
}

impl<K: Key + Sync> KeySource for Slice<'_, K> {
    fn is_repeatable(&self) -> bool {
        true
    }

    fn count(&self) -> Result<Option<u64>, HostError> {
        Ok(Some(self.0.len() as u64))
    }

    fn hashes(&self, scheme: Native, each: &mut Each<'_, [Hash]>) -> Result<Tally, HostError> {
        let mut hashes = Vec::new();
        Ok(self.each_chunk(|chunk| {
            hashes.clear();
            scheme.hash_batch(chunk, &mut hashes);
            each(&hashes)
        }))
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
        let mut keys = KeyBuffer::default();
        Ok(self.each_chunk(|chunk| {
            keys.clear();
            chunk.iter().for_each(|key| keys.push(key.key_bytes().as_ref()));
            each(&keys)
        }))
    }
}
