//! Kinds that are made of several filters: one array for each.

use super::GROWN_WINDOWS;
use super::error::FormatError;
use super::header::{Header, MAX_KEYS};
use super::kinds::{Stored, field_spec, line_params, lines, params, small, spec, wish};
use super::writer::{Array, Outline};
use crate::filter::{Blocked, Kind, Moment, Scalable, Sharded, Window, Windowed};
use crate::scheme::{Native, Scheme};
use crate::sizing::MAX_SHARDS;
use crate::spec::Spec;
use std::borrow::Cow;

/// What is written of a filter in parts.
fn outline<'a>(
    kind: Kind,
    whole: Spec,
    keys: u64,
    params: Vec<u64>,
    arrays: impl Iterator<Item = Array<'a>>,
) -> Outline<'a> {
    let (capacity, fpr) = wish(whole);
    Outline {
        kind,
        scheme: whole.scheme().id(),
        fingerprint: whole.scheme().fingerprint(),
        scheme_data: &[],
        capacity,
        fpr,
        keys: keys.min(MAX_KEYS),
        params,
        arrays: arrays.collect(),
    }
}

/// A part as an array.
fn array<B: AsRef<[u8]>>(part: &Blocked<B>) -> Array<'_> {
    let (capacity, fpr) = wish(part.spec());
    let mut params = vec![capacity, fpr.to_bits(), part.keys().min(MAX_KEYS)];
    params.extend(line_params(part.shape()));
    Array { params, bytes: Cow::Borrowed(part.as_bytes()) }
}

/// All parts, in the order of the file.
fn parts<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Vec<Blocked<T>>, FormatError> {
    let leaves = header.leaves.iter().zip(sections);
    leaves.map(|(leaf, section)| part(&leaf.params, scheme, section)).collect()
}

/// One part, by the parameters of its array.
fn part<T: AsRef<[u8]>>(
    own: &[u64],
    scheme: Native,
    section: T,
) -> Result<Blocked<T>, FormatError> {
    let [capacity, fpr, keys, shape @ ..] = params::<6>(own)?;
    if keys > MAX_KEYS {
        return Err(FormatError::field("keys", keys, "at most 2^56"));
    }
    let spec = field_spec(capacity, f64::from_bits(fpr), scheme)?;
    lines(spec, keys, shape, section)
}

/// Fails unless the header counts as many keys as the parts do.
fn check_keys(header: &Header, keys: u64) -> Result<(), FormatError> {
    if header.keys == keys.min(MAX_KEYS) {
        return Ok(());
    }
    Err(FormatError::field("keys", header.keys, "the sum over its parts"))
}

impl<B: AsRef<[u8]>> Stored for Scalable<B> {
    fn outline(&self) -> Outline<'_> {
        let params = vec![self.growth().into()];
        outline(Kind::Scalable, self.spec(), self.keys(), params, self.layers().iter().map(array))
    }
}

pub(super) fn scalable<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Scalable<T>, FormatError> {
    let [growth] = params(&header.params)?;
    let layers = parts(header, scheme, sections)?;
    let got = format!("{} layers, growth {growth}", layers.len());
    let filter = Scalable::from_parts(spec(header, scheme)?, small("growth", growth)?, layers)
        .ok_or_else(|| {
            FormatError::field(
                "layers",
                got,
                "at least one, growth 2 to 1024, keys and capacities that fit",
            )
        })?;
    check_keys(header, filter.keys())?;
    Ok(filter)
}

impl<B: AsRef<[u8]>> Stored for Windowed<B> {
    fn outline(&self) -> Outline<'_> {
        let window = self.window();
        let params = vec![window.generations().into(), window.ticks().unwrap_or(0), self.newest()];
        let grown = self.most_layers() > 1;
        let arrays = (0..).zip(self.generations()).flat_map(|(place, layers)| {
            layers.iter().map(move |layer| {
                let mut array = array(layer);
                // Only where a burst is remembered: all else is as in version 1.
                array.params.extend(grown.then_some(place));
                array
            })
        });
        outline(Kind::Windowed, self.spec(), self.keys(Moment::LAST), params, arrays)
    }
}

pub(super) fn windowed<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Windowed<T>, FormatError> {
    let [count, ticks, newest] = params(&header.params)?;
    let window = match (small("generations", count)?, ticks) {
        (count, 0) => Window::last_keys(count),
        (count, ticks) => Window::span(ticks, count),
    };
    let got = format!("{} filters for a window of {window}", sections.len());
    let generations = generations(header, scheme, sections)?;
    let filter = Windowed::from_parts(spec(header, scheme)?, window, newest, generations)
        .ok_or_else(|| {
            let need = "1 to 1024 of at least a tick, and one more, all alike, keys and capacities that fit";
            FormatError::field("generations", got, need)
        })?;
    check_keys(header, filter.keys(Moment::LAST))?;
    Ok(filter)
}

/// The layers of each generation. Files of version 2 say of every array which generation it belongs
/// to; before, there was one for each.
fn generations<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Vec<Vec<Blocked<T>>>, FormatError> {
    if header.version < GROWN_WINDOWS {
        let layers = parts(header, scheme, sections)?;
        return Ok(layers.into_iter().map(|layer| vec![layer]).collect());
    }
    let wrong = |got| FormatError::field("generation of an array", got, "in order, one of several");
    let mut generations: Vec<Vec<Blocked<T>>> = Vec::new();
    for (leaf, section) in header.leaves.iter().zip(sections) {
        let [own @ .., place] = params::<7>(&leaf.params)?;
        let next = generations.len() as u64;
        if place == next {
            generations.push(Vec::new());
        }
        let layers =
            generations.last_mut().filter(|_| place == next || place.checked_add(1) == Some(next));
        layers.ok_or_else(|| wrong(place))?.push(part(&own, scheme, section)?);
    }
    // One spelling: a window without bursts is of version 1.
    if generations.iter().all(|layers| layers.len() == 1) {
        return Err(wrong(header.leaves.len() as u64));
    }
    Ok(generations)
}

/// The rule by which a hash finds its piece, the only one so far.
const SHARD_RULE: u64 = 1;

impl<B: AsRef<[u8]>> Stored for Sharded<B> {
    fn outline(&self) -> Outline<'_> {
        let part = self.shards().first().map_or(0, |shard| shard.spec().capacity());
        let params = vec![SHARD_RULE, self.shards().len() as u64, part];
        outline(Kind::Sharded, self.spec(), self.keys(), params, self.shards().iter().map(array))
    }
}

pub(super) fn sharded<T: AsRef<[u8]>>(
    header: &Header,
    scheme: Native,
    sections: Vec<T>,
) -> Result<Sharded<T>, FormatError> {
    let (count, part) = shards_of(header)?;
    let shards = parts(header, scheme, sections)?;
    let whole = spec(header, scheme)?;
    let fits = shards.len() == count as usize
        && shards.iter().all(|shard| wish(shard.spec()) == (part, whole.fpr()));
    let got = format!("{} pieces where {count} of {part} keys are meant", shards.len());
    let filter = fits.then(|| Sharded::from_parts(whole, shards)).flatten().ok_or_else(|| {
        FormatError::field("shards", got, "1 to 4096, all alike and of one rate, keys that fit")
    })?;
    check_keys(header, filter.keys())?;
    Ok(filter)
}

/// How many pieces a filter has, and what keys each is made for, from the parameters of its
/// header. The pieces themselves may be elsewhere.
pub fn shards_of(header: &Header) -> Result<(u32, u64), FormatError> {
    let [rule, count, part] = params(&header.params)?;
    if rule != SHARD_RULE {
        return Err(FormatError::field("shard rule", rule, "1: written by a newer release?"));
    }
    let count = small("shards", count)?;
    if !(1..=MAX_SHARDS).contains(&count) {
        return Err(FormatError::field("shards", count, "1 to 4096"));
    }
    Ok((count, part))
}

/// What is written where the pieces are elsewhere: the header of a filter in pieces, and no
/// arrays. [`shards_of`] reads it.
pub fn outline_of_shards(spec: Spec, shards: u32, shard_capacity: u64) -> Outline<'static> {
    let params = vec![SHARD_RULE, shards.into(), shard_capacity];
    outline(Kind::Sharded, spec, 0, params, std::iter::empty())
}
