//! Filters in a row, asked newest first; keys go to the newest, and a larger one follows it when it
//! is full. RedisBloom and valkey-bloom agree in that, and in nothing else: what is their own a [`GrowthRule`]
//! says.

mod insert;
mod union;

use crate::{ForeignError, chunked, layers};
use mayhap::Classic;
use mayhap::key::{ByteKeys, KeyOf};
use mayhap::mem::{AlignedBuf, Relocate};
use mayhap::scheme::Scheme;
use std::fmt;

/// How a format's chain hashes, what it says of its filters, and how it grows.
pub trait GrowthRule: Clone + fmt::Debug + Send + Sync + 'static {
    /// How keys become positions. All filters of a chain hash alike, each for its own bits.
    type Scheme: Scheme<Hash: Send> + Clone + PartialEq + fmt::Debug + Send + Sync + 'static;

    /// What is said of a filter.
    type Info: Copy + fmt::Debug + Send + Sync + 'static;

    /// Hash the bytes of a key, for every filter of the chain.
    fn hash_bytes(&self, key: &[u8]) -> HashOf<Self>;

    /// Hash many: `hashes` is cleared and filled.
    fn hash_keys(&self, keys: &[&[u8]], hashes: &mut Vec<HashOf<Self>>) {
        hashes.clear();
        hashes.extend(keys.iter().map(|key| self.hash_bytes(key)));
    }

    /// The filter that is so described, over bits that are there.
    fn filter<B: AsRef<[u8]>>(
        &self,
        info: &Self::Info,
        bits: B,
    ) -> Result<Classic<Self::Scheme, B>, ForeignError>;

    /// Bytes of its bits.
    fn bytes(info: &Self::Info) -> u64;

    /// Keys that were added to it.
    fn items(info: &Self::Info) -> u64;

    /// Keys it was made for; the next one goes to a new filter.
    fn capacity(info: &Self::Info) -> u64;

    /// The same with so many keys added.
    fn with_items(info: &Self::Info, items: u64) -> Self::Info;

    /// What follows the newest of so many filters when that is full. An error where nothing may.
    fn next(&self, newest: &Self::Info, layers: usize) -> Result<Self::Info, ForeignError>;

    /// Fails where chains of these two rules hash differently.
    fn check_hashes_as(&self, other: &Self) -> Result<(), ForeignError>;

    /// Fails where bits of one such filter mean something else in the other.
    fn check_laid_out_as(ours: &Self::Info, theirs: &Self::Info) -> Result<(), ForeignError>;
}

/// What is left of a key after hashing.
pub type HashOf<R> = <<R as GrowthRule>::Scheme as Scheme>::Hash;

/// One filter of a chain: its bits, and what is said of it.
#[derive(Clone, Debug)]
pub struct Layer<R: GrowthRule, B = AlignedBuf> {
    filter: Classic<R::Scheme, B>,
    info: R::Info,
}

impl<R: GrowthRule> Layer<R> {
    /// One without keys.
    pub(crate) fn empty(rule: &R, info: R::Info) -> Result<Layer<R>, ForeignError> {
        Layer::new(rule, info, AlignedBuf::zeroed(R::bytes(&info))?)
    }

    /// Its bits, to be put there by others.
    pub(crate) fn as_bytes_mut(&mut self) -> &mut [u8] {
        self.filter.as_bytes_mut()
    }

    fn count(&mut self, new: u64) {
        self.info = R::with_items(&self.info, self.items().saturating_add(new));
    }
}

impl<R: GrowthRule, B: AsRef<[u8]>> Layer<R, B> {
    /// Over bits that are there.
    pub(crate) fn new(rule: &R, info: R::Info, bits: B) -> Result<Layer<R, B>, ForeignError> {
        Ok(Layer { filter: rule.filter(&info, bits)?, info })
    }

    /// The same over a copy of its bits.
    fn copied(&self, rule: &R) -> Result<Layer<R>, ForeignError> {
        Layer::new(rule, self.info, AlignedBuf::copy_of(self.filter.as_bytes())?)
    }

    /// The same, and something else said of it.
    pub(crate) fn with_info(self, info: impl FnOnce(R::Info) -> R::Info) -> Layer<R, B> {
        Layer { info: info(self.info), ..self }
    }

    /// The filter.
    pub fn filter(&self) -> &Classic<R::Scheme, B> {
        &self.filter
    }

    /// What the chain says of it.
    pub fn info(&self) -> R::Info {
        self.info
    }

    /// Keys that were added to it.
    pub fn items(&self) -> u64 {
        R::items(&self.info)
    }

    /// Keys it was made for; the next one goes to a new filter.
    pub fn capacity(&self) -> u64 {
        R::capacity(&self.info)
    }

    /// How many more keys it was made for.
    pub fn room(&self) -> u64 {
        self.capacity().saturating_sub(self.items())
    }
}

/// A row of filters that grows, under the rule of its format.
#[derive(Clone, Debug)]
pub struct Chain<R: GrowthRule, B = AlignedBuf> {
    rule: R,
    /// Oldest first; one at least.
    layers: Vec<Layer<R, B>>,
}

impl<R: GrowthRule> Chain<R> {
    /// Offer the memory of its arrays to whoever tidies the heap: no answer changes.
    pub fn relocate(&mut self, memory: &mut Relocate<'_>) {
        memory.relocate(&mut self.layers);
        self.layers.iter_mut().for_each(|layer| layer.filter.relocate(memory));
    }
}

impl<R: GrowthRule, B: AsRef<[u8]>> Chain<R, B> {
    /// Of filters that hash by this rule, oldest first.
    pub(crate) fn of_layers(rule: R, layers: Vec<Layer<R, B>>) -> Result<Self, ForeignError> {
        if layers.is_empty() {
            return Err(ForeignError::field("number of filters", 0, "1 or more"));
        }
        Ok(Chain { rule, layers })
    }

    /// The same in memory of its own.
    pub(crate) fn copied(&self) -> Result<Chain<R>, ForeignError> {
        let layers = self.layers.iter().map(|layer| layer.copied(&self.rule));
        Ok(Chain { rule: self.rule.clone(), layers: layers.collect::<Result<_, _>>()? })
    }

    /// The same, and something else said of it and of its filters.
    pub(crate) fn with_info(
        self,
        rule: impl FnOnce(R) -> R,
        info: impl Fn(R::Info) -> R::Info,
    ) -> Chain<R, B> {
        let layers = self.layers.into_iter().map(|layer| layer.with_info(&info)).collect();
        Chain { rule: rule(self.rule), layers }
    }

    /// How it hashes and grows.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The filters, oldest first.
    pub fn layers(&self) -> &[Layer<R, B>] {
        &self.layers
    }

    /// The filter that new keys go to.
    pub fn newest(&self) -> &Layer<R, B> {
        &self.layers[self.layers.len() - 1]
    }

    /// What follows the newest filter when that is full, for hosts that must look for memory before
    /// they insert. An error where nothing may.
    pub fn next_layer(&self) -> Result<R::Info, ForeignError> {
        self.rule.next(&self.newest().info, self.layers.len())
    }

    /// Hash a key once, to ask or insert it (in this and every chain that hashes alike) later.
    #[inline]
    pub fn hash(&self, key: impl KeyOf<ByteKeys>) -> HashOf<R> {
        self.rule.hash_bytes(key.key_bytes().as_ref())
    }

    /// Whether the key may be in; `false` is certain.
    pub fn contains(&self, key: impl KeyOf<ByteKeys>) -> bool {
        self.contains_hash(self.hash(key))
    }

    /// Whether the hashed key may be in; `false` is certain.
    pub fn contains_hash(&self, hash: HashOf<R>) -> bool {
        self.layers.iter().rev().any(|layer| layer.filter.contains_hash(hash))
    }

    /// Ask for all of them at once: `answers` is cleared and filled, one answer a hash.
    pub fn contains_batch(&self, hashes: &[HashOf<R>], answers: &mut Vec<bool>) {
        layers::any_contains(self.newest_first(), hashes, answers);
    }

    /// The same for the bytes of keys.
    pub(crate) fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hash = |keys: &[&[u8]], hashes: &mut _| self.rule.hash_keys(keys, hashes);
        chunked::each(keys, answers, hash, |hashes, found| self.contains_batch(hashes, found));
    }

    /// Keys that were added.
    pub fn items(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.items()))
    }

    /// Keys the filters were made for, all together.
    pub fn capacity(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.capacity()))
    }

    /// Bits of all filters.
    pub fn bits(&self) -> u64 {
        self.layers.iter().map(|layer| layer.filter.shape().bits).sum()
    }

    /// How many distinct keys are in, told from the bits alone.
    pub fn estimate(&self) -> u64 {
        self.layers.iter().fold(0, |sum, layer| sum.saturating_add(layer.filter.estimate()))
    }

    /// The share of bits that are set, over all filters.
    pub fn fill(&self) -> f64 {
        layers::fill(self.newest_first())
    }

    /// The false-positive rate as the bits stand now: that any filter is wrong.
    pub fn fpr_now(&self) -> f64 {
        layers::fpr_now(self.newest_first())
    }

    fn newest_first(&self) -> impl Iterator<Item = &Classic<R::Scheme, B>> {
        self.layers.iter().rev().map(Layer::filter)
    }
}
