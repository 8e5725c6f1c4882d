//! docs/ARCHITECTURE.md names every module: what it lists is what there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_maps_name_every_module_and_no_other() {
    let page = fs::read_to_string(root().join("docs/ARCHITECTURE.md")).unwrap();
    let (listed, twice) = listed(&page);
    assert!(twice.is_empty(), "named twice: {twice:?}");
    let there = there();
    assert!(there.len() > 300, "only {} modules were found", there.len());
    let missing: Vec<_> = there.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&there).collect();
    assert!(
        missing.is_empty() && gone.is_empty(),
        "docs/ARCHITECTURE.md does not name {missing:?}; it names {gone:?}, which are not there"
    );
}

#[test]
fn maps_are_read_as_they_are_written() {
    let page = "crates/a/src/\n  lib, one/{two, three}   what they are, in words\n                      and more: words\n  four, four/{five}/kind\n```\n  not, a, map\n";
    let (listed, twice) = listed(page);
    let want = ["lib", "one/two", "one/three", "four", "four/five/kind"];
    assert_eq!(listed, want.map(|name| format!("crates/a/src/{name}")).into());
    assert!(twice.is_empty());
}

/// The modules that maps name, and those that they name again. A map starts with the line of its
/// folder and ends with its block; an entry starts two columns in and ends before two spaces.
fn listed(page: &str) -> (BTreeSet<String>, Vec<String>) {
    let (mut all, mut twice, mut folder) = (BTreeSet::new(), vec![], None);
    for line in page.lines() {
        if line.starts_with("crates/") && line.ends_with("/src/") {
            folder = Some(line);
        } else if !line.starts_with("  ") {
            folder = None;
        }
        let entry = line.strip_prefix("  ").filter(|entry| !entry.starts_with(' '));
        let (Some(folder), Some(entry)) = (folder, entry) else { continue };
        // A name that fills its column is followed by one space.
        let names = entry.split("  ").next().unwrap_or_default();
        let names = if entry.len() > 20 && names.len() > 20 { first_names(names) } else { names };
        for name in expanded(names) {
            let name = format!("{folder}{name}");
            if !all.insert(name.clone()) {
                twice.push(name);
            }
        }
    }
    (all, twice)
}

/// Up to the space that neither follows a comma nor is inside braces.
fn first_names(text: &str) -> &str {
    let (mut depth, mut before) = (0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ' ' if depth == 0 && before != ',' => return &text[..at],
            _ => {}
        }
        before = c;
    }
    text
}

/// `a, b/{c, d}/e` → `a`, `b/c/e`, `b/d/e`.
fn expanded(names: &str) -> Vec<String> {
    let (mut all, mut depth, mut from) = (vec![], 0, 0);
    for (at, c) in names.char_indices().chain([(names.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let name = names[from..at].trim();
                from = at + 1;
                match (name.find('{'), name.find('}')) {
                    (Some(open), Some(close)) => all.extend(
                        name[open + 1..close]
                            .split(',')
                            .map(|part| name[..open].to_owned() + part.trim() + &name[close + 1..]),
                    ),
                    _ => all.push(name.to_owned()),
                }
            }
            _ => {}
        }
    }
    all
}

/// Every module of every crate, but its tests.
fn there() -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for member in fs::read_dir(root().join("crates")).unwrap() {
        let member = member.unwrap();
        let folder = format!("crates/{}/src/", member.file_name().to_string_lossy());
        modules(&member.path().join("src"), &folder, &mut all);
    }
    all
}

fn modules(folder: &Path, prefix: &str, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            _ if stem == "tests" => {}
            true => modules(&path, &format!("{prefix}{stem}/"), all),
            false if path.extension().is_none_or(|ending| ending != "rs") => {}
            false if stem == "mod" => _ = all.insert(prefix.trim_end_matches('/').to_owned()),
            false => _ = all.insert(prefix.to_owned() + &stem),
        }
    }
}
