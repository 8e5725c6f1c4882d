//! How often a call goes to the server and back.

use crate::seed::Seed;
use crate::server::Server;
use mayhap_redis::redis::{Connection, cmd};
use mayhap_seen::redis::Redis;
use mayhap_seen::{Policy, Seen};

fn names(range: std::ops::Range<u32>) -> Vec<String> {
    range.map(|n| format!("id-{n}")).collect()
}

/// How often the server has read from a client.
fn reads(server: &mut Connection) -> u64 {
    let info: String = cmd("INFO").arg("stats").query(server).unwrap();
    let line = info.lines().find_map(|line| line.strip_prefix("total_reads_processed:"));
    line.unwrap().trim().parse().unwrap()
}

/// Trips that a call makes, besides the one that counts them.
fn trips(server: &mut Connection, call: impl FnOnce()) -> u64 {
    let before = reads(server);
    call();
    reads(server) - before - 1
}

#[test]
fn one_trip_for_a_question_and_one_for_a_mark() {
    let Some(server) = Server::start(&[]) else { return };
    let mut go = server.connection();
    for layout in ["compact", "list"] {
        let url = format!("{}?layout={layout}", server.url());
        let seen = Seen::new(Redis::open(&url).unwrap());
        // The first calls of all connect and teach the server the scripts.
        for page in 0..4 {
            let ids = names(page * 20..page * 20 + 20);
            seen.mark(format!("first-{layout}").as_bytes(), &ids).unwrap();
        }
        let owner = format!("user-{layout}");
        for page in 0..60 {
            let ids = names(page * 20..page * 20 + 20);
            let mark = || _ = seen.mark(owner.as_bytes(), &ids).unwrap();
            assert_eq!(trips(&mut go, mark), 1, "{layout}, page {page}");
        }
        let candidates = names(0..1000);
        let ask = || assert!(seen.unseen(owner.as_bytes(), &candidates).unwrap().is_empty());
        assert_eq!(trips(&mut go, ask), 1, "{layout}");
        let owners: Vec<String> = (0..50).map(|n| format!("{layout}-{n}")).collect();
        let ids = names(0..3);
        let shown: Vec<(&[u8], &[String])> =
            owners.iter().map(|owner| (owner.as_bytes(), ids.as_slice())).collect();
        let mark = || assert_eq!(seen.mark_many(&shown).unwrap(), vec![3; 50]);
        assert_eq!(trips(&mut go, mark), 1, "{layout}: many owners");
        let ask = || assert_eq!(seen.unseen_many(&shown).unwrap(), vec![Vec::<&String>::new(); 50]);
        assert_eq!(trips(&mut go, ask), 1, "{layout}: many owners");
    }
}

/// Whoever marks first asks for the policy once.
#[test]
fn a_first_mark_is_two_scripts() {
    let Some(server) = Server::start(&[]) else { return };
    let mut redis = server.connection();
    Seen::new(Redis::open(&server.url()).unwrap()).mark(b"user", &["a"]).unwrap();
    let scripts = |redis: &mut Connection| -> u64 {
        let info: String = cmd("INFO").arg("commandstats").query(redis).unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        line.unwrap().split(',').next().unwrap().parse().unwrap()
    };
    let before = scripts(&mut redis);
    // Where none is stored yet.
    let url = format!("{}?prefix=other:", server.url());
    Seen::new(Redis::open(&url).unwrap()).mark(b"user", &["b"]).unwrap();
    assert_eq!(scripts(&mut redis) - before, 2);
}

/// Folds take no trip of their own, and are made all the same: by a program that goes on, and by
/// programs that mark one page and end.
#[test]
fn records_stay_short_without_trips_for_it() {
    let Some(server) = Server::start(&[]) else { return };
    let mut redis = server.connection();
    let ttl = Seen::new(Redis::open(&server.url()).unwrap());
    for page in 0..50 {
        let ids = names(page * 20..page * 20 + 20);
        ttl.mark(b"lasting", &ids).unwrap();
        Seen::new(Redis::open(&server.url()).unwrap()).mark(b"fleeting", &ids).unwrap();
    }
    for owner in ["lasting", "fleeting"] {
        let bytes: u64 = cmd("STRLEN").arg(owner).query(&mut redis).unwrap();
        let short = ttl.export(owner.as_bytes()).unwrap().unwrap().len() as u64;
        // Appended alone a thousand ids would be 8 KB and more.
        assert!(bytes < short + 1200, "{owner}: {bytes} bytes, {short} when folded");
        assert!(ttl.unseen(owner.as_bytes(), &names(0..1000)).unwrap().is_empty());
    }
}

/// What is changed by compare and set goes twice; nothing of ours goes more often when alone.
#[test]
fn two_trips_where_a_script_cannot_do_it() {
    let Some(server) = Server::start(&[]) else { return };
    let mut redis = server.connection();
    let seen = Seen::new(Redis::open(&format!("{}?layout=list", server.url())).unwrap());
    seen.mark_unseen(b"first", &["a"]).unwrap();
    let offer = || assert_eq!(seen.offer(b"user", &["a", "b"], 60).unwrap().len(), 2);
    assert_eq!(trips(&mut redis, offer), 2);
    let mark = || assert_eq!(seen.mark_unseen(b"user", &["b", "c"]).unwrap(), [&"c"]);
    assert_eq!(trips(&mut redis, mark), 2);
}

#[test]
fn lists_that_go_programs_wrote_are_marked_in_one_trip() {
    let Some(server) = Server::start(&[]) else { return };
    let mut go = server.connection();
    // Over several slices, each beginning and end of one included.
    for page in 0..130 {
        Seed(Policy::default()).set_exposed(&mut go, "user", &names(page * 20..page * 20 + 20));
    }
    let seen = Seen::new(Redis::open(&format!("{}?layout=list", server.url())).unwrap());
    seen.mark(b"first", &["a"]).unwrap();
    for page in 120..200 {
        let ids = names(page * 20..page * 20 + 20);
        let mut new = 0;
        assert_eq!(trips(&mut go, || new = seen.mark(b"user", &ids).unwrap()), 1, "page {page}");
        let known = page < 130;
        assert!(if known { new == 0 } else { new >= 18 }, "{new} of page {page} were new");
    }
    assert!(seen.unseen(b"user", &names(0..4000)).unwrap().is_empty());
}

/// What the script does not know the shape of is changed by compare and set, as ever.
#[test]
fn elements_of_another_shape_are_kept_and_marked_beside() {
    let Some(server) = Server::start(&[]) else { return };
    let mut go = server.connection();
    let small = Redis::open_with(
        mayhap_seen::redis::Options::parse(&format!("{}?layout=list", server.url()))
            .unwrap()
            .with_policy("ids=100,rate=0.01".parse().unwrap()),
    );
    Seen::new(small.unwrap()).mark(b"user", &names(0..50)).unwrap();
    cmd("RPUSH").arg("user").arg("not a filter").exec(&mut go).unwrap();
    // As other programs leave it, who store no policy.
    cmd("DEL").arg("mayhap-seen:policy").exec(&mut go).unwrap();
    let seen = Seen::new(Redis::open(&format!("{}?layout=list", server.url())).unwrap());
    assert_eq!(seen.mark(b"user", &names(100..120)).unwrap(), 20);
    assert!(seen.unseen(b"user", &names(100..120)).unwrap().is_empty());
    let elements: Vec<String> = cmd("LRANGE").arg("user").arg(0).arg(-1).query(&mut go).unwrap();
    assert_eq!(elements.last().unwrap(), "not a filter");
    // A call too large for a script goes the same way, and so does a damaged element.
    assert!(seen.mark(b"many", &names(0..700)).unwrap() > 690);
    assert!(seen.unseen(b"many", &names(0..700)).unwrap().is_empty());
    let broken = format!("5::{}", "!".repeat(2400));
    cmd("RPUSH").arg("broken").arg(&broken).exec(&mut go).unwrap();
    assert_eq!(seen.mark(b"broken", &["a"]).unwrap(), 1);
    assert!(seen.unseen(b"broken", &["a"]).unwrap().is_empty());
    let elements: Vec<String> = cmd("LRANGE").arg("broken").arg(0).arg(-1).query(&mut go).unwrap();
    assert_eq!((elements.len(), &elements[1]), (2, &broken));
}
