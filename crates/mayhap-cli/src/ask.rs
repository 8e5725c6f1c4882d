//! Asking filters about keys, on whichever thread has read them.

use crate::filter_file::FilterFile;
use crate::foreign::ForeignFile;
use mayhap::format::Section;
use mayhap::{AnyFilter, Contains, Decider, Moment, Native};
use mayhap_redis::{FilterError, Sharded};
use mayhap_store::exact::{ExactSet, Hashing128};
use mayhap_store::keys::{Collecting, Hashes, KeyBytes, Task};
use mayhap_store::map::{MapError, Mapped};

/// A filter to be asked.
#[derive(Clone, Copy)]
pub enum Asked<'f> {
    /// One of ours.
    Ours(&'f FilterFile),
    /// Another program's.
    Foreign(&'f ForeignFile),
    /// One on a server.
    Server(&'f Sharded),
}

impl<'f> From<&'f FilterFile> for Asked<'f> {
    fn from(file: &'f FilterFile) -> Asked<'f> {
        Asked::Ours(file)
    }
}

impl<'f> Asked<'f> {
    fn native(self) -> Option<&'f AnyFilter<Section<Mapped>>> {
        match self {
            Asked::Ours(file) => Some(&file.filter),
            Asked::Foreign(_) | Asked::Server(_) => None,
        }
    }

    /// Fails where the filter's file was written to while it is asked.
    fn check_unchanged(self) -> Result<(), MapError> {
        match self {
            Asked::Ours(file) => file.mapped.check_unchanged(),
            Asked::Foreign(file) => file.mapped.check_unchanged(),
            Asked::Server(_) => Ok(()),
        }
    }
}

/// The question to one or more filters, the allow list left out.
pub struct Asking<'f> {
    filters: Vec<Asked<'f>>,
    /// For each filter the lane its hashes are in: filters that hash alike share one.
    lanes: Vec<Option<usize>>,
    schemes: Vec<Native>,
    /// Whether some filter is an exact set, and wants integers.
    wants_ids: bool,
    /// Whether some filter is another program's or on a server, and hashes for itself.
    wants_keys: bool,
    except: Option<&'f ExactSet>,
    now_ms: u64,
}

/// What the filters say about the keys of a block.
#[derive(Default)]
pub struct Answers {
    hashes: Vec<Hashes>,
    /// The integers that keys are, for exact sets.
    ids: Vec<Option<u64>>,
    /// The keys themselves, for other programs' filters and for servers.
    keys: KeyBytes,
    /// 128-bit hashes, for the allow list.
    exact: Vec<u128>,
    /// For each filter, for each key: may it be in?
    each: Vec<Vec<bool>>,
    /// For each key: may it be in any?
    any: Vec<bool>,
    /// Why a filter could not be asked.
    failed: Option<AskError>,
}

/// Why a filter could not be asked.
#[derive(Debug)]
enum AskError {
    Server(FilterError),
    File(MapError),
}

impl Answers {
    /// Fails where a filter could not be asked, or its file was written to meanwhile: what it
    /// answered then must not be used.
    pub fn check(&mut self) -> anyhow::Result<()> {
        match self.failed.take() {
            None => Ok(()),
            Some(AskError::Server(error)) => Err(error.into()),
            Some(AskError::File(error)) => Err(error.into()),
        }
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

impl<'f> Asking<'f> {
    /// What the answer of a cascade about key `i` rests on; `None` for other kinds, which have
    /// but one ground, and for keys of the allow list, which are not asked about.
    pub fn decided_by(&self, out: &Answers, filter: usize, i: usize) -> Option<Decider> {
        let Some(AnyFilter::Cascade(cascade)) = self.filters[filter].native() else { return None };
        let excepted =
            self.except.zip(out.exact.get(i)).is_some_and(|(list, key)| list.contains(*key));
        let hash = out.hashes.get(self.lanes[filter]?)?.get(i)?;
        (!excepted).then(|| cascade.decide_hash(*hash).1)
    }

    /// Ask these, as of now; keys of `except` are in none of them.
    pub fn new(
        filters: impl IntoIterator<Item = impl Into<Asked<'f>>>,
        except: Option<&'f ExactSet>,
        now_ms: u64,
    ) -> Asking<'f> {
        let filters: Vec<Asked<'f>> = filters.into_iter().map(Into::into).collect();
        let mut schemes = Vec::new();
        let lane = |filter: &Asked<'_>| {
            let scheme = filter.native()?.scheme()?;
            let known = schemes.iter().position(|known| *known == scheme);
            Some(known.unwrap_or_else(|| {
                schemes.push(scheme);
                schemes.len() - 1
            }))
        };
        let lanes: Vec<Option<usize>> = filters.iter().map(lane).collect();
        let wants_ids = filters.iter().any(|f| matches!(f.native(), Some(AnyFilter::Bitmap(_))));
        let wants_keys = filters.iter().any(|filter| !matches!(filter, Asked::Ours(_)));
        Asking { filters, lanes, schemes, wants_ids, wants_keys, except, now_ms }
    }
}

impl Task for Asking<'_> {
    type Out = Answers;

    fn begin(&self, out: &mut Answers) {
        out.hashes.resize_with(self.schemes.len(), Hashes::default);
        out.each.resize_with(self.filters.len(), Vec::new);
        out.hashes.iter_mut().for_each(Hashes::begin);
        out.ids.clear();
        Collecting.begin(&mut out.keys);
        out.exact.clear();
    }

    #[inline]
    fn key(&self, out: &mut Answers, key: &[u8]) {
        for (scheme, hashes) in self.schemes.iter().zip(&mut out.hashes) {
            hashes.key(scheme, key);
        }
        if self.wants_ids {
            out.ids.push(key.try_into().ok().map(u64::from_le_bytes));
        }
        if self.wants_keys {
            Collecting.key(&mut out.keys, key);
        }
        if self.except.is_some() {
            Hashing128.key(&mut out.exact, key);
        }
    }

    fn end(&self, out: &mut Answers) {
        let Answers { hashes, ids, keys, exact, each, any, failed } = out;
        self.schemes.iter().zip(&mut *hashes).for_each(|(scheme, hashes)| hashes.end(scheme));
        for ((filter, lane), answers) in self.filters.iter().zip(&self.lanes).zip(&mut *each) {
            match (filter, lane) {
                (Asked::Foreign(file), _) => file.contains_batch(keys, answers),
                (Asked::Server(list), _) => match list.check(&keys.iter().collect::<Vec<_>>()) {
                    Ok(said) => *answers = said,
                    Err(error) => {
                        // Told when the block's turn comes.
                        answers.clear();
                        answers.resize(keys.keys(), false);
                        *failed = Some(AskError::Server(error));
                    }
                },
                (Asked::Ours(FilterFile { filter: AnyFilter::Bitmap(bitmap), .. }), _) => {
                    Contains::contains_batch(bitmap, ids, answers);
                }
                (Asked::Ours(file), Some(lane)) => {
                    let asked = file.filter.contains_batch_at(
                        &hashes[*lane],
                        Moment::ticks(self.now_ms),
                        answers,
                    );
                    // Only exact sets refuse hashes, and they have no lane.
                    debug_assert!(asked.is_ok());
                }
                (_, None) => {}
            }
            if let Err(error) = filter.check_unchanged() {
                *failed = Some(AskError::File(error));
            }
        }
        if let Some(except) = self.except {
            for (i, hash) in exact.iter().enumerate() {
                if except.contains(*hash) {
                    each.iter_mut().for_each(|answers| answers[i] = false);
                }
            }
        }
        any.clear();
        match each.as_slice() {
            [only] => any.extend_from_slice(only),
            [first, rest @ ..] => {
                any.extend_from_slice(first);
                for answers in rest {
                    any.iter_mut().zip(answers).for_each(|(any, yes)| *any |= yes);
                }
            }
            [] => {}
        }
    }
}
