//! The page `docs/BENCHMARKS.md`: several programs write it, each its own section.

use std::fmt::Write;
use std::io::Result;
use std::path::Path;

const NAME: &str = "BENCHMARKS.md";

/// A section of the page with a writer of its own.
#[derive(Clone, Copy)]
pub struct Part {
    name: &'static str,
    title: &'static str,
}

/// Keys that are removed again.
pub const QUOTIENT: Part = Part { name: "quotient", title: "Keys that are removed again" };
/// The command beside other programs.
pub const CLI: Part = Part { name: "cli", title: "The command" };
/// Cascades.
pub const CASCADE: Part = Part { name: "cascade", title: "Two lists told apart" };
/// Seen lists.
pub const SEEN: Part = Part { name: "seen", title: "Seen lists" };
/// Inside Redis and Valkey.
pub const MODULE: Part = Part { name: "module", title: "Inside Redis and Valkey" };
/// `CF.*` inside Redis and Valkey.
pub const CUCKOO: Part = Part { name: "cuckoo", title: "`CF.*` inside Redis and Valkey" };
/// Two billion keys.
pub const SCALE: Part = Part { name: "scale", title: "Two billion URLs" };
/// In the order of the page, after what `engine` writes.
const PARTS: [Part; 7] = [QUOTIENT, CLI, CASCADE, SEEN, MODULE, CUCKOO, SCALE];

impl Part {
    fn start(self) -> String {
        format!("<!-- {} -->\n", self.name)
    }

    fn end(self) -> String {
        format!("<!-- /{} -->\n", self.name)
    }

    /// Its current text on the page.
    fn within(self, page: &str) -> Option<&str> {
        Some(page.split_once(&self.start())?.1.split_once(&self.end())?.0)
    }

    /// The placeholder until it is run.
    fn unwritten(self) -> String {
        let Part { name, title } = self;
        format!("## {title}\n\nNot yet run here: `cargo xtask bench {name}` fills this in.\n")
    }
}

/// A table with aligned columns, so that it reads well unrendered too.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        for (cell, width) in cells.zip(&widths) {
            let pad = width - cell.chars().count();
            _ = write!(text, "| {cell}{} ", " ".repeat(pad));
        }
        text.push_str("|\n");
    };
    line(&mut head.iter().copied());
    let rule: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    line(&mut rule.iter().map(String::as_str));
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}

/// Write the first part; the sections stay as they were.
pub fn write_engine(docs: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    write(docs, text, &old, None)
}

/// Write one section, and leave the rest as it was.
pub fn write_part(docs: &Path, part: Part, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    write(docs, first(&old), &old, Some((part, text)))
}

fn write(docs: &Path, first: &str, old: &str, new: Option<(Part, &str)>) -> Result<()> {
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), page(first, old, new))?;
    // The README's charts show what the page says.
    crate::readme::write(docs)
}

/// What comes before the sections.
fn first(page: &str) -> &str {
    let starts = PARTS.iter().filter_map(|part| page.find(&part.start()));
    page[..starts.min().unwrap_or(page.len())].trim_end_matches('\n')
}

fn page(first: &str, old: &str, new: Option<(Part, &str)>) -> String {
    let mut text = format!("{}\n", first.trim_end_matches('\n'));
    for part in PARTS {
        let kept = || part.within(old).map_or_else(|| part.unwritten(), str::to_owned);
        let within = match new {
            Some((which, text)) if which.name == part.name => text.to_owned(),
            _ => kept(),
        };
        _ = write!(text, "\n{}{within}{}", part.start(), part.end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let rows = [vec!["≥ 4".to_owned(), "b".to_owned()]];
        assert_eq!(table(&["x", "yy"], &rows), "| x   | yy |\n| --- | -- |\n| ≥ 4 | b  |\n");
    }

    #[test]
    fn each_part_is_written_without_the_others() {
        let old = page("# All\n", "", Some((SCALE, "two billion\n")));
        assert_eq!(SCALE.within(&old), Some("two billion\n"));
        assert_eq!(CLI.within(&old), Some(CLI.unwritten().as_str()));
        let new = page(first(&old), &old, Some((CLI, "fast\n")));
        assert!(new.starts_with(&format!("# All\n\n{}", PARTS[0].start())));
        assert!(new.contains("\n\n<!-- cli -->\nfast\n<!-- /cli -->\n\n"));
        assert!(new.ends_with("\n<!-- scale -->\ntwo billion\n<!-- /scale -->\n"));
        assert_eq!(page(first(&new), &new, None), new);
    }
}
