//! Ids from the command line or from standard input.

use anyhow::Context;
use clap::Args;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Read};

/// An owner and ids.
#[derive(Args)]
pub struct IdArgs {
    /// Whose list
    pub owner: OsString,
    /// The ids; without any they are read from standard input, one per line. A line ends with a
    /// newline or with CRLF
    #[arg(value_name = "ID")]
    pub ids: Vec<OsString>,
}

/// An owner and one id.
#[derive(Args)]
pub struct OneId {
    /// Whose list
    pub owner: OsString,
    /// The id
    pub id: OsString,
}

/// A word of the command line as bytes, whatever they are.
pub fn bytes(word: &OsStr) -> Vec<u8> {
    word.as_encoded_bytes().to_vec()
}

/// The ids given, or the lines of standard input; nothing if nobody pipes any.
pub fn all(given: &[OsString]) -> anyhow::Result<Option<Vec<Vec<u8>>>> {
    if !given.is_empty() {
        return Ok(Some(given.iter().map(|id| bytes(id)).collect()));
    }
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut text = vec![];
    stdin.read_to_end(&mut text).context("reading standard input")?;
    Ok(Some(lines(&text)))
}

/// The last line needs no newline, and a CR before one is part of the line's end.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.is_empty() {
        return vec![];
    }
    let lines = text.split(|byte| *byte == b'\n');
    lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_with_a_newline_or_crlf() {
        assert_eq!(lines(b""), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"\n"), Vec::<Vec<u8>>::new());
        assert_eq!(lines(b"a\r\n\nb\xff"), [&b"a"[..], b"", b"b\xff"]);
        assert_eq!(lines(b"a\rb\r\r\nc\r"), [&b"a\rb\r"[..], b"c"]);
    }
}
