//! What a store of lists must be able to do. Everything else is decided before or after.

use crate::SeenError;
use crate::list::Operation;
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::View;
use mayhap::Hash;
use std::sync::Arc;

/// Returns the time, in seconds since 1970.
pub type Clock = Arc<dyn Fn() -> Seconds + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    })
}

/// One operation on one owner's list.
#[derive(Clone, Debug)]
pub struct OwnerOperation<'a> {
    /// The owner of the list.
    pub owner: &'a [u8],
    /// The operation.
    pub operation: Operation,
    /// The ids it is about.
    pub ids: &'a [&'a [u8]],
    /// Their hashes, made by [`hash_ids`](crate::hash_ids).
    pub hashes: &'a [Hash],
}

/// Stores lists. Programs use it through [`Seen`](crate::Seen).
///
/// Each operation is atomic: concurrent ones are serialized. Owners that the policy does not allow
/// are rejected ([`SeenError::Owner`]) before anything is done.
pub trait Backend: Send + Sync {
    /// The policy of the store; read from the store if not known yet.
    fn policy(&self) -> Result<Policy, SeenError>;

    /// Change some fields of the policy, for everyone who uses the store.
    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError>;

    /// The current time.
    fn now(&self) -> Seconds;

    /// The lists of these owners, in this order.
    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError>;

    /// Apply all operations, in order; returns for each which of its ids were known just before.
    ///
    /// For a mark, known means marked; for operations on unseen ids also ids on offer.
    fn change(&self, changes: &[OwnerOperation<'_>]) -> Result<Vec<Vec<bool>>, SeenError>;

    /// Delete an owner's list; true if there was one.
    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError>;

    /// Merge these exported records into the lists of their owners. If one of them cannot be
    /// decoded, nothing is done.
    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError>;

    /// Visit all owners, with the bytes that each list takes. What is not a list, or cannot be
    /// decoded, is visited as an error.
    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError>;

    /// Return when everything done so far is as durable as this backend can make it.
    fn flush(&self) -> Result<(), SeenError> {
        Ok(())
    }
}

/// Called with an owner, the list or why it cannot be decoded, and its bytes in the store.
pub type Visit<'a> = dyn FnMut(&[u8], Result<View, SeenError>, u64) -> Result<(), SeenError> + 'a;

impl<B: Backend + ?Sized> Backend for Box<B> {
    fn policy(&self) -> Result<Policy, SeenError> {
        (**self).policy()
    }

    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        (**self).set_policy(fields)
    }

    fn now(&self) -> Seconds {
        (**self).now()
    }

    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        (**self).read(owners)
    }

    fn change(&self, changes: &[OwnerOperation<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
        (**self).change(changes)
    }

    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        (**self).forget(owner)
    }

    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        (**self).merge(exported)
    }

    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError> {
        (**self).each(visit)
    }

    fn flush(&self) -> Result<(), SeenError> {
        (**self).flush()
    }
}
