//! What is shown and where: data on standard output, everything else on standard error.

use crate::exit;
use crate::globals::Globals;
use crate::numbers::plural;
use anstyle::{AnsiColor, Style};
use mayhap_store::text::{ExtractRules, KeyField, OnMissing, Tally, TextEncoding};
use serde_json::Value;
use std::fmt::{self, Display};
use std::io::{self, Write};

/// For what is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();
/// For what may be wrong.
pub const WARN: Style = AnsiColor::Yellow.on_default().bold();
/// For the way out, and for what is well.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// For titles.
pub const TITLE: Style = Style::new().bold();
/// For what can be skipped.
pub const FAINT: Style = Style::new().dimmed();

/// Text in a style; the stream it is written to decides whether that shows.
pub fn styled(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A line on standard error. Where even that cannot be written there is nobody left to tell: the
/// exit code still says how it went.
pub fn line(line: impl Display) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// `error: …`, and below it `hint: …`.
pub fn error(what: &str, hint: Option<&str>) {
    with_hint(BAD, "error:", what, hint);
}

/// `warning: …`, and below it `hint: …`.
pub fn warning(what: &str, hint: Option<&str>) {
    with_hint(WARN, "warning:", what, hint);
}

fn with_hint(style: Style, word: &str, what: &str, hint: Option<&str>) {
    line(format_args!("{} {what}", styled(style, word)));
    if let Some(hint) = hint {
        line(format_args!("{} {hint}", styled(GOOD, "hint:")));
    }
}

/// Standard output could not be written.
#[derive(Debug)]
pub struct StdoutError(io::Error);

impl StdoutError {
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }
}

impl Display for StdoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("writing to standard output")
    }
}

impl std::error::Error for StdoutError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Say that it was standard output that could not be written.
pub fn stdout_error(error: io::Error) -> anyhow::Error {
    StdoutError(error).into()
}

/// Fails where the program was started with standard output closed.
pub fn check_stdout() -> anyhow::Result<()> {
    if crate::closed::stdout() {
        let closed = io::Error::other("it is closed");
        return Err(exit::with_hint(
            stdout_error(closed),
            "send it to a file or a pipe, or to /dev/null",
        ));
    }
    Ok(())
}

/// Write all of a text to standard output at once.
pub fn out(text: &str) -> anyhow::Result<()> {
    check_stdout()?;
    let mut to = anstream::stdout().lock();
    to.write_all(text.as_bytes()).and_then(|()| to.flush()).map_err(stdout_error)
}

/// Have `write` write bytes to standard output, all of them before this returns.
pub fn out_bytes(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    check_stdout()?;
    let mut to = io::stdout().lock();
    write(&mut to).and_then(|()| to.flush()).map_err(stdout_error)
}

/// Write one JSON value to standard output.
pub fn json(value: &Value) -> anyhow::Result<()> {
    out(&format!("{value:#}\n"))
}

/// Lines of cells, in columns as wide as their widest cell: the first to the left, numbers to the
/// right. The first line is the head.
pub fn table(lines: &[Vec<String>]) -> String {
    columns(lines, |column| column == 0)
}

/// The same with words, all of them to the left.
pub fn left_table(lines: &[Vec<String>]) -> String {
    columns(lines, |_| true)
}

fn columns(lines: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| shown(cell)).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let room = " ".repeat(widths[column] - shown(cell));
            let gap = if column == 0 { "" } else { "  " };
            let (left, right) = if is_left(column) { ("", &*room) } else { (&*room, "") };
            row.push_str(&format!("{gap}{left}{cell}{right}"));
        }
        let row = row.trim_end();
        text.push_str(&if at == 0 { styled(TITLE, row) } else { row.to_owned() });
        text.push('\n');
    }
    text
}

/// How many columns a text takes, its colours not counted.
fn shown(text: &str) -> usize {
    anstream::adapter::strip_str(text).to_string().chars().count()
}

/// A share from 0 to 1 as a bar, in eighths of a column.
pub fn bar(share: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let share = if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) };
    let eighths = (share * columns as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Bytes into a JSON object: as text where they are, in hex under `<name>_hex` where not.
pub fn put_text(object: &mut Value, name: &str, bytes: &[u8]) {
    match str::from_utf8(bytes) {
        Ok(text) => object[name] = text.into(),
        Err(_) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            object[format!("{name}_hex")] = hex.into();
        }
    }
}

/// Say how many lines had no key where the rules look for one, and were passed over.
pub fn unparsable(tally: Tally, rules: &ExtractRules, globals: &Globals) {
    without_key(tally, rules, "passed over", globals);
}

/// The same, where something else became of lines without a key.
pub fn without_key(tally: Tally, rules: &ExtractRules, became: &str, globals: &Globals) {
    if globals.quiet {
        return;
    }
    if tally.missing > 0 {
        let what = format!("{} without {}", plural(tally.missing, "line"), rules.wanted());
        let hint = "--on-missing fail stops at the first, --on-missing line takes the whole line";
        warning(&format!("{what}: no key, {became}"), Some(hint));
    }
    if tally.unparsable > 0 {
        let whole = rules.part == KeyField::Whole && rules.encoding == TextEncoding::Bytes;
        let is_line = rules.missing == OnMissing::Line && !whole;
        let what = if is_line { rules.wanted() } else { "anything to normalise" };
        let kept = if tally.unparsable == 1 { "it stands" } else { "they stand" };
        let lines = plural(tally.unparsable, "line");
        warning(&format!("{lines} without {what}, taken as {kept}"), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_whatever_their_colour() {
        let cell = str::to_owned;
        let lines = [vec![cell("kind"), cell("rate")], vec![styled(BAD, "x"), cell("1%")]];
        let text = table(&lines);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(plain, "kind  rate\nx       1%\n");
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(bar(0.5, 10), "█████");
        assert_eq!(bar(0.06, 10), "▋");
        assert_eq!(bar(0.0, 10), "");
        assert_eq!(bar(f64::NAN, 10), "");
        assert_eq!(bar(7.0, 3), "███");
    }
}
