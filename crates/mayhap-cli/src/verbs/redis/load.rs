//! `mayhap redis load URL KEY FILE`.

use super::place::{Place, ShardsArg, WaitArg};
use crate::exit::{Exit, refuse};
use crate::filter_file::FilterFile;
use crate::foreign::{FormatArg, FormatArgs};
use crate::globals::Globals;
use crate::keys::key_type;
use crate::numbers::{bytes, grouped, spoken};
use crate::print;
use crate::progress::Progress;
use crate::secret::KeyFile;
use anyhow::Context;
use clap::Args;
use mayhap::format::Notes;
use mayhap::{AnyFilter, Kind};
use mayhap_foreign::Format;
use mayhap_foreign::redisbloom::Chain;
use mayhap_redis::Sharded;
use mayhap_store::map::{self, Check, Mapped};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Load a filter's file into a server.
///
/// It goes there in pieces under another name and takes its own when it is whole, so that nobody
/// finds half of it. In the end it is asked for once more: if servers failed meanwhile, what they
/// lost is sent again. Ctrl-C removes what was sent. A load of a file built with --shards that was
/// killed goes on where it was when it is started again (half a minute later, when its claim on the
/// name has lapsed); what it left expires within an hour, or goes with `mayhap redis delete
/// --orphans`.
///
/// A file built with --shards is spread over as many keys. A filter of RedisBloom's goes to
/// RedisBloom, too.
#[derive(Args)]
pub struct Load {
    #[command(flatten)]
    place: Place,

    /// The filter's file, as `mayhap build` writes it
    #[arg(value_name = "FILE", value_parser = crate::paths::file())]
    file: PathBuf,

    #[command(flatten)]
    shards: ShardsArg,

    /// Replace what has that name on the server
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
        let mapped = map::bytes(&self.file)?;
        let moved = Arc::new(AtomicU64::new(0));
        let total = mapped.as_ref().len() as u64;
        let loaded = match FormatArgs::from(self.format).format_of(&self.file, &mapped)? {
            None => self.native(mapped, &moved, total, globals)?,
            Some(Format::Redisbloom) => self.redisbloom(&mapped, &moved, total, globals)?,
            Some(Format::Mayhap) => {
                return Err(refuse(
                    format!("{}: another program's filter in a file of ours", self.file.display()),
                    "if it is RedisBloom's, `mayhap convert --to redisbloom` takes it out",
                ));
            }
            Some(format) => {
                return Err(refuse(
                    format!("{}: servers hold no {format} filters", self.file.display()),
                    "`mayhap convert --to redisbloom` makes one they hold, if it is a relative; else build it anew from its keys",
                ));
            }
        };
        self.say(&loaded, moved.load(Relaxed), start.elapsed(), globals)?;
        Ok(Exit::Yes)
    }

    fn native(
        &self,
        mapped: Mapped,
        moved: &Arc<AtomicU64>,
        total: u64,
        globals: &Globals,
    ) -> anyhow::Result<Loaded> {
        let file = FilterFile::open(&self.file, &self.key_file, Check::Everything)?;
        self.check_shards(&file.filter)?;
        let filters = self.place.connect_to_transfer(Some(&self.wait))?;
        let _progress = Progress::of_bytes(moved, Some(total), "load", globals);
        let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
        let (key, over) = (self.place.key(), self.force);
        let shards = if let AnyFilter::Sharded(filter) = &file.filter {
            let notes = file.header.notes.clone();
            let loaded = Sharded::load(&filters, key, filter, notes, over, &count);
            self.place.hint_if_taken(loaded, true)?.keys().len()
        } else {
            let secret = file.filter.scheme().and_then(|scheme| scheme.secret());
            let loaded = filters.load_file(key, mapped.as_ref(), secret, over, &count);
            self.place.hint_if_taken(loaded, true)?;
            warn_of_notes(&file.header.notes, globals);
            1
        };
        Ok(Loaded { kind: file.header.kind.name(), keys: file.header.keys, shards })
    }

    fn redisbloom(
        &self,
        mapped: &Mapped,
        moved: &Arc<AtomicU64>,
        total: u64,
        globals: &Globals,
    ) -> anyhow::Result<Loaded> {
        let chain =
            Chain::open(mapped.as_ref()).with_context(|| self.file.display().to_string())?;
        if let Some(shards) = self.shards.shards.filter(|shards| *shards > 1) {
            return Err(self.one_piece("RedisBloom", shards));
        }
        let filters = self.place.connect_to_transfer(Some(&self.wait))?;
        let _progress = Progress::of_bytes(moved, Some(total), "load", globals);
        let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
        let loaded = filters.load_chain(self.place.key(), &chain, self.force, &count);
        self.place.hint_if_taken(loaded, true)?;
        Ok(Loaded { kind: "redisbloom", keys: chain.items(), shards: 1 })
    }

    /// The file must be in as many pieces as were named.
    fn check_shards<B: AsRef<[u8]>>(&self, filter: &AnyFilter<B>) -> anyhow::Result<()> {
        match (self.shards.shards, filter) {
            (Some(need), AnyFilter::Sharded(filter)) if filter.shards().len() != need as usize => {
                Err(refuse(
                    format!(
                        "{}: it is in {} shards, not {need}",
                        self.file.display(),
                        filter.shards().len()
                    ),
                    format!("leave out --shards, or build it anew with --shards {need}"),
                ))
            }
            (Some(need), other) if other.kind() != Kind::Sharded && need > 1 => {
                Err(self.one_piece(other.kind().name(), need))
            }
            _ => Ok(()),
        }
    }

    fn one_piece(&self, kind: &str, need: u32) -> anyhow::Error {
        refuse(
            format!(
                "{}: a {kind} filter in one piece, which cannot be cut up",
                self.file.display()
            ),
            format!("build it from its keys with `mayhap build --shards {need}`"),
        )
    }

    fn say(
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
            print::say(format_args!(
                "loaded {name}: {} keys, {kind}{shards}, {}, {}",
                grouped(*keys),
                bytes(sent),
                spoken(took)
            ));
        }
        Ok(())
    }
}

/// A filter under one key keeps no notes on a server.
fn warn_of_notes(notes: &Notes, globals: &Globals) {
    let (normaliser, key_type) = (notes.normaliser(), key_type(notes));
    let mut flags = String::new();
    if !matches!(normaliser, "" | "none") {
        flags += &format!(" --normalize {normaliser}");
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
