//! The page `docs/BENCHMARKS.md`: two programs write it, each its own part.

use std::fmt::Write;
use std::io::Result;
use std::path::Path;

const NAME: &str = "BENCHMARKS.md";
const SCALE: [&str; 2] = ["<!-- scale -->\n", "<!-- /scale -->\n"];
const NO_SCALE: &str =
    "## Two billion URLs\n\nNot yet run here: `cargo xtask bench scale` fills this in.\n";

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

/// Write everything but the scale part, which stays as it was.
pub fn write_engine(docs: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    let scale = between(&old).unwrap_or(NO_SCALE);
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), format!("{text}\n{}{scale}{}", SCALE[0], SCALE[1]))
}

/// Write the scale part, and leave the rest as it was.
pub fn write_scale(docs: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    let before = old.split(SCALE[0]).next().unwrap_or_default();
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), format!("{before}{}{text}{}", SCALE[0], SCALE[1]))
}

fn between(page: &str) -> Option<&str> {
    Some(page.split_once(SCALE[0])?.1.split_once(SCALE[1])?.0)
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
    fn the_scale_part_is_found() {
        let page = format!("a\n{}kept\n{}", SCALE[0], SCALE[1]);
        assert_eq!(between(&page), Some("kept\n"));
        assert_eq!(between("a"), None);
    }
}
