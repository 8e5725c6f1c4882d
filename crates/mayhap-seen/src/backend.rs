//! What a store of lists must be able to do. Everything else is decided before or after.

use crate::SeenError;
use crate::list::Deed;
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::View;
use mayhap::Hash;
use std::sync::Arc;

/// Tells the time, in seconds since 1970.
pub type Clock = Arc<dyn Fn() -> Seconds + Send + Sync>;

/// The system's clock.
pub fn system_clock() -> Clock {
    Arc::new(|| {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| since.as_secs())
    })
}

/// One deed to one owner's list.
#[derive(Clone, Debug)]
pub struct Change<'a> {
    /// Whose list.
    pub owner: &'a [u8],
    /// What is done.
    pub deed: Deed,
    /// To which ids.
    pub ids: &'a [&'a [u8]],
    /// Their hashes, as [`hash_ids`](crate::hash_ids) makes them.
    pub hashes: &'a [Hash],
}

/// Keeps lists. [`Seen`](crate::Seen) is the door to use.
///
/// Each change is atomic: of two at once, one comes after the other and sees what it did. Owners
/// that the policy does not allow are refused ([`SeenError::Owner`]) before anything is done.
pub trait Backend: Send + Sync {
    /// By which rules lists live here. The store is asked, where it is not known yet.
    fn policy(&self) -> Result<Policy, SeenError>;

    /// Change some fields of the policy, for all who use the store; the others stay as they are.
    fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError>;

    /// What time it is.
    fn now(&self) -> Seconds;

    /// The lists of these owners as they stand, in this order.
    fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError>;

    /// Do all of this, in order, and tell of each change which of its ids were known just before.
    ///
    /// A mark knows what is marked; the deeds on unseen ids know also what is on offer.
    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError>;

    /// Forget an owner; true if there was something to forget.
    fn forget(&self, owner: &[u8]) -> Result<bool, SeenError>;

    /// Remember also what these records of these owners remember. If one of them cannot be read,
    /// nothing is done.
    fn merge(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError>;

    /// Visit all owners, with the bytes that each list takes. What is not a list, or one that
    /// cannot be read, is visited as the error it is.
    fn each(&self, visit: &mut Visit<'_>) -> Result<(), SeenError>;

    /// Return when all that was done is as safe as this backend can make it.
    fn flush(&self) -> Result<(), SeenError> {
        Ok(())
    }
}

/// Takes an owner, the list or why it cannot be read, and its bytes in the store.
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

    fn change(&self, changes: &[Change<'_>]) -> Result<Vec<Vec<bool>>, SeenError> {
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
