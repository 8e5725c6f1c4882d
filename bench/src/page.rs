//! The page `docs/BENCHMARKS.md`: several programs write it, each its own part.

use std::fmt::Write;
use std::io::Result;
use std::path::Path;

const NAME: &str = "BENCHMARKS.md";

/// The parts behind the engine's, in their order: name, and what stands there until it is run.
const PARTS: [(&str, &str); 3] = [
    (
        "scale",
        "## Two billion URLs\n\nNot yet run here: `cargo xtask bench scale` fills this in.\n",
    ),
    ("seen", "## Seen lists\n\nNot yet run here: `cargo xtask bench seen` fills this in.\n"),
    (
        "module",
        "## Inside Redis and Valkey\n\nNot yet run here: `cargo xtask bench module` fills this in.\n",
    ),
];

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

/// Write the engine's part, and leave the others as they were.
pub fn write_engine(docs: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    write(docs, &format!("{text}\n"), |name| part_of(&old, name))
}

/// Write one of the other parts, and leave the rest as it was.
pub fn write_part(docs: &Path, name: &str, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    let engine = old.split(&mark(PARTS[0].0)).next().unwrap_or_default();
    write(docs, engine, |other| if other == name { Some(text) } else { part_of(&old, other) })
}

fn write<'a>(docs: &Path, engine: &str, part: impl Fn(&str) -> Option<&'a str>) -> Result<()> {
    let mut page = engine.to_owned();
    for (at, (name, nothing)) in PARTS.iter().enumerate() {
        let (gap, text) = (if at == 0 { "" } else { "\n" }, part(name).unwrap_or(nothing));
        _ = write!(page, "{gap}{}{text}{}", mark(name), mark(&format!("/{name}")));
    }
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), page)
}

fn mark(name: &str) -> String {
    format!("<!-- {name} -->\n")
}

fn part_of<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    Some(page.split_once(&mark(name))?.1.split_once(&mark(&format!("/{name}")))?.0)
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
    fn each_part_is_written_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let page = || std::fs::read_to_string(dir.path().join(NAME)).unwrap();
        write_part(dir.path(), "seen", "lists\n").unwrap();
        write_engine(dir.path(), "engine\n").unwrap();
        write_part(dir.path(), "scale", "urls\n").unwrap();
        write_part(dir.path(), "module", "servers\n").unwrap();
        write_engine(dir.path(), "newer\n").unwrap();
        let parts = [("scale", "urls"), ("seen", "lists"), ("module", "servers")];
        let parts =
            parts.map(|(name, text)| format!("<!-- {name} -->\n{text}\n<!-- /{name} -->\n"));
        assert_eq!(page(), format!("newer\n\n{}", parts.join("\n")));
    }
}
