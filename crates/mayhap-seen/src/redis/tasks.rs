//! The same door for async programs, on Tokio.

use super::changing::Changing;
use super::folds::Folds;
use super::learned::Learned;
use super::plan::{Plan, TRIES, pause};
use super::{Options, Wait, acknowledged, error};
use crate::SeenError;
use crate::call::{Call, check, decoded, hash_ids};
use crate::list::{Deed, Explanation};
use crate::policy::{Policy, Seconds};
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
    learned: Arc<Learned>,
    wait: Option<Wait>,
    hasty: RequestOptions,
    fail_open: bool,
    failures: Arc<AtomicU64>,
    folds: Arc<Folds>,
}

impl AsyncSeen {
    /// Lists at this URL, by the policy stored there. Nothing is connected before the first question.
    pub async fn open(url: &str) -> Result<AsyncSeen, SeenError> {
        AsyncSeen::open_with(Options::parse(url)?).await
    }

    /// The same with a say in how.
    pub async fn open_with(options: Options) -> Result<AsyncSeen, SeenError> {
        let (learned, wait) = (Arc::new(options.learned()), options.wait);
        let hasty = options.hasty();
        let router = AsyncRouter::new(options.address);
        let (failures, folds) = (Arc::default(), Arc::default());
        Ok(AsyncSeen { router, learned, wait, hasty, fail_open: false, failures, folds })
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

    /// How questions are asked from now on.
    fn reading(&self) -> RequestOptions {
        self.router.how().starting_now()
    }

    /// How changes are made from now on.
    fn writing(&self) -> RequestOptions {
        self.router.how().repeatable(false).with_wait(self.wait).starting_now()
    }

    /// The rules lists live by. The server is asked for them, where they are not known yet.
    pub async fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.plan(false, self.reading()).await?.policy)
    }

    /// How lists are kept, by the stored policy. Asking for it twice does no harm, also for who
    /// writes, and it is part of the call: `how` has its deadline.
    async fn plan(&self, writes: bool, how: RequestOptions) -> Result<Arc<Plan>, SeenError> {
        if let Some(plan) = self.learned.plan(writes) {
            return Ok(plan);
        }
        let old = self.learned.old_plan(writes);
        let how = match old {
            // Whoever can go on without an answer does not wait for it long.
            Some(_) => self.hasty.starting_now(),
            None => how.repeatable(true).with_wait(None),
        };
        match (self.learn(writes, how).await, old) {
            (Err(SeenError::Away { .. }), Some(old)) => {
                self.learned.put_off();
                Ok(old)
            }
            (learned, _) => learned,
        }
    }

    async fn learn(&self, writes: bool, how: RequestOptions) -> Result<Arc<Plan>, SeenError> {
        let asked = self.router.ask(&[self.learned.question(writes)?], how).await.map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                let asked = self.router.ask(&[plain], how).await.map_err(error);
                asked.map_err(|error| self.learned.explained(error))?.into_iter().next()
            }
            reply => reply.map_err(|error| self.learned.explained(error))?,
        };
        self.learned.answer(reply)
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
        let how = self.reading();
        let views = match self.plan(false, how).await {
            Ok(plan) => self.read(&owners(&plan.policy, asked)?, &plan, how).await,
            Err(error) => Err(error),
        };
        Ok(unseen_in(asked, self.open_if_away(views)?))
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
        let how = self.writing();
        let (calls, plan) = self.calls(shown, how).await?;
        Ok(match self.change(&calls, Deed::Mark, plan, how).await? {
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
        let how = self.writing();
        let plan = self.plan(false, how).await?;
        plan.check_owners([owner])?;
        let answer = self.router.call(&[plan.forgetting(owner)], how).await.map_err(error)?;
        let forgotten = plan.forgotten(&answer.replies)?;
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
        let (reading, writing) = (self.reading(), self.writing());
        let plan = self.plan(true, writing).await?;
        plan.check_owners([owner])?;
        let now = self.learned.now();
        let lists = decoded(&plan.policy, &[(owner, bytes)], now)?;
        if lists.is_empty() {
            return Ok(());
        }
        for failures in 0..TRIES {
            if failures > 0 {
                tokio::time::sleep(pause(failures)).await;
            }
            let asked = self.router.ask(&plan.reading(&[owner]), reading).await;
            let requests = plan.merging(&lists, asked.map_err(error)?, now)?;
            let answer = self.router.call(&requests, writing).await.map_err(error)?;
            if plan.merged(&answer.replies)? == [true] {
                return acknowledged(vec![], answer.unacknowledged).map(drop);
            }
        }
        Err(SeenError::Contended { owner: owner.to_vec(), tries: TRIES })
    }

    async fn view(&self, owner: &[u8]) -> Result<View, SeenError> {
        let how = self.reading();
        let plan = self.plan(false, how).await?;
        Ok(self.read(&[owner], &plan, how).await?.pop().unwrap_or_default())
    }

    async fn read(
        &self,
        owners: &[&[u8]],
        plan: &Plan,
        how: RequestOptions,
    ) -> Result<Vec<View>, SeenError> {
        plan.check_owners(owners.iter().copied())?;
        let replies = self.router.ask(&plan.reading(owners), how).await.map_err(error)?;
        plan.views(owners, replies, self.learned.now())
    }

    async fn take<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        deed: Deed,
    ) -> Result<Vec<&'a I>, SeenError> {
        let how = self.writing();
        let (calls, plan) = self.calls(&[(owner, candidates)], how).await?;
        let known = self.change(&calls, deed, plan, how).await?;
        Ok(taken(candidates, &calls, known))
    }

    /// The calls, and how lists are kept; nothing if the server is away, which we fail open for.
    async fn calls<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&'a [u8], &'a [I])],
        how: RequestOptions,
    ) -> Result<(Vec<Call<'a>>, Option<Arc<Plan>>), SeenError> {
        let plan = self.open_if_away(self.plan(true, how).await)?;
        let policy = plan.as_ref().map_or(Policy::default(), |plan| plan.policy);
        let call = |(owner, ids): &(&'a [u8], &'a [I])| {
            check(&policy, owner, ids)?;
            Call::new(owner, ids)
        };
        let calls: Result<_, _> = asked.iter().map(call).collect();
        Ok((calls?, plan))
    }

    async fn change(
        &self,
        calls: &[Call<'_>],
        deed: Deed,
        plan: Option<Arc<Plan>>,
        how: RequestOptions,
    ) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let Some(plan) = plan else { return Ok(None) };
        plan.check_owners(calls.iter().map(|call| call.owner))?;
        let changes: Vec<_> = calls.iter().map(|call| call.change(deed.clone())).collect();
        let mut changing = Changing::new(&plan, &changes, self.learned.now());
        let (mut riders, mut unacknowledged) = (self.folds.take(), None);
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
                    if let Err(error) = changing.replies(answer.replies.split_off(ridden)) {
                        _ = self.router.ask(&changing.undo(), how.with_wait(None)).await;
                        return Err(error);
                    }
                    unacknowledged = unacknowledged.or(answer.unacknowledged);
                }
                Err(link) => return self.open_if_away(Err(error(link))),
            }
            if let Some(pause) = changing.pause() {
                tokio::time::sleep(pause).await;
            }
        }
        let (known, folds) = changing.end();
        // All is done but the compaction, which may fail.
        _ = self.router.ask(&self.folds.leave(&plan, folds), how.with_wait(None)).await;
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
