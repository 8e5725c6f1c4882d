//! The page `docs/BENCHMARKS.md`: three programs write it, each its own part.

use std::fmt::Write;
use std::io::Result;
use std::path::Path;

const NAME: &str = "BENCHMARKS.md";

/// A part of the page that has a program of its own.
#[derive(Clone, Copy)]
pub struct Part {
    name: &'static str,
    /// What stands there before the program has run.
    blank: &'static str,
}

pub const SCALE: Part = Part {
    name: "scale",
    blank: "## Two billion URLs\n\nNot yet run here: `cargo xtask bench scale` fills this in.\n",
};
pub const CASCADE: Part = Part {
    name: "cascade",
    blank: "## Two lists told apart\n\nNot yet run here: `cargo xtask bench cascade` fills this in.\n",
};
const PARTS: [Part; 2] = [CASCADE, SCALE];

impl Part {
    /// The part in this page, or what stands for it.
    fn of(self, page: &str) -> &str {
        let inside = || {
            let (_, rest) = page.split_once(&format!("<!-- {} -->\n", self.name))?;
            Some(rest.split_once(&format!("<!-- /{} -->\n", self.name))?.0)
        };
        inside().unwrap_or(self.blank)
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

/// Write everything but the parts of other programs, which stay as they were.
pub fn write_engine(docs: &Path, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), whole(text, &old, None))
}

/// Write one part, and leave the rest as it was.
pub fn write_part(docs: &Path, part: Part, text: &str) -> Result<()> {
    let old = std::fs::read_to_string(docs.join(NAME)).unwrap_or_default();
    let firsts = PARTS.iter().filter_map(|part| old.find(&format!("<!-- {} -->", part.name)));
    let before = old[..firsts.min().unwrap_or(old.len())].trim_end();
    std::fs::create_dir_all(docs)?;
    std::fs::write(docs.join(NAME), whole(&format!("{before}\n"), &old, Some((part, text))))
}

/// The page: what comes before the parts, then each as it was or is now.
fn whole(before: &str, old: &str, new: Option<(Part, &str)>) -> String {
    let mut page = before.to_owned();
    for part in PARTS {
        let text =
            new.filter(|(new, _)| new.name == part.name).map_or(part.of(old), |(_, text)| text);
        _ = write!(page, "\n<!-- {0} -->\n{text}<!-- /{0} -->\n", part.name);
    }
    page
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
    fn a_new_part_leaves_the_others() {
        let page = "a\n\n<!-- scale -->\nkept\n<!-- /scale -->\n";
        let page = whole("b\n", page, Some((CASCADE, "new\n")));
        assert_eq!((SCALE.of(&page), CASCADE.of(&page)), ("kept\n", "new\n"));
        assert!(page.starts_with("b\n\n<!-- cascade -->\nnew\n"));
        assert_eq!(SCALE.of("a"), SCALE.blank);
    }
}
