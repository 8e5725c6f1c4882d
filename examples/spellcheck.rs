//! Prints every word that is not in the list, with suggestions.
//!
//! Why it is built so: a word list does not change while it is used, so it is a `Ribbon`, the
//! smallest filter: the hundred thousand words of a dictionary take 215 KB and are used in place.
//! For typing errors alone a false-positive rate of one in a thousand would do. But suggestions
//! look up hundreds of strings for each wrong word, everything at edit distance one (53 per
//! letter), and at 0.1% every second word would get a suggestion that does not exist. So the rate
//! is 1 in 130 000: a false suggestion for one wrong word in three hundred, for seven bits per word
//! more.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example spellcheck -- README.md
//! ```

use mayhap::{Ribbon, Spec, SpecError};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Write};
use std::process::ExitCode;

const FPR: f64 = 1.0 / 131_072.0;
/// The path of Debian's `wamerican` and similar packages.
const SYSTEM_WORDS: &str = "/usr/share/dict/words";
const OUR_WORDS: &str = include_str!("../testdata/words/words.txt");

struct Speller {
    words: Ribbon,
}

impl Speller {
    fn new(list: &str) -> Result<Speller, SpecError> {
        let words = || list.lines().map(str::to_lowercase);
        let spec = Spec::new(words().count().max(1) as u64, FPR)?;
        Ok(Speller { words: Ribbon::with_spec(spec, words())? })
    }

    fn knows(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        let stem = word.strip_suffix("'s").unwrap_or(&word);
        self.words.contains(&word) || self.words.contains(stem)
    }

    /// Known words at edit distance one, in order: a letter dropped, swapped with the next,
    /// changed or added.
    fn suggest(&self, word: &str) -> BTreeSet<String> {
        let letters: Vec<char> = word.to_lowercase().chars().collect();
        let mut near = BTreeSet::new();
        let mut consider = |letters: Vec<char>| {
            let candidate: String = letters.into_iter().collect();
            if self.words.contains(&candidate) {
                near.insert(candidate);
            }
        };
        for at in 0..=letters.len() {
            let (before, after) = letters.split_at(at);
            let joined = |middle: &[char], skip: usize| [before, middle, &after[skip..]].concat();
            if let [first, rest @ ..] = after {
                consider(joined(&[], 1));
                if let [second, ..] = rest {
                    consider(joined(&[*second, *first], 2));
                }
                ('a'..='z').for_each(|letter| consider(joined(&[letter], 1)));
            }
            ('a'..='z').for_each(|letter| consider(joined(&[letter], 0)));
        }
        near
    }

    /// Check a text line by line; returns how many words are unknown.
    fn check(&self, name: &str, text: impl BufRead, mut to: impl Write) -> io::Result<u64> {
        let mut unknown = 0;
        for (line, text) in (1..).zip(text.lines()) {
            let text = text?;
            for (column, word) in words(&text) {
                if self.knows(word) {
                    continue;
                }
                unknown += 1;
                write!(to, "{name}:{line}:{column} {word}")?;
                for (i, near) in self.suggest(word).iter().enumerate() {
                    write!(to, "{}{near}", if i == 0 { ": " } else { ", " })?;
                }
                writeln!(to)?;
            }
        }
        Ok(unknown)
    }
}

/// The words of a line and the column of each, counted in characters from one. Words with digits or
/// underscores are names, and skipped.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '_');
    let pieces = line.split_inclusive(move |c| !is_part(c)).scan(0, |at, piece| {
        let begin = *at;
        *at += piece.chars().count();
        Some((begin, piece))
    });
    pieces.filter_map(move |(begin, piece)| {
        let piece = piece.trim_end_matches(|c| !is_part(c));
        let word = piece.trim_start_matches('\'');
        let column = begin + (piece.len() - word.len()) + 1;
        let word = word.trim_end_matches('\'');
        let is_word =
            !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic() || c == '\'');
        is_word.then_some((column, word))
    })
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let system = fs::read_to_string(SYSTEM_WORDS);
    let speller = Speller::new(system.as_deref().unwrap_or(OUR_WORDS))?;
    eprintln!("{}", speller.words);
    let files: Vec<String> = std::env::args().skip(1).collect();
    let mut unknown = 0;
    if files.is_empty() {
        unknown += speller.check("-", io::stdin().lock(), io::stdout().lock())?;
    }
    for name in files {
        let text = fs::File::open(&name).map_err(|error| format!("{name}: {error}"))?;
        unknown += speller.check(&name, io::BufReader::new(text), io::stdout().lock())?;
    }
    Ok(ExitCode::from(u8::from(unknown > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> (u64, String) {
        let mut out = Vec::new();
        let unknown =
            Speller::new(OUR_WORDS).unwrap().check("f", text.as_bytes(), &mut out).unwrap();
        (unknown, String::from_utf8(out).unwrap())
    }

    #[test]
    fn words_of_the_list_are_known_and_others_named_with_their_place() {
        assert_eq!(checked("The filter never forgets a key.\n'Once' it's in, v2_x stays.\n").0, 0);
        let (unknown, said) = checked("a filter\n  the (fitler) hsa zqxjk\n");
        assert_eq!(unknown, 3);
        assert!(said.starts_with("f:2:8 fitler: filter\nf:2:16 hsa: "), "{said}");
        assert!(said.contains("has") && said.ends_with("f:2:20 zqxjk\n"), "{said}");
    }

    #[test]
    fn every_kind_of_slip_is_mended() {
        let speller = Speller::new("filter").unwrap();
        for slip in ["fillter", "filtr", "fitler", "filtar", "ilter", "filterr"] {
            assert_eq!(speller.suggest(slip), BTreeSet::from(["filter".to_owned()]), "{slip}");
        }
        assert!(speller.suggest("banana").is_empty() && speller.suggest("").is_empty());
    }

    #[test]
    fn false_suggestions_are_rare() {
        let list: BTreeSet<&str> = OUR_WORDS.lines().collect();
        let speller = Speller::new(OUR_WORDS).unwrap();
        // Each word with a letter changed, mostly into no word.
        let wrong = list.iter().flat_map(|word| speller.suggest(&word.replacen('e', "q", 1)));
        let false_ones = wrong.filter(|word| !list.contains(word.as_str())).count();
        assert!(false_ones < list.len() / 100, "{false_ones} false suggestions");
    }
}
