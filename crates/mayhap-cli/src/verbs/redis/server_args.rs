//! Which filter on which server.

use crate::exit::{HintExt, error_with_hint};
use crate::globals::Globals;
use crate::print;
use crate::signals::stop_on_signal;
use clap::Args;
use mayhap_redis::{Address, FilterError, Filters, Sharded, Wait};
use mayhap_store::text::ProgressAndCancel;
use mayhap_store::{HostError, Lookup, Needs, Prepared};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// The commands of a module that nobody renamed.
const PREFIX: &str = "BF";

/// Which filter on which server.
#[derive(Args)]
pub struct ServerKey {
    /// The server: redis://host:6379, rediss:// for TLS, redis+cluster://host:7000 for a cluster;
    /// with a login as in redis://user:password@host, ?timeout=SECONDS, and ?prefix=MH where the
    /// module's commands have another prefix than BF
    #[arg(value_name = "URL")]
    url: String,

    /// The filter's key on the server
    #[arg(value_name = "KEY")]
    key: OsString,
}

/// How many keys a filter lies in.
#[derive(Args)]
pub struct ShardsArg {
    /// Number of shards; an existing filter knows its own
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub shards: Option<u32>,
}

/// How safe what is written must be.
#[derive(Args)]
pub struct WaitArg {
    /// Number of replicas that must have a write before it counts as done
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait_replicas: u32,
}

impl WaitArg {
    fn wait(&self) -> Wait {
        Wait { replicas: self.wait_replicas, within: Duration::from_secs(5) }
    }
}

impl ServerKey {
    /// This filter on that server.
    pub fn new(url: String, key: OsString) -> ServerKey {
        ServerKey { url, key }
    }

    /// The key's bytes.
    pub fn key(&self) -> &[u8] {
        self.key.as_encoded_bytes()
    }

    /// The key for people.
    pub fn name(&self) -> String {
        self.key.to_string_lossy().into_owned()
    }

    /// Connect to the server.
    pub fn connect(&self) -> anyhow::Result<Arc<Filters>> {
        Ok(Arc::new(self.filters()?))
    }

    /// The same, to write what so many replicas must have.
    pub fn connect_to_write(&self, wait: &WaitArg) -> anyhow::Result<Arc<Filters>> {
        Ok(Arc::new(self.filters()?.with_wait(wait.wait())))
    }

    /// The same, to send or fetch a whole filter: a signal ends that, and what it has left on the
    /// server is removed.
    pub fn connect_to_transfer(&self, wait: Option<&WaitArg>) -> anyhow::Result<Arc<Filters>> {
        let watch: Arc<ProgressAndCancel> = Arc::default();
        stop_on_signal(&watch);
        let filters = self.filters()?.with_cancel(move || watch.is_stopped());
        Ok(Arc::new(match wait {
            Some(wait) => filters.with_wait(wait.wait()),
            None => filters,
        }))
    }

    fn filters(&self) -> anyhow::Result<Filters> {
        if self.key.is_empty() {
            return Err(error_with_hint("KEY is empty", "give the filter a name"));
        }
        let (address, rest) = Address::parse(&self.url)?;
        let mut prefix = PREFIX.to_owned();
        for (name, value) in rest {
            match name.as_str() {
                "prefix" => prefix = value,
                // Not what it was set to: that may be a password.
                other => {
                    return Err(error_with_hint(
                        format!("?{other}=…: servers of filters know nothing of that"),
                        "there are ?prefix=, ?timeout=, ?cluster=true, and for TLS ?cacert=, ?cert= and ?key=",
                    ));
                }
            }
        }
        Ok(Filters::connect(address, &prefix)?)
    }

    /// Open the filter, which must have as many shards as were named.
    pub fn open(
        &self,
        filters: &Arc<Filters>,
        shards: &ShardsArg,
        globals: &Globals,
    ) -> anyhow::Result<Sharded> {
        let list = match Sharded::open(filters, self.key()) {
            Err(error @ FilterError::Missing { .. }) => Err(error).hint(
                "is the name right? `mayhap redis load` loads a filter, `redis add -n KEYS` makes one",
            )?,
            other => other?,
        };
        if let Some(shards) = shards.shards {
            list.expect_shards(shards)?;
        }
        if list.about().is_some_and(|about| !about.has_identity()) && !globals.quiet {
            print::warning(
                &format!(
                    "{}: made by an earlier version: a shard that is deleted and made again goes unnoticed",
                    self.name()
                ),
                Some(
                    "`mayhap redis save` it and `mayhap redis load --force` that: then every shard identifies its filter",
                ),
            );
        }
        Ok(list)
    }

    /// The way out where a name, or the key of a shard, is taken.
    pub fn hint_if_taken<T>(
        &self,
        done: Result<T, FilterError>,
        has_force: bool,
    ) -> anyhow::Result<T> {
        let Err(FilterError::Exists { key }) = &done else { return Ok(done?) };
        let force = if has_force { ", or replace it with --force" } else { "" };
        let hint = if *key == self.name() {
            format!("choose another name{force}")
        } else {
            format!(
                "an interrupted load may have left it: `mayhap redis delete --orphans --dry-run URL {}` lists such keys, without --dry-run it deletes them{}",
                self.name(),
                if has_force { "; --force replaces it" } else { "" },
            )
        };
        done.hint(hint)
    }
}

/// A filter on a server, to be asked about keys as one in a file is.
pub struct ServerFilter<'a>(pub &'a Sharded);

impl Lookup for ServerFilter<'_> {
    fn needs(&self) -> Needs {
        Needs::Keys
    }

    fn lookup(&self, keys: Prepared<'_>, _: u64, answers: &mut Vec<bool>) -> Result<(), HostError> {
        answers.clear();
        if let Prepared::Keys(keys) = keys {
            let asked = self.0.check(&keys.iter().collect::<Vec<_>>());
            *answers = asked.map_err(HostError::new)?;
        }
        Ok(())
    }
}
