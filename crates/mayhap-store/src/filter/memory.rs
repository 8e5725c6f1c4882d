//! A filter in memory: created empty, asked and changed key by key or in batches that tell what was new,
//! copied, emptied, compared.

use super::fill::{Pass, check_all_growth, check_growth};
use super::{Body, BuildError, BuildSpec, ChangeError, Filter, KeySource, OpenOptions, Target};
use crate::budget::Budget;
use crate::clock::now_ms;
use crate::secret_file::SecretSource;
use mayhap::window::Moment;
use mayhap::{AnyFilter, Kind};
use mayhap_foreign::Bytes;
use std::ops::ControlFlow;
use std::path::Path;

/// What can be told about a filter without looking at a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// The keys it was made for, or has grown to; 0 where nobody said.
    pub capacity: u64,
    /// The keys counted in, where they are counted.
    pub keys: Option<u64>,
    /// Bytes of its arrays.
    pub bytes: u64,
}

impl Filter {
    /// What can be told without looking at a bit.
    pub fn sizes(&self) -> Sizes {
        let native = |capacity, keys, bytes| Sizes { capacity, keys: Some(keys), bytes };
        match &self.body {
            Body::Mapped(filter) => native(filter.capacity(), filter.keys(), filter.bytes()),
            Body::Owned(filter) => native(filter.capacity(), filter.keys(), filter.bytes()),
            Body::Foreign(filter) => {
                let parts = filter.parts();
                let bytes = parts.arrays.iter().map(|array| array.bytes.len() as u64).sum();
                let keys = (parts.keys > 0).then_some(parts.keys);
                Sizes { capacity: parts.capacity, keys, bytes }
            }
        }
    }

    /// An empty filter. Its capacity must be said, or follow from rate and memory; kinds that are built
    /// from all keys at once refuse.
    pub fn create(spec: &BuildSpec) -> Result<Filter, BuildError> {
        if let Target::Foreign(format, options) = &spec.target {
            let capacity = spec.capacity.ok_or(BuildError::Uncountable { name: format.name() })?;
            let fpr = spec.fpr.unwrap_or(super::DEFAULT_FPR);
            let filter = mayhap_foreign::create(*format, capacity, fpr, options)?;
            return Ok(Filter::in_memory(Body::Foreign(filter), *format, spec.metadata.clone()));
        }
        let filter = super::build::create(spec)?;
        let filter = Filter::from_native(filter, spec.metadata.clone());
        Ok(Filter { secret: spec.scheme.secret(), ..filter })
    }

    /// A copy in memory of its own.
    pub fn copy(&self, budget: Budget) -> Result<Filter, ChangeError> {
        let body = match &self.body {
            Body::Owned(filter) => Body::Owned(filter.clone()),
            // Whatever it is, its file is all there is to it.
            Body::Mapped(_) | Body::Foreign(_) => {
                let secret = self.secret.map_or(SecretSource::Beside, SecretSource::Value);
                let format = Some(self.written_as);
                let options = OpenOptions { format, secret, ..OpenOptions::default() };
                let bytes = Bytes::new(self.to_bytes()?);
                let copied = Filter::from_bytes(Path::new("a copy"), bytes, &options);
                let mut copy = copied.map_err(|error| ChangeError::Reopened(Box::new(error)))?;
                copy.make_owned(budget)?;
                copy.key_type = copy.key_type.or(self.key_type);
                return Ok(copy);
            }
        };
        let copy = Filter::in_memory(body, self.format, self.metadata.clone());
        let (written_as, secret, key_type) = (self.written_as, self.secret, self.key_type);
        Ok(Filter { written_as, secret, key_type, ..copy })
    }

    /// The bytes of its file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ChangeError> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes)
            .map_err(|error| ChangeError::Source(super::HostError::new(error)))?;
        self.check_unchanged()?;
        Ok(bytes)
    }

    /// The secret of a keyed filter.
    pub fn secret(&self) -> Option<mayhap::Secret> {
        let scheme = match &self.body {
            Body::Mapped(filter) => filter.scheme(),
            Body::Owned(filter) => filter.scheme(),
            Body::Foreign(_) => None,
        };
        scheme.and_then(|scheme| scheme.secret()).or(self.secret)
    }

    /// Remove all keys.
    pub fn clear(&mut self, budget: Budget) -> Result<(), ChangeError> {
        let name = self.name();
        self.make_owned(budget)?;
        match &mut self.body {
            Body::Owned(filter) => Ok(filter.clear()?),
            _ => Err(ChangeError::NoRemoval { name }),
        }
    }

    /// Whether both hold the same: filters of one kind and shape that hash alike, with equal bits and
    /// counts. What their files say beside the filter does not matter, nor where their bytes are.
    pub fn holds_same(&self, other: &Filter) -> bool {
        match (&self.body, &other.body) {
            (Body::Mapped(this), Body::Mapped(that)) => this == that,
            (Body::Mapped(this), Body::Owned(that)) => this == that,
            (Body::Owned(this), Body::Mapped(that)) => this == that,
            (Body::Owned(this), Body::Owned(that)) => this == that,
            (Body::Foreign(_), Body::Foreign(_)) => match (self.to_bytes(), other.to_bytes()) {
                (Ok(this), Ok(that)) => self.written_as == other.written_as && this == that,
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether the key may be in, by the bytes that are hashed; `false` is certain. A window of time
    /// answers as of now.
    #[inline]
    pub fn contains_key(&self, key: &[u8]) -> bool {
        match &self.body {
            Body::Mapped(filter) => contains_key(filter, key),
            Body::Owned(filter) => contains_key(filter, key),
            Body::Foreign(filter) => filter.contains(key),
        }
    }

    /// Add a key by the bytes that are hashed. `true`: it was certainly new.
    #[inline]
    pub fn insert_key(&mut self, key: &[u8], budget: Budget) -> Result<bool, ChangeError> {
        if !matches!(self.body, Body::Owned(_)) {
            self.make_owned(budget)?;
        }
        match &mut self.body {
            Body::Owned(AnyFilter::Bitmap(ids)) => match super::integer(key) {
                Some(id) => Ok(ids.insert(id)),
                None => Err(ChangeError::NotAnInteger),
            },
            Body::Owned(filter) => {
                check_growth(filter, 1, budget)?;
                let now = moment(filter);
                Ok(filter.insert_at(key, now)?)
            }
            Body::Foreign(filter) => {
                let mut new = Vec::new();
                filter.insert_batch(&[key], &mut new)?;
                Ok(new.first().copied().unwrap_or(false))
            }
            Body::Mapped(_) => Err(ChangeError::NotNative { name: self.format.name() }),
        }
    }

    /// Remove a key by the bytes that are hashed. `false`: it was certainly not in, nothing changed.
    pub fn remove_key(&mut self, key: &[u8], budget: Budget) -> Result<bool, ChangeError> {
        let mut keys = crate::keys::KeyBuffer::default();
        keys.push(key);
        let mut removed = Vec::new();
        self.remove_batch(&keys, budget, &mut removed)?;
        Ok(removed.first().copied().unwrap_or(false))
    }

    /// Ask for all keys of a source: `answers` is cleared and filled, one answer per key. A window of time
    /// answers as of now.
    pub fn contains_source(
        &self,
        keys: &dyn KeySource,
        answers: &mut Vec<bool>,
    ) -> Result<(), ChangeError> {
        answers.clear();
        match &self.body {
            Body::Mapped(filter) => contains_source(filter, keys, answers)?,
            Body::Owned(filter) => contains_source(filter, keys, answers)?,
            Body::Foreign(filter) => {
                let mut found = Vec::new();
                keys.keys(&mut |keys| {
                    filter.contains_all(keys.iter(), &mut found);
                    answers.append(&mut found);
                    ControlFlow::Continue(())
                })?;
            }
        }
        Ok(self.check_unchanged()?)
    }

    /// Add all keys of a source, in order: `new` is cleared and filled, `true` for each that was certainly
    /// new. A source that can be counted is added wholly, or nothing is added for lack of memory.
    pub fn insert_source(
        &mut self,
        keys: &dyn KeySource,
        budget: Budget,
        new: &mut Vec<bool>,
    ) -> Result<(), ChangeError> {
        new.clear();
        self.check_inserts(keys.count()?, budget)?;
        let (mut pass, mut found) = (Pass::new(), Vec::new());
        let tally = match &mut self.body {
            Body::Owned(AnyFilter::Bitmap(ids)) => keys.integers(&mut |batch| {
                // Told before the batch: half of one would be in.
                if batch.iter().any(Option::is_none) {
                    return pass.go_on(Err(ChangeError::NotAnInteger));
                }
                new.extend(batch.iter().flatten().map(|id| ids.insert(*id)));
                ControlFlow::Continue(())
            })?,
            Body::Owned(filter) => {
                let scheme = filter.scheme().unwrap_or_default();
                keys.hashes(scheme, &mut |hashes| {
                    let grows = check_growth(filter, hashes.len() as u64, budget);
                    let now = moment(filter);
                    let done =
                        grows.and_then(|()| Ok(filter.insert_batch_new(hashes, now, &mut found)?));
                    new.append(&mut found);
                    pass.go_on(done)
                })?
            }
            Body::Foreign(filter) => keys.keys(&mut |keys| {
                let done = filter.insert_batch(&keys.iter().collect::<Vec<_>>(), &mut found);
                new.append(&mut found);
                pass.go_on(done.map_err(ChangeError::from))
            })?,
            Body::Mapped(_) => return Err(ChangeError::NotNative { name: self.format.name() }),
        };
        pass.end(tally).map(drop)
    }

    /// Fails where so many more keys cannot be added, before any is: a kind that takes none, a growing one
    /// for which there is no memory.
    pub fn check_inserts(&mut self, more: Option<u64>, budget: Budget) -> Result<(), ChangeError> {
        self.make_owned(budget)?;
        match &self.body {
            Body::Owned(filter) => match filter.kind() {
                Kind::Cascade => Err(ChangeError::TwoLists),
                kind if !kind.traits().inserts => Err(ChangeError::Static { kind }),
                _ => check_all_growth(filter, more.unwrap_or(0), budget),
            },
            _ => Ok(()),
        }
    }
}

/// The time as of which a filter is asked and changed: only windows of time look at it.
fn moment<B: AsRef<[u8]>>(filter: &AnyFilter<B>) -> Moment {
    match filter {
        AnyFilter::Windowed(window) if window.window().ticks().is_some() => Moment::ticks(now_ms()),
        _ => Moment::LAST,
    }
}

#[inline]
fn contains_key<B: AsRef<[u8]>>(filter: &AnyFilter<B>, key: &[u8]) -> bool {
    match filter {
        AnyFilter::Bitmap(ids) => super::integer(key).is_some_and(|id| ids.contains(id)),
        filter => filter.contains_at(key, moment(filter)),
    }
}

fn contains_source<B: AsRef<[u8]> + Sync>(
    filter: &AnyFilter<B>,
    keys: &dyn KeySource,
    answers: &mut Vec<bool>,
) -> Result<(), ChangeError> {
    if let AnyFilter::Bitmap(bitmap) = filter {
        keys.integers(&mut |ids| {
            answers.extend(ids.iter().map(|id| id.is_some_and(|id| bitmap.contains(id))));
            ControlFlow::Continue(())
        })?;
        return Ok(());
    }
    let (now, mut pass, mut found) = (moment(filter), Pass::new(), Vec::new());
    let tally = keys.hashes(filter.scheme().unwrap_or_default(), &mut |hashes| {
        let done = filter.contains_batch_at(hashes, now, &mut found);
        answers.append(&mut found);
        pass.go_on(done.map_err(ChangeError::from))
    })?;
    pass.end(tally).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Merge, Slice};
    use mayhap::KindSpec;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn spec(kind: Kind) -> BuildSpec {
        let target = Target::Native(KindSpec::of(kind));
        BuildSpec { target, capacity: Some(1_000), ..BuildSpec::default() }
    }

    #[test]
    fn every_kind_that_takes_keys_is_created_filled_copied_and_cleared() -> Tested {
        for kind in Kind::ALL.iter().copied().filter(|kind| kind.traits().inserts) {
            let mut filter = Filter::create(&spec(kind))?;
            let keys: Vec<u64> = (0..500).collect();
            let mut new = Vec::new();
            filter.insert_source(&Slice(&keys), Budget::default(), &mut new)?;
            assert_eq!(new.len(), 500, "{kind}");
            assert!(new.iter().filter(|new| **new).count() > 450, "{kind}");
            assert!(filter.contains_key(&7u64.to_le_bytes()), "{kind}");
            assert!(!filter.insert_key(&7u64.to_le_bytes(), Budget::default())?, "{kind}");

            let copy = filter.copy(Budget::default())?;
            assert!(copy.holds_same(&filter) && copy.name() == filter.name(), "{kind}");
            assert_eq!(copy.to_bytes()?, filter.to_bytes()?, "{kind}");
            filter.clear(Budget::default())?;
            assert!(!filter.contains_key(&7u64.to_le_bytes()), "{kind}");
            assert!(!copy.holds_same(&filter), "{kind}");
            filter.merge(&copy, Merge::Union, Budget::default())?;
            assert!(filter.contains_key(&7u64.to_le_bytes()), "{kind}");
        }
        Ok(())
    }

    #[test]
    fn kinds_that_take_no_keys_say_so_before_anything_is_read() -> Tested {
        assert!(Filter::create(&spec(Kind::Fuse)).is_err());
        let ribbon = BuildSpec { target: Target::Native(KindSpec::Ribbon), ..BuildSpec::default() };
        let mut filter = Filter::build(&ribbon, &Slice(&["ada", "eve"]))?.filter;
        let refused = filter.insert_key(b"bob", Budget::default()).unwrap_err().to_string();
        assert!(refused.contains("ribbon"), "{refused}");
        let refused = filter.insert_source(&Slice(&["bob"]), Budget::default(), &mut Vec::new());
        assert!(matches!(refused, Err(ChangeError::Static { kind: Kind::Ribbon })));
        let copy = filter.copy(Budget::default())?;
        assert!(copy.holds_same(&filter) && copy.contains_key(b"ada"));
        Ok(())
    }

    #[test]
    fn another_programs_filter_is_copied_with_its_keys() -> Tested {
        let target = Target::Foreign(mayhap_foreign::Format::Guava, Default::default());
        let spec = BuildSpec { target, capacity: Some(100), ..BuildSpec::default() };
        let mut filter = Filter::create(&spec)?;
        assert!(filter.insert_key(b"ada", Budget::default())?);
        let copy = filter.copy(Budget::default())?;
        assert!(copy.contains_key(b"ada") && !copy.contains_key(b"eve"));
        assert!(copy.holds_same(&filter));
        assert!(filter.insert_key(b"eve", Budget::default())?);
        assert!(!copy.holds_same(&filter) && !copy.contains_key(b"eve"));
        Ok(())
    }

    /// What is not enough memory for all is not begun.
    #[test]
    fn a_source_is_added_wholly_or_not_at_all() -> Tested {
        let spec = BuildSpec { capacity: Some(1_000), ..spec(Kind::Scalable) };
        let mut filter = Filter::create(&spec)?;
        let before = filter.to_bytes()?;
        let keys: Vec<u64> = (0..1_000_000).collect();
        let budget = Budget::of_bytes(100_000);
        let refused = filter.insert_source(&Slice(&keys), budget, &mut Vec::new());
        assert!(matches!(refused, Err(ChangeError::Memory { .. })), "{refused:?}");
        assert_eq!(filter.to_bytes()?, before);
        Ok(())
    }
}
