//! `cargo xtask sample`: generates the crawl log of testdata from a seed.

use crate::{Error, no_arguments};
use std::process::ExitCode;

pub const PATH: &str = "testdata/urls-sample.txt";
const LINES: u32 = 5_000;

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("sample", args)?;
    std::fs::write(PATH, text())
        .map_err(|error| Error::Failed(format!("cannot write {PATH}: {error}")))?;
    println!("{PATH}: {LINES} lines");
    Ok(ExitCode::SUCCESS)
}

/// A crawler's input: few hosts, popular pages repeated often, a long tail seen once.
pub fn text() -> String {
    const HOSTS: [&str; 8] = [
        "example.com",
        "www.example.com",
        "shop.example.net",
        "news.example.org",
        "wiki.example.org",
        "blog.example.net",
        "img.example.com",
        "api.example.com",
    ];
    const SECTIONS: [&str; 6] = ["articles", "products", "tags", "users", "archive", "search"];
    let mut random = SplitMix(0x6d61_7968_6170);
    let mut text = String::new();
    for _ in 0..LINES {
        // The cube favours low numbers: page 3 comes often, page 2987 rarely.
        let page = (random.unit().powi(3) * 20_000.0) as u64;
        // Host and section belong to the page, or no page would come twice.
        let mut page_random = SplitMix(page);
        let host = HOSTS[page_random.below(8)];
        let section = SECTIONS[page_random.below(6)];
        let tail = ["", "?page=2", "?utm_source=feed", "#comments"][page_random.below(4)];
        text += &format!("https://{host}/{section}/{page}{tail}\n");
    }
    text
}

/// SplitMix64, Steele, Lea and Flood's generator.
pub struct SplitMix(pub u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub fn below(&mut self, end: u64) -> usize {
        (self.next() % end) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_file_is_what_the_generator_writes() {
        let file = std::fs::read_to_string(format!("../{PATH}")).unwrap();
        assert!(file == text(), "{PATH} was edited by hand: run `cargo xtask sample`");
    }

    #[test]
    fn it_has_repeats_and_lines_seen_once() {
        let text = text();
        let distinct = text.lines().collect::<HashSet<_>>().len();
        assert_eq!(text.lines().count(), LINES as usize);
        assert!((LINES as usize / 3..LINES as usize * 3 / 4).contains(&distinct), "{distinct}");
    }
}
