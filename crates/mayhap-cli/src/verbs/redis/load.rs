//! `mayhap redis load URL KEY FILE`.

use super::server_args::{ServerKey, ShardsArg, WaitArg};
use crate::exit::{Exit, error_with_hint};
use crate::filter_args::{FormatArg, KeyFile};
use crate::globals::Globals;
use crate::numbers::{bytes, human_duration, plural};
use crate::print;
use crate::progress::Progress;
use anyhow::Context;
use clap::Args;
use mayhap::format::Metadata;
use mayhap::{AnyFilter, Kind};
use mayhap_foreign::Format;
use mayhap_foreign::redisbloom::Chain;
use mayhap_redis::Sharded;
use mayhap_store::key_rules::{key_type_of, normalizer_of};
use mayhap_store::{Filter, OpenOptions};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Load a filter's file into a server.
///
/// The filter is sent in chunks under a temporary name and renamed when it is complete, so nobody
/// sees half of it. At the end it is checked once more: what servers lost because they failed
/// meanwhile is sent again. Ctrl-C removes what was sent. If the load of a file built with
/// --shards is killed, start it again to continue (after half a minute, when its claim on the name
/// has expired); its remains expire within an hour, or are removed by `mayhap redis delete
/// --orphans`.
///
/// A file built with --shards is spread over that many keys. RedisBloom filters can be loaded into
/// RedisBloom as well.
#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    place: ServerKey,

    /// The filter's file, as `mayhap build` writes it
    #[arg(value_name = "FILE", value_parser = crate::paths::file())]
    file: PathBuf,

    #[command(flatten)]
    shards: ShardsArg,

    /// Replace an existing key on the server
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    wait: WaitArg,

    #[command(flatten)]
    key_file: KeyFile,

    #[command(flatten)]
    format: FormatArg,
}

/// What was loaded.
struct Loaded {
    kind: &'static str,
    keys: u64,
    shards: usize,
}

impl Load {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let options = OpenOptions { format: self.format.format, ..self.key_file.options() };
        let file = Filter::open(&self.file, &options)?;
        let moved = Arc::new(AtomicU64::new(0));
        let loaded = match file.native() {
            Some(filter) => self.native(&file, filter, &moved, globals)?,
            None => self.redisbloom(&file, &moved, globals)?,
        };
        self.report(&loaded, moved.load(Relaxed), start.elapsed(), globals)?;
        Ok(Exit::Yes)
    }

    fn native<B: AsRef<[u8]> + Sync>(
        &self,
        file: &Filter,
        filter: &AnyFilter<B>,
        moved: &Arc<AtomicU64>,
        globals: &Globals,
    ) -> anyhow::Result<Loaded> {
        self.check_shards(filter)?;
        let filters = self.place.connect_to_transfer(Some(&self.wait))?;
        let bytes = file.file_bytes();
        let _progress = Progress::of_bytes(moved, Some(bytes.len() as u64), "load", globals);
        let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
        let (key, over) = (self.place.key(), self.force);
        let shards = if let AnyFilter::Sharded(filter) = filter {
            let metadata = file.metadata().clone();
            let loaded = Sharded::load(&filters, key, filter, metadata, over, &count);
            self.place.hint_if_taken(loaded, true)?.keys().len()
        } else {
            let secret = filter.scheme().and_then(|scheme| scheme.secret());
            let loaded = filters.load_file(key, bytes, secret, over, &count);
            self.place.hint_if_taken(loaded, true)?;
            warn_of_notes(file.metadata(), globals);
            1
        };
        Ok(Loaded { kind: file.name(), keys: filter.keys(), shards })
    }

    fn redisbloom(
        &self,
        file: &Filter,
        moved: &Arc<AtomicU64>,
        globals: &Globals,
    ) -> anyhow::Result<Loaded> {
        let name = self.file.display();
        if file.is_wrapped() {
            return Err(error_with_hint(
                format!("{name}: another program's filter, wrapped in a Mayhap file"),
                "if it is RedisBloom's, `mayhap convert --to redisbloom` takes it out",
            ));
        }
        if file.format() != Format::Redisbloom {
            return Err(error_with_hint(
                format!("{name}: servers cannot hold {} filters", file.format()),
                "`mayhap convert --to redisbloom` converts it if it is of the same family; otherwise build it again from its keys",
            ));
        }
        let bytes = file.file_bytes();
        let chain = Chain::open(bytes).with_context(|| name.to_string())?;
        if let Some(shards) = self.shards.shards.filter(|shards| *shards > 1) {
            return Err(self.one_piece("RedisBloom", shards));
        }
        let filters = self.place.connect_to_transfer(Some(&self.wait))?;
        let _progress = Progress::of_bytes(moved, Some(bytes.len() as u64), "load", globals);
        let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
        let loaded = filters.load_chain(self.place.key(), &chain, self.force, &count);
        self.place.hint_if_taken(loaded, true)?;
        Ok(Loaded { kind: "redisbloom", keys: chain.items(), shards: 1 })
    }

    /// The file must be in as many pieces as were named.
    fn check_shards<B: AsRef<[u8]>>(&self, filter: &AnyFilter<B>) -> anyhow::Result<()> {
        match (self.shards.shards, filter) {
            (Some(need), AnyFilter::Sharded(filter)) if filter.shards().len() != need as usize => {
                Err(error_with_hint(
                    format!(
                        "{}: it is in {}, not {need}",
                        self.file.display(),
                        plural(filter.shards().len() as u64, "shard")
                    ),
                    format!("leave out --shards, or build it again with --shards {need}"),
                ))
            }
            (Some(need), other) if other.kind() != Kind::Sharded && need > 1 => {
                Err(self.one_piece(other.kind().name(), need))
            }
            _ => Ok(()),
        }
    }

    fn one_piece(&self, kind: &str, need: u32) -> anyhow::Error {
        error_with_hint(
            format!(
                "{}: a {kind} filter in one piece, which cannot be cut up",
                self.file.display()
            ),
            format!("build it from its keys with `mayhap build --shards {need}`"),
        )
    }

    fn report(
        &self,
        loaded: &Loaded,
        sent: u64,
        took: Duration,
        globals: &Globals,
    ) -> anyhow::Result<()> {
        let Loaded { kind, keys, shards } = loaded;
        let name = self.place.name();
        if globals.json {
            let seconds = took.as_secs_f64();
            return print::json(&json!({
                "key": name, "kind": kind, "keys": keys, "shards": shards, "bytes": sent, "seconds": seconds,
            }));
        }
        if !globals.quiet {
            let shards = if *shards > 1 { format!(" in {shards} shards") } else { String::new() };
            print::line(format_args!(
                "loaded {name}: {}, {kind}{shards}, {}, {}",
                plural(*keys, "key"),
                bytes(sent),
                human_duration(took)
            ));
        }
        Ok(())
    }
}

/// A filter under one key keeps no notes on a server.
fn warn_of_notes(metadata: &Metadata, globals: &Globals) {
    let (normalizer, key_type) = (normalizer_of(metadata), key_type_of(metadata));
    let mut flags = String::new();
    if normalizer != "none" {
        flags += &format!(" --normalize {normalizer}");
    }
    if key_type != "bytes" {
        flags += &match key_type {
            "hex" => " --hex-keys".to_owned(),
            other => format!(" --key-type {other}"),
        };
    }
    if !flags.is_empty() && !globals.quiet {
        let what = "the server does not keep how keys are made of lines";
        print::warning(what, Some(&format!("say{flags} when you add or check")));
    }
}
