//! The public type: what a recommender calls.

use crate::SeenError;
use crate::backend::Backend;
use crate::list::{Explanation, Operation};
use crate::operation::{self, CheckedCall, check_ids, check_owner, hash_ids};
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::{ListStats, View};
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has seen what.
///
/// Owners and ids are arbitrary bytes. There are no false negatives while the slice of an id lives:
/// a marked id is never reported unseen. False positives are at most as frequent as the policy's
/// rate. All methods take `&self` and may be called from many threads.
///
/// ```
/// use mayhap_seen::{Embedded, Seen};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("seen.redb");
/// let seen = Seen::new(Embedded::open(&path)?);
/// assert_eq!(seen.mark(b"user-1", &["a1", "a2"])?, 2);
/// assert_eq!(seen.mark(b"user-1", &["a2", "a3"])?, 1);
/// assert_eq!(seen.unseen(b"user-1", &["a1", "a4", "a3", "a5"])?, [&"a4", &"a5"]);
/// assert_eq!(seen.unseen(b"user-2", &["a1"])?, [&"a1"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Seen<B> {
    backend: B,
    fail_open: bool,
    failures: AtomicU64,
    fail_open_hook: Option<FailOpenHook>,
}

/// Called for the first call that fails open.
type FailOpenHook = Box<dyn Fn(&SeenError) + Send + Sync>;

/// Statistics of a whole store.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreStats {
    /// Owners with a list.
    pub owners: u64,
    /// Ids in all lists.
    pub ids: u64,
    /// Ids on offer.
    pub offered: u64,
    /// Bytes of all lists, without the store's overhead.
    pub bytes: u64,
    /// The largest list.
    pub largest_bytes: u64,
    /// Lists that are damaged, or of a newer release. They are not counted elsewhere.
    pub unreadable: u64,
    /// Keys with the same prefix that are not lists: other programs'.
    pub foreign: u64,
}

impl<B: Backend> Seen<B> {
    /// Lists in this backend.
    pub fn new(backend: B) -> Seen<B> {
        Seen { backend, fail_open: false, failures: AtomicU64::new(0), fail_open_hook: None }
    }

    /// Fail open: while the store cannot be reached, nothing counts as seen and marks are dropped,
    /// instead of an error. [`failures`](Seen::failures) counts them.
    ///
    /// This is for temporary failures: a server that is down, starting, busy or failing over
    /// ([`SeenError::Unreachable`]). A wrong password, certificate or address stays an error.
    pub fn with_fail_open(self, fail_open: bool) -> Seen<B> {
        Seen { fail_open, ..self }
    }

    /// Call this with the error, the first time that a call fails open.
    pub fn when_failing_open(self, tell: impl Fn(&SeenError) + Send + Sync + 'static) -> Seen<B> {
        Seen { fail_open_hook: Some(Box::new(tell)), ..self }
    }

    /// Calls that failed open so far.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The backend.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The policy of the store; read from the store if not known yet.
    pub fn policy(&self) -> Result<Policy, SeenError> {
        self.backend.policy()
    }

    /// Change some fields of the policy, for everyone who uses the store; returns the new policy.
    ///
    /// Nothing is dropped at once. Lists follow the new policy from their next operation or lookup
    /// on; one with more slices than allowed loses two for each new one.
    ///
    /// ```
    /// use mayhap_seen::{Embedded, Seen};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("seen.redb");
    /// let mut seen = Seen::new(Embedded::open(&path)?);
    /// let policy = seen.set_policy(&"ids=2000".parse()?)?;
    /// assert_eq!((policy.slices(), policy.ids()), (5, 2000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_policy(&mut self, fields: &PolicyFields) -> Result<Policy, SeenError> {
        self.backend.set_policy(fields)
    }

    /// The candidates that the owner has not seen, in order.
    pub fn unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        Ok(self.unseen_many(&[(owner, candidates)])?.pop().unwrap_or_default())
    }

    /// [`unseen`](Seen::unseen) for many owners at once: one round trip for all.
    pub fn unseen_many<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&[u8], &'a [I])],
    ) -> Result<Vec<Vec<&'a I>>, SeenError> {
        asked.iter().try_for_each(|(_, ids)| check_ids(ids))?;
        let owners: Vec<&[u8]> = asked.iter().map(|(owner, _)| *owner).collect();
        Ok(unseen_in(asked, self.open(self.backend.read(&owners))?))
    }

    /// Mark ids as seen; returns how many were new.
    pub fn mark<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        Ok(self.mark_many(&[(owner, ids)])?[0])
    }

    /// [`mark`](Seen::mark) for many owners at once. An owner may come more than once.
    pub fn mark_many<I: AsRef<[u8]>>(
        &self,
        shown: &[(&[u8], &[I])],
    ) -> Result<Vec<u64>, SeenError> {
        let calls = calls(shown)?;
        Ok(match self.change(&calls, &Operation::Mark)? {
            Some(known) => {
                calls.iter().zip(&known).map(|(call, known)| call.new_ids(known)).collect()
            }
            None => vec![0; calls.len()],
        })
    }

    /// Filter and mark atomically: of two concurrent calls, each id is given to one of them only.
    pub fn mark_unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, &Operation::MarkUnseen)
    }

    /// The first of two phases: returns the ids not seen yet, which then count as seen for a while.
    ///
    /// Call [`confirm`](Seen::confirm) with those that were really shown; the others come back when
    /// the time is over. Offering again does not prolong an offer.
    pub fn offer<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        ttl: Seconds,
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, &Operation::Offer { ttl })
    }

    /// The second phase: these were really shown, so they are marked.
    ///
    /// The same as [`mark`](Seen::mark): it is never too late, and ids that were not offered are
    /// marked as well.
    pub fn confirm<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        self.mark(owner, ids)
    }

    /// Delete an owner's list; true if there was one.
    pub fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        self.backend.forget(owner)
    }

    /// Why an id is hidden from the owner, if it is.
    pub fn explain(&self, owner: &[u8], id: &[u8]) -> Result<Explanation, SeenError> {
        Ok(self.view(owner)?.explain(id, hash_ids(owner, &[id])[0]))
    }

    /// The owner's list in bytes, to be kept or given to [`import`](Seen::import) elsewhere;
    /// nothing if there is none. Ids are salted with the owner, so it is of use for this owner
    /// only.
    pub fn export(&self, owner: &[u8]) -> Result<Option<Vec<u8>>, SeenError> {
        self.view(owner)?.export()
    }

    /// Visit all owners with the bytes [`export`](Seen::export) would return, or its error.
    ///
    /// A list that cannot be decoded need not end the export of the others, but should not be
    /// skipped silently either: the visitor decides. See [`SeenError::is_foreign`].
    pub fn export_all(
        &self,
        mut visit: impl FnMut(&[u8], Result<Vec<u8>, SeenError>) -> Result<(), SeenError>,
    ) -> Result<(), SeenError> {
        self.backend.each(&mut |owner, view, _| match view {
            Ok(view) => match view.export()? {
                Some(bytes) => visit(owner, Ok(bytes)),
                None => Ok(()),
            },
            Err(error) => visit(owner, Err(error)),
        })
    }

    /// Merge exported bytes: the list is then the union of both.
    ///
    /// Nothing that was there is dropped, not even if it is more than the policy keeps. Importing
    /// is idempotent, and older exports do no harm.
    pub fn import(&self, owner: &[u8], bytes: &[u8]) -> Result<(), SeenError> {
        self.import_many(&[(owner, bytes)])
    }

    /// [`import`](Seen::import) for many owners at once: one commit, or two round trips for all. If
    /// any of it cannot be decoded, nothing is done.
    pub fn import_many(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        if exported.is_empty() { Ok(()) } else { self.backend.merge(exported) }
    }

    /// Statistics of one owner's list; `None` if there is none.
    pub fn stats_of(&self, owner: &[u8]) -> Result<Option<ListStats>, SeenError> {
        let (view, policy) = (self.view(owner)?, self.policy()?);
        Ok((!view.is_empty()).then(|| view.stats(&policy, view.bytes())))
    }

    /// Statistics of the whole store. Reads all of it; lists that cannot be decoded are counted.
    pub fn stats(&self) -> Result<StoreStats, SeenError> {
        let mut sum = StoreStats::default();
        let policy = self.policy()?;
        self.backend.each(&mut |_, view, bytes| {
            let list = match view {
                Ok(view) => view.stats(&policy, bytes),
                Err(error) if error.is_foreign() => {
                    sum.foreign += 1;
                    return Ok(());
                }
                Err(_) => {
                    sum.unreadable += 1;
                    return Ok(());
                }
            };
            sum.owners += 1;
            sum.ids += list.ids;
            sum.offered += list.offered;
            sum.bytes += bytes;
            sum.largest_bytes = sum.largest_bytes.max(bytes);
            Ok(())
        })?;
        Ok(sum)
    }

    /// Return when all marks are as durable as the backend can make them.
    pub fn flush(&self) -> Result<(), SeenError> {
        self.backend.flush()
    }

    fn view(&self, owner: &[u8]) -> Result<View, SeenError> {
        Ok(self.backend.read(&[owner])?.pop().unwrap_or_default())
    }

    fn take<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        operation: &Operation,
    ) -> Result<Vec<&'a I>, SeenError> {
        let calls = calls(&[(owner, candidates)])?;
        let known = self.change(&calls, operation)?;
        Ok(taken(candidates, &calls, known))
    }

    /// `None` if the store is unreachable and we fail open.
    fn change(
        &self,
        calls: &[CheckedCall<'_>],
        operation: &Operation,
    ) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let changes: Vec<_> = calls.iter().map(|call| call.change(operation.clone())).collect();
        let known = self.open(self.backend.change(&changes))?;
        if known.is_none() {
            // What no policy allows is a caller's bug, whether or not the store is reachable.
            let policy = Policy::default();
            calls.iter().try_for_each(|call| check_owner(&policy, call.owner))?;
        }
        Ok(known)
    }

    /// `None` instead of an error, if the store is unreachable and we fail open.
    fn open<T>(&self, answer: Result<T, SeenError>) -> Result<Option<T>, SeenError> {
        match answer {
            Err(error @ SeenError::Unreachable { .. }) if self.fail_open => {
                if self.failures.fetch_add(1, Ordering::Relaxed) == 0
                    && let Some(tell) = &self.fail_open_hook
                {
                    tell(&error);
                }
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}

fn calls<'a, I: AsRef<[u8]>>(
    asked: &[(&'a [u8], &'a [I])],
) -> Result<Vec<CheckedCall<'a>>, SeenError> {
    asked.iter().map(|(owner, ids)| CheckedCall::new(owner, ids)).collect()
}

/// The owners of a lookup, with all arguments checked.
#[cfg(feature = "async")]
pub(crate) fn owners<'a, I>(
    policy: &Policy,
    asked: &[(&'a [u8], &[I])],
) -> Result<Vec<&'a [u8]>, SeenError> {
    let checked = |(owner, ids): &(&'a [u8], &[I])| {
        operation::check(policy, owner, ids)?;
        Ok(*owner)
    };
    asked.iter().map(checked).collect()
}

/// The unseen ids of each owner; all of them if there are no views.
pub(crate) fn unseen_in<'a, I: AsRef<[u8]>>(
    asked: &[(&[u8], &'a [I])],
    views: Option<Vec<View>>,
) -> Vec<Vec<&'a I>> {
    let asked = asked.iter();
    match views {
        Some(views) => asked
            .zip(&views)
            .map(|((owner, ids), view)| operation::unseen(owner, ids, view))
            .collect(),
        None => asked.map(|(_, ids)| ids.iter().collect()).collect(),
    }
}

/// The ids that an operation on unseen ids applied to; all, once each, if nothing is known.
pub(crate) fn taken<'a, I>(
    candidates: &'a [I],
    calls: &[CheckedCall<'_>],
    known: Option<Vec<Vec<bool>>>,
) -> Vec<&'a I> {
    let known = known.and_then(|mut known| known.pop());
    let known = known.unwrap_or_else(|| vec![false; candidates.len()]);
    let places = calls.first().map(|call| call.unseen_once(&known)).unwrap_or_default();
    places.into_iter().map(|at| &candidates[at]).collect()
}
