//! How a `Cascade` comes into being.

use super::lists::List;
use super::{Cascade, CascadeError, Counts, ExactLayer, FirstLayer, Stash};
use crate::Key;
use crate::filter::fuse::build::{BIN_BITS, shards_within};
use crate::filter::ribbon::ExactBuilder;
use crate::filter::{Blocked, Ribbon};
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::sizing::{CascadeShape, FirstShape, RibbonShape};
use crate::spec::{Spec, SpecError};

/// The list that counts for a key in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnConflict {
    /// Such keys are included.
    Include,
    /// Such keys are excluded.
    Exclude,
}

/// How a [`Cascade`] is made, where there is a choice: ribbons as layers, no list preferred,
/// and no limit to memory unless you say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CascadeOptions {
    blocked: bool,
    on_conflict: Option<OnConflict>,
    max_hashes: usize,
}

impl Default for CascadeOptions {
    fn default() -> CascadeOptions {
        CascadeOptions { blocked: false, on_conflict: None, max_hashes: usize::MAX }
    }
}

impl CascadeOptions {
    /// A first layer of cache lines rather than a ribbon: larger, and faster to look up.
    pub fn with_blocked(self) -> CascadeOptions {
        CascadeOptions { blocked: true, ..self }
    }

    /// Let one list decide about keys in both.
    pub fn with_on_conflict(self, on_conflict: OnConflict) -> CascadeOptions {
        CascadeOptions { on_conflict: Some(on_conflict), ..self }
    }

    /// Hold about so many hashes of the lists at a time, 8 bytes each, and go through the lists
    /// more often instead.
    pub fn with_max_hashes(self, max_hashes: usize) -> CascadeOptions {
        CascadeOptions { max_hashes, ..self }
    }

    fn shape(&self, included: u64, excluded: u64, spec: Spec) -> Result<CascadeShape, SpecError> {
        let shape = match self.blocked {
            true => CascadeShape::lines_for_lists(spec.layouts(), included, excluded, spec.fpr()),
            false => CascadeShape::for_lists(included, excluded, spec.fpr()),
        };
        shape.ok_or(SpecError::Width { got: spec.fpr() })
    }
}

/// Bytes of the keys with these hashes, which rise, as they come in the list.
fn names_of<K: Key>(
    hashes: &[Hash],
    keys: impl Iterator<Item = K>,
    scheme: Native,
) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for key in keys {
        if hashes.binary_search(&scheme.hash(&key)).is_ok() {
            let name = key.key_bytes().as_ref().to_vec();
            if !names.contains(&name) {
                names.push(name);
            }
            // All of the first few conflicts, or enough to see what is wrong.
            if names.len() >= hashes.len().min(MAX_NAMES) {
                break;
            }
        }
    }
    names
}

/// The most keys that an error names.
const MAX_NAMES: usize = 10;

impl Cascade {
    /// A filter of these two lists at a false-positive rate of `fpr` for keys of neither; equal keys
    /// count once, and none may be in both. The hashes are held in memory, 8 bytes each: where that is
    /// too much see [`build`](Cascade::build). Lists are given by reference (`&list`) or are cheap to
    /// clone: where a key is in both, they are gone through again to name it.
    ///
    /// ```
    /// # use mayhap::Cascade;
    /// let filter = Cascade::from_keys(0.01, ["mallory", "trudy"], ["ada", "bob"])?;
    /// assert!(filter.contains("mallory") && !filter.contains("ada"));
    ///
    /// let error = Cascade::from_keys(0.01, ["mallory", "ada"], ["ada", "bob"]).unwrap_err();
    /// assert!(error.to_string().starts_with("1 key is in both lists (\"ada\"):"));
    /// # Ok::<(), mayhap::cascade::CascadeError>(())
    /// ```
    pub fn from_keys<K: Key, L: Key>(
        fpr: f64,
        include: impl IntoIterator<Item = K> + Clone,
        exclude: impl IntoIterator<Item = L> + Clone,
    ) -> Result<Cascade, CascadeError> {
        let included = include.clone().into_iter().count() as u64;
        let spec = Spec::new(included, fpr)?;
        Cascade::with_options(spec, CascadeOptions::default(), include, exclude)
    }

    /// As [`from_keys`](Cascade::from_keys), with the rate, the seed or the secret of a [`Spec`] (its
    /// capacity is not looked at, since the keys are here), and options.
    ///
    /// ```
    /// # use mayhap::{Cascade, Spec};
    /// # use mayhap::cascade::{CascadeOptions, OnConflict};
    /// let options = CascadeOptions::default().with_on_conflict(OnConflict::Exclude);
    /// let spec = Spec::new(0, 0.01)?.with_seed(7);
    /// let filter = Cascade::with_options(spec, options, ["mallory", "ada"], ["ada", "bob"])?;
    /// assert!(filter.contains("mallory") && !filter.contains("ada"));
    /// # Ok::<(), mayhap::cascade::CascadeError>(())
    /// ```
    pub fn with_options<K: Key, L: Key>(
        spec: Spec,
        options: CascadeOptions,
        include: impl IntoIterator<Item = K> + Clone,
        exclude: impl IntoIterator<Item = L> + Clone,
    ) -> Result<Cascade, CascadeError> {
        let scheme = spec.scheme();
        let included = include.clone().into_iter().map(|key| scheme.hash(key)).collect();
        let excluded = exclude.into_iter().map(|key| scheme.hash(key)).collect();
        Cascade::from_hashes(spec, options, included, excluded).map_err(|error| match error {
            CascadeError::InBoth { keys, first, .. } => {
                let names = names_of(&first, include.into_iter(), scheme);
                CascadeError::InBoth { keys, first, names }
            }
            other => other,
        })
    }

    /// A filter of two lists of hashed keys, made as you like.
    pub fn from_hashes(
        spec: Spec,
        options: CascadeOptions,
        include: Vec<Hash>,
        exclude: Vec<Hash>,
    ) -> Result<Cascade, CascadeError> {
        let (mut include, mut exclude) = (List::of(include), List::of(exclude));
        Cascade::assemble(spec, options, &mut include, &mut exclude)
    }

    /// A filter of lists for whose hashes there is too little memory.
    ///
    /// `include` and `exclude` each go through their list and give its hashes (as
    /// [`Spec::scheme`] makes them), a batch at a time, to the function they are called with.
    /// Where [`with_max_hashes`](CascadeOptions::with_max_hashes) is enough each is called once.
    /// Otherwise they are called again: for the first layer, for what it lets pass, and then once
    /// for every part of the second layer for which the hashes can be held. That needs
    /// 8 bytes · (included + passing keys) / parts; at least one part, of half a million to a million keys.
    ///
    /// Every pass must give the same hashes, in any order: where one gives others the answer is
    /// [`SpecError::Passes`], never a filter in which some are missing. A list that cannot be read
    /// to its end is for the caller to notice.
    ///
    /// ```
    /// # use mayhap::cascade::CascadeOptions;
    /// # use mayhap::scheme::Scheme;
    /// # use mayhap::{Cascade, Hash, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let scheme = spec.scheme();
    /// let hashed = |ids: std::ops::Range<u64>| ids.map(|id| scheme.hash(id)).collect::<Vec<Hash>>();
    /// let options = CascadeOptions::default().with_max_hashes(100);
    /// let filter = Cascade::build(spec, options, |all| all(&hashed(0..1000)), |all| {
    ///     (1..50).for_each(|batch| all(&hashed(1000 * batch..1000 * (batch + 1))));
    /// })?;
    /// assert!((0..1000u64).all(|id| filter.contains(id)));
    /// assert!(!(1000..50_000u64).any(|id| filter.contains(id)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(
        spec: Spec,
        options: CascadeOptions,
        include: impl FnMut(&mut (dyn FnMut(&[Hash]) + Send)),
        exclude: impl FnMut(&mut (dyn FnMut(&[Hash]) + Send)),
    ) -> Result<Cascade, CascadeError> {
        let half = options.max_hashes / 2;
        let mut include = List::count(Box::new(include), half)?;
        let mut exclude = List::count(Box::new(exclude), half)?;
        Cascade::assemble(spec, options, &mut include, &mut exclude)
    }

    fn assemble(
        spec: Spec,
        options: CascadeOptions,
        include: &mut List<'_>,
        exclude: &mut List<'_>,
    ) -> Result<Cascade, CascadeError> {
        let shape = options.shape(include.keys(), exclude.keys(), spec)?;
        let first = first_layer(spec, shape, include, options.max_hashes)?;
        let room = options.max_hashes.saturating_sub(include.held());
        exclude.admit(&first, room)?;

        let exact = ExactBuilder::new(spec, include.keys().saturating_add(exclude.keys()))?;
        let (shards, excluded) = (exact.shards(), exclude.received());
        let counts = Counts { excluded, ..Counts::default() };
        let mut second = ExactLayerBuilder {
            exact,
            on_conflict: options.on_conflict,
            counts,
            in_both: Vec::new(),
        };
        let mut bins = vec![0; 1 << BIN_BITS];
        include.add_bins(&mut bins);
        exclude.add_bins(&mut bins);
        let room = options.max_hashes.saturating_sub(include.held() + exclude.held());
        let mut next = 0;
        while next < shards {
            let (until, most) = shards_within(&bins, shards, next, room as u64);
            let most = usize::try_from(most).unwrap_or(usize::MAX).min(room.max(1 << 20));
            include.load(next..until, shards, None, most)?;
            exclude.load(next..until, shards, Some(&first), most)?;
            for shard in next..until {
                second.shard(include.shard(shard, shards), exclude.shard(shard, shards))?;
            }
            next = until;
        }
        let (exact, counts) = second.finish()?;
        Ok(Cascade { spec, first, exact, counts, stash: Stash::default() })
    }
}

/// The filter that all included keys pass.
fn first_layer(
    spec: Spec,
    shape: CascadeShape,
    include: &mut List<'_>,
    max_hashes: usize,
) -> Result<FirstLayer, SpecError> {
    match shape.first {
        FirstShape::None => Ok(FirstLayer::None),
        FirstShape::Ribbon(shape) => {
            if let Some(held) = include.held_mut() {
                let ribbon = Ribbon::from_hashes_in(spec, shape, held)?;
                // Different ones in order are left in order, but nobody has promised that.
                if !held.is_sorted() {
                    held.sort_unstable();
                }
                return Ok(FirstLayer::Ribbon(ribbon));
            }
            let mut result = Ok(());
            let in_all = |keys| Ok(RibbonShape { keys, ..shape });
            let ribbon = Ribbon::build_in(spec, in_all, max_hashes, |keep| {
                let again = include.again(|hashes| hashes.iter().for_each(|hash| keep(*hash)));
                result = result.and(again);
            });
            result.and(ribbon.map(FirstLayer::Ribbon))
        }
        FirstShape::Blocked(shape) => {
            let mut lines = Blocked::with_shape(spec, shape)?;
            match include.held_mut() {
                Some(held) => _ = lines.insert_batch(held),
                None => include.again(|hashes| _ = lines.insert_batch(hashes))?,
            }
            Ok(FirstLayer::Blocked(lines))
        }
    }
}

/// Keys in both lists that an error names: more than anybody reads, so that the caller can show
/// the first in an order of its own.
const NAMED: usize = 1000;

/// The second layer half built.
struct ExactLayerBuilder {
    exact: ExactBuilder,
    on_conflict: Option<OnConflict>,
    counts: Counts,
    /// The first few in both lists.
    in_both: Vec<Hash>,
}

impl ExactLayerBuilder {
    /// The next shard, of sorted hashes.
    fn shard(&mut self, included: &[Hash], excluded: &[Hash]) -> Result<(), CascadeError> {
        let both = common(included, excluded);
        self.counts.in_both += both.len() as u64;
        let missing = NAMED - self.in_both.len();
        self.in_both.extend(both.iter().take(missing));
        let not_both = |list: &[Hash]| -> Vec<Hash> {
            list.iter().filter(|hash| both.binary_search(hash).is_err()).copied().collect()
        };
        match self.on_conflict {
            // Nothing will come of it; the rest is gone through to count.
            None if self.counts.in_both > 0 => Ok(()),
            _ if both.is_empty() => self.place(included, excluded),
            Some(OnConflict::Exclude) => self.place(&not_both(included), excluded),
            _ => self.place(included, &not_both(excluded)),
        }
    }

    fn place(&mut self, included: &[Hash], excluded: &[Hash]) -> Result<(), CascadeError> {
        self.counts.included += included.len() as u64;
        match self.exact.shard(included, excluded)? {
            true => Ok(()),
            false => {
                let keys = (included.len() + excluded.len()) as u64;
                Err(CascadeError::Contrived { keys })
            }
        }
    }

    fn finish(self) -> Result<(ExactLayer, Counts), CascadeError> {
        if self.on_conflict.is_none() && self.counts.in_both > 0 {
            return Err(CascadeError::InBoth {
                keys: self.counts.in_both,
                first: self.in_both,
                names: Vec::new(),
            });
        }
        Ok((ExactLayer::Ribbon(self.exact.finish()?), self.counts))
    }
}

/// What two sorted lists share.
fn common(mut these: &[Hash], mut those: &[Hash]) -> Vec<Hash> {
    let mut both = Vec::new();
    while let (Some(this), Some(that)) = (these.first(), those.first()) {
        if this == that {
            both.push(*this);
        }
        if this <= that {
            these = &these[1..];
        }
        if that <= this {
            those = &those[1..];
        }
    }
    both
}
