//! `mayhap redis add URL KEY [INPUT…]`.

use super::server_args::{ServerKey, ShardsArg, WaitArg};
use crate::clock::now_s;
use crate::exit::{Exit, HintExt};
use crate::globals::Globals;
use crate::key_args::{KeyArgs, key_rules, reading};
use crate::numbers::{self, human_duration, plural};
use crate::progress::Progress;
use crate::signals::stop_on_signal;
use crate::{print, usage};
use clap::Args;
use mayhap::Spec;
use mayhap::format::Metadata;
use mayhap_redis::{Descriptor, FilterError, Filters, KeyContent, Sharded};
use mayhap_store::text::{CollectKeys, ExtractRules, KeyBuffer, Tally, Task};
use serde_json::json;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Add keys to a filter on a server; with -n it is created if it does not exist.
///
/// Adding is idempotent, so an interrupted run can be repeated. If a cluster fails over or moves
/// slots meanwhile, unanswered requests are sent again. With --wait-replicas 1 a key counts as
/// added only when a replica has it.
#[derive(Args)]
pub struct Add {
    #[command(flatten)]
    place: ServerKey,

    /// If there is no such filter, create one for this many keys: 5000, 10M, 2G
    #[arg(short = 'n', long = "keys", value_name = "KEYS", value_parser = numbers::count)]
    capacity: Option<u64>,

    /// False-positive rate of a new filter, e.g. 1% or 0.001 [default: 1%]
    #[arg(short = 'p', long, alias = "rate", value_name = "RATE", value_parser = numbers::rate)]
    #[arg(requires = "capacity")]
    fpr: Option<f64>,

    #[command(flatten)]
    shards: ShardsArg,

    #[command(flatten)]
    wait: WaitArg,

    #[command(flatten)]
    keys: KeyArgs,
}

/// Bytes read at a time: a round trip is to be worth its while.
const BLOCK_BYTES: usize = 1 << 20;

/// How long somebody else may take to make the filter: longer than a claim outlives its owner.
const OTHERS_WITHIN: Duration = Duration::from_secs(40);

impl Add {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let Some(inputs) = self.keys.inputs() else { return Ok(usage::help_of("redis", "add")) };
        let start = Instant::now();
        let filters = self.place.connect_to_write(&self.wait)?;
        let (list, rules) = self.open_or_make(&filters, globals)?;
        let reading = reading(inputs, &rules, globals).with_block_bytes(BLOCK_BYTES);
        stop_on_signal(reading.progress());
        let progress = Progress::of(reading.progress(), "add", false, globals);
        let mut new = 0;
        let tally = reading.run(&Adding(&list), |batch| {
            if let Some(error) = batch.out.failed.take() {
                return Err(anyhow::Error::from(error));
            }
            new += batch.out.new;
            Ok(ControlFlow::Continue(()))
        });
        drop(progress);
        let tally = tally?;
        print::unparsable(tally, &rules, globals);
        self.report(&list, tally, new, start.elapsed(), globals)?;
        Ok(Exit::Yes)
    }

    fn open_or_make(
        &self,
        filters: &Arc<Filters>,
        globals: &Globals,
    ) -> anyhow::Result<(Sharded, ExtractRules)> {
        let end = Instant::now() + OTHERS_WITHIN;
        while filters.key_content(self.place.key())? == KeyContent::Nothing {
            let rules = self.keys.new_rules()?;
            match self.make(filters, &rules)? {
                Ok(list) => return Ok((list, rules)),
                // Somebody else makes it just now: add to theirs.
                Err(FilterError::Exists { key }) if key == self.place.name() => {}
                Err(FilterError::Loading { .. }) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(error) => return self.place.hint_if_taken(Err(error), false),
            }
        }
        let list = self.place.open(filters, &self.shards, globals)?;
        let rules = match list.about() {
            Some(about) => self.keys.rules_of(about.metadata())?,
            None => self.keys.new_rules()?,
        };
        Ok((list, rules))
    }

    fn make(
        &self,
        filters: &Arc<Filters>,
        rules: &ExtractRules,
    ) -> anyhow::Result<Result<Sharded, FilterError>> {
        let key = self.place.key();
        let Some(capacity) = self.capacity else {
            return Err(FilterError::Missing { key: self.place.name() })
                .hint("say how many keys will come with -n to make it; is the name right?");
        };
        let fpr = self.fpr.unwrap_or(mayhap_store::DEFAULT_FPR);
        let Some(shards) = self.shards.shards else {
            let made = filters.reserve(key, capacity, fpr);
            return Ok(made.and_then(|()| Sharded::open(filters, key)));
        };
        let spec = Spec::new(capacity, fpr)?.with_secret(mayhap_store::secret_file::random()?);
        let metadata = key_rules(rules).note(Metadata::new().with_created(now_s()))?;
        let about = Descriptor::new(spec, shards, metadata)?;
        Ok(Sharded::create(filters, key, about, false))
    }

    fn report(
        &self,
        list: &Sharded,
        tally: Tally,
        new: u64,
        took: Duration,
        globals: &Globals,
    ) -> anyhow::Result<()> {
        let (name, lines, shards) = (self.place.name(), tally.records, list.keys().len());
        if globals.json {
            let seconds = took.as_secs_f64();
            return print::json(&json!({
                "key": name, "lines": lines, "unparsed": tally.unparsable,
                "missing": tally.missing, "new": new,
                "shards": shards, "seconds": seconds,
            }));
        }
        if !globals.quiet {
            let shards = if shards > 1 { format!("{shards} shards, ") } else { String::new() };
            print::line(format_args!(
                "added to {name}: {}, {}, {shards}{}",
                plural(lines, "line"),
                plural(new, "new key"),
                human_duration(took)
            ));
        }
        Ok(())
    }
}

/// Adds the keys of a block, on whichever thread has read it.
struct Adding<'a>(&'a Sharded);

/// What became of a block.
#[derive(Default)]
struct Added {
    keys: KeyBuffer,
    new: u64,
    failed: Option<FilterError>,
}

impl Task for Adding<'_> {
    type Out = Added;

    fn begin(&self, out: &mut Added) {
        CollectKeys.begin(&mut out.keys);
    }

    fn key(&self, out: &mut Added, key: &[u8]) {
        CollectKeys.key(&mut out.keys, key);
    }

    fn end(&self, out: &mut Added) {
        let keys: Vec<&[u8]> = out.keys.iter().collect();
        out.new = 0;
        match self.0.add(&keys) {
            Ok(new) => out.new = new.iter().filter(|new| **new).count() as u64,
            Err(error) => out.failed = Some(error),
        }
    }
}
