//! Many filters asked at once, on whichever thread has read the keys.

use super::{Body, Filter, HostError, integer};
use crate::exact::{ExactSet, HashKeys128};
use crate::keys::{CollectKeys, Hashes, KeyBuffer, Task};
use mayhap::cascade::DecidedBy;
use mayhap::scheme::Native;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Hash};

/// What a filter is asked with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Needs {
    /// Hashes of this scheme. Filters that hash alike share them.
    Hashes(Native),
    /// Integers: an exact set of them.
    Integers,
    /// The bytes of the keys: it hashes for itself.
    Keys,
}

/// The keys of a batch, as [`Needs`] asked for them.
#[derive(Clone, Copy, Debug)]
pub enum Prepared<'a> {
    /// Their hashes.
    Hashes(&'a [Hash]),
    /// The integers that they are, as far as they are any.
    Integers(&'a [Option<u64>]),
    /// Their bytes.
    Keys(&'a KeyBuffer),
}

/// What can be asked about keys: a [`Filter`], or one on a server.
pub trait Lookup: Sync {
    /// What it is asked with.
    fn needs(&self) -> Needs;

    /// Ask about a batch: `answers` is cleared and filled, one answer per key. On an error, what it
    /// answered must not be used.
    fn lookup(
        &self,
        keys: Prepared<'_>,
        now_ms: u64,
        answers: &mut Vec<bool>,
    ) -> Result<(), HostError>;

    /// What its answer about a hash rests on, where there is more than one ground for answers.
    fn evidence(&self, _: Hash) -> Option<DecidedBy> {
        None
    }

    /// How many copies of a key may be in, where copies are counted.
    fn copies(&self, _: Hash) -> Option<u64> {
        None
    }
}

impl Lookup for Filter {
    fn needs(&self) -> Needs {
        let scheme = match &self.body {
            Body::Mapped(filter) => filter.scheme(),
            Body::Owned(filter) => filter.scheme(),
            Body::Foreign(_) => return Needs::Keys,
        };
        // Only exact sets do not hash.
        scheme.map_or(Needs::Integers, Needs::Hashes)
    }

    fn lookup(
        &self,
        keys: Prepared<'_>,
        now_ms: u64,
        answers: &mut Vec<bool>,
    ) -> Result<(), HostError> {
        match &self.body {
            Body::Mapped(filter) => lookup(filter, keys, now_ms, answers)?,
            Body::Owned(filter) => lookup(filter, keys, now_ms, answers)?,
            Body::Foreign(filter) => match keys {
                Prepared::Keys(keys) => filter.contains_all(keys.iter(), answers),
                _ => answers.clear(),
            },
        }
        self.check_unchanged().map_err(HostError::new)
    }

    fn evidence(&self, hash: Hash) -> Option<DecidedBy> {
        match &self.body {
            Body::Mapped(AnyFilter::Cascade(cascade)) => Some(cascade.decide_hash(hash).1),
            Body::Owned(AnyFilter::Cascade(cascade)) => Some(cascade.decide_hash(hash).1),
            _ => None,
        }
    }

    fn copies(&self, hash: Hash) -> Option<u64> {
        match &self.body {
            Body::Mapped(filter) => copies(filter, hash),
            Body::Owned(filter) => copies(filter, hash),
            Body::Foreign(_) => None,
        }
    }
}

fn copies<B: AsRef<[u8]>>(filter: &AnyFilter<B>, hash: Hash) -> Option<u64> {
    match filter {
        AnyFilter::Quotient(filter) => Some(filter.count_hash(hash)),
        AnyFilter::Counting(filter) => Some(filter.count_hash(hash).into()),
        _ => None,
    }
}

fn lookup<B: AsRef<[u8]>>(
    filter: &AnyFilter<B>,
    keys: Prepared<'_>,
    now_ms: u64,
    answers: &mut Vec<bool>,
) -> Result<(), HostError> {
    match (filter, keys) {
        (AnyFilter::Bitmap(bitmap), Prepared::Integers(ids)) => {
            answers.clear();
            answers.extend(ids.iter().map(|id| id.is_some_and(|id| bitmap.contains(id))));
            Ok(())
        }
        (filter, Prepared::Hashes(hashes)) => {
            let asked = filter.contains_batch_at(hashes, Moment::ticks(now_ms), answers);
            asked.map_err(HostError::new)
        }
        _ => {
            answers.clear();
            Ok(())
        }
    }
}

/// The question to one or more filters, an allow list left out of their answers.
pub struct Query<'f> {
    filters: Vec<&'f dyn Lookup>,
    needs: Vec<Needs>,
    /// For each filter the schemes' place its hashes are in.
    lanes: Vec<Option<usize>>,
    schemes: Vec<Native>,
    wants_integers: bool,
    wants_keys: bool,
    except: Option<&'f ExactSet>,
    now_ms: u64,
}

/// What the filters say about the keys of a batch.
#[derive(Default)]
pub struct BatchAnswers {
    hashes: Vec<Hashes>,
    integers: Vec<Option<u64>>,
    keys: KeyBuffer,
    /// 128-bit hashes, for the allow list.
    exact: Vec<u128>,
    /// For each filter, for each key: may it be in?
    each: Vec<Vec<bool>>,
    /// For each key: may it be in any?
    any: Vec<bool>,
    failed: Option<HostError>,
}

impl BatchAnswers {
    /// Fails where a filter could not be asked, or its file was written to meanwhile: what it
    /// answered then must not be used.
    pub fn check(&mut self) -> Result<(), HostError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// For each key: may it be in any filter?
    pub fn any(&self) -> &[bool] {
        &self.any
    }

    /// Which filters say so of key `i`.
    pub fn which(&self, i: usize) -> impl Iterator<Item = usize> {
        let says = move |answers: &Vec<bool>| answers.get(i).copied().unwrap_or(false);
        let filters = self.each.iter().enumerate();
        filters.filter(move |(_, answers)| says(answers)).map(|(filter, _)| filter)
    }
}

impl<'f> Query<'f> {
    /// Ask these, as of now; keys of `except` are in none of them.
    pub fn new(
        filters: impl IntoIterator<Item = &'f dyn Lookup>,
        except: Option<&'f ExactSet>,
        now_ms: u64,
    ) -> Query<'f> {
        let filters: Vec<&dyn Lookup> = filters.into_iter().collect();
        let needs: Vec<Needs> = filters.iter().map(|filter| filter.needs()).collect();
        let mut schemes = Vec::new();
        let lane = |needs: &Needs| {
            let Needs::Hashes(scheme) = needs else { return None };
            let known = schemes.iter().position(|known| known == scheme);
            Some(known.unwrap_or_else(|| {
                schemes.push(*scheme);
                schemes.len() - 1
            }))
        };
        let lanes = needs.iter().map(lane).collect();
        let [wants_integers, wants_keys] =
            [Needs::Integers, Needs::Keys].map(|what| needs.contains(&what));
        Query { filters, needs, lanes, schemes, wants_integers, wants_keys, except, now_ms }
    }

    /// What the answer of a filter about key `i` rests on; `None` where there is but one ground, and
    /// for keys of the allow list, which are not asked about.
    pub fn evidence(&self, out: &BatchAnswers, filter: usize, i: usize) -> Option<DecidedBy> {
        self.filters[filter].evidence(self.asked(out, filter, i)?)
    }

    /// How many copies of key `i` may be in, in all filters together that count them; 0 for keys of
    /// the allow list.
    pub fn copies(&self, out: &BatchAnswers, i: usize) -> u64 {
        let copies =
            |(number, filter): (usize, &&dyn Lookup)| filter.copies(self.asked(out, number, i)?);
        self.filters.iter().enumerate().filter_map(copies).fold(0, u64::saturating_add)
    }

    /// The hash that a filter is asked about for key `i`; `None` for a key of the allow list.
    fn asked(&self, out: &BatchAnswers, filter: usize, i: usize) -> Option<Hash> {
        let excepted =
            self.except.zip(out.exact.get(i)).is_some_and(|(list, key)| list.contains(*key));
        let hash = out.hashes.get(self.lanes[filter]?)?.get(i)?;
        (!excepted).then_some(*hash)
    }
}

impl Task for Query<'_> {
    type Out = BatchAnswers;

    fn begin(&self, out: &mut BatchAnswers) {
        out.hashes.resize_with(self.schemes.len(), Hashes::default);
        out.each.resize_with(self.filters.len(), Vec::new);
        out.hashes.iter_mut().for_each(Hashes::begin);
        out.integers.clear();
        CollectKeys.begin(&mut out.keys);
        out.exact.clear();
    }

    #[inline]
    fn key(&self, out: &mut BatchAnswers, key: &[u8]) {
        for (scheme, hashes) in self.schemes.iter().zip(&mut out.hashes) {
            hashes.key(scheme, key);
        }
        if self.wants_integers {
            out.integers.push(integer(key));
        }
        if self.wants_keys {
            CollectKeys.key(&mut out.keys, key);
        }
        if self.except.is_some() {
            HashKeys128.key(&mut out.exact, key);
        }
    }

    fn end(&self, out: &mut BatchAnswers) {
        let BatchAnswers { hashes, integers, keys, exact, each, any, failed } = out;
        self.schemes.iter().zip(&mut *hashes).for_each(|(scheme, hashes)| hashes.end(scheme));
        for (i, (filter, answers)) in self.filters.iter().zip(&mut *each).enumerate() {
            let prepared = match (self.needs[i], self.lanes[i]) {
                (Needs::Hashes(_), Some(lane)) => Prepared::Hashes(&hashes[lane]),
                (Needs::Integers, _) => Prepared::Integers(integers),
                _ => Prepared::Keys(keys),
            };
            if let Err(error) = filter.lookup(prepared, self.now_ms, answers) {
                // Told when the batch's turn comes.
                *failed = Some(error);
            }
        }
        if let Some(except) = self.except {
            for (i, hash) in exact.iter().enumerate() {
                if except.contains(*hash) {
                    each.iter_mut().filter_map(|a| a.get_mut(i)).for_each(|yes| *yes = false);
                }
            }
        }
        any.clear();
        let [first, rest @ ..] = each.as_slice() else { return };
        any.extend_from_slice(first);
        for answers in rest {
            any.iter_mut().zip(answers).for_each(|(any, yes)| *any |= yes);
        }
    }
}
