//! Which filter on which server.

use crate::exit::{Hint, refuse};
use clap::Args;
use mayhap_redis::{Address, FilterError, Filters, Sharded, Wait};
use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

/// The commands of a module that nobody renamed.
const PREFIX: &str = "BF";

/// Which filter on which server.
#[derive(Args)]
pub struct Place {
    /// The server: redis://host:6379, rediss:// for TLS, redis+cluster://host:7000 for a cluster;
    /// with a login as in redis://user:password@host, ?timeout=SECONDS, and ?prefix=MH where the
    /// module's commands have another prefix than BF
    #[arg(value_name = "URL")]
    url: String,

    /// The filter's name there
    #[arg(value_name = "KEY")]
    key: OsString,
}

/// How many keys a filter lies in.
#[derive(Args)]
pub struct ShardsArg {
    /// How many keys the filter is spread over; what exists says so itself
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub shards: Option<u32>,
}

/// How safe what is written must be.
#[derive(Args)]
pub struct WaitArg {
    /// How many replicas must have what is written before it counts as written
    #[arg(long, value_name = "N", default_value_t = 0)]
    wait_replicas: u32,
}

impl Place {
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
        let wait = Wait { replicas: wait.wait_replicas, within: Duration::from_secs(5) };
        Ok(Arc::new(self.filters()?.with_wait(wait)))
    }

    fn filters(&self) -> anyhow::Result<Filters> {
        let (address, rest) = Address::parse(&self.url)?;
        let mut prefix = PREFIX.to_owned();
        for (name, value) in rest {
            match name.as_str() {
                "prefix" => prefix = value,
                // Not what it was set to: that may be a password.
                other => {
                    return Err(refuse(
                        format!("?{other}=…: servers of filters know nothing of that"),
                        "there are ?prefix=, ?timeout=, ?cluster=true, and for TLS ?cacert=, ?cert= and ?key=",
                    ));
                }
            }
        }
        Ok(Filters::connect(address, &prefix)?)
    }

    /// Open the filter, which must have as many shards as were named.
    pub fn open(&self, filters: &Arc<Filters>, shards: &ShardsArg) -> anyhow::Result<Sharded> {
        let list = match Sharded::open(filters, self.key()) {
            Err(error @ FilterError::Missing { .. }) => Err(error).hint(
                "is the name right? `mayhap redis load` loads a filter, `redis add -n KEYS` makes one",
            )?,
            other => other?,
        };
        if let Some(shards) = shards.shards {
            list.expect_shards(shards)?;
        }
        Ok(list)
    }
}
