//! Never show a user what they have seen, on every scroll, in milliseconds.
//!
//! Why it is built so: a feed has thousands of candidates and must not repeat itself, and a plain
//! list of what each user has seen takes 70 KB per user. A seen list (`mayhap-seen`) takes a few
//! bytes per id, drops the oldest slice when it is full and expires when the user stays away.
//! Showing has two phases: what the server *offers* counts as seen for a minute, so that a
//! concurrent request does not get it too; what the screen really *showed* is confirmed, and what
//! the user never scrolled to comes back. The most popular comes first, and once all is seen there
//! is nothing to show: better an empty page than a stale one.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example feed
//! ```

use mayhap_seen::{Embedded, Seen, SeenError};
use std::error::Error;
use std::path::Path;

/// Articles per page of the feed.
const PAGE: usize = 20;
const OFFER_SECONDS: u64 = 60;

/// A toy recommender: everybody likes the same articles, most popular first.
struct Feed {
    seen: Seen<Embedded>,
    articles: Vec<String>,
}

impl Feed {
    fn open(file: &Path, articles: usize) -> Result<Feed, SeenError> {
        let articles = (0..articles).map(|i| format!("article-{i}")).collect();
        Ok(Feed { seen: Seen::new(Embedded::open(file)?), articles })
    }

    /// The next page: a few candidates at a time, so that no more is offered than fits.
    fn page(&self, user: &str) -> Result<Vec<&str>, SeenError> {
        let mut page = Vec::new();
        for candidates in self.articles.chunks(PAGE) {
            let room = PAGE - page.len();
            let unseen = self.seen.unseen(user.as_bytes(), candidates)?;
            let wanted: Vec<&str> = unseen.into_iter().take(room).map(String::as_str).collect();
            if wanted.is_empty() {
                continue; // all of these are seen
            }
            let offered = self.seen.offer(user.as_bytes(), &wanted, OFFER_SECONDS)?;
            page.extend(offered.into_iter().copied());
            if page.len() == PAGE {
                break;
            }
        }
        Ok(page)
    }

    /// What the screen really showed.
    fn shown(&self, user: &str, articles: &[&str]) -> Result<u64, SeenError> {
        self.seen.confirm(user.as_bytes(), articles)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let feed = Feed::open(&folder.path().join("seen.redb"), 500)?;
    for round in 1..=3 {
        let page = feed.page("ada")?;
        println!("page {round}: {} … {}", page[0], page[page.len() - 1]);
        feed.shown("ada", &page)?;
    }
    if let Some(stats) = feed.seen.stats_of(b"ada")? {
        println!("{stats:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn nothing_is_shown_twice_and_everything_once() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let feed = Feed::open(&folder.path().join("seen.redb"), 400)?;
        let mut shown = HashSet::new();
        loop {
            let page = feed.page("ada")?;
            assert!(page.iter().all(|article| shown.insert(article.to_string())), "shown again");
            if page.is_empty() {
                break;
            }
            feed.shown("ada", &page)?;
        }
        // All but the false positives.
        assert!(shown.len() >= 395, "{} of 400", shown.len());
        assert_eq!(feed.page("bob")?.len(), PAGE, "another user has seen nothing");
        Ok(())
    }

    #[test]
    fn what_is_on_offer_is_not_offered_twice() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let feed = Feed::open(&folder.path().join("seen.redb"), 400)?;
        let (first, second) = (feed.page("ada")?, feed.page("ada")?);
        assert!(first.len() == PAGE && second.len() == PAGE);
        assert!(first.iter().all(|article| !second.contains(article)));
        Ok(())
    }
}
