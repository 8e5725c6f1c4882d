//! Lines of text as a source of keys for filters.

use super::{CollectKeys, HashKeys, Hashes, KeyBuffer, KeyReader, KeysError, Task};
use crate::filter::{Each, HostError, KeySource, Tally, integer};
use mayhap::Hash;
use mayhap::scheme::Native;
use std::ops::{ControlFlow, Deref};

impl KeyReader {
    fn pass<T: Task>(
        &self,
        task: &T,
        mut each: impl FnMut(&mut T::Out) -> ControlFlow<()> + Send,
    ) -> Result<Tally, HostError> {
        self.run(task, |batch| Ok::<_, KeysError>(each(&mut batch.out))).map_err(HostError::new)
    }
}

impl KeySource for KeyReader {
    fn is_repeatable(&self) -> bool {
        self.is_rereadable()
    }

    fn count(&self) -> Result<Option<u64>, HostError> {
        if !self.is_rereadable() {
            return Ok(None);
        }
        KeyReader::count(self).map(Some).map_err(HostError::new)
    }

    fn hashes(&self, scheme: Native, each: &mut Each<'_, [Hash]>) -> Result<Tally, HostError> {
        self.pass(&HashKeys(scheme), |hashes| each(hashes.deref()))
    }

    fn hashes_unordered(
        &self,
        scheme: Native,
        each: &(dyn Fn(&[Hash]) + Sync),
    ) -> Result<Tally, HostError> {
        self.pass(&Unordered { scheme, each }, |_| ControlFlow::Continue(()))
    }

    fn keys(&self, each: &mut Each<'_, KeyBuffer>) -> Result<Tally, HostError> {
        self.pass(&CollectKeys, |keys| each(keys))
    }

    fn integers(&self, each: &mut Each<'_, [Option<u64>]>) -> Result<Tally, HostError> {
        self.pass(&Integers, |integers| each(integers))
    }
}

/// Hashes the keys of a block, then hands them to whoever takes them from any thread.
struct Unordered<'a> {
    scheme: Native,
    each: &'a (dyn Fn(&[Hash]) + Sync),
}

impl Task for Unordered<'_> {
    type Out = Hashes;

    fn begin(&self, out: &mut Hashes) {
        out.begin();
    }

    #[inline]
    fn key(&self, out: &mut Hashes, key: &[u8]) {
        out.key(&self.scheme, key);
    }

    fn end(&self, out: &mut Hashes) {
        out.end(&self.scheme);
        (self.each)(out);
    }
}

/// Keeps the integer that each key is.
struct Integers;

impl Task for Integers {
    type Out = Vec<Option<u64>>;

    fn begin(&self, out: &mut Vec<Option<u64>>) {
        out.clear();
    }

    fn key(&self, out: &mut Vec<Option<u64>>, key: &[u8]) {
        out.push(integer(key));
    }
}
