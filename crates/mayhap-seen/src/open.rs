//! Any store by its name: a file, or the address of a server.

use crate::backend::Backend;
use crate::policy::PolicyFields;
use crate::{Embedded, Seen, SeenError, embedded, redis};
use std::path::Path;
use std::time::Duration;

/// How to open a store. The default changes nothing of its policy, and makes a file that is not there.
#[derive(Clone, Copy, Debug)]
pub struct OpenOptions {
    policy: PolicyFields,
    read_only: bool,
    patience: Duration,
    wait: redis::Wait,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions {
            policy: PolicyFields::default(),
            read_only: false,
            patience: Duration::from_secs(1),
            wait: redis::Wait { replicas: 0, within: Duration::ZERO },
        }
    }
}

impl OpenOptions {
    /// With these fields of the policy: a new store gets them, one that is there must have them.
    pub fn with_policy_fields(self, policy: PolicyFields) -> OpenOptions {
        OpenOptions { policy, ..self }
    }

    /// Write nothing; others may read a file at the same time.
    pub fn with_read_only(self, read_only: bool) -> OpenOptions {
        OpenOptions { read_only, ..self }
    }

    /// Wait for at most so long for another process that has the file open.
    pub fn with_patience(self, patience: Duration) -> OpenOptions {
        OpenOptions { patience, ..self }
    }

    /// Of a server: how many replicas must have what is changed, and by when.
    pub fn with_wait(self, wait: redis::Wait) -> OpenOptions {
        OpenOptions { wait, ..self }
    }
}

/// Whether the name of a store is meant as an address: what is written like one and is none is no file's
/// name either, and may have a password in it.
pub fn is_address(store: &str) -> bool {
    let schemes = ["redis", "rediss", "valkey", "valkeys", "redis+cluster", "rediss+cluster"];
    let scheme = store.split_once(':').map(|(scheme, _)| scheme);
    store.contains("://") || scheme.is_some_and(|scheme| schemes.contains(&scheme))
}

/// Open lists, wherever they are: in a file, or on the server of a `redis://…` address.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("feed.seen");
/// let seen = mayhap_seen::open(&path, &Default::default())?;
/// assert_eq!(seen.mark(b"user-1", &["a1", "a2"])?, 2);
/// assert!(mayhap_seen::open("redis://[".as_ref(), &Default::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(store: &Path, options: &OpenOptions) -> Result<Seen<Box<dyn Backend>>, SeenError> {
    let backend: Box<dyn Backend> = match store.to_str().filter(|store| is_address(store)) {
        Some(address) => {
            let server = redis::Options::parse(address)?.with_policy_fields(options.policy);
            Box::new(redis::Redis::open_with(server.with_wait(options.wait))?)
        }
        None => {
            let file = embedded::Options::default()
                .with_policy_fields(options.policy)
                .with_patience(options.patience);
            let file = if options.read_only { file.read_only() } else { file };
            Box::new(Embedded::open_with(store, file)?)
        }
    };
    Ok(Seen::new(backend))
}
