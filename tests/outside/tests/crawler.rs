//! A frontier that does not know how many pages there are, filled by threads and by tokio's tasks, saved
//! while they go on.
#![cfg(feature = "std")]

use mayhap::format::Metadata;
use mayhap::{Contains, Insert, Scalable, Unsupported};
use std::sync::Arc;

/// The links of a page that are certainly new.
fn fresh<'a>(seen: &mut dyn Insert, links: &[&'a str]) -> Result<Vec<&'a str>, Unsupported> {
    let mut fresh = Vec::new();
    for link in links {
        if seen.try_insert_bytes(link.as_bytes())? {
            fresh.push(*link);
        }
    }
    Ok(fresh)
}

fn visited(seen: impl Contains, link: &str) -> bool {
    seen.contains(link)
}

#[test]
fn threads_and_a_save() -> Result<(), Box<dyn std::error::Error>> {
    let seen = Arc::new(Scalable::with_rate(100, 0.001)?.into_shared());
    let crawlers: Vec<_> = (0..4)
        .map(|crawler| {
            let mut seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                let links: Vec<String> =
                    (0..1_000).map(|i| format!("https://{crawler}.example/{i}")).collect();
                let links: Vec<&str> = links.iter().map(String::as_str).collect();
                fresh(&mut seen, &links).map(|fresh| fresh.len())
            })
        })
        .collect();
    let mut file = Vec::new();
    seen.write_to(&mut file, &Metadata::new())?; // whatever is in by now
    for crawler in crawlers {
        assert!(crawler.join().unwrap()? > 990);
    }
    assert!((0..1_000).all(|i| visited(&seen, &format!("https://2.example/{i}"))));
    let mut file = Vec::new();
    seen.write_to(&mut file, &Metadata::new())?;
    let again = Scalable::read_from(file.as_slice(), None)?;
    assert!(again.contains("https://3.example/999") && again.layers().len() > 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks() -> Result<(), Box<dyn std::error::Error>> {
    let seen = Arc::new(Scalable::with_rate(10, 0.001)?.into_shared());
    let mut tasks = Vec::new();
    for task in 0..8u64 {
        let seen = Arc::clone(&seen);
        tasks.push(tokio::spawn(async move {
            (0..200u64).filter(|page| seen.insert((task % 4, *page))).count()
        }));
    }
    let mut new = 0;
    for task in tasks {
        new += task.await?;
    }
    // Every pair was offered twice: at least one of the two was told it is new, save false positives.
    assert!((790..=1_600).contains(&new), "{new}");
    Ok(())
}
