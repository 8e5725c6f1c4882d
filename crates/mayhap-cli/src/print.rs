//! What is shown and where: data on standard output, everything else on standard error.

use anstyle::{AnsiColor, Style};
use std::fmt::Display;

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

/// `error: …`, and below it `hint: …`.
pub fn error(what: &str, hint: Option<&str>) {
    anstream::eprintln!("{} {what}", styled(BAD, "error:"));
    if let Some(hint) = hint {
        anstream::eprintln!("{} {hint}", styled(GOOD, "hint:"));
    }
}

/// `warning: …`, and below it `hint: …`.
pub fn warning(what: &str, hint: Option<&str>) {
    anstream::eprintln!("{} {what}", styled(WARN, "warning:"));
    if let Some(hint) = hint {
        anstream::eprintln!("{} {hint}", styled(GOOD, "hint:"));
    }
}
