//! Filters in a row, asked newest first; keys go to the newest, and a larger one follows it when it
//! is full. RedisBloom and valkey-bloom agree in that, and in nothing else.

use crate::ForeignError;
use mayhap::{Classic, Scheme};

/// Most keys looked at in one piece.
const PIECE: u64 = 1 << 16;

/// A row of filters that grows.
pub(crate) trait Layered {
    /// How keys are hashed.
    type Scheme: Scheme;

    /// The filters but the newest, newest first.
    fn older(&self) -> Vec<&Classic<Self::Scheme>>;

    /// The newest filter.
    fn newest(&self) -> &Classic<Self::Scheme>;

    /// How many more keys the newest filter was made for.
    fn room(&self) -> u64;

    /// Put a new filter behind the newest, or say why not.
    fn grow(&mut self) -> Result<(), ForeignError>;

    /// Insert into the newest filter and count those that were new.
    fn insert_newest(&mut self, hashes: &[Hash<Self>], new: &mut Vec<bool>);
}

pub(crate) type Hash<L> = <<L as Layered>::Scheme as Scheme>::Hash;

/// Insert them all, as if one after another; `new` is cleared and filled, `true` for each that was
/// certainly new. After an error it ends before the first that did not fit.
pub(crate) fn insert_batch_new<L: Layered>(
    layers: &mut L,
    hashes: &[Hash<L>],
    new: &mut Vec<bool>,
) -> Result<(), ForeignError> {
    new.clear();
    let (mut known, mut wanted, mut is_new) = (Vec::new(), Vec::new(), Vec::new());
    let mut rest = hashes;
    while let Some(hash) = rest.first() {
        let room = layers.room();
        if room == 0 {
            // Only a key that is not in yet makes a full row grow.
            let newest = layers.newest().contains_hash(*hash);
            if newest || layers.older().iter().any(|filter| filter.contains_hash(*hash)) {
                new.push(false);
                rest = &rest[1..];
            } else {
                layers.grow()?;
            }
            continue;
        }
        let (now, later) = rest.split_at(rest.len().min(room.min(PIECE) as usize));
        rest = later;
        // What an older filter holds stays out of the newest; the newest sees to its own.
        any_contains(&layers.older(), now, &mut known);
        wanted.clear();
        let strangers = now.iter().zip(&known).filter(|(_, known)| !**known);
        wanted.extend(strangers.map(|(hash, _)| *hash));
        layers.insert_newest(&wanted, &mut is_new);
        let mut is_new = is_new.iter().copied();
        new.extend(known.iter().map(|known| !known && is_new.next().unwrap_or(false)));
    }
    Ok(())
}

/// Whether any of the filters contains a hash; each is asked for those that none before it had.
pub(crate) fn any_contains<S: Scheme, B: AsRef<[u8]>>(
    filters: &[&Classic<S, B>],
    hashes: &[S::Hash],
    answers: &mut Vec<bool>,
) {
    answers.clear();
    answers.resize(hashes.len(), false);
    let mut open: Vec<usize> = (0..hashes.len()).collect();
    let (mut asked, mut found) = (Vec::new(), Vec::new());
    for filter in filters {
        asked.clear();
        asked.extend(open.iter().map(|i| hashes[*i]));
        filter.contains_batch(&asked, &mut found);
        let mut hits = found.iter();
        open.retain(|i| {
            answers[*i] = hits.next() == Some(&true);
            !answers[*i]
        });
    }
}

/// The share of bits that are set, over all filters.
pub(crate) fn fill<S: Scheme, B: AsRef<[u8]>>(filters: &[&Classic<S, B>]) -> f64 {
    let bits: f64 = filters.iter().map(|filter| filter.shape().bits as f64).sum();
    let set = |filter: &&Classic<S, B>| filter.fill() * filter.shape().bits as f64;
    filters.iter().map(set).sum::<f64>() / bits
}

/// How often any of the filters is wrong about a stranger.
pub(crate) fn fpr_now<S: Scheme, B: AsRef<[u8]>>(filters: &[&Classic<S, B>]) -> f64 {
    // By logarithms: rates far below 1e-16 still add up.
    let none: f64 = filters.iter().map(|filter| (-filter.fpr_now()).ln_1p()).sum();
    -none.exp_m1()
}

/// How many of the keys that two filters counted are in both together, as far as can be told.
pub(crate) fn keys_of_both(estimate: u64, ours: u64, theirs: u64) -> u64 {
    estimate.clamp(ours.max(theirs), ours.saturating_add(theirs))
}
