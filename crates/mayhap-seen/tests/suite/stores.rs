//! Every store of the suite, each with a clock that tests set.

use crate::server::{Make, Server};
use mayhap_seen::redis::{Options as RedisOptions, Redis};
use mayhap_seen::{Backend, Clock, Embedded, Policy, Seconds, Seen, embedded};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A manual clock.
#[derive(Clone)]
pub struct Hands(Arc<AtomicU64>);

impl Hands {
    pub fn new() -> Hands {
        Hands(Arc::new(AtomicU64::new(1_800_000_000)))
    }

    pub fn turn(&self, seconds: Seconds) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn now(&self) -> Seconds {
        self.0.load(Ordering::SeqCst)
    }

    pub fn clock(&self) -> Clock {
        let hands = self.clone();
        Arc::new(move || hands.now())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Embedded,
    Compact,
    List,
    CompactOnValkey,
    ListOnValkey,
}

/// Those that store Mayhap's own records.
pub const OURS: [Kind; 3] = [Kind::Embedded, Kind::Compact, Kind::CompactOnValkey];
pub const KINDS: [Kind; 5] =
    [Kind::Embedded, Kind::Compact, Kind::List, Kind::CompactOnValkey, Kind::ListOnValkey];

/// A store, and what keeps it alive.
pub struct Store {
    pub kind: Kind,
    pub seen: Seen<Box<dyn Backend>>,
    pub hands: Hands,
    _dir: Option<tempfile::TempDir>,
    pub server: Option<Server>,
}

impl Kind {
    pub fn is_list(self) -> bool {
        matches!(self, Kind::List | Kind::ListOnValkey)
    }

    fn make(self) -> Make {
        match self {
            Kind::CompactOnValkey | Kind::ListOnValkey => Make::Valkey9,
            _ => Make::Redis,
        }
    }

    /// Nothing where it needs a server and there is none.
    pub fn open(self, policy: Policy) -> Option<Store> {
        let hands = Hands::new();
        let (mut dir, mut server) = (None, None);
        let backend: Box<dyn Backend> = match self {
            Kind::Embedded => {
                let path = dir.insert(tempfile::tempdir().unwrap()).path().join("seen.redb");
                let options = embedded::Options::default();
                let options = options.with_policy(policy).with_clock(hands.clock());
                Box::new(Embedded::open_with(path, options).unwrap())
            }
            _ => {
                let layout = if self.is_list() { "list" } else { "compact" };
                let url = server.insert(Server::start_a(self.make(), &[])?).url();
                let options =
                    RedisOptions::parse(&format!("{url}?prefix=t:&layout={layout}&timeout=60"));
                let options = options.unwrap();
                let options = options.with_policy(policy).with_clock(hands.clock());
                Box::new(Redis::open_with(options).unwrap())
            }
        };
        Some(Store { kind: self, seen: Seen::new(backend), hands, _dir: dir, server })
    }
}

/// All stores there are here.
pub fn all(policy: &str) -> impl Iterator<Item = Store> {
    let policy: Policy = policy.parse().unwrap();
    KINDS.into_iter().filter_map(move |kind| kind.open(policy))
}

/// Whether this is the long run.
pub fn is_soak() -> bool {
    std::env::var_os("MAYHAP_SOAK").is_some()
}
