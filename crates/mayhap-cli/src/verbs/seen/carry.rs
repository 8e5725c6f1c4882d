//! Lists out of one store and into another, as lines of JSON.

use super::ids::bytes;
use super::store::Lists;
use crate::exit::{Exit, refuse};
use crate::globals::Globals;
use crate::print;
use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// Print one list, or all.
pub fn export(lists: &Lists, owner: Option<OsString>) -> anyhow::Result<Exit> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut failed = None;
    let mut count = 0;
    let mut put = |owner: &[u8], list: &[u8]| {
        let mut line = json!({});
        print::put_text(&mut line, "owner", owner);
        line["list"] = STANDARD.encode(list).into();
        count += 1;
        if failed.is_none() {
            failed = writeln!(out, "{line}").err();
        }
    };
    match owner.map(|owner| bytes(&owner)) {
        Some(owner) => {
            if let Some(list) = lists.export(&owner)? {
                put(&owner, &list);
            }
        }
        None => lists.export_all(|owner, list| {
            put(owner, &list);
            Ok(())
        })?,
    }
    failed.map_or(Ok(()), Err).and_then(|()| out.flush()).context("writing to standard output")?;
    Ok(Exit::of(count > 0))
}

/// Add what `export` printed.
pub fn import(lists: &Lists, file: &Path, globals: &Globals) -> anyhow::Result<Exit> {
    let name = file.display();
    let input: Box<dyn BufRead> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(BufReader::new(File::open(file).with_context(|| name.to_string())?))
    };
    let mut count = 0u64;
    for (at, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("reading {name}"))?;
        let Some((owner, list)) = parse(&line) else {
            return Err(refuse(
                format!("{name}:{}: not a line of `mayhap seen export`", at + 1),
                "the lines before it are imported, and importing them again does no harm",
            ));
        };
        lists.import(&owner, &list).with_context(|| format!("{name}:{}", at + 1))?;
        count += 1;
    }
    if globals.json {
        print::json(&json!({"lists": count}))?;
    } else if !globals.quiet {
        print::out(&format!("{count}\n"))?;
    }
    Ok(Exit::Yes)
}

fn parse(line: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let value: Value = serde_json::from_str(line).ok()?;
    let owner = match value["owner"].as_str() {
        Some(text) => text.as_bytes().to_vec(),
        None => unhex(value["owner_hex"].as_str()?)?,
    };
    Some((owner, STANDARD.decode(value["list"].as_str()?).ok()?))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_export_prints_or_nothing() {
        assert_eq!(parse(r#"{"owner":"ada","list":"AQI="}"#), Some((b"ada".to_vec(), vec![1, 2])));
        assert_eq!(parse(r#"{"owner_hex":"ff00","list":""}"#), Some((vec![0xff, 0], vec![])));
        for bad in [
            "",
            "[]",
            "{}",
            r#"{"owner":"a"}"#,
            r#"{"owner_hex":"f","list":"!"}"#,
            r#"{"owner_hex":"é","list":""}"#,
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
