//! Libraries say what is wrong, hosts which flag mends it: no string of a library names a flag.

use std::fs;
use std::path::{Path, PathBuf};

const LIBRARIES: [&str; 5] =
    ["mayhap", "mayhap-foreign", "mayhap-redis", "mayhap-seen", "mayhap-store"];

#[test]
fn no_string_of_a_library_names_a_flag() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let (mut found, mut read) = (vec![], 0);
    for library in LIBRARIES {
        for file in sources(&crates.join(library).join("src")) {
            let literals = literals(&fs::read_to_string(&file).unwrap());
            read += literals.len();
            let flags = literals.into_iter().filter(|literal| names_a_flag(literal));
            found.extend(flags.map(|literal| format!("{}: {literal:?}", file.display())));
        }
    }
    assert!(read > 1000, "only {read} strings were read");
    assert!(found.is_empty(), "the command adds flags in hints.rs:\n{}", found.join("\n"));
}

#[test]
fn flags_are_found_in_strings_only() {
    let source = r####"
        // a comment: "--one"
        /* another: "--two" */
        fn f<'a>(_: &'a str) { say("take \"--three\""); say('"'); say(r#"or "--four""#) }
        #[cfg(test)]
        mod tests { const FIVE: &str = "--five"; }
    "####;
    let found = literals(source);
    assert_eq!(found, [r#"take \"--three\""#, r#"or "--four""#]);
    assert!(found.iter().all(|literal| names_a_flag(literal)));
    for harmless in ["ada@xn--bcher-kva.example", "-- a comment of Lua", "a -- b", "-----", "--"] {
        assert!(!names_a_flag(harmless), "{harmless}");
    }
}

/// Every source file below, but those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// Two hyphens and a lowercase letter, where a word starts.
fn names_a_flag(literal: &str) -> bool {
    literal.match_indices("--").any(|(at, _)| {
        let before = literal[..at].chars().next_back();
        let after = literal[at + 2..].chars().next();
        after.is_some_and(|c| c.is_ascii_lowercase())
            && !before.is_some_and(|c| c.is_alphanumeric() || c == '-')
    })
}

/// The string literals of a source file up to its module of tests, which is its last item.
fn literals(source: &str) -> Vec<String> {
    let mut rest = source;
    let mut found = vec![];
    while let Some(first) = rest.chars().next() {
        let length = if is_tests(rest) {
            break;
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some((literal, length)) = raw(rest) {
            found.push(literal.to_owned());
            length
        } else if first == '"' {
            let end = 1 + end_of_quoted(&rest[1..]);
            found.push(rest[1..end].to_owned());
            end + 1
        } else if let Some(length) = character(rest) {
            length
        } else if first == '_' || first.is_alphanumeric() {
            // Whole words, so that the `r` at the end of one starts no raw string; prefixes as in
            // `b"…"` and `br"…"` end at the quote or hash.
            let word = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
            let raw_at = rest[..word].ends_with('r') && word == 2 && raw(&rest[1..]).is_some();
            if raw_at { 1 } else { word }
        } else {
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

fn is_tests(rest: &str) -> bool {
    rest.strip_prefix("#[cfg(test)]")
        .is_some_and(|item| item.trim_start().starts_with("mod tests {"))
}

/// What is inside of a raw string, and the length of all of it.
fn raw(rest: &str) -> Option<(&str, usize)> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let inside = after[hashes..].strip_prefix('"')?;
    let end = inside.find(&format!("\"{}", "#".repeat(hashes)))?;
    Some((&inside[..end], 1 + hashes + 1 + end + 1 + hashes))
}

fn end_of_quoted(inside: &str) -> usize {
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.expect("a string that does not end")
}

/// The length of a character literal; `'a` without a second quote is a lifetime.
fn character(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix('\'')?;
    if inside.starts_with('\\') {
        return Some(3 + inside[2..].find('\'')? + 1);
    }
    let length = inside.chars().next()?.len_utf8();
    inside[length..].starts_with('\'').then_some(1 + length + 1)
}
