//! Verifies an output against the expected lines.

use super::jobs::{Job, Work};
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Result};
use std::path::Path;

/// Errors of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// New lines, or members, that are not there.
    pub lost: u64,
    /// Lines that should not be there: repeats, false positives.
    pub false_lines: u64,
    /// Lookups of absent keys.
    pub absent_keys: u64,
}

impl Errors {
    /// The measured false-positive rate.
    pub fn rate(&self) -> f64 {
        self.false_lines as f64 / (self.absent_keys as f64).max(1.0)
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Errors { lost: 0, false_lines: 0, .. } => f.write_str("–"),
            Errors { absent_keys: 0, .. } => write!(f, "{} lost", self.lost),
            _ => write!(f, "{:.3}% let in, {} lost", 100.0 * self.rate(), self.lost),
        }
    }
}

/// Compare the output of a job with the expected one.
pub fn of(job: &Job, folder: &Path, lines: u64) -> Result<Errors> {
    let open = |name: &str| File::open(folder.join(name)).map(BufReader::new);
    match job.work {
        // Sorted output has all lines in another order: counting must do.
        Work::Dedup if job.program == "sort -u" => {
            let got = count(open(&job.output)?)?;
            let want = lines * 7 / 10;
            Ok(Errors {
                lost: want.saturating_sub(got),
                false_lines: got.saturating_sub(want),
                absent_keys: 0,
            })
        }
        Work::Dedup => subsequence(open("distinct.txt")?, open(&job.output)?),
        Work::Check => checked(open("check.txt")?, open("truth.bin")?, open(&job.output)?),
        Work::Build | Work::OneKey => Ok(Errors::default()),
    }
}

/// The lines of a text, read into one buffer.
struct Lines<R> {
    text: R,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    fn new(text: R) -> Lines<R> {
        Lines { text, line: Vec::new() }
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        self.line.clear();
        let read = self.text.read_until(b'\n', &mut self.line)?;
        Ok((read > 0).then_some(&self.line))
    }
}

fn count(text: impl BufRead) -> Result<u64> {
    let mut lines = Lines::new(text);
    let mut count = 0;
    while lines.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

/// How many lines are missing from an ordered output; what is left over at its end is wrong.
fn subsequence(want: impl BufRead, got: impl BufRead) -> Result<Errors> {
    let (mut want, mut got) = (Lines::new(want), Lines::new(got));
    let mut errors = Errors::default();
    let mut next = got.next()?.map(<[u8]>::to_vec);
    while let Some(line) = want.next()? {
        if next.as_deref() == Some(line) {
            next = got.next()?.map(<[u8]>::to_vec);
        } else {
            errors.lost += 1;
        }
    }
    while next.is_some() {
        errors.false_lines += 1;
        next = got.next()?.map(<[u8]>::to_vec);
    }
    Ok(errors)
}

/// Members that were not printed, and false positives.
fn checked(asked: impl BufRead, truth: impl BufRead, got: impl BufRead) -> Result<Errors> {
    let (mut asked, mut got) = (Lines::new(asked), Lines::new(got));
    let mut errors = Errors::default();
    let mut next = got.next()?.map(<[u8]>::to_vec);
    for member in truth.bytes() {
        let member = member? != 0;
        let Some(line) = asked.next()? else { break };
        let printed = next.as_deref() == Some(line);
        if printed {
            next = got.next()?.map(<[u8]>::to_vec);
        }
        errors.absent_keys += u64::from(!member);
        errors.lost += u64::from(member && !printed);
        errors.false_lines += u64::from(!member && printed);
    }
    Ok(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_or_false_is_counted() -> Result<()> {
        let errors = subsequence(&b"a\nb\nc\nd\n"[..], &b"a\nc\nd\nd\n"[..])?;
        assert_eq!((errors.lost, errors.false_lines), (1, 1));
        let errors = checked(&b"a\nb\nc\nd\n"[..], &[1, 0, 1, 0][..], &b"b\nc\n"[..])?;
        assert_eq!(errors, Errors { lost: 1, false_lines: 1, absent_keys: 2 });
        assert_eq!(errors.rate(), 0.5);
        Ok(())
    }
}
