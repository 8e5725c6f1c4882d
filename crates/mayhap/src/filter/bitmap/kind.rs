//! `Bitmap` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Bitmap;
use crate::Key;
use crate::filter::each::{Change, Create, MergeWith, Read, Reason};
use crate::filter::{Kind, KindSpec, MergeError, Moment};
use crate::format::fields::single_array;
use crate::format::{Array, Codec, FileLayout, FormatError, Header, MAX_KEYS};
use crate::hash::Hash;
use crate::kernel::Relocate;
use crate::scheme::{Native, SchemeId};
use crate::spec::{Spec, SpecError};
use std::borrow::Cow;

impl<B: AsRef<[u8]>> Codec<B> for Bitmap {
    fn layout(&self) -> FileLayout<'_> {
        FileLayout {
            kind: Kind::Bitmap,
            scheme: SchemeId::EXACT,
            seed_or_key_check: 0,
            scheme_data: &[],
            capacity: 0,
            fpr: 0.0,
            keys: self.keys().min(MAX_KEYS),
            params: Vec::new(),
            arrays: vec![Array { params: Vec::new(), bytes: Cow::Owned(self.to_bytes()) }],
        }
    }

    fn read(header: &Header, _: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([], section) = single_array(header, arrays)?;
        // Nothing is asked for and nothing hashed, so there is one way to spell these.
        if (header.capacity, header.fpr.to_bits(), header.seed_or_key_check) != (0, 0, 0) {
            return Err(FormatError::field("capacity, rate or seed", "not 0", "0 in an exact set"));
        }
        let ids = Bitmap::from_bytes(section.as_ref()).ok_or_else(|| {
            FormatError::field("ids", "not a set", "in Roaring's portable format")
        })?;
        if ids.keys() != header.keys {
            return Err(FormatError::field("keys", header.keys, "as many as there are"));
        }
        Ok(ids)
    }
}

const NO_HASH: Reason = "hashes nothing: ask for the key itself";
const NOT_AN_INTEGER: Reason = "holds integers only: keys of 8 bytes";

impl Read for Bitmap {
    fn scheme(&self) -> Option<Native> {
        None
    }

    fn contains_key(&self, key: impl Key, _: Moment) -> bool {
        self.contains_key(key)
    }

    fn contains_hash(&self, _: Hash, _: Moment) -> Result<bool, Reason> {
        Err(NO_HASH)
    }

    fn contains_batch(&self, _: &[Hash], _: Moment, _: &mut Vec<bool>) -> Result<(), Reason> {
        Err(NO_HASH)
    }

    fn target(&self) -> (u64, f64) {
        (0, 0.0)
    }

    fn keys(&self, _: Moment) -> u64 {
        self.keys()
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn fill(&self, _: Moment) -> f64 {
        self.fill()
    }

    fn estimate(&self, _: Moment) -> u64 {
        self.estimate()
    }

    fn fpr_now(&self, _: Moment) -> f64 {
        self.fpr_now()
    }
}

impl Create for Bitmap {
    fn create(_: &KindSpec, _: Spec, _: Option<u64>) -> Result<Self, SpecError> {
        Ok(Bitmap::new())
    }

    fn from_hashes(kind: &KindSpec, _: Spec, _: &mut [Hash]) -> Result<Self, SpecError> {
        Err(SpecError::Kind { kind: kind.kind(), what: NO_HASH })
    }
}

impl Change for Bitmap {
    fn insert_key(&mut self, key: impl Key, _: Moment) -> Result<bool, Reason> {
        self.insert_key(key).map_err(|_| NOT_AN_INTEGER)
    }

    fn insert_batch(&mut self, _: &[Hash], _: Moment) -> Result<u64, Reason> {
        Err(NO_HASH)
    }

    fn insert_batch_new(&mut self, _: &[Hash], _: Moment, _: &mut Vec<bool>) -> Result<(), Reason> {
        Err(NO_HASH)
    }

    fn remove_key(&mut self, key: impl Key) -> Result<bool, Reason> {
        Ok(self.remove_key(key))
    }

    fn clear(&mut self) -> Result<(), Reason> {
        self.clear();
        Ok(())
    }

    /// Its many small pieces belong to another crate, which cannot relocate them.
    fn relocate(&mut self, _: &mut Relocate<'_>) {}
}

impl MergeWith<Bitmap> for Bitmap {
    fn union_with(&mut self, other: &Bitmap) -> Result<(), MergeError> {
        self.union(other);
        Ok(())
    }

    fn intersect_with(&mut self, other: &Bitmap) -> Result<(), MergeError> {
        self.intersect(other);
        Ok(())
    }
}
