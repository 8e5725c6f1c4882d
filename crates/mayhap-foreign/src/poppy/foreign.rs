//! A poppy filter as any foreign one.

use super::{FORMAT, Head, Optimisation, Poppy, hash_key, matches_magic, read};
use crate::family::{BYTES, Choices, Family, FormatRow, never, open_flat};
use crate::{
    Bytes, Foreign, ForeignError, Format, Parts, Reader, StoredArray, Summary, chunked, ids, limits,
};
use crate::{Variant, dcso};
use mayhap::Classic;
use mayhap::format::Array;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use std::any::Any;
use std::borrow::Cow;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Poppy,
        name: "poppy",
        programs: "poppy (Rust)",
        file: "version 2 (and 1, which is `dcso`)",
        detected: "yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices::variants(&[Variant::None, Variant::Space, Variant::Speed, Variant::Best]),
    }],
    is_certain: |_, bytes| matches_magic(bytes),
    is_possible: never,
    open: |_, file, _| match file.as_ref().first() {
        // Its first version is DCSO's format.
        Some(1) => open_flat(dcso::read(file.as_ref()), file),
        _ => Ok(Box::new(AnyPoppy::open(file)?)),
    },
    create: |_, new| {
        let optimisation = match new.variant() {
            Some(Variant::Space) => Optimisation::Space,
            Some(Variant::Speed) => Optimisation::Speed,
            Some(Variant::Best) => Optimisation::Best,
            _ => Optimisation::None,
        };
        Ok(Box::new(AnyPoppy::Owned(Poppy::create(new.keys, new.fpr, optimisation)?)))
    },
    from_parts: |_, data, arrays, target| Ok(Box::new(AnyPoppy::from_parts(data, arrays, target)?)),
};

/// Over memory of its own, or over a file until something is inserted.
#[derive(Debug)]
pub(crate) enum AnyPoppy {
    Owned(Poppy),
    Borrowed(Poppy<Bytes>),
}

macro_rules! either {
    ($any:expr, $filter:ident => $does:expr) => {
        match $any {
            AnyPoppy::Owned($filter) => $does,
            AnyPoppy::Borrowed($filter) => $does,
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
        Poppy::assemble(head, slice(places.cache), buckets).map(AnyPoppy::Borrowed)
    }

    /// Put together what [`Foreign::parts`] took apart.
    pub fn from_parts(
        data: &mut Reader<'_>,
        arrays: Vec<StoredArray>,
        (capacity, fpr, keys): (u64, f64, u64),
    ) -> Result<AnyPoppy, ForeignError> {
        let optimisation = Optimisation::read(data)?;
        let appended = data.rest().to_vec();
        let mut arrays = arrays.into_iter().rev();
        let (buckets, cache) = (arrays.next(), arrays.next());
        let buckets = buckets.ok_or_else(|| ForeignError::field("arrays", 0, "1 or 2"))?;
        let probes = limits::probes(buckets.params.get(1).copied().unwrap_or(0))?;
        let head = Head { optimisation, capacity, fpr, probes, keys, appended };
        let cache = cache.map(|cache| cache.bytes);
        Poppy::assemble(head, cache, buckets.bytes).map(AnyPoppy::Borrowed)
    }

    fn owned(&mut self) -> Result<&mut Poppy, ForeignError> {
        if let AnyPoppy::Borrowed(lent) = self {
            let cache = lent.cache.as_ref().map(|cache| AlignedBuf::copy_of(cache.as_bytes()));
            let buckets = AlignedBuf::copy_of(lent.buckets.as_bytes())?;
            let own = Poppy::assemble(lent.head.clone(), cache.transpose()?, buckets)?;
            *self = AnyPoppy::Owned(own);
        }
        match self {
            AnyPoppy::Owned(own) => Ok(own),
            AnyPoppy::Borrowed(_) => Err(ForeignError::field("filter", "in a file", "in memory")),
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
            chunked::each(keys, answers, hash, |hashes, found| filter.contains_batch(hashes, found));
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
