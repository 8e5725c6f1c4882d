//! RocksDB's filters for code that learns the format when it runs.

use super::{FastLocal, Filter, Legacy, TRAILER_BYTES, fast_local, filter_in_sst, is_sst, legacy};
use crate::Variant;
use crate::cow::{CowFilter, Owned, ReadOnly, array, borrow_range};
use crate::family::{BYTES, BitsPerKey, Choices, Family, FormatRow, is_text};
use crate::{
    Bytes, Foreign, ForeignError, Format, Parts, Reader, StoredArray, Summary, chunked, ids,
};
use mayhap::Classic;
use mayhap::format::Array;
use mayhap::mem::AlignedBuf;
use mayhap::scheme::Scheme;
use std::borrow::Cow;
use std::io::Write;

/// What the family says about itself.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Rocksdb,
        name: "rocksdb",
        programs: "RocksDB: FastLocalBloom, the older full filter, Ribbon (read only)",
        file: "a filter block, or a whole SST file",
        detected: "SST: yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices {
            bits_per_key: BitsPerKey::Any,
            ..Choices::variants(&[Variant::FastLocal, Variant::Legacy])
        },
    }],
    is_certain: |_, bytes| is_sst(bytes),
    is_possible: |_, bytes| !is_text(bytes) && Filter::open(bytes).is_ok(),
    open: |_, file, _| open(file),
    create: |_, new| {
        let is_legacy = new.variant() == Some(Variant::Legacy);
        create(new.keys, new.fpr, new.options.making.bits_per_key, is_legacy)
    },
    from_parts: |_, data, arrays, _| from_parts(data, arrays),
};

/// A filter block, or the one in an SST file.
fn open(file: &Bytes) -> Result<Box<dyn Foreign>, ForeignError> {
    let block = match is_sst(file.as_ref()) {
        true => borrow_range(file, filter_in_sst(file.as_ref())?)?,
        false => file.clone(),
    };
    let filter = Filter::read(block.as_ref(), |range| borrow_range(&block, range))?;
    Ok(Box::new(CowFilter::<Filter>::Borrowed(filter)))
}

/// What RocksDB makes of so many keys, with so many bits a key, or as many as the rate takes.
fn create(
    keys: u64,
    fpr: f64,
    bits_per_key: Option<f64>,
    is_legacy: bool,
) -> Result<Box<dyn Foreign>, ForeignError> {
    // Bits a key are no promise of a rate.
    let fpr_of_target = if bits_per_key.is_some() { 0.0 } else { fpr };
    let keys = crate::limits::check_target(keys, fpr)?;
    let filter = if is_legacy {
        let bits = bits_per_key.unwrap_or_else(|| legacy::bits_per_key_for(fpr));
        Filter::Legacy(legacy::empty(keys, bits)?.with_target(keys, fpr_of_target, 0))
    } else {
        let bits = bits_per_key.unwrap_or_else(|| fast_local::bits_per_key_for(fpr));
        Filter::FastLocal(fast_local::empty(keys, bits)?.with_target(keys, fpr_of_target, 0))
    };
    Ok(Box::new(CowFilter::Owned(filter)))
}

/// Back from the parts it was kept as.
fn from_parts(
    data: &mut Reader<'_>,
    arrays: Vec<StoredArray>,
) -> Result<Box<dyn Foreign>, ForeignError> {
    let trailer: [u8; TRAILER_BYTES] = data.array("trailer")?;
    data.end()?;
    let [StoredArray { bytes: bits, .. }] = <[StoredArray; 1]>::try_from(arrays)
        .map_err(|arrays| ForeignError::field("arrays", arrays.len(), "1"))?;
    let body = 0..bits.as_ref().len();
    let filter = Filter::read_parts(body, &trailer, |range| borrow_range(&bits, range))?;
    Ok(Box::new(CowFilter::<Filter>::Borrowed(filter)))
}

impl<B: AsRef<[u8]> + std::fmt::Debug + Send + Sync + 'static> ReadOnly for Filter<B> {
    fn summary(&self) -> Summary {
        let details = vec![("kind", self.kind().to_owned())];
        let (fill, fpr_now) = (self.fill(), self.fpr_now());
        let (scheme, probes, estimate, capacity, fpr) = match self {
            Filter::FastLocal(f) => describe(f),
            Filter::Legacy(f) => describe(f),
            Filter::Ribbon(f) => (ids::ROCKSDB_RIBBON, f.columns(), 0, 0, f.fpr()),
        };
        Summary {
            format: Format::Rocksdb,
            scheme,
            details,
            capacity,
            fpr,
            keys: None,
            layers: 1,
            bits: 8 * self.as_bytes().len() as u64,
            probes,
            fill,
            estimate,
            fpr_now,
        }
    }

    fn contains_key(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn contains_keys(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        self.contains_batch(keys, answers);
    }

    fn write_as(&self, format: Format, to: &mut dyn Write) -> Result<(), ForeignError> {
        if format != Format::Rocksdb {
            return Err(ForeignError::Untranslatable { from: Format::Rocksdb, to: format });
        }
        to.write_all(self.as_bytes())?;
        Ok(to.write_all(&self.trailer())?)
    }

    fn parts(&self) -> Parts<'_> {
        let (capacity, fpr, keys, array) = match self {
            Filter::FastLocal(f) => (f.capacity(), f.fpr(), f.keys(), array(f, &[])),
            Filter::Legacy(f) => (f.capacity(), f.fpr(), f.keys(), array(f, &[])),
            Filter::Ribbon(f) => {
                let bytes = f.as_bytes();
                let params = vec![8 * bytes.len() as u64, f.columns().into()];
                (0, f.fpr(), 0, Array { params, bytes: Cow::Borrowed(bytes) })
            }
        };
        let scheme = match self {
            Filter::FastLocal(_) => ids::ROCKSDB_FAST_LOCAL,
            Filter::Legacy(_) => ids::ROCKSDB_LEGACY,
            Filter::Ribbon(_) => ids::ROCKSDB_RIBBON,
        };
        let data = self.trailer().to_vec();
        let format = Format::Rocksdb;
        Parts { format, scheme, data, capacity, fpr, keys, arrays: vec![array] }
    }
}

/// Scheme, probes, estimate of keys, capacity and rate.
fn describe<S: Scheme, B: AsRef<[u8]>>(
    filter: &Classic<S, B>,
) -> (mayhap::scheme::SchemeId, u32, u64, u64, f64) {
    let (scheme, probes) = (filter.scheme().id(), filter.shape().probes);
    (scheme, probes, filter.estimate(), filter.capacity(), filter.fpr())
}

impl Owned for Filter {
    type Borrowed = Filter<Bytes>;

    fn copy_of(lent: &Filter<Bytes>) -> Result<Filter, ForeignError> {
        let body = 0..lent.as_bytes().len();
        let copy = |_| Ok(AlignedBuf::copy_of(lent.as_bytes())?);
        Filter::read_parts(body, &lent.trailer(), copy)
    }

    fn insert_keys(&mut self, keys: &[&[u8]], new: &mut Vec<bool>) -> Result<(), ForeignError> {
        fn batch<S: Scheme + Copy>(filter: &mut Classic<S>, keys: &[&[u8]], new: &mut Vec<bool>) {
            let scheme = *filter.scheme();
            let hash = chunked::hash_each(&scheme);
            chunked::each(keys, new, hash, |hashes, new| filter.insert_batch_new(hashes, new));
        }
        match self {
            Filter::FastLocal(filter) => batch::<FastLocal>(filter, keys, new),
            Filter::Legacy(filter) => batch::<Legacy>(filter, keys, new),
            Filter::Ribbon(_) => return Err(super::no_more_keys()),
        }
        Ok(())
    }

    fn union_owned(&mut self, other: &Filter) -> Result<(), ForeignError> {
        self.union(other)
    }

    fn union_borrowed(&mut self, other: &Filter<Bytes>) -> Result<(), ForeignError> {
        self.union(other)
    }
}
