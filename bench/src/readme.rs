//! The two charts of the README, drawn from the results on docs/BENCHMARKS.md and from nothing else.

use crate::bars::{Bar, Group, svg};
use std::io::Result;
use std::path::Path;

/// Write both beside the page.
pub fn write(docs: &Path) -> Result<()> {
    let page = std::fs::read_to_string(docs.join("BENCHMARKS.md"))?;
    std::fs::create_dir_all(docs.join("bench"))?;
    for (name, chart) in [("dedup.svg", dedup(&page)), ("lookups.svg", lookups(&page))] {
        // A page that lacks a result keeps the chart of before.
        if let Some(chart) = chart {
            std::fs::write(docs.join("bench").join(name), chart)?;
        }
    }
    Ok(())
}

/// Time and memory of printing ten million lines once.
fn dedup(page: &str) -> Option<String> {
    let table = Table::under(page, "### Lines printed once")?;
    let bars = |column: &str| -> Option<Vec<Bar>> {
        let programs = ["mayhap dedup", "mayhap dedup --exact", "runiq", "sort -u", "awk"];
        programs
            .iter()
            .map(|program| {
                let value = table.number(&[&format!("`{program}`")], column)?;
                Some(Bar { name: program.to_string(), value, ours: program.starts_with("mayhap") })
            })
            .collect()
    };
    let group = |heading: &str, unit, column| {
        Some(Group { heading: heading.to_owned(), unit, bars: bars(column)? })
    };
    let groups = [
        group("10 million URLs, each printed once: CPU time", "s", "CPU s")?,
        group("Peak memory", "MiB", "peak MiB")?,
    ];
    Some(svg("Time and memory of mayhap dedup beside runiq, sort -u and awk", &groups))
}

/// A lookup in memory, on a server, and from Python.
fn lookups(page: &str) -> Option<String> {
    let engine = Table::under(page, "## 100M u64 keys at 1%")?;
    let row = |name: &str, keys: &[&str], ours| {
        Some(Bar { name: name.to_owned(), value: engine.number(keys, "hit ns")?, ours })
    };
    let library = vec![
        row("mayhap, batches", &["mayhap Blocked", "batch"], true)?,
        row("mayhap, one at a time", &["mayhap Blocked", "one at a time"], true)?,
        row("fastbloom", &["fastbloom (foldhash)", "one at a time"], false)?,
    ];
    // Microseconds of a command of a hundred items, so tens of nanoseconds of one.
    let server = Table::under(page, "### Redis 7")?;
    let command = ["MEXISTS of 100, out of cache", "16"];
    let item = |name: &str, column, ours| {
        let value = server.number(&command, column)? * 1000.0 / 100.0;
        Some(Bar { name: name.to_owned(), value, ours })
    };
    let module = vec![
        item("mayhap module", "µs more than PING", true)?,
        item("RedisBloom", "RedisBloom's", false)?,
    ];
    let group = |heading: &str, bars| Group { heading: heading.to_owned(), unit: "ns", bars };
    let mut groups = vec![
        group("100 million keys at 1%, one thread: time of a lookup", library),
        group("In Redis, out of cache: server time per item of BF.MEXISTS", module),
    ];
    let mut about = "Time of a lookup beside fastbloom and RedisBloom".to_owned();
    if let Some(bars) = python(page) {
        groups.push(group("From Python, 3 million keys: time of a lookup", bars));
        about += ", from Python beside rbloom";
    }
    Some(svg(&about, &groups))
}

/// Beside rbloom, once the page has it.
fn python(page: &str) -> Option<Vec<Bar>> {
    let table = Table::under(page, "### Lookups from Python")?;
    let bar = |name: &str, ours| {
        Some(Bar { name: name.to_owned(), value: table.number(&[name], "ns per key")?, ours })
    };
    Some(vec![bar("pymayhap, numpy", true)?, bar("pymayhap, in", true)?, bar("rbloom, in", false)?])
}

/// A table of the page.
struct Table<'a> {
    head: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

impl<'a> Table<'a> {
    /// The last table of the section that begins with this heading, whose tables have one row per line.
    fn under(page: &'a str, heading: &str) -> Option<Table<'a>> {
        let level = heading.split(' ').next()?;
        let mut lines = page.lines().skip_while(|line| !line.starts_with(heading));
        lines.next()?;
        let is_next = |line: &str| {
            line.starts_with('#') && line.split(' ').next().is_some_and(|l| l.len() <= level.len())
        };
        let lines: Vec<&str> = lines.take_while(|line| !is_next(line)).collect();
        let mut tables = lines.split(|line| !line.starts_with('|')).filter(|table| table.len() > 2);
        let table = tables.next_back()?;
        let cells = |line: &&'a str| -> Vec<&'a str> {
            line.trim_matches('|').split('|').map(str::trim).collect()
        };
        Some(Table { head: cells(&table[0]), rows: table[2..].iter().map(cells).collect() })
    }

    /// The number in this column of the row whose first cells are these.
    fn number(&self, first: &[&str], column: &str) -> Option<f64> {
        let at = self.head.iter().position(|head| *head == column)?;
        let row = self.rows.iter().find(|row| row.starts_with(first))?;
        row.get(at)?.split_whitespace().next()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

    #[test]
    fn the_charts_are_those_of_the_page() {
        let page = std::fs::read_to_string(format!("{DOCS}/BENCHMARKS.md")).unwrap();
        for (name, chart) in [("dedup", dedup(&page)), ("lookups", lookups(&page))] {
            let file = std::fs::read_to_string(format!("{DOCS}/bench/{name}.svg")).unwrap();
            assert!(chart.unwrap() == file, "run `cargo xtask bench readme`: {name}");
        }
    }

    #[test]
    fn numbers_are_found_by_row_and_column() {
        let page = "## A\n\n| x | y |\n|---|---|\n| b | 2 (1–3) |\n\n### B\n\n| x | z |\n|---|---|\n| b | 7 |\n## C\n";
        assert_eq!(Table::under(page, "### B").unwrap().number(&["b"], "z"), Some(7.0));
        assert_eq!(Table::under(page, "## A").unwrap().number(&["b"], "z"), Some(7.0));
        assert!(Table::under(page, "## D").is_none());
        let first = "## A\n| x | y |\n|---|---|\n| b | 2 (1–3) |\n";
        assert_eq!(Table::under(first, "## A").unwrap().number(&["b"], "y"), Some(2.0));
    }
}
