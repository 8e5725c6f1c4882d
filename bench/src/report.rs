//! The report: tables on the terminal and on the page.

use crate::candidate::Mode;
use crate::comparison::{Comparison, Row, median, ratio};
use crate::engine::Findings;
use crate::page::{self, table};
use crate::{baseline, charts, machine, regressions, targets};
use std::fmt::Write;
use std::path::Path;

const METHOD: &str = "\
One program, one run: all filters and the limit take turns, 32,768 keys at a time. A machine may
drift by a factor of two within minutes, so every ratio is the median of the ratios of single
rounds, never a quotient of two times in this page. Keys are made before the clock starts and
drawn anew for every round, apart for each way of asking; hashing them is part of the time, for
everybody. Filters of 100k keys are warmed before each turn, larger ones are not. Times marked
*build* are of one build each, outside the turns. The build is the default one: kernels are chosen
at run time, without `target-cpu=native`.

*Random line* is the limit: reading, or for inserts turning over, one random 64-byte line per key, in
an array as large as the `Blocked` filter, on the same huge pages and with the best of four prefetch
rings; one at a time, reading one byte of it. *Hashed before* leaves hashing out. Beside a bar stands
what the bare line reached in the same way: a filter has its bits to find or to set besides. `sbbf-rs-safe` and `xorf` take hashes, and get the XXH3
that ours use. `sbbf-rs-safe` takes whole bits per key (10 and 15 here: as many as ours, rounded)
and has whatever rate follows; `xorf` has 8 or 16 bits, `cuckoofilter` always 8.
";

/// Print everything, and write the page and its charts.
pub fn write(findings: &Findings, docs: &Path) -> std::io::Result<()> {
    let text = text(findings);
    println!("{text}");
    page::write_engine(docs, &text)?;
    let charts_dir = docs.join("bench");
    std::fs::create_dir_all(&charts_dir)?;
    for (name, chart) in [
        ("hit.svg", charts::time_against_size(findings, "present", |row| &row.hit)),
        ("miss.svg", charts::time_against_size(findings, "absent", |row| &row.miss)),
        ("rate.svg", charts::rate_against_target(findings)),
    ] {
        std::fs::write(charts_dir.join(name), chart.svg())?;
    }
    Ok(())
}

fn text(findings: &Findings) -> String {
    let mut text = String::from("# Benchmarks\n\nWritten by `cargo xtask bench engine`");
    text.push_str(match findings.options.quick {
        true => " with `--quick`: no 100M keys, fewer rounds; bars for 100M say \"not run\".\n\n",
        false => ".\n\n",
    });
    text.push_str(METHOD);
    text.push_str("\n## Machine\n\n");
    for (name, fact) in machine::facts() {
        _ = writeln!(text, "- {name}: {fact}");
    }
    _ = write!(text, "\n## Bars\n\n{}", targets_table(targets::all(findings)));
    _ = write!(text, "\n## Where others are better\n\n{}", regressions_list(findings));
    text.push_str(
        "\n## Time against size\n\n![hits](bench/hit.svg)\n\n![misses](bench/miss.svg)\n",
    );
    for comparison in &findings.contests {
        _ = write!(text, "\n{}", comparison_section(comparison));
    }
    if !findings.options.all && !findings.options.quick {
        text.push_str(
            "\nThe slower rivals sit out 100M keys, where filling them takes minutes; `--all` takes \
             them in.\n",
        );
    }
    _ = write!(text, "\n{}", crate::ribbon::text(&findings.ribbon));
    _ = write!(text, "\n## Rates\n\n{}\n![rates](bench/rate.svg)\n", rates_table(findings));
    let hashing = &findings.hashing;
    _ = write!(
        text,
        "\n## Hashing\n\nA 32-byte key: {:.1} ns seeded (XXH3-64), {:.1} ns keyed (SipHash-1-3-128).\n",
        hashing.seeded, hashing.keyed
    );
    text
}

/// A table of targets.
pub fn targets_table(targets: Vec<targets::Target>) -> String {
    let row = |bar: targets::Target| {
        let ok = match bar.ok {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => "–",
        };
        vec![bar.what, bar.bar, bar.reached, ok.to_owned()]
    };
    let rows: Vec<_> = targets.into_iter().map(row).collect();
    table(&["what", "bar", "reached", "ok"], &rows)
}

fn regressions_list(findings: &Findings) -> String {
    let mut list = String::new();
    for loss in regressions::all(&findings.contests) {
        _ = writeln!(list, "- {loss}");
    }
    for bar in targets::all(findings).iter().filter(|bar| bar.ok == Some(false)) {
        _ = writeln!(list, "- Bar not reached: {}: {} (bar {}).", bar.what, bar.reached, bar.bar);
    }
    if list.is_empty() { "Nowhere in this run.\n".to_owned() } else { list }
}

/// The table of one comparison.
pub fn comparison_section(comparison: &Comparison) -> String {
    let line = comparison.row(baseline::NAME, Mode::Hashed);
    let rows: Vec<_> = comparison.rows.iter().map(|row| contest_row(row, line)).collect();
    let head = ["filter", "way", "insert ns", "hit ns", "miss ns", "hit / line", "miss / line"];
    let head = [&head[..], &["bits / key", "measured rate"]].concat();
    format!(
        "## {} {} keys at {}%\n\n{}",
        amount(comparison.keys),
        comparison.sort,
        100.0 * comparison.fpr,
        table(&head, &rows)
    )
}

fn contest_row(row: &Row, line: Option<&Row>) -> Vec<String> {
    let ns = |times: &[f64]| median(times.iter().copied()).map_or("–".to_owned(), short);
    let over = |of: fn(&Row) -> &[f64]| {
        let ratio = line.and_then(|line| ratio(of(row), of(line)));
        ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"))
    };
    let insert = match row.build {
        Some(build) if row.is_filter() => format!("{} (build)", short(build)),
        _ => ns(&row.insert),
    };
    let (rate, error) = row.rate();
    let mut rate = format!("{:.4}% ± {:.4}", 100.0 * rate, 100.0 * error);
    if row.lost > 0 {
        _ = write!(rate, ", lost {} members", row.lost);
    }
    vec![
        row.name.to_owned(),
        row.way.to_string(),
        insert,
        ns(&row.hit),
        ns(&row.miss),
        over(|row| &row.hit),
        over(|row| &row.miss),
        format!("{:.2}", row.bits_per_key),
        if row.is_filter() { rate } else { "–".to_owned() },
    ]
}

fn rates_table(findings: &Findings) -> String {
    let rows: Vec<_> = findings
        .rates
        .iter()
        .map(|rate| {
            vec![
                format!("`{}`", rate.kind),
                format!("{}%", 100.0 * rate.target),
                format!("{:.5}%", 100.0 * rate.measured),
                format!("± {:.5}", 100.0 * rate.error),
                format!("{:.3}", rate.measured / rate.target),
                format!("{:.3}", rate.bits_per_key),
                amount(rate.probes),
                if rate.holds() { "yes" } else { "**no**" }.to_owned(),
            ]
        })
        .collect();
    let head = ["kind", "target", "measured", "error", "ratio", "bits / key", "probes", "≤ 1.02×"];
    table(&head, &rows)
}

/// Two or three digits.
fn short(nanoseconds: f64) -> String {
    match nanoseconds {
        100.0.. => format!("{nanoseconds:.0}"),
        _ => format!("{nanoseconds:.1}"),
    }
}

/// 100k, 5M, 2G.
pub fn amount(count: u64) -> String {
    match count {
        1_000_000_000.. => format!("{}G", count as f64 / 1e9),
        1_000_000.. => format!("{}M", (count as f64 / 1e5).round() / 10.0),
        1_000.. => format!("{}k", count / 1000),
        _ => count.to_string(),
    }
}
