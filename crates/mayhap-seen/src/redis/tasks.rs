//! The same door for async programs, on Tokio.

use super::changing::Changing;
use super::folds::Folds;
use super::plan::{Plan, TRIES, pause};
use super::{Options, Wait, acknowledged, error};
use crate::SeenError;
use crate::backend::Clock;
use crate::call::{Call, check_owner, hash_ids};
use crate::list::{Deed, Explanation};
use crate::policy::{Policy, Seconds};
use crate::record;
use crate::seen::{owners, taken, unseen_in};
use crate::view::View;
use mayhap_redis::{AsyncRouter, RequestOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has seen what, for async programs: [`Seen`](crate::Seen) on Redis, with the same promises.
///
/// Cheap to clone: all clones share one connection, and any number of tasks may use it at once.
///
/// ```no_run
/// use mayhap_seen::redis::AsyncSeen;
/// # async fn example() -> Result<(), mayhap_seen::SeenError> {
/// let seen = AsyncSeen::open("redis://127.0.0.1:6379/0").await?;
/// let candidates = ["a1", "a2"];
/// let fresh = seen.unseen(b"user-1", &candidates).await?;
/// seen.mark(b"user-1", &fresh).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AsyncSeen {
    router: AsyncRouter,
    plan: Plan,
    clock: Clock,
    wait: Option<Wait>,
    fail_open: bool,
    failures: Arc<AtomicU64>,
    folds: Arc<Folds>,
}

impl AsyncSeen {
    /// Lists at this URL, by the default policy. Nothing is connected before the first question.
    pub async fn open(url: &str) -> Result<AsyncSeen, SeenError> {
        AsyncSeen::open_with(Options::parse(url)?).await
    }

    /// The same with a say in how.
    pub async fn open_with(options: Options) -> Result<AsyncSeen, SeenError> {
        let (plan, clock, wait) = (options.plan(), options.clock, options.wait);
        let router = AsyncRouter::new(options.address);
        let (failures, folds) = (Arc::default(), Arc::default());
        Ok(AsyncSeen { router, plan, clock, wait, fail_open: false, failures, folds })
    }

    /// When the server cannot be reached now, show rather than hide: nothing counts as seen and
    /// marks are let go, instead of an error. [`failures`](AsyncSeen::failures) counts them. What
    /// somebody must mend, a wrong password or certificate, stays an error.
    pub fn with_fail_open(self, fail_open: bool) -> AsyncSeen {
        AsyncSeen { fail_open, ..self }
    }

    /// Calls that failed open so far, of all clones together.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// The rules lists live by.
    pub fn policy(&self) -> &Policy {
        &self.plan.policy
    }

    /// See [`Seen::unseen`](crate::Seen::unseen).
    pub async fn unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        Ok(self.unseen_many(&[(owner, candidates)]).await?.pop().unwrap_or_default())
    }

    /// See [`Seen::unseen_many`](crate::Seen::unseen_many).
    pub async fn unseen_many<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&[u8], &'a [I])],
    ) -> Result<Vec<Vec<&'a I>>, SeenError> {
        let owners = owners(self.policy(), asked)?;
        Ok(unseen_in(asked, self.open_if_away(self.read(&owners).await)?))
    }

    /// See [`Seen::mark`](crate::Seen::mark).
    pub async fn mark<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        Ok(self.mark_many(&[(owner, ids)]).await?[0])
    }

    /// See [`Seen::mark_many`](crate::Seen::mark_many).
    pub async fn mark_many<I: AsRef<[u8]>>(
        &self,
        shown: &[(&[u8], &[I])],
    ) -> Result<Vec<u64>, SeenError> {
        let calls = self.calls(shown)?;
        Ok(match self.change(&calls, Deed::Mark).await? {
            Some(known) => {
                calls.iter().zip(&known).map(|(call, known)| call.new_ids(known)).collect()
            }
            None => vec![0; calls.len()],
        })
    }

    /// See [`Seen::mark_unseen`](crate::Seen::mark_unseen).
    pub async fn mark_unseen<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, Deed::MarkUnseen).await
    }

    /// See [`Seen::offer`](crate::Seen::offer).
    pub async fn offer<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        lasting: Seconds,
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, Deed::Offer { lasting }).await
    }

    /// See [`Seen::confirm`](crate::Seen::confirm).
    pub async fn confirm<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        self.mark(owner, ids).await
    }

    /// See [`Seen::forget`](crate::Seen::forget).
    pub async fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        check_owner(self.policy(), owner)?;
        let forgetting = [self.plan.forgetting(owner)];
        let answer = self.router.call(&forgetting, self.writing()).await.map_err(error)?;
        let forgotten = self.plan.forgotten(&answer.replies)?;
        acknowledged(vec![vec![forgotten]], answer.unacknowledged)?;
        Ok(forgotten)
    }

    /// See [`Seen::explain`](crate::Seen::explain).
    pub async fn explain(&self, owner: &[u8], id: &[u8]) -> Result<Explanation, SeenError> {
        Ok(self.view(owner).await?.explain(id, hash_ids(owner, &[id])[0]))
    }

    /// See [`Seen::export`](crate::Seen::export).
    pub async fn export(&self, owner: &[u8]) -> Result<Option<Vec<u8>>, SeenError> {
        self.view(owner).await?.export()
    }

    /// See [`Seen::import`](crate::Seen::import).
    pub async fn import(&self, owner: &[u8], bytes: &[u8]) -> Result<(), SeenError> {
        check_owner(self.policy(), owner)?;
        let now = (self.clock)();
        let (list, _) = record::decode(bytes, self.policy(), now)
            .map_err(|error| SeenError::record(owner, error))?;
        if list.is_empty() {
            return Ok(());
        }
        let lists = [(owner, list)];
        let (reading, writing) = (self.router.how().starting_now(), self.writing());
        for failures in 0..TRIES {
            if failures > 0 {
                tokio::time::sleep(pause(failures)).await;
            }
            let asked = self.router.ask(&self.plan.reading(&[owner]), reading).await;
            let requests = self.plan.merging(&lists, asked.map_err(error)?, now)?;
            let answer = self.router.call(&requests, writing).await.map_err(error)?;
            if self.plan.merged(&answer.replies)? == [true] {
                return acknowledged(vec![], answer.unacknowledged).map(drop);
            }
        }
        Err(SeenError::Contended { owner: owner.to_vec(), tries: TRIES })
    }

    async fn view(&self, owner: &[u8]) -> Result<View, SeenError> {
        check_owner(self.policy(), owner)?;
        Ok(self.read(&[owner]).await?.pop().unwrap_or_default())
    }

    async fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let how = self.router.how();
        let replies = self.router.ask(&self.plan.reading(owners), how).await.map_err(error)?;
        self.plan.views(owners, replies, (self.clock)())
    }

    /// How changes are made from now on.
    fn writing(&self) -> RequestOptions {
        self.router.how().repeatable(false).with_wait(self.wait).starting_now()
    }

    async fn take<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        deed: Deed,
    ) -> Result<Vec<&'a I>, SeenError> {
        let calls = self.calls(&[(owner, candidates)])?;
        let known = self.change(&calls, deed).await?;
        Ok(taken(candidates, &calls, known))
    }

    fn calls<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&'a [u8], &'a [I])],
    ) -> Result<Vec<Call<'a>>, SeenError> {
        asked.iter().map(|(owner, ids)| Call::new(self.policy(), owner, ids)).collect()
    }

    async fn change(
        &self,
        calls: &[Call<'_>],
        deed: Deed,
    ) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let changes: Vec<_> = calls.iter().map(|call| call.change(deed.clone())).collect();
        let mut changing = Changing::new(&self.plan, &changes, (self.clock)());
        let (mut riders, how) = (self.folds.take(), self.writing());
        let mut unacknowledged = None;
        loop {
            let mut wanted = changing.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut riders);
            let ridden = requests.len();
            requests.append(&mut wanted);
            match self.router.call(&requests, how).await {
                Ok(mut answer) => {
                    changing.replies(answer.replies.split_off(ridden))?;
                    unacknowledged = answer.unacknowledged;
                }
                Err(link) => return self.open_if_away(Err(error(link))),
            }
            if let Some(pause) = changing.pause() {
                tokio::time::sleep(pause).await;
            }
        }
        let (known, folds) = changing.end();
        // All is done but the tidying, which may fail.
        let tidying = self.folds.leave(&self.plan, folds);
        _ = self.router.ask(&tidying, how.with_wait(None)).await;
        acknowledged(known, unacknowledged).map(Some)
    }

    /// Nothing instead of an error, where the server is away and we fail open.
    fn open_if_away<T>(&self, answer: Result<T, SeenError>) -> Result<Option<T>, SeenError> {
        match answer {
            Err(SeenError::Away { .. }) if self.fail_open => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}
