//! What a client learns from the server: the stored policy, and the time.
//!
//! The policy is the string under the prefix and `mayhap-seen:policy`. The first writer stores it:
//! the policy requested, or the default. From then on it applies to everyone, and a client that
//! requires another is rejected. It is read at a client's first call and once per minute, so that a
//! change is known everywhere soon; a call in between costs nothing more. No I/O here.
//!
//! With the policy a client learns the server's time and continues from it by its own monotonic
//! clock: a machine whose clock is wrong does not make lists older than they are.

use super::compact;
use super::protocol::{ANOTHER_TYPE, Protocol, bytes, rejected};
use crate::SeenError;
use crate::backend::{Clock, system_clock};
use crate::policy::{Policy, PolicyFields, Seconds};
use mayhap_redis::redis::Value;
use mayhap_redis::{Reply, Request, Script};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// The policy is where an owner of this name would have a list.
pub(super) const POLICY: &[u8] = b"mayhap-seen:policy";
/// How long what was learned is valid.
pub(super) const FRESH: Duration = Duration::from_secs(60);
/// When to ask again after a failure: what was learned stays valid until then.
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

/// The same for readers.
static PEEK: Script =
    Script::new("return {redis.call('GET', KEYS[1]) or false, redis.call('TIME')[1]}");

/// Replaces the policy ARGV[1] ('' if there is none) by ARGV[2].
static CHANGE: Script = Script::new(
    "if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1",
);

const NO_POLICY: &str = "is not a policy";

pub(super) struct Learned {
    /// With any policy: its other fields count.
    protocol: Protocol,
    asked: PolicyFields,
    clock: Option<Clock>,
    fresh: Duration,
    state: RwLock<Option<State>>,
}

#[derive(Clone)]
struct State {
    protocol: Arc<Protocol>,
    is_stored: bool,
    /// When to ask again.
    until: Instant,
    /// The server's time, and when it was read.
    time: Option<(Seconds, Instant)>,
}

impl Learned {
    pub fn new(
        protocol: Protocol,
        asked: PolicyFields,
        clock: Option<Clock>,
        fresh: Duration,
    ) -> Learned {
        Learned { protocol, asked, clock, fresh, state: RwLock::default() }
    }

    /// The protocol, if the policy is known and valid: for writes it must have been stored.
    pub fn protocol(&self, writes: bool) -> Option<Arc<Protocol>> {
        self.known(writes, |state| Instant::now() < state.until)
    }

    /// The same, however long ago it was learned.
    pub fn old_protocol(&self, writes: bool) -> Option<Arc<Protocol>> {
        self.known(writes, |_| true)
    }

    fn known(&self, writes: bool, and: impl Fn(&State) -> bool) -> Option<Arc<Protocol>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let known =
            |state: &&State| and(state) && (!writes || (state.is_stored && state.time.is_some()));
        state.as_ref().filter(known).map(|state| state.protocol.clone())
    }

    /// No answer: go on with what is known, and ask again a little later.
    pub fn defer(&self) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(state) = state.as_mut() {
            state.until = Instant::now() + AGAIN.min(self.fresh);
        }
    }

    /// The request for it otherwise.
    pub fn question(&self, writes: bool) -> Result<Request, SeenError> {
        if !writes {
            return Ok(Request::script(&PEEK, vec![self.protocol.key(POLICY)], vec![]));
        }
        let new = self.agree(None)?.to_string().into_bytes();
        Ok(Request::script(&LEARN, vec![self.protocol.key(POLICY)], vec![new]))
    }

    /// The policy alone, for readers without permission to run scripts.
    pub fn plain_question(&self) -> Request {
        compact::reading(&self.protocol, POLICY)
    }

    /// The reply to it.
    pub fn answer(&self, reply: Option<Reply>) -> Result<Arc<Protocol>, SeenError> {
        self.believe(reply).map_err(|error| self.explained(error))
    }

    /// Errors about the key of the policy name it, with a hint.
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
        let key = self.protocol.key(POLICY);
        let key = String::from_utf8_lossy(&key);
        let what = what.split(ANOTHER_TYPE).next().unwrap_or(&what);
        SeenError::Refused { what: format!("the policy's key {key:?}: {what}; {way_out}") }
    }

    fn believe(&self, reply: Option<Reply>) -> Result<Arc<Protocol>, SeenError> {
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
        let protocol = Arc::new(Protocol { policy, ..self.protocol.clone() });
        let time = time.map(|time| (time, now)).or(before);
        let (is_stored, until) = (stored.is_some(), now + self.fresh);
        *state = Some(State { protocol: protocol.clone(), is_stored, until, time });
        Ok(protocol)
    }

    /// The policy to use, given the stored one.
    fn agree(&self, stored: Option<&Policy>) -> Result<Policy, SeenError> {
        match stored {
            Some(stored) => self.asked.agree(stored),
            None => self
                .asked
                .apply(&Policy::default())
                .map_err(|error| SeenError::Refused { what: error.to_string() }),
        }
    }

    /// The request that changes the policy, given the reply to `plain_question`, and the new
    /// policy.
    pub fn changing(
        &self,
        reply: Option<Reply>,
        fields: &PolicyFields,
    ) -> Result<(Request, Policy), SeenError> {
        let old = bytes(POLICY, reply.unwrap_or(Ok(Value::Nil)))
            .map_err(|error| self.explained(error))?;
        let before = old.as_deref().map(readable).unwrap_or_default();
        let policy = fields
            .apply(&before)
            .map_err(|error| SeenError::Refused { what: error.to_string() })?;
        let args = vec![old.unwrap_or_default(), policy.to_string().into_bytes()];
        Ok((Request::script(&CHANGE, vec![self.protocol.key(POLICY)], args), policy))
    }

    /// Whether that succeeded. What was learned before is outdated.
    pub fn changed(&mut self, replies: &[Reply]) -> Result<bool, SeenError> {
        self.asked = PolicyFields::default();
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = None;
        match replies {
            [Ok(Value::Int(done))] => Ok(*done == 1),
            [Err(why)] => Err(self.explained(rejected(POLICY, why))),
            replies => Err(rejected(POLICY, &format!("an unknown answer: {replies:?}"))),
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

/// The fields that can be read of what may be no policy as a whole: the others are the defaults, and
/// whoever changes the policy says what they are to be.
fn readable(text: &[u8]) -> Policy {
    let text = String::from_utf8_lossy(text);
    text.split([',', ' ']).fold(Policy::default(), |policy, field| {
        let fields = field.parse::<PolicyFields>();
        fields.ok().and_then(|fields| fields.apply(&policy).ok()).unwrap_or(policy)
    })
}

fn parse(text: &[u8]) -> Result<Policy, SeenError> {
    let text = String::from_utf8_lossy(text);
    text.parse()
        .map_err(|error| SeenError::Refused { what: format!("{text:?} {NO_POLICY}: {error}") })
}
