//! `Windowed` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Windowed;
use crate::Key;
use crate::filter::each::{Change, NO_REMOVAL, Read, Reason, merge_by_name};
use crate::filter::{Blocked, Kind, Moment, Window};
use crate::format::fields::{header_spec, params, target_of, u32_param};
use crate::format::parts::{check_keys, outline_of_parts, part, part_array, parts};
use crate::format::{Codec, FormatError, GROWN_WINDOWS, Header, Outline};
use crate::hash::Hash;
use crate::kernel::Mover;
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Windowed<B> {
    fn layout(&self) -> Outline<'_> {
        let window = self.window();
        let params = vec![window.generations().into(), window.ticks().unwrap_or(0), self.newest()];
        let grown = self.most_layers() > 1;
        let arrays = (0..).zip(self.generations()).flat_map(|(place, layers)| {
            layers.iter().map(move |layer| {
                let mut array = part_array(layer);
                // Only where a burst is remembered: all else is as in version 1.
                array.params.extend(grown.then_some(place));
                array
            })
        });
        outline_of_parts(Kind::Windowed, self.spec(), self.keys(Moment::LAST), params, arrays)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let [count, ticks, newest] = params(&header.params)?;
        let window = match (u32_param("generations", count)?, ticks) {
            (count, 0) => Window::last_keys(count),
            (count, ticks) => Window::span(ticks, count),
        };
        let got = format!("{} filters for a window of {window}", arrays.len());
        let generations = generations(header, scheme, arrays)?;
        let filter = Windowed::from_parts(header_spec(header, scheme)?, window, newest, generations)
            .ok_or_else(|| {
                let need = "1 to 1024 of at least a tick, and one more, all alike, keys and capacities that fit";
                FormatError::field("generations", got, need)
            })?;
        check_keys(header, filter.keys(Moment::LAST))?;
        Ok(filter)
    }
}

/// The layers of each generation. Files of version 2 say of every array which generation it belongs
/// to; before, there was one for each.
fn generations<B: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    arrays: Vec<B>,
) -> Result<Vec<Vec<Blocked<B>>>, FormatError> {
    if header.version < GROWN_WINDOWS {
        let layers = parts(header, scheme, arrays)?;
        return Ok(layers.into_iter().map(|layer| vec![layer]).collect());
    }
    let wrong = |got| FormatError::field("generation of an array", got, "in order, one of several");
    let mut generations: Vec<Vec<Blocked<B>>> = Vec::new();
    for (leaf, array) in header.leaves.iter().zip(arrays) {
        let [own @ .., place] = params::<7>(&leaf.params)?;
        let next = generations.len() as u64;
        if place == next {
            generations.push(Vec::new());
        }
        let layers =
            generations.last_mut().filter(|_| place == next || place.checked_add(1) == Some(next));
        layers.ok_or_else(|| wrong(place))?.push(part(&own, scheme, array)?);
    }
    // One encoding: a window without bursts is of version 1.
    if generations.iter().all(|layers| layers.len() == 1) {
        return Err(wrong(header.leaves.len() as u64));
    }
    Ok(generations)
}

impl<B: AsRef<[u8]>> Read for Windowed<B> {
    fn scheme(&self) -> Option<Native> {
        Some(self.scheme())
    }

    fn contains_key(&self, key: impl Key, now: Moment) -> bool {
        self.contains(key, now)
    }

    fn contains_hash(&self, hash: Hash, now: Moment) -> Result<bool, Reason> {
        Ok(self.contains_hash(hash, now))
    }

    fn contains_batch(
        &self,
        hashes: &[Hash],
        now: Moment,
        answers: &mut Vec<bool>,
    ) -> Result<(), Reason> {
        self.contains_batch(hashes, now, answers);
        Ok(())
    }

    fn target(&self) -> (u64, f64) {
        target_of(self.spec())
    }

    fn keys(&self) -> u64 {
        self.keys(Moment::LAST)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn fill(&self) -> f64 {
        self.fill(Moment::LAST)
    }

    fn estimate(&self) -> u64 {
        self.estimate(Moment::LAST)
    }

    fn fpr_now(&self) -> f64 {
        self.fpr_now(Moment::LAST)
    }
}

impl Change for Windowed {
    fn insert_key(&mut self, key: impl Key, now: Moment) -> Result<bool, Reason> {
        Ok(self.insert(key, now))
    }

    fn insert_batch(&mut self, hashes: &[Hash], now: Moment) -> Result<u64, Reason> {
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
