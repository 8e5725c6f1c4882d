//! What `CF.*` filters have beside their items: the numbers of RedisBloom's cuckoo filters, which
//! clients set and read back, and how a new one is made and told to replicas.

use super::{Filter, Part};
use crate::CommandError;
use mayhap::format::dump::CuckooParams;
use mayhap::sizing::QuotientShape;
use mayhap::{AnyFilter, Quotient, Secret, Spec};

/// All that decides what a new `CF.*` filter is. The same spec makes the same filter everywhere.
#[derive(Clone, Copy, Debug)]
pub struct CuckooSpec {
    /// The items it is made for.
    pub capacity: u64,
    /// The false-positive rate with `capacity << doublings` items.
    pub fpr: f64,
    /// How often it may double before the rate rises above `fpr`.
    pub doublings: u32,
    /// Numbers of RedisBloom's that clients read back.
    pub params: CuckooParams,
    /// The secret it hashes under.
    pub secret: Secret,
}

impl CuckooSpec {
    /// Doublings that a filter expects which nobody reserved: a thousandfold.
    pub const DOUBLINGS: u32 = 10;

    /// The filter, if it fits into `room_bytes`.
    pub fn make(&self, room_bytes: u64) -> Result<Filter, CommandError> {
        let spec = Spec::new(self.capacity, self.fpr)?.with_secret(self.secret);
        if self.bytes() > room_bytes {
            return Err(CommandError::NO_MEMORY);
        }
        let mut quotient = Quotient::with_growth(spec, self.doublings)?;
        quotient.set_auto_grow(self.params.expansion != 0);
        let mut filter = Filter::new(Part::Native(AnyFilter::Quotient(quotient)));
        filter.set_cuckoo(Some(self.params));
        Ok(filter)
    }

    /// The bytes of its lines.
    pub fn bytes(&self) -> u64 {
        QuotientShape::for_growth(self.capacity, self.fpr, self.doublings).bits() / 8
    }

    /// The words after the key of the `CF.RESERVE` that makes the same filter anywhere, whatever is
    /// set there.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let CuckooParams { bucket_size, max_iterations, expansion, .. } = self.params;
        let words = format!(
            "{} BUCKETSIZE {bucket_size} MAXITERATIONS {max_iterations} EXPANSION {expansion} ERROR {} GROWTH {} SECRET {}",
            self.capacity,
            self.fpr,
            1u64 << self.doublings,
            self.secret.to_hex(),
        );
        words.split(' ').map(|word| word.as_bytes().to_vec()).collect()
    }
}

impl Filter {
    /// Its quotient filter, if it is a `CF.*` filter that is not still loading.
    #[inline]
    pub fn quotient(&self) -> Result<&Quotient, CommandError> {
        match self.main()? {
            Part::Native(AnyFilter::Quotient(quotient)) => Ok(quotient),
            _ => Err(CommandError::WRONG_TYPE),
        }
    }

    /// Delete one insertion of an item. Whether it may have been in.
    pub fn delete(&mut self, item: &[u8]) -> Result<bool, CommandError> {
        let removed = self.remove_many(&[item])?.first() == Some(&true);
        if removed && let Some(mut params) = self.cuckoo() {
            params.deletes = params.deletes.saturating_add(1);
            self.set_cuckoo(Some(params));
        }
        Ok(removed)
    }
}
