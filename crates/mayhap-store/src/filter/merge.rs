//! Several filters become one, and one becomes another's format.

use super::{Body, ChangeError, Filter};
use crate::budget::Budget;
use crate::clock::now_s;
use crate::key_rules::{key_type_of, normalizer_of};
use mayhap::AnyFilter;
use mayhap::format::Metadata;
use mayhap_foreign::{Format, KeyType, Variant};

/// What a merged filter holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merge {
    /// What any of them holds.
    Union,
    /// What all of them hold.
    Intersect,
}

impl Filter {
    /// Merge with another filter that was built alike. What the other's metadata says and this one's
    /// does not is taken over.
    pub fn merge(&mut self, other: &Filter, how: Merge, budget: Budget) -> Result<(), ChangeError> {
        self.make_owned(budget)?;
        let same_keys = self.check_same_keys(other);
        match (&mut self.body, &other.body) {
            (Body::Owned(ours), Body::Mapped(theirs)) => {
                same_keys?;
                merge(ours, theirs, how)?;
            }
            (Body::Owned(ours), Body::Owned(theirs)) => {
                same_keys?;
                merge(ours, theirs, how)?;
            }
            (Body::Foreign(_), Body::Foreign(_)) if how == Merge::Intersect => {
                return Err(ChangeError::NoIntersection);
            }
            (Body::Foreign(ours), Body::Foreign(theirs)) => {
                same_keys?;
                ours.union(theirs.as_ref())?;
                self.key_type = self.key_type.or(other.key_type);
            }
            _ => {
                return Err(ChangeError::Unlike { this: self.name(), that: other.name() });
            }
        }
        other.check_unchanged()?;
        let mut metadata = self.metadata.clone().with_created(now_s());
        for (name, value) in other.metadata.pairs() {
            if metadata.get(name).is_none() {
                metadata = metadata.with(name, value)?;
            }
        }
        self.metadata = metadata;
        Ok(())
    }

    /// Fails where two filters mean different things by a key. The file of another program does not say
    /// what its keys are, so until somebody says it, it goes with any.
    fn check_same_keys(&self, other: &Filter) -> Result<(), ChangeError> {
        let says = |filter: &Filter, key_type: Option<KeyType>| {
            let key_type = key_type.map_or(key_type_of(&filter.metadata), |told| told.name());
            format!("normalizer {}, key type {key_type}", normalizer_of(&filter.metadata))
        };
        let of_foreign = |filter: &Filter| match filter.body {
            Body::Foreign(_) => filter.key_type,
            _ => None,
        };
        let (ours, theirs) = (of_foreign(self), of_foreign(other));
        let (this, that) = (says(self, ours.or(theirs)), says(other, theirs.or(ours)));
        if this == that {
            return Ok(());
        }
        Err(ChangeError::Keys { this, that })
    }

    /// From now on, write it in another format of the same family, or wrapped in a Mayhap file. The
    /// bits stay as they are, so that answers stay the same.
    pub fn convert(
        &mut self,
        to: Format,
        variant: Option<Variant>,
        key_type: Option<KeyType>,
    ) -> Result<(), ChangeError> {
        let Body::Foreign(filter) = &mut self.body else { return Err(ChangeError::Native) };
        let key_type = key_type.or(self.key_type);
        key_type.unwrap_or_default().check(self.format)?;
        if let Some(variant) = variant {
            filter.set_variant(variant)?;
        }
        // Found before anything is written, or an output that is a pipe would get half of it.
        if to != Format::Mayhap {
            filter.write_as(to, &mut std::io::sink())?;
        } else if self.written_as != Format::Mayhap {
            self.metadata = Metadata::new().with_created(now_s());
        }
        (self.written_as, self.key_type) = (to, key_type);
        Ok(())
    }
}

fn merge<B: AsRef<[u8]>>(
    ours: &mut AnyFilter,
    theirs: &AnyFilter<B>,
    how: Merge,
) -> Result<(), ChangeError> {
    let merged = match how {
        Merge::Union => ours.union(theirs),
        Merge::Intersect => ours.intersect(theirs),
    };
    merged.map_err(|error| match ours.kind() {
        kind if !kind.traits().merges => ChangeError::MergeStatic { kind, error },
        _ => error.into(),
    })
}
