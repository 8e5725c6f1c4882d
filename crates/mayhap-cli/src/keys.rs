//! Flags that every verb has that reads keys: where they come from, and what of a line is the key.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Where keys come from, and what of a line is the key.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Keys")]
pub struct KeyArgs {
    /// Files of keys, one a line; `-` or none is standard input. May be gz, zst, xz or bz2
    #[arg(value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,

    /// Lines end in NUL instead of a newline
    #[arg(short = '0', long = "null", display_order = 100)]
    pub null: bool,

    /// A carriage return before the newline is part of the line's end
    #[arg(long, display_order = 101)]
    pub crlf: bool,

    /// Empty lines are no keys
    #[arg(long, display_order = 102)]
    pub skip_empty: bool,

    /// The key is these fields of the line, counted from 1
    #[arg(long, value_name = "N,…", value_delimiter = ',', display_order = 103)]
    #[arg(conflicts_with_all = ["csv", "json_key"])]
    pub field: Vec<usize>,

    /// What separates fields: one character, `\t` for a tab (the default; a comma with --csv)
    #[arg(long, value_name = "CHAR", value_parser = delimiter, display_order = 104)]
    pub delimiter: Option<u8>,

    /// Input is CSV with a head line; the key is this column, by name or number from 1
    #[arg(long, value_name = "COLUMN", conflicts_with = "json_key", display_order = 105)]
    pub csv: Option<String>,

    /// Lines are JSON; the key is what this pointer points to, as in /user/email
    #[arg(long, value_name = "POINTER", display_order = 106)]
    pub json_key: Option<String>,

    /// Each key is written in hex; its bytes are what counts
    #[arg(long, conflicts_with = "key_type", display_order = 107)]
    pub hex_keys: bool,

    /// What a key is: bytes, or a decimal number that counts as an integer
    #[arg(long, value_name = "TYPE", display_order = 108)]
    pub key_type: Option<KeyType>,

    /// What is done to a key before it counts; stored in the filter and done again by check and
    /// add. Lines are printed as they came
    #[arg(long, value_name = "HOW", display_order = 109)]
    pub normalize: Option<Normalize>,
}

/// What a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KeyType {
    /// The bytes as they are
    Bytes,
    /// A decimal number of up to 64 bits, signed or not
    I64,
    /// A decimal number of up to 32 bits, signed or not
    I32,
}

/// What is done to a key before it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Normalize {
    /// Nothing
    None,
    /// Small letters
    Lower,
    /// Hex digits: small letters, no `0x`, no separators
    Hex,
    /// E-mail addresses: small letters, no spaces around
    Email,
    /// URLs by the WHATWG rules: small host, no default port, no dot segments, no fragment
    Url,
    /// URLs, and no scheme, `www.`, trailing slash or tracking parameters, and the query sorted
    UrlLoose,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        b"\\0" => Ok(0),
        [byte] => Ok(*byte),
        _ => Err(format!("{text:?} is not one character: write one, or \\t for a tab")),
    }
}
