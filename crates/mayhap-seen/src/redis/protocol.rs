//! The requests for each operation, and the meaning of the replies. No I/O here.

use super::go_lists::{self, ListSnapshot};
use super::learned::POLICY;
use super::{Layout, compact};
use crate::SeenError;
use crate::list::List;
use crate::operation::check_owner;
use crate::policy::{Policy, Seconds};
use crate::record;
use crate::view::View;
use mayhap_redis::redis::{Value, cmd};
use mayhap_redis::{Reply, Request};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

/// Maximum attempts while other clients change the same list.
pub(super) const MAX_RETRIES: u32 = 64;

/// Exponential backoff with jitter after this many failures, so that contending clients spread and
/// all get through.
pub(super) fn backoff(failures: u32) -> Duration {
    let longest = BACKOFF_MIN * (1 << failures.min(6));
    // The standard library's hasher starts with a random state.
    let dice = RandomState::new().build_hasher().finish();
    longest.mul_f64(dice as f64 / u64::MAX as f64)
}

const BACKOFF_MIN: Duration = Duration::from_micros(100);

/// An owner, the list or why it cannot be decoded, and its bytes.
pub(super) type Found<'a> = (&'a [u8], Result<View, SeenError>, u64);

/// How lists are kept on a server.
#[derive(Clone)]
pub(super) struct Protocol {
    pub policy: Policy,
    pub layout: Layout,
    pub prefix: Vec<u8>,
    pub is_cluster: bool,
}

impl Protocol {
    pub fn key(&self, owner: &[u8]) -> Vec<u8> {
        [&self.prefix, owner].concat()
    }

    /// The owner of a key, if it is the key of a list.
    pub fn owner<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        key.strip_prefix(self.prefix.as_slice()).filter(|owner| *owner != POLICY)
    }

    /// Reject owners that the policy does not allow, and the one reserved name.
    pub fn check_owners<'a>(
        &self,
        owners: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), SeenError> {
        for owner in owners {
            check_owner(&self.policy, owner)?;
            if owner == POLICY {
                return Err(rejected(owner, "the policy is stored under this name"));
            }
        }
        Ok(())
    }

    /// The glob of all our keys, for `SCAN`.
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

    /// Time to live of a key, as scripts take it: long enough for the list and for an offer.
    pub fn ttl(&self, ttl: Seconds) -> Vec<u8> {
        let seconds = self.policy.idle().map_or(0, |idle| idle.max(ttl));
        // A server counts milliseconds since 1970 in 63 bits.
        seconds.min(1 << 40).to_string().into_bytes()
    }

    pub fn reading(&self, owners: &[&[u8]]) -> Vec<Request> {
        match self.layout {
            Layout::Compact => owners.iter().map(|owner| compact::reading(self, owner)).collect(),
            Layout::List => {
                owners.iter().flat_map(|owner| go_lists::reading(self, owner)).collect()
            }
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

    /// These keys as lists, or why they cannot be decoded: other programs may use the same server.
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
                // Offers in the list layout have keys of their own.
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
                    let snapshot = ListSnapshot::read(owner, next(), next())?;
                    Ok((View::Go(snapshot.list(self, owner, now)?), snapshot.bytes()))
                };
                owners.iter().map(read).collect()
            }
        }
    }

    pub fn forget_requests(&self, owner: &[u8]) -> Request {
        let mut del = cmd("DEL");
        let key = self.key(owner);
        del.arg(key.as_slice());
        if self.layout == Layout::List {
            del.arg(go_lists::offers_key(&key));
        }
        Request::about(&key, &del)
    }

    pub fn forgotten(&self, replies: &[Reply]) -> Result<bool, SeenError> {
        match replies {
            [Ok(Value::Int(count))] => Ok(*count > 0),
            replies => Err(unexpected_reply("DEL", replies)),
        }
    }

    /// Given the replies to `reading` for their owners.
    pub fn merge_requests(
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
                    Ok(compact::compare_and_swap_request(self, owner, &old, &new, ttl))
                };
                lists.iter().zip(replies).map(merge).collect()
            }
            Layout::List => Err(SeenError::Layout {
                what: "a list of Go filters takes no imports: its filters cannot hold our ids; import into layout=compact",
            }),
        }
    }

    /// Which of them succeeded.
    pub fn merged(&self, replies: &[Reply]) -> Result<Vec<bool>, SeenError> {
        let merged = |reply: &Reply| match reply {
            Ok(Value::Int(done)) => Ok(*done == 1),
            reply => Err(unexpected_reply("merge", std::slice::from_ref(reply))),
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
        Ok(value) => Err(rejected(owner, &format!("an answer of another kind: {value:?}"))),
        Err(why) => Err(rejected(owner, &why)),
    }
}

pub(super) const ANOTHER_TYPE: &str =
    "; the key holds another type: is it the other layout (layout=list or layout=compact)?";

pub(super) fn rejected(owner: &[u8], why: &str) -> SeenError {
    let owner = String::from_utf8_lossy(owner);
    let hint =
        if why.contains("WRONGTYPE") || why.contains("wrong kind") { ANOTHER_TYPE } else { "" };
    SeenError::Refused { what: format!("owner {owner:?}: {why}{hint}") }
}

fn unexpected_reply(what: &str, replies: &[Reply]) -> SeenError {
    match replies {
        [Err(why), ..] => SeenError::Refused { what: why.clone() },
        replies => SeenError::Refused { what: format!("an unknown answer to {what}: {replies:?}") },
    }
}
