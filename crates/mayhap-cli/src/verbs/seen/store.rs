//! Where lists are kept: a file or a server, named by `--store`.

use crate::exit::refuse;
use crate::wait::Wait;
use clap::Args;
use mayhap_seen::embedded::{self, Embedded};
use mayhap_seen::redis::{self, Redis};
use mayhap_seen::{Backend, PolicyFields, Seen};
use std::path::Path;
use std::time::Duration;

/// Lists, wherever they are.
pub type Lists = Seen<Box<dyn Backend>>;

/// How long another process that has the file open is waited for, unless `--wait` says otherwise.
const PATIENCE: Duration = Duration::from_secs(1);

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
    /// A file, or redis://host:port/db?layout=compact|list&prefix=…; redis+cluster:// for a cluster
    #[arg(long, short, value_name = "STORE", env = "MAYHAP_SEEN_STORE", hide_env_values = true)]
    store: String,

    /// How much a new store keeps and for how long: slices=5,ids=1000,rate=0.001,idle=5d (the
    /// default), or time windows: slices=4,every=30d,ids=2000. A store remembers its policy: another
    /// one is refused, and only `mayhap seen policy` changes it
    #[arg(long, value_name = "POLICY")]
    policy: Option<PolicyFields>,

    /// If the server is away, count nothing as seen instead of failing
    #[arg(long)]
    fail_open: bool,

    #[command(flatten)]
    wait: Wait,
}

impl StoreArgs {
    pub fn open(&self, access: Access) -> anyhow::Result<Lists> {
        let policy = self.policy.unwrap_or_default();
        let backend: Box<dyn Backend> = if self.is_server() {
            let options = redis::Options::parse(&self.store)?.with_policy_fields(policy);
            Box::new(Redis::open_with(options)?)
        } else {
            let path = Path::new(&self.store);
            if access != Access::Create && !path.exists() {
                return Err(refuse(
                    format!("{}: no such store", path.display()),
                    "`mayhap seen mark` makes one; is the name right?",
                ));
            }
            let mut options = embedded::Options::default()
                .with_policy_fields(policy)
                .with_patience(self.wait.patience().unwrap_or(PATIENCE));
            if access == Access::Read {
                options = options.read_only();
            }
            Box::new(Embedded::open_with(path, options)?)
        };
        Ok(Seen::new(backend).with_fail_open(self.fail_open))
    }

    /// Whether it is a server rather than a file.
    pub fn is_server(&self) -> bool {
        self.store.contains("://")
    }
}
