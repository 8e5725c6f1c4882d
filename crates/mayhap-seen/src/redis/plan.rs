//! What to ask a server for each thing to be done, and what its answers mean. No socket here.

use super::learned::POLICY;
use super::lists::{self, Standing};
use super::{Layout, compact};
use crate::SeenError;
use crate::call::check_owner;
use crate::list::List;
use crate::policy::{Policy, Seconds};
use crate::record;
use crate::view::View;
use mayhap_redis::redis::{Value, cmd};
use mayhap_redis::{Reply, Request};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// How often something is tried while others change the same list.
pub(super) const TRIES: u32 = 64;

/// How long to wait after so many tries that failed: at random, and the longer the more failed,
/// so that a crowd spreads and everybody gets through.
pub(super) fn pause(failures: u32) -> Duration {
    let longest = FIRST_PAUSE * (1 << failures.min(6));
    // A hasher of the standard library begins with something random.
    let dice = RandomState::new().build_hasher().finish();
    longest.mul_f64(dice as f64 / u64::MAX as f64)
}

const FIRST_PAUSE: Duration = Duration::from_micros(100);

/// An owner, the list or why it cannot be read, and its bytes.
pub(super) type Found<'a> = (&'a [u8], Result<View, SeenError>, u64);

/// How lists are kept on a server.
#[derive(Clone)]
pub(super) struct Plan {
    pub policy: Policy,
    pub layout: Layout,
    pub prefix: Vec<u8>,
    pub is_cluster: bool,
}

impl Plan {
    pub fn key(&self, owner: &[u8]) -> Vec<u8> {
        [&self.prefix, owner].concat()
    }

    /// Whose key it is, if it is that of a list.
    pub fn owner<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        key.strip_prefix(self.prefix.as_slice()).filter(|owner| *owner != POLICY)
    }

    /// Refuse owners whom the policy does not allow, and the one name that none can have.
    pub fn check_owners<'a>(
        &self,
        owners: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), SeenError> {
        for owner in owners {
            check_owner(&self.policy, owner)?;
            if owner == POLICY {
                return Err(refused(owner, "the policy is stored under this name"));
            }
        }
        Ok(())
    }

    /// All our keys, for `SCAN`.
    pub fn glob(&self) -> Vec<u8> {
        let mut glob = vec![];
        for byte in &self.prefix {
            if b"*?[]^\\".contains(byte) {
                glob.push(b'\\');
            }
            glob.push(*byte);
        }
        glob.push(b'*');
        glob
    }

    /// Seconds a key lives, as scripts take them: long enough for the list and for an offer.
    pub fn ttl(&self, lasting: Seconds) -> Vec<u8> {
        let seconds = self.policy.idle().map_or(0, |idle| idle.max(lasting));
        // A server counts milliseconds since 1970 in 63 bits.
        seconds.min(1 << 40).to_string().into_bytes()
    }

    pub fn reading(&self, owners: &[&[u8]]) -> Vec<Request> {
        match self.layout {
            Layout::Compact => owners.iter().map(|owner| compact::reading(self, owner)).collect(),
            Layout::List => owners.iter().flat_map(|owner| lists::reading(self, owner)).collect(),
        }
    }

    pub fn views(
        &self,
        owners: &[&[u8]],
        replies: Vec<Reply>,
        now: Seconds,
    ) -> Result<Vec<View>, SeenError> {
        Ok(self.all(owners, replies, now)?.into_iter().map(|(view, _)| view).collect())
    }

    /// These keys as lists, or why they cannot be read: others may live on the same server.
    pub fn found<'a>(
        &self,
        owners: &[&'a [u8]],
        replies: Vec<Reply>,
        now: Seconds,
    ) -> Result<Vec<Found<'a>>, SeenError> {
        let mut found = vec![];
        let per_owner = self.replies_per_owner();
        let mut replies = replies.into_iter();
        for owner in owners {
            let replies: Vec<Reply> = replies.by_ref().take(per_owner).collect();
            match self.all(&[owner], replies, now) {
                Ok(mut views) => {
                    if let Some((view, bytes)) = views.pop().filter(|(view, _)| !view.is_empty()) {
                        found.push((*owner, Ok(view), bytes));
                    }
                }
                // What is on offer in the list layout has keys of its own.
                Err(_) if self.layout == Layout::List && owner.ends_with(b":offered") => {}
                Err(error @ SeenError::Record { .. }) => found.push((*owner, Err(error), 0)),
                Err(SeenError::Refused { what }) if what.contains(ANOTHER_TYPE) => {
                    found.push((*owner, Err(SeenError::Refused { what }), 0));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    fn replies_per_owner(&self) -> usize {
        match self.layout {
            Layout::Compact => 1,
            Layout::List => 2,
        }
    }

    fn all(
        &self,
        owners: &[&[u8]],
        replies: Vec<Reply>,
        now: Seconds,
    ) -> Result<Vec<(View, u64)>, SeenError> {
        match self.layout {
            Layout::Compact => {
                let pairs = owners.iter().zip(replies);
                let read = pairs.map(|(owner, reply)| compact::list(self, owner, reply, now));
                read.map(|read| read.map(|(list, value)| (View::List(list), value.len() as u64)))
                    .collect()
            }
            Layout::List => {
                let mut replies = replies.into_iter();
                let mut next = || replies.next().unwrap_or(Ok(Value::Nil));
                let read = |owner: &&[u8]| {
                    let standing = Standing::read(owner, next(), next())?;
                    Ok((View::Go(standing.list(self, owner, now)?), standing.bytes()))
                };
                owners.iter().map(read).collect()
            }
        }
    }

    pub fn forgetting(&self, owner: &[u8]) -> Request {
        let mut del = cmd("DEL");
        let key = self.key(owner);
        del.arg(key.as_slice());
        if self.layout == Layout::List {
            del.arg(lists::offers_key(&key));
        }
        Request::about(&key, &del)
    }

    pub fn forgotten(&self, replies: &[Reply]) -> Result<bool, SeenError> {
        match replies {
            [Ok(Value::Int(count))] => Ok(*count > 0),
            replies => Err(strange("DEL", replies)),
        }
    }

    /// Given what `reading` told of their owners.
    pub fn merging(
        &self,
        lists: &[(&[u8], List)],
        replies: Vec<Reply>,
        now: Seconds,
    ) -> Result<Vec<Request>, SeenError> {
        match self.layout {
            Layout::Compact => {
                let merge = |((owner, other), reply): (&(&[u8], List), Reply)| {
                    let (mut list, old) = compact::list(self, owner, reply, now)?;
                    list.merge(other.clone(), &self.policy, now);
                    let new = record::encode(&list);
                    let ttl = self.ttl(list.offered_for(now));
                    Ok(compact::replacing(self, owner, &old, &new, ttl))
                };
                lists.iter().zip(replies).map(merge).collect()
            }
            Layout::List => Err(SeenError::Layout {
                what: "a list of Go filters takes no imports: its filters cannot hold our ids; import into layout=compact",
            }),
        }
    }

    /// Which of them got through.
    pub fn merged(&self, replies: &[Reply]) -> Result<Vec<bool>, SeenError> {
        let merged = |reply: &Reply| match reply {
            Ok(Value::Int(done)) => Ok(*done == 1),
            reply => Err(strange("merge", std::slice::from_ref(reply))),
        };
        replies.iter().map(merged).collect()
    }
}

/// A string, or nothing.
pub(super) fn bytes(owner: &[u8], reply: Reply) -> Result<Option<Vec<u8>>, SeenError> {
    match reply {
        Ok(Value::Nil) => Ok(None),
        Ok(Value::BulkString(bytes)) => Ok(Some(bytes)),
        Ok(Value::SimpleString(text)) => Ok(Some(text.into_bytes())),
        Ok(value) => Err(refused(owner, &format!("an answer of another kind: {value:?}"))),
        Err(why) => Err(refused(owner, &why)),
    }
}

pub(super) const ANOTHER_TYPE: &str =
    "; the key holds another type: is it the other layout (layout=list or layout=compact)?";

pub(super) fn refused(owner: &[u8], why: &str) -> SeenError {
    let owner = String::from_utf8_lossy(owner);
    let hint =
        if why.contains("WRONGTYPE") || why.contains("wrong kind") { ANOTHER_TYPE } else { "" };
    SeenError::Refused { what: format!("owner {owner:?}: {why}{hint}") }
}

fn strange(what: &str, replies: &[Reply]) -> SeenError {
    match replies {
        [Err(why), ..] => SeenError::Refused { what: why.clone() },
        replies => SeenError::Refused { what: format!("an unknown answer to {what}: {replies:?}") },
    }
}
