//! Where lists are kept: a file or a server, named by `--store`.

use crate::exit::error_with_hint;
use crate::print;
use crate::wait::Wait;
use clap::Args;
use mayhap_seen::{Backend, OpenOptions, PolicyFields, Seen, is_address, redis};
use std::path::Path;
use std::time::Duration;

/// Lists, wherever they are.
pub type Lists = Seen<Box<dyn Backend>>;

/// How long replicas may take, within the time of the call.
const REPLICAS_WITHIN: Duration = Duration::from_secs(5);

/// How long another process that has the file open is waited for, unless `--wait` says otherwise.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// What a verb does to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing is written, and others may read a file at the same time.
    Read,
    /// A store that is there is changed.
    Change,
    /// A file is made if there is none.
    Create,
}

/// Where lists are kept, and by which rules.
#[derive(Args)]
pub struct StoreArgs {
    /// A file, or redis://host:port/db?layout=compact|list&prefix=…; redis+cluster:// for a
    /// cluster, rediss:// for TLS, ?timeout=SECONDS for how long a call may take
    // Not shown with its value: it may have a password in it.
    #[arg(long, short, value_name = "STORE", env = "MAYHAP_SEEN_STORE", hide_env_values = true)]
    store: String,

    /// How much a new store keeps and for how long: slices=5,ids=1000,rate=0.001,idle=5d (the
    /// default), or time windows: slices=4,every=30d,ids=2000. A store remembers its policy: a
    /// different one is an error, and only `mayhap seen policy` changes it
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyFields>,

    /// If the server cannot be reached now, treat everything as unseen instead of failing, and
    /// report it; a wrong password or certificate is still an error
    #[arg(long)]
    fail_open: bool,

    /// Number of replicas that must have a change; if they do not have it in time, the change is
    /// still made and the exit code is 2
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait_replicas: u32,

    #[command(flatten)]
    wait: Wait,
}

impl StoreArgs {
    pub fn open(&self, access: Access) -> anyhow::Result<Lists> {
        if self.store.is_empty() {
            return Err(error_with_hint(
                "the store has no name",
                "--store names a file or a server, and so does MAYHAP_SEEN_STORE, which is empty",
            ));
        }
        let policy = self.policy.unwrap_or_default();
        let path = Path::new(&self.store);
        if !self.is_server() {
            if self.wait_replicas > 0 {
                return Err(error_with_hint(
                    format!("{}: a file has no replicas", path.display()),
                    "leave out --wait-replicas: what a file has acknowledged is on the disk",
                ));
            }
            if access != Access::Create && !path.exists() {
                return Err(error_with_hint(
                    format!("{}: no such store", path.display()),
                    "`mayhap seen mark` makes one; is the name right?",
                ));
            }
        }
        let options = OpenOptions::default()
            .with_policy_fields(policy)
            .with_patience(self.wait.patience().unwrap_or(DEFAULT_WAIT))
            .with_read_only(access == Access::Read)
            .with_wait(redis::Wait { replicas: self.wait_replicas, within: REPLICAS_WITHIN });
        let seen = mayhap_seen::open(path, &options)?.with_fail_open(self.fail_open);
        Ok(seen.when_failing_open(|error| {
            let so = "so nothing counts as seen, and no mark is kept (--fail-open)";
            print::warning(&format!("{error}; {so}"), None);
        }))
    }

    /// Whether it is a server rather than a file.
    pub fn is_server(&self) -> bool {
        is_address(&self.store)
    }
}
