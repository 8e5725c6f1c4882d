//! Files of URLs for measuring command-line tools: the same bytes as the Python script that first
//! made them.
//!
//! `urls.txt`: n lines, 70% new and 30% repeats of an earlier line. `distinct.txt`: the new ones,
//! in order. `check.txt`: n lines, half present in `distinct.txt` and half absent, shuffled.
//! `truth.bin`: a byte per line of `check.txt`, 1 for present.

use crate::python_random::PythonRandom;
use crate::urls::Urls;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

/// Absent URLs have numbers from here on.
const ABSENT: u64 = 1_000_000_000;

/// Write the four files into `dir`.
pub fn write(dir: &Path, lines: u64, seed: u64) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let create =
        |name| File::create(dir.join(name)).map(|file| BufWriter::with_capacity(1 << 20, file));
    let distinct = lines * 7 / 10;
    write_urls(create("urls.txt")?, create("distinct.txt")?, lines, distinct, seed)?;
    write_check(create("check.txt")?, create("truth.bin")?, lines, distinct, seed)
}

fn write_urls(
    mut all: impl Write,
    mut new: impl Write,
    lines: u64,
    distinct: u64,
    seed: u64,
) -> Result<()> {
    let mut urls = Urls::new(seed);
    let mut random = PythonRandom::new(seed);
    let (mut seen, mut new_left) = (0, distinct);
    for left in (1..=lines).rev() {
        if seen == 0 || random.random() * (left as f64) < new_left as f64 {
            let url = urls.url(seen);
            line(&mut new, url)?;
            line(&mut all, url)?;
            seen += 1;
            new_left -= 1;
        } else {
            let again = (random.random() * seen as f64) as u64;
            line(&mut all, urls.url(again))?;
        }
    }
    all.flush()?;
    new.flush()
}

fn write_check(
    mut check: impl Write,
    mut truth: impl Write,
    lines: u64,
    distinct: u64,
    seed: u64,
) -> Result<()> {
    let mut urls = Urls::new(seed);
    let mut random = PythonRandom::new(seed + 1);
    let (mut present_left, mut absent) = (lines / 2, 0);
    for left in (1..=lines).rev() {
        let present = random.random() * (left as f64) < present_left as f64;
        let i = if present {
            present_left -= 1;
            (random.random() * distinct as f64) as u64
        } else {
            absent += 1;
            ABSENT + absent - 1
        };
        line(&mut check, urls.url(i))?;
        truth.write_all(&[u8::from(present)])?;
    }
    check.flush()?;
    truth.flush()
}

fn line(to: &mut impl Write, url: &[u8]) -> Result<()> {
    to.write_all(url)?;
    to.write_all(b"\n")
}
