//! A crawler that never fetches a page twice, and resumes where it was killed.
//!
//! Why it is built so: a crawl has more pages than memory for their URLs, so the fetched pages are
//! a filter that grows (`Scalable`: the size of the site is unknown). A page is marked only *after*
//! it was fetched: marked at discovery, a page that failed once would be lost, since a filter
//! cannot forget. The queue is small, so it is an exact set, and a failed page is simply put back
//! there. Each event is a line in a journal; from time to time the filter is saved and the journal
//! truncated to what is still queued. A kill at any moment costs at most the one page in flight.
//! URLs are compared in canonical form, or the same page would come back under a dozen spellings.
//! The price of the filter: one page in a million is a false positive and skipped.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example crawler -- 2000
//! ```

use mayhap::format::Metadata;
use mayhap::{Scalable, Spec};
use mayhap_store::replace;
use mayhap_store::text::Normalizer;
use std::collections::{HashSet, VecDeque};
use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Pages between two checkpoints.
const SAVE_EVERY: u64 = 500;
const TRIES: u32 = 3;

struct Crawler {
    folder: PathBuf,
    fetched: Scalable,
    waiting: HashSet<String>,
    queue: VecDeque<(String, u32)>,
    journal: File,
}

impl Crawler {
    /// Start, or resume from this folder.
    fn open(folder: &Path) -> Outcome<Crawler> {
        let saved = fs::read(folder.join("fetched.mh")).ok();
        let fetched = match saved {
            Some(file) => Scalable::decode(&file, None)?,
            None => Scalable::new(Spec::new(10_000, 1e-6)?)?,
        };
        let lines = fs::read_to_string(folder.join("journal")).unwrap_or_default();
        let journal = OpenOptions::new().create(true).append(true).open(folder.join("journal"))?;
        let (waiting, queue) = Default::default();
        let mut crawler = Crawler { folder: folder.into(), fetched, waiting, queue, journal };
        for line in lines.lines() {
            match line.split_once(' ') {
                Some(("fetched", url)) => _ = crawler.fetched.insert(url),
                Some(("found", url)) => _ = crawler.enqueue(url.to_owned(), 0),
                _ => {} // the last line, truncated by the kill
            }
        }
        // Found first and fetched later: no longer queued.
        let Crawler { fetched, waiting, queue, .. } = &mut crawler;
        queue.retain(|(url, _)| !fetched.contains(url) || !waiting.remove(url));
        Ok(crawler)
    }

    fn enqueue(&mut self, url: String, tries: u32) -> bool {
        let new = !self.fetched.contains(&url) && self.waiting.insert(url.clone());
        if new {
            self.queue.push_back((url, tries));
        }
        new
    }

    /// A link to a page: queued if it is neither fetched nor queued.
    fn found(&mut self, link: &str) -> Outcome<()> {
        let mut url = Vec::new();
        if Normalizer::Url.apply(link.as_bytes(), &mut url) {
            let url = String::from_utf8(url)?;
            if self.enqueue(url.clone(), 0) {
                writeln!(self.journal, "found {url}")?;
            }
        }
        Ok(())
    }

    /// Fetch up to `most` pages, breadth first; returns how many.
    fn run(&mut self, most: u64) -> Outcome<u64> {
        let mut pages = 0;
        while pages < most
            && let Some((url, tries)) = self.queue.pop_front()
        {
            self.waiting.remove(&url);
            match ureq::get(&url).call().and_then(|mut page| page.body_mut().read_to_string()) {
                Ok(body) => {
                    self.fetched.insert(&url); // only now
                    writeln!(self.journal, "fetched {url}")?;
                    for link in body.lines() {
                        self.found(link)?;
                    }
                    pages += 1;
                    if pages % SAVE_EVERY == 0 {
                        self.save()?;
                    }
                }
                Err(_) if tries + 1 < TRIES => _ = self.enqueue(url, tries + 1),
                Err(error) => eprintln!("{url}: given up: {error}"),
            }
        }
        Ok(pages)
    }

    /// The filter first: if killed in between, the old journal only repeats what it knows.
    fn save(&mut self) -> Outcome<()> {
        let metadata = Metadata::new().with_normalizer(Normalizer::Url.note())?;
        let file = self.folder.join("fetched.mh");
        replace::file(&file, replace::Overwrite::Filters, |to| {
            self.fetched.write_to(to, &metadata)
        })?;
        let journal = self.folder.join("journal");
        let queue = &self.queue;
        replace::file(&journal, replace::Overwrite::Anything, |to| {
            queue.iter().try_for_each(|(url, _)| writeln!(to, "found {url}"))
        })?;
        self.journal = OpenOptions::new().append(true).open(journal)?;
        Ok(())
    }
}

/// A site with this many pages on a free local port. It counts how often each page was served, and
/// fails the first request for every seventh.
fn site(pages: u64) -> Outcome<(String, Arc<Vec<[AtomicU32; 2]>>)> {
    let server = tiny_http::Server::http("127.0.0.1:0").map_err(|error| error.to_string())?;
    let port = server.server_addr().to_ip().ok_or("no port")?.port();
    let counts: Arc<Vec<[AtomicU32; 2]>> =
        Arc::new((0..pages).map(|_| Default::default()).collect());
    let (given, root) = (counts.clone(), format!("http://127.0.0.1:{port}/page/0"));
    std::thread::spawn(move || {
        for request in server.incoming_requests() {
            let page = request.url().strip_prefix("/page/").and_then(|n| n.parse::<u64>().ok());
            let Some((page, [asked, fetched])) =
                page.and_then(|n| Some((n, given.get(n as usize)?)))
            else {
                _ = request.respond(tiny_http::Response::empty(404));
                continue;
            };
            if asked.fetch_add(1, Ordering::Relaxed) == 0 && page % 7 == 3 {
                _ = request.respond(tiny_http::Response::empty(503));
                continue;
            }
            fetched.fetch_add(1, Ordering::Relaxed);
            // The same pages in many spellings: only canonical URLs detect that.
            let next = |step: u64| (page * 3 + step) % pages;
            let links = [
                format!("http://127.0.0.1:{port}/page/{}", next(1)),
                format!("HTTP://127.0.0.1:{port}/./x/../page/{}#top", next(1)),
                format!("http://127.0.0.1:{port}/page/{}#a", next(2)),
                format!("http://127.0.0.1:{port}/page/{}", (page + 1) % pages),
            ];
            _ = request.respond(tiny_http::Response::from_string(links.join("\n")));
        }
    });
    Ok((root, counts))
}

/// Crawl a site with this many pages, killed once on the way; returns how often each was served.
fn crawl(pages: u64, folder: &Path) -> Outcome<Vec<u32>> {
    let (root, counts) = site(pages)?;
    let mut crawler = Crawler::open(folder)?;
    crawler.found(&root)?;
    let before = crawler.run(pages * 2 / 3)?;
    drop(crawler); // killed: nothing is saved on the way out
    let mut crawler = Crawler::open(folder)?;
    println!("killed after {before} pages, {} waiting again", crawler.queue.len());
    let after = crawler.run(u64::MAX)?;
    println!("{after} more pages; {}", crawler.fetched);
    Ok(counts.iter().map(|[_, fetched]| fetched.load(Ordering::Relaxed)).collect())
}

fn main() -> Outcome<()> {
    let pages = std::env::args().nth(1).map_or(Ok(2000), |pages| pages.parse())?;
    let folder = tempfile::tempdir()?;
    let given = crawl(pages, folder.path())?;
    let twice = given.iter().filter(|count| **count > 1).count();
    let never = given.iter().filter(|count| **count == 0).count();
    println!("{pages} pages: {twice} fetched twice, {never} never");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_fetched_once_through_failures_and_a_kill() -> Outcome<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(crawl(1200, folder.path())?, vec![1; 1200]);
        assert!(folder.path().join("fetched.mh").exists(), "a filter was saved on the way");
        Ok(())
    }

    #[test]
    fn a_journal_cut_off_in_a_line_is_read() -> Outcome<()> {
        let folder = tempfile::tempdir()?;
        let lines =
            "found http://a.example/\nfound http://b.example/\nfetched http://a.example/\nfou";
        fs::write(folder.path().join("journal"), lines)?;
        let crawler = Crawler::open(folder.path())?;
        assert_eq!(crawler.queue, [("http://b.example/".to_owned(), 0)]);
        Ok(())
    }
}
