//! `Windowed` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Windowed;
use crate::Key;
use crate::filter::each::{Change, NO_REMOVAL, Read, Reason, merge_by_name};
use crate::filter::{Kind, Window};
use crate::format::fields::{header_spec, params, target_of, u32_param};
use crate::format::parts::{check_keys, outline_of_parts, part_array, parts};
use crate::format::{Codec, FormatError, Header, Outline};
use crate::hash::Hash;
use crate::kernel::Mover;
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Windowed<B> {
    fn layout(&self) -> Outline<'_> {
        let window = self.window();
        let params = vec![window.generations().into(), window.ticks().unwrap_or(0), self.newest()];
        let arrays = self.generations().map(part_array);
        outline_of_parts(Kind::Windowed, self.spec(), self.keys(0), params, arrays)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let [count, ticks, newest] = params(&header.params)?;
        let window = match (u32_param("generations", count)?, ticks) {
            (count, 0) => Window::last_keys(count),
            (count, ticks) => Window::span(ticks, count),
        };
        let generations = parts(header, scheme, arrays)?;
        let got = format!("{} filters for a window of {window}", generations.len());
        let filter =
            Windowed::from_parts(header_spec(header, scheme)?, window, newest, generations)
                .ok_or_else(|| {
                    let need =
                        "1 to 1024 of at least a tick, and one more, all alike, keys that fit";
                    FormatError::field("generations", got, need)
                })?;
        check_keys(header, filter.keys(0))?;
        Ok(filter)
    }
}

impl<B: AsRef<[u8]>> Read for Windowed<B> {
    fn scheme(&self) -> Option<Native> {
        Some(self.scheme())
    }

    fn contains_key(&self, key: impl Key, now: u64) -> bool {
        self.contains(key, now)
    }

    fn contains_hash(&self, hash: Hash, now: u64) -> Result<bool, Reason> {
        Ok(self.contains_hash(hash, now))
    }

    fn contains_batch(
        &self,
        hashes: &[Hash],
        now: u64,
        answers: &mut Vec<bool>,
    ) -> Result<(), Reason> {
        self.contains_batch(hashes, now, answers);
        Ok(())
    }

    fn target(&self) -> (u64, f64) {
        target_of(self.spec())
    }

    fn keys(&self) -> u64 {
        self.keys(0)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn fill(&self) -> f64 {
        self.fill(0)
    }

    fn estimate(&self) -> u64 {
        self.estimate(0)
    }

    fn fpr_now(&self) -> f64 {
        self.fpr_now(0)
    }
}

impl Change for Windowed {
    fn insert_key(&mut self, key: impl Key, now: u64) -> Result<bool, Reason> {
        Ok(self.insert(key, now))
    }

    fn insert_batch(&mut self, hashes: &[Hash], now: u64) -> Result<u64, Reason> {
        Ok(self.insert_batch(hashes, now))
    }

    fn remove_key(&mut self, _: impl Key) -> Result<bool, Reason> {
        Err(NO_REMOVAL)
    }

    fn clear(&mut self) -> Result<(), Reason> {
        self.clear();
        Ok(())
    }

    fn move_arrays(&mut self, mover: &mut Mover<'_>) {
        self.move_arrays(mover);
    }
}
merge_by_name!(Windowed, Windowed<C>);
