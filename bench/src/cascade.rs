//! A cascade: ten million keys against a hundred million, without an error.

use crate::machine::peak_memory;
use crate::page;
use crate::report::amount;
use crate::splitmix::splitmix;
use clap::Args;
use mayhap::cascade::CascadeOptions;
use mayhap::sizing::cascade_bound;
use mayhap::{Cascade, Hash, Spec};
use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

const BATCH: u64 = 65_536;
/// Numbers of excluded keys, and of keys in neither list, start here.
const EXCLUDED: u64 = 1 << 40;
const ABSENT: u64 = 1 << 41;
/// The target of the size.
const BAR: f64 = 1.02;

/// The amount of work.
#[derive(Args, Clone, Copy)]
pub struct Options {
    /// Keys of the list of members
    #[arg(long, default_value_t = FULL, value_parser = crate::number)]
    pub included: u64,
    /// Keys of the other list
    #[arg(long, default_value = "1e8", value_parser = crate::number)]
    pub excluded: u64,
    /// Hashes of the lists held at a time
    #[arg(long = "hashes", default_value = "16e6", value_parser = crate::number)]
    pub max_hashes: u64,
}

/// Members in a run that is written to the page.
const FULL: u64 = 10_000_000;

/// Measure and print; a full run goes into the page too. An error if an answer was wrong.
pub fn run(options: Options, docs: &Path) -> Result<(), String> {
    let Options { included, excluded, max_hashes } = options;
    let mut text = format!(
        "## Two lists told apart\n\nWritten by `cargo xtask bench cascade`: {} keys to include, {} \
         to exclude, {} hashes held at a time. The bound is that of ideal layers, see \
         `sizing::cascade_bound`; a cascade of Bloom filters takes {:.2} bits.\n\n",
        amount(included),
        amount(excluded),
        amount(max_hashes),
        1.44 * ((excluded as f64 / included as f64).log2() + 2.91)
    );
    let mut say = |line: String| {
        println!("{line}");
        _ = writeln!(text, "{line}");
    };
    let mut mistakes = 0;
    for (name, making) in [
        ("Ribbon", CascadeOptions::default()),
        ("Blocked", CascadeOptions::default().with_blocked()),
    ] {
        for fpr in [0.5, 1.0 / 128.0] {
            let spec = Spec::new(included, fpr).map_err(|error| error.to_string())?;
            let making = making.with_max_hashes(max_hashes as usize);
            let mut passes = 0;
            let start = Instant::now();
            let built = Cascade::build(
                spec,
                making,
                |each| list(0, included, each),
                |each| {
                    passes += 1;
                    list(EXCLUDED, excluded, each);
                },
            );
            let filter = built.map_err(|error| error.to_string())?;
            let took = start.elapsed().as_secs_f64();
            let missing = included - yes(&filter, 0, included);
            let wrong = yes(&filter, EXCLUDED, excluded);
            mistakes += missing + wrong;
            let start = Instant::now();
            let rate = yes(&filter, ABSENT, excluded) as f64 / excluded as f64;
            let asking = start.elapsed().as_secs_f64() * 1e9 / excluded as f64;
            let bits = filter.bytes() as f64 * 8.0 / included as f64;
            let bound = cascade_bound(included, excluded, fpr);
            let held = if name == "Ribbon" { verdict(bits <= BAR * bound) } else { "no bar" };
            say(format!(
                "- `{name}` first, {:.3}% asked for: {bits:.2} bits an included key, {:.3} of the \
                 bound (bar {BAR}: {held}); {} errors on both lists ({}); {:.3}% false positives \
                 ({}); built in {took:.1} s and {passes} passes over the exclude list, {asking:.1} ns per absent key",
                100.0 * fpr,
                bits / bound,
                missing + wrong,
                verdict(missing + wrong == 0),
                100.0 * rate,
                verdict(rate <= 1.02 * fpr),
            ));
        }
    }
    say(format!("- most memory held at any time: {:.2} GB", peak_memory() as f64 / 1e9));
    if mistakes > 0 {
        return Err(format!("{mistakes} wrong answers on the lists"));
    }
    if included >= FULL {
        page::write_part(docs, page::CASCADE, &text).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Produce the hashes of this many keys, a batch at a time.
fn list(first: u64, count: u64, each: &mut (dyn FnMut(&[Hash]) + Send)) {
    let mut batch = Vec::new();
    for begin in (0..count).step_by(BATCH as usize) {
        batch.clear();
        let end = count.min(begin + BATCH);
        batch.extend((begin..end).map(|i| Hash::from_u64(splitmix(first + i))));
        each(&batch);
    }
}

fn yes(filter: &Cascade, first: u64, count: u64) -> u64 {
    let (mut answers, mut yes) = (Vec::new(), 0);
    list(first, count, &mut |hashes| {
        filter.contains_batch(hashes, &mut answers);
        yes += answers.iter().map(|answer| u64::from(*answer)).sum::<u64>();
    });
    yes
}

fn verdict(ok: bool) -> &'static str {
    if ok { "ok" } else { "**not ok**" }
}
