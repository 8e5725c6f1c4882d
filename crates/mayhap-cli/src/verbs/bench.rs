//! `mayhap bench FILE`.

use crate::exit::{Exit, error_with_hint};
use crate::filter_args::KeyFile;
use crate::globals::Globals;
use crate::manual;
use crate::numbers::{bytes, rounded};
use crate::print;
use clap::Args;
use mayhap::{AnyFilter, Hash, KindSpec, Spec, SpecError};
use mayhap_store::{Filter, OpenOptions, RandomKeys, Verify};
use serde_json::{Value, json};
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const MANUAL: &str = "\
EXAMPLES:
  mayhap bench seen.may
  mayhap bench --time 2s -j 1 seen.may

EXIT STATUS:
  0  measured
  2  an error, reported on standard error";

/// Measure lookups per second on this machine, of this filter and of a small one of its kind that
/// fits into the cache.
///
/// Keys are random and hashed beforehand, so nearly all are absent from the filter. A filter
/// larger than the cache shows the latency of memory, and a batch how far lookups overlap.
#[derive(Args)]
#[command(after_long_help = manual::page(MANUAL, manual::KEY_FILES))]
pub struct Bench {
    /// The filter
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How long each measurement takes
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = crate::numbers::duration)]
    time: Duration,

    #[command(flatten)]
    key_file: KeyFile,
}

/// Keys asked at once.
const BATCH: usize = 4096;
/// Keys in the small filter: 125 kB at 1%, which is in every cache.
const SMALL_KEYS: u64 = 100_000;
/// Random keys asked about over and over: far more lines than a cache keeps between rounds.
const KEYS: usize = 1 << 22;

struct Row {
    what: &'static str,
    bytes: u64,
    /// Lookups a second: one after another, in batches, in batches on all threads.
    rates: [f64; 3],
}

impl Bench {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let options = OpenOptions { verify: Verify::Header, ..self.key_file.options() };
        let file = Filter::open(&self.file, &options)?;
        let filter = file.native().ok_or_else(|| {
            error_with_hint(
                format!("{}: a {} filter hashes for itself", self.file.display(), file.name()),
                "bench measures Mayhap's own kinds",
            )
        })?;
        let Some(scheme) = filter.scheme() else {
            return Err(error_with_hint(
                "a bitmap hashes nothing: there are no hashed lookups to measure",
                "bench measures filters",
            ));
        };
        let mut random = RandomKeys::default();
        let keys: Vec<Hash> = (0..KEYS).map(|_| random.hash(&scheme)).collect();
        let threads = globals.threads().get();
        let small = small(filter)?;
        let rows = [
            Row {
                what: "in cache",
                bytes: small.bytes(),
                rates: self.rates(&small, &keys, threads),
            },
            Row {
                what: "this file",
                bytes: filter.bytes(),
                rates: self.rates(filter, &keys, threads),
            },
        ];
        if globals.json {
            print::json(&json!({
                "file": self.file.display().to_string(), "kind": file.name(),
                "threads": threads, "rows": rows.iter().map(row_json).collect::<Vec<_>>(),
            }))?;
        } else {
            print::out(&text(&file, threads, &rows))?;
        }
        Ok(Exit::Yes)
    }

    fn rates<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &AnyFilter<B>,
        keys: &[Hash],
        threads: usize,
    ) -> [f64; 3] {
        // The first round brings in the pages of a mapped file.
        batches(filter, keys, Duration::ZERO);
        [
            self.single(filter, keys),
            batches(filter, keys, self.time),
            self.on_threads(filter, keys, threads),
        ]
    }

    fn single<B: AsRef<[u8]>>(&self, filter: &AnyFilter<B>, keys: &[Hash]) -> f64 {
        let (start, mut asked) = (Instant::now(), 0);
        for chunk in keys.chunks(BATCH).cycle() {
            for hash in chunk {
                _ = black_box(filter.contains_hash(*hash));
            }
            asked += chunk.len();
            if start.elapsed() >= self.time {
                break;
            }
        }
        asked as f64 / start.elapsed().as_secs_f64()
    }

    fn on_threads<B: AsRef<[u8]> + Sync>(
        &self,
        filter: &AnyFilter<B>,
        keys: &[Hash],
        threads: usize,
    ) -> f64 {
        let share = keys.len().div_ceil(threads).max(BATCH);
        std::thread::scope(|scope| {
            let shares: Vec<_> = keys
                .chunks(share)
                .map(|share| scope.spawn(|| batches(filter, share, self.time)))
                .collect();
            shares.into_iter().filter_map(|thread| thread.join().ok()).sum()
        })
    }
}

/// Lookups a second in batches; at least once over all keys.
fn batches<B: AsRef<[u8]>>(filter: &AnyFilter<B>, keys: &[Hash], time: Duration) -> f64 {
    let (start, mut asked, mut answers) = (Instant::now(), 0, Vec::new());
    loop {
        for chunk in keys.chunks(BATCH) {
            _ = filter.contains_batch(chunk, &mut answers);
            black_box(&answers);
            asked += chunk.len();
        }
        if start.elapsed() >= time {
            return asked as f64 / start.elapsed().as_secs_f64();
        }
    }
}

/// A filter of the same make for few keys, and full.
fn small<B: AsRef<[u8]>>(like: &AnyFilter<B>) -> Result<AnyFilter, SpecError> {
    // A foreign or merged filter may not say what it was made for.
    let fpr = if like.fpr() > 0.0 { like.fpr() } else { 0.01 };
    let spec = Spec::new(SMALL_KEYS, fpr)?.with_scheme(like.scheme().unwrap_or_default());
    let mut random = RandomKeys::default();
    let mut hashes: Vec<Hash> = (0..SMALL_KEYS).map(|_| random.hash(&spec.scheme())).collect();
    let kind = match like {
        AnyFilter::Windowed(window) => KindSpec::Windowed(window.window()),
        AnyFilter::Sharded(filter) => KindSpec::Sharded { shards: filter.shards().len() as u32 },
        other => other.kind().into(),
    };
    AnyFilter::from_hashes(&kind, spec, &mut hashes)
}

fn text(file: &Filter, threads: usize, rows: &[Row]) -> String {
    let all = format!("{threads} threads");
    let mut lines = vec![
        ["lookups a second", "size", "one by one", "in batches", &all].map(str::to_owned).to_vec(),
    ];
    for row in rows {
        let rates = row.rates.map(|rate| rounded(rate as u64));
        lines.push([vec![row.what.to_owned(), bytes(row.bytes)], rates.to_vec()].concat());
    }
    format!("{}: {}\n{}", file.path().display(), file.name(), print::table(&lines))
}

fn row_json(row: &Row) -> Value {
    let [single, batch, threads] = row.rates;
    json!({"what": row.what, "bytes": row.bytes, "single": single, "batch": batch, "threads": threads})
}
