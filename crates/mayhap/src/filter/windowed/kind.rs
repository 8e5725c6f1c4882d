//! `Windowed` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Windowed;
use crate::Key;
use crate::filter::each::{Change, NO_REMOVAL, Read, Reason, create_empty, merge_by_name};
use crate::filter::every_kind::{debug_of, is_compatible};
use crate::filter::hash_batch;
use crate::filter::stats::{LayerStats, WindowStats};
use crate::filter::trait_impls::{change, contains};
use crate::filter::{Blocked, Kind, KindSpec, Moment, Window};
use crate::format::fields::{
    header_spec, optimize_param, params, params_and_optimize, target_of, u32_param,
};
use crate::format::parts::{check_keys, layout_of_parts, part, part_array, parts};
use crate::format::{Codec, FileLayout, FormatError, GROWN_WINDOWS, Header};
use crate::hash::Hash;
use crate::kernel::Relocate;
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Windowed<B> {
    fn layout(&self) -> FileLayout<'_> {
        let window = self.window();
        let mut params =
            vec![window.generations().into(), window.ticks().unwrap_or(0), self.newest()];
        params.extend(optimize_param(self.spec()));
        let grown = self.most_layers() > 1;
        let arrays = (0..).zip(self.generations()).flat_map(|(place, layers)| {
            layers.iter().map(move |layer| {
                let mut array = part_array(layer);
                // Only where a burst is remembered: all else is as in version 1.
                array.params.extend(grown.then_some(place));
                array
            })
        });
        layout_of_parts(Kind::Windowed, self.spec(), self.keys(Moment::LAST), params, arrays)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([count, ticks, newest], optimize) = params_and_optimize(header)?;
        let window = match (u32_param("generations", count)?, ticks) {
            (count, 0) => Window::last_keys(count),
            (count, ticks) => Window::span(ticks, count),
        };
        let got = format!("{} filters for a window of {window}", arrays.len());
        let generations = generations(header, scheme, arrays)?;
        let spec = header_spec(header, scheme)?.with_optimize(optimize);
        let filter =
            Windowed::from_parts(spec, window, newest, generations).ok_or_else(|| {
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
    for (entry, array) in header.arrays.iter().zip(arrays) {
        let [own @ .., place] = params::<7>(&entry.params)?;
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
        return Err(wrong(header.arrays.len() as u64));
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

    fn keys(&self, now: Moment) -> u64 {
        self.keys(now)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn fill(&self, now: Moment) -> f64 {
        self.fill(now)
    }

    fn estimate(&self, now: Moment) -> u64 {
        self.estimate(now)
    }

    fn fpr_now(&self, now: Moment) -> f64 {
        self.fpr_now(now)
    }

    fn layer_count(&self) -> u64 {
        u64::from(self.window().generations()) + 1
    }

    fn layers(&self) -> Option<Vec<LayerStats>> {
        Some(self.generations().flatten().map(LayerStats::of_blocked).collect())
    }

    fn window(&self, now: Moment) -> Option<WindowStats> {
        let (ticks, generations) = (self.window().ticks(), self.window().generations());
        Some(WindowStats { ticks, generations, oldest: self.oldest(now) })
    }
}

// Generations are sized by the rate alone, as in a scalable filter.
create_empty!(Windowed, kind, spec, _bits => match *kind {
    KindSpec::Windowed(window) => Windowed::new(spec, window),
    _ => Windowed::new(spec, Window::last_keys(KindSpec::GENERATIONS)),
});

impl Change for Windowed {
    fn insert_key(&mut self, key: impl Key, now: Moment) -> Result<bool, Reason> {
        Ok(self.insert(key, now))
    }

    fn insert_batch(&mut self, hashes: &[Hash], now: Moment) -> Result<u64, Reason> {
        Ok(self.insert_batch(hashes, now))
    }

    fn insert_batch_new(
        &mut self,
        hashes: &[Hash],
        now: Moment,
        new: &mut Vec<bool>,
    ) -> Result<(), Reason> {
        self.insert_batch_new(hashes, now, new);
        Ok(())
    }

    fn remove_key(&mut self, _: impl Key) -> Result<bool, Reason> {
        Err(NO_REMOVAL)
    }

    fn clear(&mut self) -> Result<(), Reason> {
        self.clear();
        Ok(())
    }

    fn relocate(&mut self, memory: &mut Relocate<'_>) {
        self.relocate(memory);
    }
}
merge_by_name!(Windowed, Windowed<C>);

debug_of!(Windowed);
hash_batch!(Windowed<B>);
is_compatible! {
    Windowed [], ours, theirs => ours.check_like(theirs).is_ok();
}
contains! {
    [B: AsRef<[u8]>] Windowed<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, Moment::LAST, answers), key => filter.contains(key, Moment::LAST);
}
change! {
    [] Insert try_insert_bytes try_insert Windowed, filter, key => insert_without_clock(filter, key);
}

impl Windowed {
    /// An empty filter that remembers up to this many keys inside the window at a false-positive
    /// rate of `fpr`.
    pub fn with_rate(keys: u64, fpr: f64, window: Window) -> Result<Windowed, crate::SpecError> {
        Windowed::new(crate::Spec::new(keys, fpr)?, window)
    }
}

/// A key that came without the time would be forgotten too soon.
fn insert_without_clock(filter: &mut Windowed, key: impl Key) -> Result<bool, crate::Unsupported> {
    match filter.window().ticks() {
        Some(_) => Err(crate::Unsupported::new("windowed", crate::filter::any::NEEDS_TIME)),
        None => Ok(filter.insert(key, Moment::LAST)),
    }
}
