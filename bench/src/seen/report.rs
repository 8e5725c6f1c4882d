//! The section of seen lists: tables, targets, and the cost per owner at other sizes.

use super::server::{connection, used_memory};
use super::{Options, PAGE, Row, Store, competitors, id, stores};
use crate::comparison::{median, ratio};
use crate::page::{self, table};
use crate::report::{amount, targets_table};
use crate::targets::Target;
use mayhap_seen::{List, Operation, Policy, encode, hash_ids};
use mayhap_testkit::Server;
use std::fmt::Write;
use std::path::Path;

/// Bytes per owner: in Mayhap's record, and in the server's memory for each layout.
pub struct Size {
    ids: u64,
    record_bytes: u64,
    compact: f64,
    go_lists: f64,
    sorted: f64,
    plain: f64,
}

/// Measure owners of several sizes, some hundred of each.
pub fn sizes(server: &Server) -> Result<Vec<Size>, String> {
    const OWNERS: u64 = 200;
    let mut sizes = vec![];
    for (at, ids) in [1, 20, 100, 1000, 5000].into_iter().enumerate() {
        let db = 6 + at as u32;
        let mut memory = connection(server, db)?;
        let mut of = |mut store: Box<dyn Store>, name: &str| {
            let before = used_memory(&mut memory);
            for first in (0..ids).step_by(PAGE) {
                let page =
                    |n| (first..(first + PAGE as u64).min(ids)).map(|at| id(n, at)).collect();
                let shown: Vec<_> =
                    (0..OWNERS).map(|n| (format!("{name}-{n:08}"), page(n))).collect();
                store.fill(&shown);
            }
            used_memory(&mut memory).saturating_sub(before) as f64 / OWNERS as f64
        };
        sizes.push(Size {
            ids,
            record_bytes: record_bytes(ids),
            compact: of(Box::new(stores::Ours::redis("", server, db, "compact")?), "compact"),
            go_lists: of(
                Box::new(competitors::Seed::new(server, db, competitors::Codec::Package)?),
                "lists",
            ),
            sorted: of(
                Box::new(competitors::Sorted::new(server, db, competitors::Mode::EachScore)?),
                "zset",
            ),
            plain: of(Box::new(competitors::Plain::new(server, db)?), "set"),
        });
    }
    Ok(sizes)
}

fn record_bytes(ids: u64) -> u64 {
    let policy = Policy::default();
    let mut list = List::default();
    for first in (0..ids).step_by(PAGE) {
        let page: Vec<String> =
            (first..(first + PAGE as u64).min(ids)).map(|at| id(7, at)).collect();
        list.apply(
            &Operation::Mark,
            &hash_ids(b"user-00000007", &page),
            &policy,
            1_800_000_000 + first,
        );
    }
    encode(&list).len() as u64
}

pub fn write(options: Options, rows: &[Row], sizes: &[Size], docs: &Path) -> std::io::Result<()> {
    let text = text(options, rows, sizes);
    println!("{text}");
    page::write_part(docs, page::SEEN, &text)
}

fn text(options: Options, rows: &[Row], sizes: &[Size]) -> String {
    let Options { owners, ids, candidates, turns } = options;
    let mut text = format!(
        "## Seen lists\n\nWritten by `cargo xtask bench seen`: {} owners of {ids} ids, {candidates} \
         candidates per lookup (a tenth of them seen), {PAGE} ids per mark, {turns} turns, one client, \
         client and server on the same machine, whose processors are kept awake. Stores take turns, each turn with another owner; \
         ratios are medians over turns. Redis memory is all the server uses for it; embedded bytes \
         are the records without the file's own. The Go lists' algorithm runs in Rust here: once step by step as the Go package does it, once with our own code for its filters.\n\n",
        amount(owners),
    );
    text.push_str(&targets_table(targets(rows, sizes)));
    text.push('\n');
    let ours = &rows[1];
    let line = |row: &Row| {
        let micros = |times: &[f64]| median(times.iter().copied()).unwrap_or(f64::NAN);
        let against = ratio(&row.unseen, &ours.unseen).unwrap_or(f64::NAN);
        vec![
            row.name.to_owned(),
            format!("{:.0}", micros(&row.unseen)),
            format!("{:.0}", 1e6 / micros(&row.unseen)),
            format!("{against:.2}"),
            format!("{:.0}", micros(&row.mark)),
            format!("{:.0}", row.bytes_per_owner),
            row.lost.to_string(),
        ]
    };
    let head =
        ["store", "unseen µs", "a second", "against compact", "mark µs", "bytes / owner", "lost"];
    text.push_str(&table(&head, &rows.iter().map(line).collect::<Vec<_>>()));
    text.push_str("\nBytes an owner by ids:\n\n");
    let line = |size: &Size| {
        let shown = |bytes: f64| format!("{bytes:.0}");
        let mut cells = vec![size.ids.to_string(), size.record_bytes.to_string()];
        cells.extend([size.compact, size.go_lists, size.sorted, size.plain].map(shown));
        cells
    };
    let head = ["ids", "record", "Redis compact", "Redis Go lists", "Redis ZSET", "Redis SET"];
    text.push_str(&table(&head, &sizes.iter().map(line).collect::<Vec<_>>()));
    let losses: Vec<String> = slower(rows);
    if !losses.is_empty() {
        _ = write!(
            text,
            "\nFaster than our compact layout on the same server: {}.\n",
            losses.join(", ")
        );
    }
    text
}

/// The stores that answer sooner than the compact layout.
fn slower(rows: &[Row]) -> Vec<String> {
    let faster = |row: &&Row| ratio(&row.unseen, &rows[1].unseen).is_some_and(|ratio| ratio < 1.0);
    rows[3..].iter().filter(faster).map(|row| row.name.to_owned()).collect()
}

fn targets(rows: &[Row], sizes: &[Size]) -> Vec<Target> {
    let [embedded, compact, list, seed, sorted, ..] = rows else { return vec![] };
    let bytes = |a: &Row, b: &Row| Some(a.bytes_per_owner / b.bytes_per_owner);
    let speed = |ours: &Row, theirs: &Row| ratio(&theirs.unseen, &ours.unseen);
    let record = |ids: u64| sizes.iter().find(|size| size.ids == ids).map(|size| size.record_bytes);
    let most = |ids: u64, bar: u64| Target {
        what: format!("seen: bytes of a record of {ids} ids"),
        bar: format!("≤ {bar}"),
        reached: record(ids).map_or("not run".to_owned(), |bytes| bytes.to_string()),
        ok: record(ids).map(|bytes| bytes <= bar),
    };
    vec![
        Target::at_most("seen: compact bytes per owner against ZSET", 0.25, bytes(compact, sorted)),
        Target::at_most(
            "seen: compact bytes per owner against Go lists",
            0.6,
            bytes(compact, seed),
        ),
        most(20, 200),
        most(5000, 11_000),
        Target::at_least(
            "seen: compact `unseen` against ZSCORE pipelined",
            10.0,
            speed(compact, sorted),
        ),
        Target::at_least("seen: compact `unseen` against Go lists", 1.0, speed(compact, seed)),
        Target::at_least("seen: list layout `unseen` against Go lists", 1.0, speed(list, seed)),
        Target::at_least(
            "seen: embedded `unseen` against compact on Redis",
            5.0,
            speed(embedded, compact),
        ),
    ]
}
