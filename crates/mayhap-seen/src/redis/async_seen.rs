//! `Seen` for async programs, on Tokio.

use super::compaction::PendingCompactions;
use super::learned::Learned;
use super::operation_state::OperationState;
use super::protocol::{MAX_RETRIES, Protocol, backoff};
use super::{Options, Wait, acknowledged, error};
use crate::SeenError;
use crate::list::{Explanation, Operation};
use crate::operation::{CheckedCall, check, decoded, hash_ids};
use crate::policy::{Policy, Seconds};
use crate::seen::{owners, taken, unseen_in};
use crate::view::View;
use mayhap_redis::{AsyncRouter, RequestOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Seen lists for async programs: [`Seen`](crate::Seen) on Redis, with the same guarantees.
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
    compactions: Arc<PendingCompactions>,
}

impl AsyncSeen {
    /// Lists at this URL, by the policy stored there. Connects at the first call.
    pub async fn open(url: &str) -> Result<AsyncSeen, SeenError> {
        AsyncSeen::open_with(Options::parse(url)?).await
    }

    /// The same with options.
    pub async fn open_with(options: Options) -> Result<AsyncSeen, SeenError> {
        let (learned, wait) = (Arc::new(options.learned()), options.wait);
        let hasty = options.hasty();
        let router = AsyncRouter::new(options.address);
        let (failures, compactions) = (Arc::default(), Arc::default());
        Ok(AsyncSeen { router, learned, wait, hasty, fail_open: false, failures, compactions })
    }

    /// Fail open: while the server cannot be reached, nothing counts as seen and marks are dropped,
    /// instead of an error. [`failures`](AsyncSeen::failures) counts them. A wrong password or
    /// certificate stays an error.
    pub fn with_fail_open(self, fail_open: bool) -> AsyncSeen {
        AsyncSeen { fail_open, ..self }
    }

    /// Calls that failed open so far, of all clones together.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Options for reads, starting now.
    fn reading(&self) -> RequestOptions {
        self.router.options().starting_now()
    }

    /// Options for changes, starting now.
    fn writing(&self) -> RequestOptions {
        self.router.options().repeatable(false).with_wait(self.wait).starting_now()
    }

    /// The policy of the store; read from the server if not known yet.
    pub async fn policy(&self) -> Result<Policy, SeenError> {
        Ok(self.protocol(false, self.reading()).await?.policy)
    }

    /// The protocol with the stored policy. Reading it twice does no harm, also before a write, and
    /// it is part of the call: `options` has its deadline.
    async fn protocol(
        &self,
        writes: bool,
        options: RequestOptions,
    ) -> Result<Arc<Protocol>, SeenError> {
        if let Some(protocol) = self.learned.protocol(writes) {
            return Ok(protocol);
        }
        let old = self.learned.old_protocol(writes);
        let options = match old {
            // A call that can go on without an answer does not wait for it long.
            Some(_) => self.hasty.starting_now(),
            None => options.repeatable(true).with_wait(None),
        };
        match (self.learn(writes, options).await, old) {
            (Err(SeenError::Unreachable { .. }), Some(old)) => {
                self.learned.defer();
                Ok(old)
            }
            (learned, _) => learned,
        }
    }

    async fn learn(
        &self,
        writes: bool,
        options: RequestOptions,
    ) -> Result<Arc<Protocol>, SeenError> {
        let asked =
            self.router.send(&[self.learned.question(writes)?], options).await.map_err(error);
        let reply = match asked.map(|replies| replies.into_iter().next()) {
            Ok(Some(Err(_))) | Err(SeenError::Refused { .. }) if !writes => {
                let plain = self.learned.plain_question();
                let asked = self.router.send(&[plain], options).await.map_err(error);
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
        let options = self.reading();
        let views = match self.protocol(false, options).await {
            Ok(protocol) => self.read(&owners(&protocol.policy, asked)?, &protocol, options).await,
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
        let options = self.writing();
        let (calls, protocol) = self.calls(shown, options).await?;
        Ok(match self.change(&calls, Operation::Mark, protocol, options).await? {
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
        self.take(owner, candidates, Operation::MarkUnseen).await
    }

    /// See [`Seen::offer`](crate::Seen::offer).
    pub async fn offer<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        ttl: Seconds,
    ) -> Result<Vec<&'a I>, SeenError> {
        self.take(owner, candidates, Operation::Offer { ttl }).await
    }

    /// See [`Seen::confirm`](crate::Seen::confirm).
    pub async fn confirm<I: AsRef<[u8]>>(&self, owner: &[u8], ids: &[I]) -> Result<u64, SeenError> {
        self.mark(owner, ids).await
    }

    /// See [`Seen::forget`](crate::Seen::forget).
    pub async fn forget(&self, owner: &[u8]) -> Result<bool, SeenError> {
        let options = self.writing();
        let protocol = self.protocol(false, options).await?;
        protocol.check_owners([owner])?;
        let answer =
            self.router.call(&[protocol.forget_requests(owner)], options).await.map_err(error)?;
        let forgotten = protocol.forgotten(&answer.replies)?;
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
        let protocol = self.protocol(true, writing).await?;
        protocol.check_owners([owner])?;
        let now = self.learned.now();
        let lists = decoded(&protocol.policy, &[(owner, bytes)], now)?;
        if lists.is_empty() {
            return Ok(());
        }
        for failures in 0..MAX_RETRIES {
            if failures > 0 {
                tokio::time::sleep(backoff(failures)).await;
            }
            let asked = self.router.send(&protocol.reading(&[owner]), reading).await;
            let requests = protocol.merge_requests(&lists, asked.map_err(error)?, now)?;
            let answer = self.router.call(&requests, writing).await.map_err(error)?;
            if protocol.merged(&answer.replies)? == [true] {
                return acknowledged(vec![], answer.unacknowledged).map(drop);
            }
        }
        Err(SeenError::Contended { owner: owner.to_vec(), tries: MAX_RETRIES })
    }

    async fn view(&self, owner: &[u8]) -> Result<View, SeenError> {
        let options = self.reading();
        let protocol = self.protocol(false, options).await?;
        Ok(self.read(&[owner], &protocol, options).await?.pop().unwrap_or_default())
    }

    async fn read(
        &self,
        owners: &[&[u8]],
        protocol: &Protocol,
        options: RequestOptions,
    ) -> Result<Vec<View>, SeenError> {
        protocol.check_owners(owners.iter().copied())?;
        let replies = self.router.send(&protocol.reading(owners), options).await.map_err(error)?;
        protocol.views(owners, replies, self.learned.now())
    }

    async fn take<'a, I: AsRef<[u8]>>(
        &self,
        owner: &[u8],
        candidates: &'a [I],
        operation: Operation,
    ) -> Result<Vec<&'a I>, SeenError> {
        let options = self.writing();
        let (calls, protocol) = self.calls(&[(owner, candidates)], options).await?;
        let known = self.change(&calls, operation, protocol, options).await?;
        Ok(taken(candidates, &calls, known))
    }

    /// The calls and the protocol; `None` if the server is unreachable and we fail open.
    async fn calls<'a, I: AsRef<[u8]>>(
        &self,
        asked: &[(&'a [u8], &'a [I])],
        options: RequestOptions,
    ) -> Result<(Vec<CheckedCall<'a>>, Option<Arc<Protocol>>), SeenError> {
        let protocol = self.open_if_away(self.protocol(true, options).await)?;
        let policy = protocol.as_ref().map_or(Policy::default(), |protocol| protocol.policy);
        let call = |(owner, ids): &(&'a [u8], &'a [I])| {
            check(&policy, owner, ids)?;
            CheckedCall::new(owner, ids)
        };
        let calls: Result<_, _> = asked.iter().map(call).collect();
        Ok((calls?, protocol))
    }

    async fn change(
        &self,
        calls: &[CheckedCall<'_>],
        operation: Operation,
        protocol: Option<Arc<Protocol>>,
        options: RequestOptions,
    ) -> Result<Option<Vec<Vec<bool>>>, SeenError> {
        let Some(protocol) = protocol else { return Ok(None) };
        protocol.check_owners(calls.iter().map(|call| call.owner))?;
        let changes: Vec<_> = calls.iter().map(|call| call.change(operation.clone())).collect();
        let mut state = OperationState::new(&protocol, &changes, self.learned.now());
        let (mut piggybacked, mut unacknowledged) = (self.compactions.take(), None);
        loop {
            let mut wanted = state.requests()?;
            if wanted.is_empty() {
                break;
            }
            let mut requests = std::mem::take(&mut piggybacked);
            let ridden = requests.len();
            requests.append(&mut wanted);
            match self.router.call(&requests, options).await {
                Ok(mut answer) => {
                    if let Err(error) = state.replies(answer.replies.split_off(ridden)) {
                        _ = self.router.send(&state.undo(), options.with_wait(None)).await;
                        return Err(error);
                    }
                    unacknowledged = unacknowledged.or(answer.unacknowledged);
                }
                Err(link) => return self.open_if_away(Err(error(link))),
            }
            if let Some(backoff) = state.backoff() {
                tokio::time::sleep(backoff).await;
            }
        }
        let (known, compactions) = state.end();
        // Everything is done but the compaction, which may fail.
        _ = self
            .router
            .send(&self.compactions.queue_or_send(&protocol, compactions), options.with_wait(None))
            .await;
        acknowledged(known, unacknowledged).map(Some)
    }

    /// `None` instead of an error, if the server is unreachable and we fail open.
    fn open_if_away<T>(&self, answer: Result<T, SeenError>) -> Result<Option<T>, SeenError> {
        match answer {
            Err(SeenError::Unreachable { .. }) if self.fail_open => {
                self.failures.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            answer => answer.map(Some),
        }
    }
}
