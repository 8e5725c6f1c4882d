//! Lists out of one store and into another, as lines of JSON.

use super::ids::bytes;
use super::show;
use super::store::Lists;
use crate::exit::{Exit, error_with_hint};
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

/// Lists that go to the store together.
const AT_ONCE: usize = 500;

/// Print one list, or all. Those that cannot be read are named, and the others printed.
pub fn export(lists: &Lists, owner: Option<OsString>, globals: &Globals) -> anyhow::Result<Exit> {
    print::check_stdout()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut failed = None;
    let (mut count, mut unreadable, mut foreign) = (0u64, 0u64, 0u64);
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
            match list {
                Ok(list) => put(owner, &list),
                Err(error) if error.is_foreign() => foreign += 1,
                Err(error) => {
                    unreadable += 1;
                    print::error(&error.to_string(), None);
                }
            }
            Ok(())
        })?,
    }
    failed.map_or(Ok(()), Err).and_then(|()| out.flush()).map_err(print::stdout_error)?;
    show::passed_over(foreign, globals);
    if unreadable > 0 {
        let lists = if unreadable == 1 { "1 list is" } else { "some lists are" };
        return Err(error_with_hint(
            format!("{lists} left out, which cannot be read; {count} were exported"),
            "`mayhap seen forget` removes a list, whatever is left of it",
        ));
    }
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
    let mut count = 0;
    let mut batch: Vec<(Vec<u8>, Vec<u8>)> = vec![];
    for (at, line) in input.lines().enumerate() {
        let line = line.with_context(|| format!("reading {name}"))?;
        let Some(pair) = parse(&line) else {
            add(lists, &mut batch)?;
            return Err(error_with_hint(
                format!("{name}:{}: not a line of `mayhap seen export`", at + 1),
                "the lines before it are imported, and importing them again does no harm",
            ));
        };
        batch.push(pair);
        count += 1u64;
        if batch.len() == AT_ONCE {
            add(lists, &mut batch)
                .with_context(|| format!("{name}, lines {} to {}", at + 2 - AT_ONCE, at + 1))?;
        }
    }
    add(lists, &mut batch).with_context(|| name.to_string())?;
    if globals.json {
        print::json(&json!({"lists": count}))?;
    } else if !globals.quiet {
        print::out(&format!("{count}\n"))?;
    }
    Ok(Exit::Yes)
}

/// Import all, and be empty again.
fn add(lists: &Lists, batch: &mut Vec<(Vec<u8>, Vec<u8>)>) -> anyhow::Result<()> {
    let exported: Vec<(&[u8], &[u8])> =
        batch.iter().map(|(owner, list)| (owner.as_slice(), list.as_slice())).collect();
    lists.import_many(&exported)?;
    batch.clear();
    Ok(())
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
