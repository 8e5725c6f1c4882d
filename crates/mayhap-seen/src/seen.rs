//! The front door: what a recommender calls.

use crate::SeenError;
use crate::backend::Backend;
use crate::call::{self, Call, check_ids, check_owner, hash_ids};
use crate::list::{Deed, Explanation};
use crate::policy::{Policy, PolicyFields, Seconds};
use crate::view::{ListStats, View};
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has seen what.
///
/// Owners and ids are bytes of any kind. A marked id is never reported unseen while its slice
/// lives; an unseen one is taken for seen at most as often as the policy's rate. All methods take
/// `&self` and may be called from many threads.
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
    told: Option<Told>,
}

/// Is told of the first call that fails open.
type Told = Box<dyn Fn(&SeenError) + Send + Sync>;

/// A whole store in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreStats {
    /// Owners with a list.
    pub owners: u64,
    /// Ids in all lists.
    pub ids: u64,
    /// Ids on offer.
    pub offered: u64,
    /// Bytes of all lists, without the store's own.
    pub bytes: u64,
    /// The largest list.
    pub largest_bytes: u64,
    /// Lists that are damaged, or of a newer release. They count nowhere else.
    pub unreadable: u64,
    /// Keys with the same prefix that are no lists at all: other programs'.
    pub foreign: u64,
}

impl<B: Backend> Seen<B> {
    /// The lists of this backend.
    pub fn new(backend: B) -> Seen<B> {
        Seen { backend, fail_open: false, failures: AtomicU64::new(0), told: None }
    }

    /// When the store cannot be reached now, show rather than hide: nothing counts as seen and
    /// marks are let go, instead of an error. [`failures`](Seen::failures) counts them.
    ///
    /// This is for what passes: a server that is down, starting, busy or failing over
    /// ([`SeenError::Away`]). What somebody must mend, a wrong password, certificate or address,
    /// stays an error.
    pub fn with_fail_open(self, fail_open: bool) -> Seen<B> {
        Seen { fail_open, ..self }
    }

    /// Be told why, the first time that a call fails open.
    pub fn when_failing_open(self, tell: impl Fn(&SeenError) + Send + Sync + 'static) -> Seen<B> {
        Seen { told: Some(Box::new(tell)), ..self }
    }

    /// Calls that failed open so far.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Where the lists are kept.
    pub fn backend(&self) -> &B {
        &self.backend
    }

    /// The rules lists live by. A server is asked for them, where they are not known yet.
    pub fn policy(&self) -> Result<Policy, SeenError> {
        self.backend.policy()
    }

    /// Change some fields of the policy, for all who use the store, and tell what it is now.
    ///
    /// Nothing is forgotten at once. Lists live by the new rules from their next change or
    /// question on; one with more slices than they allow loses two for each new one.
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

    /// Those of the candidates the owner has not seen, in order.
    pub fn unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        Ok(self.unseen_many(&[(owner, candidates)])?.pop().unwrap_or_default())
    }

    /// [`unseen`](Seen::unseen) for many owners at once: one trip to the store for all.
    pub fn unseen_many<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&[u8], &'a [I])],
    ) -> Result<Vec<Vec<&'a I>>, SeenError> {
        asked.iter().try_for_each(|(_, ids)| check_ids(ids))?;
        let owners: Vec<&[u8]> = asked.iter().map(|(owner, _)| *owner).collect();
        Ok(unseen_in(asked, self.open(self.backend.read(&owners))?))
    }

    /// The owner has seen these. How many were new?
    pub fn mark<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        Ok(self.mark_many(&[(owner, ids)])?[0])
    }

    /// [`mark`](Seen::mark) for many owners at once. An owner may come more than once.
    pub fn mark_many<I: AsRef<[u8]>>(
        &self,
        shown: &[(&[u8], &[I])],
    ) -> Result<Vec<u64>, SeenError> {
        let calls = calls(shown)?;
        Ok(match self.change(&calls, &Deed::Mark)? {
            Some(known) => {
                calls.iter().zip(&known).map(|(call, known)| call.new_ids(known)).collect()
            }
            None => vec![0; calls.len()],
        })
    }

    /// Filter and mark in one step: of two calls at once, each id is given to one of them only.
    pub fn mark_unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, &Deed::MarkUnseen)
    }

    /// The first of two phases: those not seen yet, which count as seen for a while.
    ///
    /// Call [`confirm`](Seen::confirm) with those that were really shown; the others come back
    /// when the time is over. An offer is not prolonged by offering again.
    pub fn offer<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        lasting: Seconds,
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, &Deed::Offer { lasting })
    }

    /// The second phase: these were really shown, so they are seen for good.
    ///
    /// The same as [`mark`](Seen::mark): it is never too late, and what was not offered is marked
    /// as well.
    pub fn confirm<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        self.mark(owner, ids)
    }

    /// Forget all about an owner; true if there was something.
    pub fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        self.backend.forget(owner)
    }

    /// Why is this id hidden from the owner, or is it not?
    pub fn explain(&self, owner: &[u8], id: &[u8]) -> Result<Explanation, SeenError> {
        Ok(self.view(owner)?.explain(id, hash_ids(owner, &[id])[0]))
    }

    /// The owner's list in bytes, to be kept or given to [`import`](Seen::import) elsewhere;
    /// nothing if there is none. Ids are salted with the owner, so it is of use for this owner
    /// only.
    pub fn export(&self, owner: &[u8]) -> Result<Option<Vec<u8>>, SeenError> {
        self.view(owner)?.export()
    }

    /// Visit all owners with the bytes [`export`](Seen::export) would give, or why it would not.
    ///
    /// A list that cannot be read need not end the export of the others, but should not be passed
    /// over in silence either: the visitor decides. See [`SeenError::is_foreign`].
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

    /// Remember also what exported bytes remember: the list is then the union of both.
    ///
    /// Nothing that was there is forgotten, not even where it is more than the policy keeps.
    /// Importing twice is as good as once, and older exports do no harm.
    pub fn import(&self, owner: &[u8], bytes: &[u8]) -> Result<(), SeenError> {
        self.import_many(&[(owner, bytes)])
    }

    /// [`import`](Seen::import) for many owners at once: one commit, or one trip there and one back
    /// for all. If any of it cannot be read, nothing is done.
    pub fn import_many(&self, exported: &[(&[u8], &[u8])]) -> Result<(), SeenError> {
        if exported.is_empty() { Ok(()) } else { self.backend.merge(exported) }
    }

    /// One owner in numbers; nothing if there is no list.
    pub fn stats_of(&self, owner: &[u8]) -> Result<Option<ListStats>, SeenError> {
        let (view, policy) = (self.view(owner)?, self.policy()?);
        Ok((!view.is_empty()).then(|| view.stats(&policy, view.bytes())))
    }

    /// The whole store in numbers. Reads all of it; lists that cannot be read are counted.
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

    /// Return when all that was marked is as safe as the backend can make it.
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
        deed: &Deed,
    ) -> Result<Vec<&'a I>, SeenError> {
        let calls = calls(&[(owner, candidates)])?;
        let known = self.change(&calls, deed)?;
        Ok(taken(candidates, &calls, known))
    }

    /// Nothing if the store is away, which we fail open for.
    fn change(&self, calls: &[Call<'_>], deed: &Deed) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let changes: Vec<_> = calls.iter().map(|call| call.change(deed.clone())).collect();
        let known = self.open(self.backend.change(&changes))?;
        if known.is_none() {
            // What no policy allows is a caller's bug, whether or not the store is away.
            let policy = Policy::default();
            calls.iter().try_for_each(|call| check_owner(&policy, call.owner))?;
        }
        Ok(known)
    }

    /// Nothing instead of an error, where the store is away and we fail open.
    fn open<T>(&self, answer: Result<T, SeenError>) -> Result<Option<T>, SeenError> {
        match answer {
            Err(error @ SeenError::Away { .. }) if self.fail_open => {
                if self.failures.fetch_add(1, Ordering::Relaxed) == 0
                    && let Some(tell) = &self.told
                {
                    tell(&error);
                }
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}

fn calls<'a, I: AsRef<[u8]>>(asked: &[(&'a [u8], &'a [I])]) -> Result<Vec<Call<'a>>, SeenError> {
    asked.iter().map(|(owner, ids)| Call::new(owner, ids)).collect()
}

/// Who is asked for, if all of it can be asked.
#[cfg(feature = "async")]
pub(crate) fn owners<'a, I>(
    policy: &Policy,
    asked: &[(&'a [u8], &[I])],
) -> Result<Vec<&'a [u8]>, SeenError> {
    let checked = |(owner, ids): &(&'a [u8], &[I])| {
        call::check(policy, owner, ids)?;
        Ok(*owner)
    };
    asked.iter().map(checked).collect()
}

/// The unseen ids of each owner; all of them where there are no views.
pub(crate) fn unseen_in<'a, I: AsRef<[u8]>>(
    asked: &[(&[u8], &'a [I])],
    views: Option<Vec<View>>,
) -> Vec<Vec<&'a I>> {
    let asked = asked.iter();
    match views {
        Some(views) => {
            asked.zip(&views).map(|((owner, ids), view)| call::unseen(owner, ids, view)).collect()
        }
        None => asked.map(|(_, ids)| ids.iter().collect()).collect(),
    }
}

/// The ids that a deed on the unseen ones was done to; all, once each, where nothing is known.
pub(crate) fn taken<'a, I>(
    candidates: &'a [I],
    calls: &[Call<'_>],
    known: Option<Vec<Vec<bool>>>,
) -> Vec<&'a I> {
    let known = known.and_then(|mut known| known.pop());
    let known = known.unwrap_or_else(|| vec![false; candidates.len()]);
    let places = calls.first().map(|call| call.unseen_once(&known)).unwrap_or_default();
    places.into_iter().map(|at| &candidates[at]).collect()
}
