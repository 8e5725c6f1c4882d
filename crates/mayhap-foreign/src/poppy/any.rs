//! A poppy filter as any foreign one.

use super::{FORMAT, Head, Optimisation, Poppy, hash_key, read};
use crate::{
    Bytes, Foreign, ForeignError, Format, Leaf, Parts, Reader, Summary, ids, limits, pieces,
};
use mayhap::format::Array;
use mayhap::{Classic, Pages, Scheme};
use std::any::Any;
use std::borrow::Cow;
use std::io::Write;

/// Over memory of its own, or over a file until something is inserted.
#[derive(Debug)]
pub(crate) enum AnyPoppy {
    Own(Poppy),
    Lent(Poppy<Bytes>),
}

macro_rules! either {
    ($any:expr, $filter:ident => $does:expr) => {
        match $any {
            AnyPoppy::Own($filter) => $does,
            AnyPoppy::Lent($filter) => $does,
        }
    };
}

impl AnyPoppy {
    /// Use a file in place.
    pub fn open(file: &Bytes) -> Result<AnyPoppy, ForeignError> {
        let (head, places) = read(file.as_ref())?;
        let slice = |range| file.slice(range);
        let missing = ForeignError::Truncated { field: "buckets", need: 1, have: 0 };
        let buckets = slice(places.buckets).ok_or(missing)?;
        Poppy::assemble(head, slice(places.cache), buckets).map(AnyPoppy::Lent)
    }

    /// Put together what [`Foreign::parts`] took apart.
    pub fn from_parts(
        data: &mut Reader<'_>,
        leaves: Vec<Leaf>,
        (capacity, fpr, keys): (u64, f64, u64),
    ) -> Result<AnyPoppy, ForeignError> {
        let optimisation = Optimisation::read(data)?;
        let appended = data.rest().to_vec();
        let mut leaves = leaves.into_iter().rev();
        let (buckets, cache) = (leaves.next(), leaves.next());
        let buckets = buckets.ok_or_else(|| ForeignError::field("arrays", 0, "1 or 2"))?;
        let probes = limits::probes(buckets.params.get(1).copied().unwrap_or(0))?;
        let head = Head { optimisation, capacity, fpr, probes, keys, appended };
        let cache = cache.map(|cache| cache.bytes);
        Poppy::assemble(head, cache, buckets.bytes).map(AnyPoppy::Lent)
    }

    fn owned(&mut self) -> Result<&mut Poppy, ForeignError> {
        if let AnyPoppy::Lent(lent) = self {
            let cache = lent.cache.as_ref().map(|cache| Pages::copy_of(cache.as_bytes()));
            let buckets = Pages::copy_of(lent.buckets.as_bytes())?;
            let own = Poppy::assemble(lent.head.clone(), cache.transpose()?, buckets)?;
            *self = AnyPoppy::Own(own);
        }
        match self {
            AnyPoppy::Own(own) => Ok(own),
            AnyPoppy::Lent(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
        }
    }
}

fn array<S: Scheme, B: AsRef<[u8]>>(filter: &Classic<S, B>) -> Array<'_> {
    let params = vec![filter.shape().bits, filter.shape().probes.into()];
    Array { params, bytes: Cow::Borrowed(filter.as_bytes()) }
}

impl Foreign for AnyPoppy {
    fn summary(&self) -> Summary {
        either!(self, filter => {
            let cache_bits = filter.cache.as_ref().map_or(0, |cache| cache.shape().bits);
            Summary {
                format: FORMAT,
                scheme: ids::POPPY_V2,
                details: vec![
                    ("version", "2".to_owned()),
                    ("optimisation", filter.head.optimisation.name().to_owned()),
                ],
                capacity: filter.head.capacity,
                fpr: filter.head.fpr,
                keys: Some(filter.head.keys),
                layers: 1,
                bits: filter.buckets.shape().bits + cache_bits,
                probes: filter.head.probes,
                fill: filter.buckets.fill(),
                estimate: filter.buckets.estimate(),
                fpr_now: filter.fpr_now(),
            }
        })
    }

    fn contains(&self, key: &[u8]) -> bool {
        either!(self, filter => filter.contains(key))
    }

    fn contains_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hash = |keys: &[&[u8]], hashes: &mut Vec<u64>| {
            hashes.clear();
            hashes.extend(keys.iter().map(|key| hash_key(key)));
        };
        either!(self, filter => {
            pieces::each(keys, answers, hash, |hashes, found| filter.contains_batch(hashes, found));
        });
    }

    fn insert_batch(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        let filter = self.owned()?;
        new.clear();
        new.extend(keys.iter().map(|key| filter.insert_hash(hash_key(key))));
        Ok(())
    }

    fn union(&mut self, other: &dyn Foreign) -> Result<(), ForeignError> {
        let Some(other) = (other as &dyn Any).downcast_ref::<AnyPoppy>() else {
            let from = other.summary().format;
            return Err(ForeignError::Untranslatable { from, to: FORMAT });
        };
        let ours = self.owned()?;
        either!(other, theirs => ours.union(theirs))
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        if format != FORMAT {
            return Err(ForeignError::Untranslatable { from: FORMAT, to: format });
        }
        either!(self, filter => filter.write_to(to))
    }

    fn parts(&self) -> Parts<'_> {
        either!(self, filter => {
            let mut data = vec![filter.head.optimisation as u8];
            data.extend(&filter.head.appended);
            let mut arrays: Vec<_> = filter.cache.as_ref().map(array).into_iter().collect();
            arrays.push(array(&filter.buckets));
            Parts {
                format: FORMAT,
                scheme: ids::POPPY_V2,
                data,
                capacity: filter.head.capacity,
                fpr: filter.head.fpr,
                keys: filter.head.keys,
                arrays,
            }
        })
    }
}
