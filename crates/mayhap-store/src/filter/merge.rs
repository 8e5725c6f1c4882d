//! Several filters become one, and one becomes another's format.

use super::{Body, ChangeError, Filter};
use crate::budget::Budget;
use crate::clock::now_s;
use crate::key_rules::{key_type_of, normalizer_of};
use mayhap::format::Metadata;
use mayhap::{AnyFilter, Kind};
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
        if let (Body::Foreign(ours), Body::Foreign(theirs)) = (&mut self.body, &other.body) {
            return match how {
                Merge::Union => Ok(ours.union(theirs.as_ref())?),
                Merge::Intersect => Err(ChangeError::NoIntersection),
            };
        }
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

    /// Fails where two filters mean different things by a key.
    fn check_same_keys(&self, other: &Filter) -> Result<(), ChangeError> {
        let says = |metadata: &Metadata| {
            format!("normalizer {}, key type {}", normalizer_of(metadata), key_type_of(metadata))
        };
        let (this, that) = (says(&self.metadata), says(&other.metadata));
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
        kind @ (Kind::Fuse | Kind::Ribbon | Kind::Cascade) => {
            ChangeError::MergeStatic { kind, error }
        }
        _ => error.into(),
    })
}
