//! Where lists are kept: a file or a server, named by `--store`.

use crate::exit::refuse;
use clap::Args;
use mayhap_seen::embedded::{self, Embedded};
use mayhap_seen::redis::{self, Redis};
use mayhap_seen::{Backend, Policy, Seen};
use std::path::Path;

/// Lists, wherever they are.
pub type Lists = Seen<Box<dyn Backend>>;

/// Where lists are kept, and by which rules.
#[derive(Args)]
pub struct StoreArgs {
    /// A file, or redis://host:port/db?layout=compact|list&prefix=…; redis+cluster:// for a cluster
    #[arg(long, short, value_name = "STORE", env = "MAYHAP_SEEN_STORE")]
    store: String,

    /// How much is kept and for how long: slices=5,ids=1000,rate=0.001,idle=5d (the default), or
    /// windows of time: slices=4,every=30d,ids=2000. A file remembers the one it was given
    #[arg(long, value_name = "POLICY")]
    policy: Option<Policy>,

    /// If the server is away, count nothing as seen instead of failing
    #[arg(long)]
    fail_open: bool,
}

impl StoreArgs {
    /// Open it; only what writes may make a new file.
    pub fn open(&self, creates: bool) -> anyhow::Result<Lists> {
        let backend: Box<dyn Backend> = if self.store.contains("://") {
            let mut options = redis::Options::parse(&self.store)?;
            if let Some(policy) = self.policy {
                options = options.with_policy(policy);
            }
            Box::new(Redis::open_with(options)?)
        } else {
            let path = Path::new(&self.store);
            if !creates && !path.exists() {
                return Err(refuse(
                    format!("{}: no such store", path.display()),
                    "`mayhap seen mark` makes one; is the name right?",
                ));
            }
            let mut options = embedded::Options::default();
            if let Some(policy) = self.policy {
                options = options.with_policy(policy);
            }
            Box::new(Embedded::open_with(path, options)?)
        };
        Ok(Seen::new(backend).with_fail_open(self.fail_open))
    }
}
