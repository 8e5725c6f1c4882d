//! How a `Cascade` comes into being.

use super::lists::List;
use super::{Cascade, CascadeError, Counts, FirstLayer, Stash};
use crate::Key;
use crate::filter::fuse::build::{BIN_BITS, shards_within};
use crate::filter::fuse::exact::Exact;
use crate::filter::{Blocked, Fuse};
use crate::hash::Hash;
use crate::scheme::Scheme;
use crate::sizing::{CascadeShape, FirstShape};
use crate::spec::{Spec, SpecError};

/// The list that counts for a key in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// Such keys are included.
    Include,
    /// Such keys are excluded.
    Exclude,
}

/// How a [`Cascade`] is made, where there is a choice: layers of fingerprints, no list preferred,
/// and no limit to memory unless you say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Making {
    blocked: bool,
    prefer: Option<Prefer>,
    max_hashes: usize,
}

impl Default for Making {
    fn default() -> Making {
        Making { blocked: false, prefer: None, max_hashes: usize::MAX }
    }
}

impl Making {
    /// The first layer of cache lines rather than fingerprints: larger, and faster to ask.
    pub fn with_blocked(self) -> Making {
        Making { blocked: true, ..self }
    }

    /// Let one list decide about keys in both.
    pub fn with_prefer(self, prefer: Prefer) -> Making {
        Making { prefer: Some(prefer), ..self }
    }

    /// Hold about so many hashes of the lists at a time, 8 bytes each, and go through the lists
    /// more often instead.
    pub fn with_max_hashes(self, max_hashes: usize) -> Making {
        Making { max_hashes, ..self }
    }

    fn shape(&self, included: u64, excluded: u64, spec: Spec) -> Result<CascadeShape, SpecError> {
        let shape = match self.blocked {
            true => CascadeShape::blocked_for_lists(included, excluded, spec.fpr()),
            false => CascadeShape::for_lists(included, excluded, spec.fpr()),
        };
        shape.ok_or(SpecError::Width { got: spec.fpr() })
    }
}

impl Cascade {
    /// A filter of these two lists; equal keys count once, and none may be in both. The hashes
    /// are held in memory, 8 bytes each: where that is too much see [`build`](Cascade::build).
    pub fn from_keys<K: Key, L: Key>(
        spec: Spec,
        include: impl IntoIterator<Item = K>,
        exclude: impl IntoIterator<Item = L>,
    ) -> Result<Cascade, CascadeError> {
        let scheme = spec.scheme();
        let include = include.into_iter().map(|key| scheme.hash(key)).collect();
        let exclude = exclude.into_iter().map(|key| scheme.hash(key)).collect();
        Cascade::from_hashes(spec, Making::default(), include, exclude)
    }

    /// A filter of two lists of hashed keys, made as you like.
    pub fn from_hashes(
        spec: Spec,
        making: Making,
        include: Vec<Hash>,
        exclude: Vec<Hash>,
    ) -> Result<Cascade, CascadeError> {
        let (mut include, mut exclude) = (List::of(include), List::of(exclude));
        Cascade::assemble(spec, making, &mut include, &mut exclude)
    }

    /// A filter of lists for whose hashes there is too little memory.
    ///
    /// `include` and `exclude` each go through their list and give its hashes (as
    /// [`Spec::scheme`] makes them), a batch at a time, to the function they are called with.
    /// Where [`with_max_hashes`](Making::with_max_hashes) is enough each is called once.
    /// Otherwise they are called again: for the first layer, for what it lets pass, and then once
    /// for every part of the second layer for which the hashes can be held. That needs
    /// 8 bytes · (included + passing keys) / parts; at least one part, of 1 to 2 million keys.
    ///
    /// Every pass must give the same hashes, in any order: where one gives others the answer is
    /// [`SpecError::Passes`], never a filter in which some are missing. A list that cannot be read
    /// to its end is for the caller to notice.
    ///
    /// ```
    /// # use mayhap::{Cascade, Hash, Making, Scheme, Spec};
    /// let spec = Spec::new(1_000, 0.01)?;
    /// let scheme = spec.scheme();
    /// let hashed = |ids: std::ops::Range<u64>| ids.map(|id| scheme.hash(id)).collect::<Vec<Hash>>();
    /// let making = Making::default().with_max_hashes(100);
    /// let filter = Cascade::build(spec, making, |all| all(&hashed(0..1000)), |all| {
    ///     (1..50).for_each(|batch| all(&hashed(1000 * batch..1000 * (batch + 1))));
    /// })?;
    /// assert!((0..1000u64).all(|id| filter.contains(id)));
    /// assert!(!(1000..50_000u64).any(|id| filter.contains(id)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn build(
        spec: Spec,
        making: Making,
        include: impl FnMut(&mut (dyn FnMut(&[Hash]) + Send)),
        exclude: impl FnMut(&mut (dyn FnMut(&[Hash]) + Send)),
    ) -> Result<Cascade, CascadeError> {
        let half = making.max_hashes / 2;
        let mut include = List::count(Box::new(include), half)?;
        let mut exclude = List::count(Box::new(exclude), half)?;
        Cascade::assemble(spec, making, &mut include, &mut exclude)
    }

    fn assemble(
        spec: Spec,
        making: Making,
        include: &mut List<'_>,
        exclude: &mut List<'_>,
    ) -> Result<Cascade, CascadeError> {
        let shape = making.shape(include.keys(), exclude.keys(), spec)?;
        let first = first_layer(spec, shape, include, making.max_hashes)?;
        let room = making.max_hashes.saturating_sub(include.held());
        exclude.let_pass(&first, room)?;

        let exact = Exact::new(spec, include.keys().saturating_add(exclude.keys()))?;
        let (shards, excluded) = (exact.shards(), exclude.came());
        let counts = Counts { excluded, ..Counts::default() };
        let mut second = Second { exact, prefer: making.prefer, counts, in_both: Vec::new() };
        let mut bins = vec![0; 1 << BIN_BITS];
        include.add_bins(&mut bins);
        exclude.add_bins(&mut bins);
        let room = making.max_hashes.saturating_sub(include.held() + exclude.held());
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
        FirstShape::Fuse(shape) => {
            if let Some(held) = include.held_mut() {
                let fuse = Fuse::from_hashes_of_width(spec, shape.width, held)?;
                // Different ones in order are left in order, but nobody has promised that.
                if !held.is_sorted() {
                    held.sort_unstable();
                }
                return Ok(FirstLayer::Fuse(fuse));
            }
            let mut trouble = Ok(());
            let fuse = Fuse::build_of_width(spec, shape.width, max_hashes, |keep| {
                let again = include.again(|hashes| hashes.iter().for_each(|hash| keep(*hash)));
                trouble = trouble.and(again);
            });
            trouble.and(fuse.map(FirstLayer::Fuse))
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
struct Second {
    exact: Exact,
    prefer: Option<Prefer>,
    counts: Counts,
    /// The first few in both lists.
    in_both: Vec<Hash>,
}

impl Second {
    /// The next shard, of sorted hashes.
    fn shard(&mut self, included: &[Hash], excluded: &[Hash]) -> Result<(), CascadeError> {
        let both = common(included, excluded);
        self.counts.in_both += both.len() as u64;
        let missing = NAMED - self.in_both.len();
        self.in_both.extend(both.iter().take(missing));
        let not_both = |list: &[Hash]| -> Vec<Hash> {
            list.iter().filter(|hash| both.binary_search(hash).is_err()).copied().collect()
        };
        match self.prefer {
            // Nothing will come of it; the rest is gone through to count.
            None if self.counts.in_both > 0 => Ok(()),
            _ if both.is_empty() => self.place(included, excluded),
            Some(Prefer::Exclude) => self.place(&not_both(included), excluded),
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

    fn finish(self) -> Result<(Fuse, Counts), CascadeError> {
        if self.prefer.is_none() && self.counts.in_both > 0 {
            return Err(CascadeError::InBoth { keys: self.counts.in_both, first: self.in_both });
        }
        Ok((self.exact.finish()?, self.counts))
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
