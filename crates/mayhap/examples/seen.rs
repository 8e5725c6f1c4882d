//! Print each line the first time it is seen: `sort -u` without the sorting and the memory.
//!
//! ```text
//! cargo run --release --example seen -- testdata/urls-sample.txt
//! ```
//!
//! No line is printed twice. A new line is swallowed with at most the chance asked for by
//! `--rate`, as long as no more than `--capacity` distinct lines come; the summary on standard
//! error says what that may have cost. Lines are bytes: they need not be UTF-8.

use mayhap::{Blocked, Hash, Spec};
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::process::ExitCode;

const HELP: &str = "\
Print each line the first time it is seen.

usage: seen [--capacity N] [--rate P] [FILE]...

  FILE          lines to read; none, or -, is standard input
  --capacity N  distinct lines to make room for   [1000000]
  --rate P      chance to swallow a new line      [0.001]

Exit: 0 done, 2 trouble. The summary goes to standard error.
";

fn main() -> ExitCode {
    match run(std::env::args_os().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads us has had enough (`| head`): nobody is left to tell.
        Err(Trouble::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("seen: {trouble}");
            ExitCode::from(2)
        }
    }
}

fn run(args: impl Iterator<Item = OsString>) -> Result<(), Trouble> {
    let wish = Wish::parse(args)?;
    let mut out = BufWriter::new(io::stdout().lock());
    if wish.help {
        return out.write_all(HELP.as_bytes()).and_then(|()| out.flush()).map_err(Trouble::Output);
    }
    let spec = Spec::new(wish.capacity, wish.rate).map_err(Trouble::Spec)?;
    let mut seen = Seen::new(Blocked::new(spec).map_err(Trouble::Spec)?);
    for name in &wish.files {
        let trouble = |error| Trouble::Input { name: name.clone(), error };
        let mut input: Box<dyn Read> = if name == "-" {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(name).map_err(trouble)?)
        };
        let mut batches = Batches::default();
        while let Some(lines) = batches.next_from(&mut input).map_err(trouble)? {
            seen.pass_new(lines, &mut out).map_err(Trouble::Output)?;
        }
    }
    out.flush().map_err(Trouble::Output)?;
    eprint!("{}", seen.summary());
    Ok(())
}

/// What the command line asks for.
struct Wish {
    capacity: u64,
    rate: f64,
    files: Vec<OsString>,
    help: bool,
}

impl Wish {
    fn parse(mut args: impl Iterator<Item = OsString>) -> Result<Wish, Trouble> {
        let mut wish = Wish { capacity: 1_000_000, rate: 0.001, files: vec![], help: false };
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--capacity") => wish.capacity = number("--capacity", args.next())?,
                Some("--rate") => wish.rate = number("--rate", args.next())?,
                Some("--help" | "-h") => wish.help = true,
                Some("--") => wish.files.extend(args.by_ref()),
                Some(flag) if flag.starts_with('-') && flag != "-" => {
                    return Err(Trouble::Usage(format!("there is no option {flag}")));
                }
                _ => wish.files.push(arg),
            }
        }
        if wish.files.is_empty() {
            wish.files.push("-".into());
        }
        Ok(wish)
    }
}

fn number<T: std::str::FromStr>(flag: &str, value: Option<OsString>) -> Result<T, Trouble> {
    let value = value.ok_or_else(|| Trouble::Usage(format!("{flag} needs a number after it")))?;
    let parsed = value.to_str().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| Trouble::Usage(format!("{flag} needs a number, got {}", value.display())))
}

/// Whole lines, as many as one read brings: a full pipe is worked off in large batches, and a
/// slow one is answered line by line. There is no longest line.
#[derive(Default)]
struct Batches {
    buffer: Vec<u8>,
    /// How much of the front was given out by the last call.
    given: usize,
}

impl Batches {
    /// The next lines, the newline of the very last one possibly missing. `None` at the end.
    fn next_from(&mut self, input: &mut dyn Read) -> io::Result<Option<&[u8]>> {
        const STEP: usize = 256 * 1024;
        self.buffer.drain(..self.given);
        self.given = 0;
        loop {
            let old = self.buffer.len();
            self.buffer.resize(old + STEP, 0);
            let read = read_some(input, &mut self.buffer[old..]);
            self.buffer.truncate(old + *read.as_ref().unwrap_or(&0));
            if read? == 0 {
                self.given = old;
                return Ok((old > 0).then_some(&self.buffer));
            }
            // Only the new bytes can hold a newline, so a huge line is not searched twice.
            if let Some(at) = self.buffer[old..].iter().rposition(|byte| *byte == b'\n') {
                self.given = old + at + 1;
                return Ok(Some(&self.buffer[..self.given]));
            }
        }
    }
}

fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// The filter, and what came by.
struct Seen {
    filter: Blocked,
    lines: u64,
    passed: u64,
    // Kept from batch to batch for their memory.
    hashes: Vec<Hash>,
    new: Vec<bool>,
}

impl Seen {
    fn new(filter: Blocked) -> Seen {
        Seen { filter, lines: 0, passed: 0, hashes: vec![], new: vec![] }
    }

    /// Write those of the lines that are certainly new, and remember all.
    fn pass_new(&mut self, text: &[u8], out: &mut impl Write) -> io::Result<()> {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let lines = || text.split(|byte| *byte == b'\n');
        self.hashes.clear();
        self.hashes.extend(lines().map(|line| self.filter.hash(line)));
        self.filter.insert_batch_new(&self.hashes, &mut self.new);
        for (line, _) in lines().zip(&self.new).filter(|(_, new)| **new) {
            out.write_all(line)?;
            out.write_all(b"\n")?;
            self.passed += 1;
        }
        self.lines += self.hashes.len() as u64;
        // Whoever waits at the other end of a slow pipe should not wait for a full buffer.
        out.flush()
    }

    fn summary(&self) -> String {
        let Seen { filter, lines, passed, .. } = self;
        let rate = filter.fpr_now();
        // Each new line was swallowed with the rate of its moment, and the last was the worst.
        let cost = *passed as f64 * rate / (1.0 - rate).max(f64::MIN_POSITIVE);
        let mut text = format!(
            "{lines} lines, {passed} distinct, {} repeats\n\
             {} KiB of memory; rate now {rate:.2e}, asked for {:.2e} at {} keys\n\
             new lines mistaken for repeats: {cost:.2} expected at most\n",
            lines - passed,
            filter.as_bytes().len().div_ceil(1024),
            filter.spec().fpr(),
            filter.spec().capacity(),
        );
        if rate > filter.spec().fpr() {
            text += "the filter is overfull: run again with a larger --capacity\n";
        }
        text
    }
}

/// Why it did not work, and what to do.
enum Trouble {
    Usage(String),
    Spec(mayhap::SpecError),
    Input { name: OsString, error: io::Error },
    Output(io::Error),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Usage(what) => write!(f, "{what}\nhint: --help lists what there is"),
            Trouble::Spec(error) => {
                write!(f, "{error}\nhint: --capacity and --rate decide the filter")
            }
            Trouble::Input { name, error } => write!(
                f,
                "cannot read {}: {error}\nhint: give a file of lines, or - for standard input",
                name.display()
            ),
            Trouble::Output(error) => write!(f, "cannot write the output: {error}"),
        }
    }
}
