//! Is this URL on the list of two million?
//!
//! Why it is built so: the list changes once a day and is looked up all day long, so it is a filter
//! built beforehand from the whole list (`Ribbon`, the smallest: 10 bits per URL at 0.1%, where
//! `Blocked` takes 14.8) and saved in a file that opens at once.
//! A false positive would block an innocent page; reported ones are exceptions, a handful kept
//! exactly, and looked up only when the filter says "maybe". Where all innocent pages that matter
//! are known beforehand, see `spam`, which has no false positives on them.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example blocklist            # against a HashSet
//! # from standard input; exceptions are arguments
//! cat urls | cargo run --release -p mayhap-examples --example blocklist -- - http://example.com/
//! ```

use mayhap::format::Metadata;
use mayhap::scheme::Scheme;
use mayhap::{Ribbon, Spec};
use mayhap_store::text::Normalizer;
use std::collections::HashSet;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::time::Instant;

const URLS: u64 = 2_000_000;
const FPR: f64 = 0.001;

/// A list that anybody can generate: URL `i` of it.
fn listed(i: u64) -> String {
    format!("http://host{}.example/path/{:x}", i % 5003, i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

struct Blocklist {
    filter: Ribbon,
    exceptions: HashSet<Vec<u8>>,
}

impl Blocklist {
    fn new(urls: impl ExactSizeIterator<Item = String>) -> Result<Blocklist, Box<dyn Error>> {
        let spec = Spec::new(urls.len() as u64, FPR)?;
        let (mut hashes, mut normal) = (Vec::with_capacity(urls.len()), Vec::new());
        for url in urls {
            if Normalizer::Url.apply(url.as_bytes(), &mut normal) {
                hashes.push(spec.scheme().hash(&normal));
            }
        }
        let filter = Ribbon::from_hashes(spec, &mut hashes)?;
        Ok(Blocklist { filter, exceptions: HashSet::new() })
    }

    /// A false positive was reported.
    fn except(&mut self, url: &str) {
        let mut normal = Vec::new();
        if Normalizer::Url.apply(url.as_bytes(), &mut normal) {
            self.exceptions.insert(normal);
        }
    }

    /// What is not a URL is not blocked.
    fn is_blocked(&self, url: &str) -> bool {
        let mut normal = Vec::new();
        Normalizer::Url.apply(url.as_bytes(), &mut normal)
            && self.filter.contains(&normal)
            && !self.exceptions.contains(&normal)
    }
}

/// Print the lines that are blocked; returns whether there were any.
fn filter_lines(list: &Blocklist, lines: impl BufRead, mut to: impl Write) -> io::Result<bool> {
    let mut any = false;
    for line in lines.lines() {
        let line = line?;
        if list.is_blocked(&line) {
            writeln!(to, "{line}")?;
            any = true;
        }
    }
    Ok(any)
}

/// Bytes of a set of these strings: its table, and each string separately.
fn set_bytes(set: &HashSet<String>) -> usize {
    let slots = (set.capacity() * 8 / 7).next_power_of_two();
    slots * (size_of::<String>() + 1) + set.iter().map(String::capacity).sum::<usize>()
}

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut list = Blocklist::new((0..URLS as usize).map(|i| listed(i as u64)))?;
    let built = start.elapsed();
    let mut arguments = std::env::args().skip(1);
    if arguments.next().is_some_and(|argument| argument == "-") {
        arguments.for_each(|url| list.except(&url));
        let any = filter_lines(&list, io::stdin().lock(), io::stdout().lock())?;
        std::process::exit(i32::from(!any));
    }
    let file = list.filter.encode(&Metadata::new().with_normalizer(Normalizer::Url.note())?);
    println!("filter: {} MB, built in {built:.1?}", file.len() / 1_000_000);
    let start = Instant::now();
    let set: HashSet<String> = (0..URLS).map(listed).collect();
    println!("HashSet: {} MB, built in {:.1?}", set_bytes(&set) / 1_000_000, start.elapsed());

    let asked: Vec<String> = (0..1_000_000).map(|i| listed(i * 7)).collect();
    let start = Instant::now();
    let in_filter = asked.iter().filter(|url| list.filter.contains(*url)).count();
    println!("filter: {in_filter} of a million blocked in {:.1?}", start.elapsed());
    let start = Instant::now();
    let in_set = asked.iter().filter(|url| set.contains(*url)).count();
    println!("HashSet: {in_set} of a million blocked in {:.1?}", start.elapsed());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_listed_is_blocked_and_little_else() -> Result<(), Box<dyn Error>> {
        let list = Blocklist::new((0..100_000).map(|i| listed(i as u64)))?;
        assert!((0..100_000).all(|i| list.is_blocked(&listed(i))));
        let spelled = listed(7).replace("http://host7.example/", "HTTP://Host7.example:80/x/../");
        assert!(list.is_blocked(&spelled), "{spelled}");
        let wrong = (200_000..400_000).filter(|i| list.is_blocked(&listed(*i))).count();
        assert!((100..320).contains(&wrong), "{wrong} of 200 expected");
        assert!(!list.is_blocked("not a url"));
        Ok(())
    }

    #[test]
    fn an_exception_is_let_through() -> Result<(), Box<dyn Error>> {
        let mut list = Blocklist::new((0..10_000).map(|i| listed(i as u64)))?;
        let innocent = (10_000..).map(listed).find(|url| list.is_blocked(url)).expect("at 0.1%");
        list.except(&innocent);
        assert!(!list.is_blocked(&innocent) && list.is_blocked(&listed(3)));
        let mut out = Vec::new();
        let lines = format!("{innocent}\n{}\nhttp://example.com/\n", listed(3));
        assert!(filter_lines(&list, lines.as_bytes(), &mut out)?);
        assert_eq!(String::from_utf8(out)?, listed(3) + "\n");
        Ok(())
    }

    #[test]
    fn it_takes_a_twentieth_of_the_set() -> Result<(), Box<dyn Error>> {
        let list = Blocklist::new((0..50_000).map(|i| listed(i as u64)))?;
        let set: HashSet<String> = (0..50_000).map(listed).collect();
        assert!(20 * list.filter.as_bytes().len() < set_bytes(&set));
        Ok(())
    }
}
