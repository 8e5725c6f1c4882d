//! `mayhap redis save URL KEY FILE`.

use super::server_args::{ServerKey, ShardsArg};
use crate::exit::{Exit, error_with_hint};
use crate::filter_args::KeyFile;
use crate::globals::Globals;
use crate::numbers::{bytes, human_duration, plural};
use crate::print;
use crate::progress::Progress;
use anyhow::Context;
use clap::Args;
use mayhap::format::Section;
use mayhap::{AnyFilter, Blocked, Secret, Sharded as Pieces};
use mayhap_foreign::redisbloom::Chain;
use mayhap_foreign::{Bytes, Format};
use mayhap_redis::{Descriptor, FilterError, SavedFormat, Sharded};
use mayhap_store::map::{self, Mapped};
use mayhap_store::replace::{self, Overwrite};
use mayhap_store::secret_file::SecretSource;
use mayhap_store::{Filter, OpenOptions};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Save a filter of a server as a file.
///
/// The file is a snapshot of one moment (of each shard its own), and every byte is verified. A
/// replica works too, as long as nothing is added meanwhile. A filter spread over many keys
/// becomes one file with as many shards, like those of `mayhap build --shards`. The secret of a
/// keyed filter is written to the key file.
#[derive(Args)]
pub struct Save {
    #[command(flatten)]
    place: ServerKey,

    /// Output file
    #[arg(value_name = "FILE", value_parser = crate::paths::file())]
    file: PathBuf,

    #[command(flatten)]
    shards: ShardsArg,

    /// Replace the file even if it is not a filter
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    key_file: KeyFile,
}

impl Save {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let start = Instant::now();
        let over = if self.force { Overwrite::Anything } else { Overwrite::Filters };
        replace::check(&self.file, over)?;
        let filters = self.place.connect_to_transfer(None)?;
        let list = self.place.open(&filters, &self.shards, globals)?;
        let moved = Arc::new(AtomicU64::new(0));
        let progress = Progress::of_bytes(&moved, None, "save", globals);
        // Beside the file, so that it is on a disk with room.
        let folder = self.file.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parts = tempfile::Builder::new()
            .prefix(".mayhap-save.")
            .tempdir_in(folder.unwrap_or(Path::new(".")))
            .context("making a folder for what is saved")?;
        let (kind, keys) = match list.about() {
            Some(about) => self.in_pieces(&list, about, parts.path(), over, &moved)?,
            None => self.whole(&list, parts.path(), over, &moved)?,
        };
        drop(progress);
        self.report(kind, keys, list.keys().len(), start.elapsed(), globals)?;
        Ok(Exit::Yes)
    }

    /// A filter under one key.
    fn whole(
        &self,
        list: &Sharded,
        parts: &Path,
        over: Overwrite,
        moved: &AtomicU64,
    ) -> anyhow::Result<(&'static str, u64)> {
        let path = parts.join("0");
        let saved = fetch(list, 0, &path, moved)?;
        let mapped = map::bytes(&path)?;
        let (kind, keys) = match saved {
            SavedFormat::Mayhap { secret } => {
                let opened = self.opened(mapped.clone(), secret, 0)?;
                self.keep(secret)?;
                (opened.kind().name(), opened.keys())
            }
            _ => {
                let chain = Chain::open(mapped.as_ref()).with_context(|| self.place.name())?;
                ("redisbloom", chain.items())
            }
        };
        replace::file(&self.file, over, |to| to.write_all(mapped.as_ref()))?;
        Ok((kind, keys))
    }

    /// A filter over many keys: each into a file of its own, then all into one.
    fn in_pieces(
        &self,
        list: &Sharded,
        about: &Descriptor,
        parts: &Path,
        over: Overwrite,
        moved: &AtomicU64,
    ) -> anyhow::Result<(&'static str, u64)> {
        let mut pieces: Vec<Blocked<Section<Bytes>>> = Vec::new();
        for shard in 0..about.shards() {
            let path = parts.join(shard.to_string());
            let SavedFormat::Mayhap { secret } = fetch(list, shard, &path, moved)? else {
                return Err(error_with_hint(
                    format!("{}: its shards are filters of RedisBloom's", self.place.name()),
                    "they cannot be put into one file: save them one by one, by their keys",
                ));
            };
            match self.opened(map::bytes(&path)?, secret, shard)? {
                AnyFilter::Blocked(piece) => pieces.push(piece),
                other => return Err(self.unlike(&format!("shard {shard} is {}", other.kind()))),
            }
        }
        let filter = Pieces::from_parts(about.spec(), pieces);
        let filter = filter.ok_or_else(|| self.unlike("they differ in shape or in secret"))?;
        self.keep(about.spec().scheme().secret())?;
        replace::file(&self.file, over, |to| filter.write_to(to, about.metadata()))?;
        Ok(("sharded", filter.keys()))
    }

    /// A file that came, every byte of it verified.
    fn opened(
        &self,
        mapped: Mapped,
        secret: Option<Secret>,
        shard: u32,
    ) -> anyhow::Result<AnyFilter<Section<Bytes>>> {
        let options = OpenOptions {
            format: Some(Format::Mayhap),
            secret: secret.map_or(SecretSource::Beside, SecretSource::Value),
            ..OpenOptions::default()
        };
        let opened = Filter::from_mapped(self.place.name().as_ref(), mapped, &options);
        let opened = opened.with_context(|| format!("shard {shard}"))?;
        opened.native().cloned().context("a server saves Mayhap's own kinds")
    }

    fn unlike(&self, why: &str) -> anyhow::Error {
        error_with_hint(
            format!("{}: its shards are not of one make: {why}", self.place.name()),
            "save them one by one, by their keys",
        )
    }

    fn keep(&self, secret: Option<Secret>) -> anyhow::Result<()> {
        if let Some(secret) = secret {
            self.key_file.source().store(&self.file, secret)?;
        }
        Ok(())
    }

    fn report(
        &self,
        kind: &str,
        keys: u64,
        shards: usize,
        took: Duration,
        globals: &Globals,
    ) -> anyhow::Result<()> {
        let (path, name) = (self.file.display(), self.place.name());
        let size = std::fs::metadata(&self.file).map_or(0, |data| data.len());
        if globals.json {
            let seconds = took.as_secs_f64();
            return print::json(&json!({
                "file": path.to_string(), "key": name, "kind": kind, "keys": keys, "shards": shards,
                "bytes": size, "seconds": seconds,
            }));
        }
        if !globals.quiet {
            let (keys, size, took) = (plural(keys, "key"), bytes(size), human_duration(took));
            let shards = if shards > 1 { format!(" in {shards} shards") } else { String::new() };
            print::line(format_args!(
                "saved {name} as {path}: {keys}, {kind}{shards}, {size}, {took}"
            ));
        }
        Ok(())
    }
}

/// One key into a file.
fn fetch(
    list: &Sharded,
    shard: u32,
    path: &Path,
    moved: &AtomicU64,
) -> anyhow::Result<SavedFormat> {
    let why = || format!("writing {}", path.display());
    let mut file = BufWriter::new(File::create_new(path).with_context(why)?);
    let count = |bytes| _ = moved.fetch_add(bytes, Relaxed);
    let saved = match list.save_shard(shard, &mut file, &count) {
        Err(FilterError::Io { what }) => return Err(anyhow::anyhow!(what)).with_context(why),
        saved => saved?,
    };
    file.flush().with_context(why)?;
    Ok(saved)
}
