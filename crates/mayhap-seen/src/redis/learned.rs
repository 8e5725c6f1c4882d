//! What a client learns from the server: the policy that is stored beside the lists, and the time.
//!
//! The policy is the string under the prefix and `mayhap-seen:policy`. Who writes first stores it:
//! the policy asked for, or the default. From then on everybody lives by it, and who asks for
//! another is refused. It is asked for at a client's first call and once a minute, so that a change
//! is known everywhere soon; a call in between costs nothing more. No socket here.
//!
//! With the policy a client learns the server's time and goes on from it by its own monotonic
//! clock: a machine whose clock is wrong does not make lists older than they are.

use super::compact;
use super::plan::{ANOTHER_TYPE, Plan, bytes, refused};
use crate::SeenError;
use crate::backend::{Clock, system_clock};
use crate::policy::{Policy, PolicyFields, Seconds};
use mayhap_redis::redis::Value;
use mayhap_redis::{Reply, Request, Script};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// Where an owner of this name would have a list, the policy is.
pub(super) const POLICY: &[u8] = b"mayhap-seen:policy";
/// How long what was learned is believed.
pub(super) const FRESH: Duration = Duration::from_secs(60);
/// When to ask again, where nobody answered: what was learned counts until then.
const AGAIN: Duration = Duration::from_secs(5);

/// The policy, stored as ARGV[1] if there is none, and the time.
static LEARN: Script = Script::new(
    "local p = redis.call('GET', KEYS[1])
if not p then
  redis.call('SET', KEYS[1], ARGV[1])
  p = ARGV[1]
end
return {p, redis.call('TIME')[1]}",
);

/// The same for who only reads.
static PEEK: Script =
    Script::new("return {redis.call('GET', KEYS[1]) or false, redis.call('TIME')[1]}");

/// Puts the policy ARGV[2] in place of ARGV[1], which is '' if there is none.
static CHANGE: Script = Script::new(
    "if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1",
);

const NO_POLICY: &str = "is not a policy";

pub(super) struct Learned {
    /// With whatever policy: its other fields count.
    plan: Plan,
    asked: PolicyFields,
    clock: Option<Clock>,
    fresh: Duration,
    state: RwLock<Option<State>>,
}

#[derive(Clone)]
struct State {
    plan: Arc<Plan>,
    is_stored: bool,
    /// When to ask again.
    until: Instant,
    /// The server's time, and when it was that.
    time: Option<(Seconds, Instant)>,
}

impl Learned {
    pub fn new(plan: Plan, asked: PolicyFields, clock: Option<Clock>, fresh: Duration) -> Learned {
        Learned { plan, asked, clock, fresh, state: RwLock::default() }
    }

    /// How lists are kept, if that is known well enough: whoever writes must have stored it.
    pub fn plan(&self, writes: bool) -> Option<Arc<Plan>> {
        self.known(writes, |state| Instant::now() < state.until)
    }

    /// The same, however long ago it was learned.
    pub fn old_plan(&self, writes: bool) -> Option<Arc<Plan>> {
        self.known(writes, |_| true)
    }

    fn known(&self, writes: bool, and: impl Fn(&State) -> bool) -> Option<Arc<Plan>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let known =
            |state: &&State| and(state) && (!writes || (state.is_stored && state.time.is_some()));
        state.as_ref().filter(known).map(|state| state.plan.clone())
    }

    /// Nobody answered: go on with what is known, and ask again a little later.
    pub fn put_off(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = state.as_mut() {
            state.until = Instant::now() + AGAIN.min(self.fresh);
        }
    }

    /// What to ask otherwise.
    pub fn question(&self, writes: bool) -> Result<Request, SeenError> {
        if !writes {
            return Ok(Request::script(&PEEK, vec![self.plan.key(POLICY)], vec![]));
        }
        let new = self.agree(None)?.to_string().into_bytes();
        Ok(Request::script(&LEARN, vec![self.plan.key(POLICY)], vec![new]))
    }

    /// The policy alone, for who may run no scripts and so only reads.
    pub fn plain_question(&self) -> Request {
        compact::reading(&self.plan, POLICY)
    }

    /// What came back for it.
    pub fn answer(&self, reply: Option<Reply>) -> Result<Arc<Plan>, SeenError> {
        self.believe(reply).map_err(|error| self.explained(error))
    }

    /// Refusals that are about the key of the policy name it, and tell the way out.
    pub fn explained(&self, error: SeenError) -> SeenError {
        let SeenError::Refused { what } = error else { return error };
        let has = |words: &[&str]| words.iter().any(|word| what.contains(word));
        let way_out = if has(&["NOPERM", "No permission", "no permission"]) {
            "this user needs the right to GET it, and to SET it for who writes; if it holds no policy, DEL it and set the policy again"
        } else if has(&["WRONGTYPE", "wrong kind", "another kind", NO_POLICY]) {
            "DEL it and set the policy again (`mayhap seen policy`, `Seen::set_policy`)"
        } else {
            return SeenError::Refused { what };
        };
        let key = self.plan.key(POLICY);
        let key = String::from_utf8_lossy(&key);
        let what = what.split(ANOTHER_TYPE).next().unwrap_or(&what);
        SeenError::Refused { what: format!("the policy's key {key:?}: {what}; {way_out}") }
    }

    fn believe(&self, reply: Option<Reply>) -> Result<Arc<Plan>, SeenError> {
        let (stored, time) = match reply.unwrap_or(Ok(Value::Nil)) {
            Ok(Value::Array(mut parts)) if parts.len() == 2 => {
                let time = bytes(POLICY, Ok(parts.pop().unwrap_or(Value::Nil)))?;
                let policy = bytes(POLICY, Ok(parts.pop().unwrap_or(Value::Nil)))?;
                (policy, time.and_then(|time| String::from_utf8(time).ok()?.parse().ok()))
            }
            reply => (bytes(POLICY, reply)?, None),
        };
        let stored = stored.map(|text| parse(&text)).transpose()?;
        let policy = self.agree(stored.as_ref())?;
        let now = Instant::now();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let before = state.as_ref().and_then(|state| state.time);
        let plan = Arc::new(Plan { policy, ..self.plan.clone() });
        let time = time.map(|time| (time, now)).or(before);
        let (is_stored, until) = (stored.is_some(), now + self.fresh);
        *state = Some(State { plan: plan.clone(), is_stored, until, time });
        Ok(plan)
    }

    /// The policy to live by, given the one that is stored.
    fn agree(&self, stored: Option<&Policy>) -> Result<Policy, SeenError> {
        match stored {
            Some(stored) => self.asked.agree(stored),
            None => self
                .asked
                .apply(&Policy::default())
                .map_err(|error| SeenError::Refused { what: error.to_string() }),
        }
    }

    /// What changes the policy, given what `plain_question` told, and what it will be.
    pub fn changing(
        &self,
        reply: Option<Reply>,
        fields: &PolicyFields,
    ) -> Result<(Request, Policy), SeenError> {
        let old = bytes(POLICY, reply.unwrap_or(Ok(Value::Nil)))
            .map_err(|error| self.explained(error))?;
        // What is no policy is replaced by one, which begins with the defaults.
        let before = old.as_ref().and_then(|text| parse(text).ok()).unwrap_or_default();
        let policy = fields
            .apply(&before)
            .map_err(|error| SeenError::Refused { what: error.to_string() })?;
        let args = vec![old.unwrap_or_default(), policy.to_string().into_bytes()];
        Ok((Request::script(&CHANGE, vec![self.plan.key(POLICY)], args), policy))
    }

    /// Whether that got through. What was learned before is no longer true.
    pub fn changed(&mut self, replies: &[Reply]) -> Result<bool, SeenError> {
        self.asked = PolicyFields::default();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = None;
        match replies {
            [Ok(Value::Int(done))] => Ok(*done == 1),
            [Err(why)] => Err(self.explained(refused(POLICY, why))),
            replies => Err(refused(POLICY, &format!("an unknown answer: {replies:?}"))),
        }
    }

    pub fn now(&self) -> Seconds {
        if let Some(clock) = &self.clock {
            return clock();
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        match state.as_ref().and_then(|state| state.time) {
            Some((time, at)) => time.saturating_add(at.elapsed().as_secs()),
            None => system_clock()(),
        }
    }
}

fn parse(text: &[u8]) -> Result<Policy, SeenError> {
    let text = String::from_utf8_lossy(text);
    text.parse()
        .map_err(|error| SeenError::Refused { what: format!("{text:?} {NO_POLICY}: {error}") })
}
