//! The same door for async programs, on Tokio.

use super::changing::Changing;
use super::folds::Folds;
use super::learned::Learned;
use super::plan::{Plan, TRIES, pause};
use super::{Options, error};
use crate::SeenError;
use crate::call::{Call, check_owner, hash_ids};
use crate::list::{Deed, Explanation};
use crate::policy::{Policy, Seconds};
use crate::record;
use crate::seen::{owners, taken, unseen_in};
use crate::view::View;
use mayhap_redis::AsyncPool;
use std::sync::Arc;

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
    pool: AsyncPool,
    learned: Arc<Learned>,
    fail_open: bool,
    folds: Arc<Folds>,
}

impl AsyncSeen {
    /// Lists at this URL, by the policy stored there.
    pub async fn open(url: &str) -> Result<AsyncSeen, SeenError> {
        AsyncSeen::open_with(Options::parse(url)?).await
    }

    /// The same with a say in how.
    pub async fn open_with(options: Options) -> Result<AsyncSeen, SeenError> {
        let learned = Arc::new(options.learned());
        let pool = AsyncPool::new(options.address).await.map_err(error)?;
        Ok(AsyncSeen { pool, learned, fail_open: false, folds: Arc::default() })
    }

    /// When the server is away, show rather than hide: nothing counts as seen and marks are let
    /// go, instead of an error.
    pub fn with_fail_open(self, fail_open: bool) -> AsyncSeen {
        AsyncSeen { fail_open, ..self }
    }

    /// The rules lists live by. The server is asked for them, where they are not known yet.
    pub async fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.plan(false).await?.policy)
    }

    /// How lists are kept, by the stored policy.
    async fn plan(&self, writes: bool) -> Result<Arc<Plan>, SeenError> {
        if let Some(plan) = self.learned.plan(writes) {
            return Ok(plan);
        }
        let asked = self.pool.ask(&[self.learned.question(writes)?]).await.map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                self.pool.ask(&[plain]).await.map_err(error)?.into_iter().next()
            }
            reply => reply?,
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
        let views = match self.policy().await {
            Ok(policy) => self.read(&owners(&policy, asked)?).await,
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
        let (calls, plan) = self.calls(shown).await?;
        Ok(match self.change(&calls, Deed::Mark, plan).await? {
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
        let plan = self.plan(false).await?;
        check_owner(&plan.policy, owner)?;
        plan.check_owners([owner])?;
        let replies = self.pool.ask(&[plan.forgetting(owner)]).await.map_err(error)?;
        plan.forgotten(&replies)
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
        let plan = self.plan(true).await?;
        check_owner(&plan.policy, owner)?;
        plan.check_owners([owner])?;
        let now = self.learned.now();
        let (list, _) = record::decode(bytes, &plan.policy, now)
            .map_err(|error| SeenError::record(owner, error))?;
        if list.is_empty() {
            return Ok(());
        }
        let lists = [(owner, list)];
        for failures in 0..TRIES {
            if failures > 0 {
                tokio::time::sleep(pause(failures)).await;
            }
            let replies = self.pool.ask(&plan.reading(&[owner])).await.map_err(error)?;
            let requests = plan.merging(&lists, replies, now)?;
            let replies = self.pool.ask(&requests).await.map_err(error)?;
            if plan.merged(&replies)? == [true] {
                return Ok(());
            }
        }
        Err(SeenError::Contended { owner: owner.to_vec(), tries: TRIES })
    }

    async fn view(&self, owner: &[u8]) -> Result<View, SeenError> {
        check_owner(&self.policy().await?, owner)?;
        Ok(self.read(&[owner]).await?.pop().unwrap_or_default())
    }

    async fn read(&self, owners: &[&[u8]]) -> Result<Vec<View>, SeenError> {
        let plan = self.plan(false).await?;
        plan.check_owners(owners.iter().copied())?;
        let replies = self.pool.ask(&plan.reading(owners)).await.map_err(error)?;
        plan.views(owners, replies, self.learned.now())
    }

    async fn take<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        deed: Deed,
    ) -> Result<Vec<&'a I>, SeenError> {
        let (calls, plan) = self.calls(&[(owner, candidates)]).await?;
        let known = self.change(&calls, deed, plan).await?;
        Ok(taken(candidates, &calls, known))
    }

    /// The calls, and how lists are kept; nothing if the server is away, which we fail open for.
    async fn calls<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&'a [u8], &'a [I])],
    ) -> Result<(Vec<Call<'a>>, Option<Arc<Plan>>), SeenError> {
        let plan = self.open_if_away(self.plan(true).await)?;
        let policy = plan.as_ref().map_or(Policy::default(), |plan| plan.policy);
        let calls: Result<_, _> =
            asked.iter().map(|(owner, ids)| Call::new(&policy, owner, ids)).collect();
        Ok((calls?, plan))
    }

    async fn change(
        &self,
        calls: &[Call<'_>],
        deed: Deed,
        plan: Option<Arc<Plan>>,
    ) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let Some(plan) = plan else { return Ok(None) };
        plan.check_owners(calls.iter().map(|call| call.owner))?;
        let changes: Vec<_> = calls.iter().map(|call| call.change(deed.clone())).collect();
        let mut changing = Changing::new(&plan, &changes, self.learned.now());
        let mut riders = self.folds.take();
        loop {
            let mut wanted = changing.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut riders);
            let ridden = requests.len();
            requests.append(&mut wanted);
            match self.pool.ask(&requests).await {
                Ok(mut replies) => {
                    if let Err(error) = changing.replies(replies.split_off(ridden)) {
                        _ = self.pool.ask(&changing.undo()).await;
                        return Err(error);
                    }
                }
                Err(link) => return self.open_if_away(Err(error(link))),
            }
            if let Some(pause) = changing.pause() {
                tokio::time::sleep(pause).await;
            }
        }
        let (known, folds) = changing.end();
        // All is done but the tidying, which may fail.
        _ = self.pool.ask(&self.folds.leave(&plan, folds)).await;
        Ok(Some(known))
    }

    /// Nothing instead of an error, where the server is away and we fail open.
    fn open_if_away<T>(&self, answer: Result<T, SeenError>) -> Result<Option<T>, SeenError> {
        match answer {
            Err(SeenError::Away { .. }) if self.fail_open => Ok(None),
            answer => answer.map(Some),
        }
    }
}
