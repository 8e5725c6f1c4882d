//! Servers whose memory is full: those that evict make room, those that do not refuse in time.

use mayhap_testkit::{Client, Server, Value, eventually, makes};

fn number(client: &mut Client, section: &str, name: &str) -> u64 {
    let info = client.say(&format!("INFO {section}")).text();
    let line = info.lines().find_map(|line| line.strip_prefix(&format!("{name}:"))).unwrap();
    line.trim().parse().unwrap()
}

/// Keys until `maxmemory` is reached, whatever the server does about it then.
fn fill(client: &mut Client, expire: bool) {
    let value = "x".repeat(10_000);
    for at in 0..4000 {
        let key = format!("text-{at}");
        let answer = match expire {
            true => client.call(&["SET", &key, &value, "EX", "100000"]),
            false => client.call(&["SET", &key, &value]),
        };
        if !answer.error().is_empty() || number_of_evicted(client, at) > 50 {
            return;
        }
    }
    panic!("20 MB are not enough to fill 10");
}

fn number_of_evicted(client: &mut Client, at: u32) -> u64 {
    if at.is_multiple_of(50) { number(client, "stats", "evicted_keys") } else { 0 }
}

/// 10 MB more than an empty server has.
fn limit(client: &mut Client) {
    let used = number(client, "memory", "used_memory");
    client.say(&format!("CONFIG SET maxmemory {}", used + (10 << 20)));
}

#[test]
fn a_server_that_evicts_makes_room_for_filters() {
    for make in makes() {
        for policy in
            ["allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-ttl"]
        {
            let mut server = Server::start(make, &["--maxmemory-policy", policy]);
            let mut client = server.client();
            limit(&mut client);
            fill(&mut client, policy.starts_with("volatile"));
            let what = format!("{make:?}, {policy}");
            let before = number(&mut client, "stats", "evicted_keys");
            // Made: small, and of a megabyte.
            assert_eq!(client.say("BF.ADD small a"), Value::Int(1), "{what}");
            assert_eq!(client.say("BF.RESERVE big 0.01 600000"), Value::ok(), "{what}");
            // Grown, while it is in use: it stays where the least used goes first.
            client.say("BF.RESERVE grows 0.01 1000");
            let items: Vec<String> = (0..200_000).map(|item| item.to_string()).collect();
            for chunk in items.chunks(20_000) {
                let mut words = vec!["BF.MADD", "grows"];
                words.extend(chunk.iter().map(String::as_str));
                let answers = client.call(&words).array();
                let last = answers.last().unwrap();
                assert!(last.error().is_empty(), "{what}: {last:?}");
            }
            // Merged and loaded.
            client.say("BF.MADD one a b");
            assert_eq!(client.say("BF.MERGE two one"), Value::ok(), "{what}");
            let head = client.say("BF.SCANDUMP one 0").array().remove(1).bytes();
            let answer = client.call(&[&b"BF.LOADCHUNK"[..], b"copy", b"1", &head]);
            assert_eq!(answer, Value::ok(), "{what}");
            let evicted = number(&mut client, "stats", "evicted_keys");
            assert!(evicted > before, "{what}: {evicted} evicted");
            client.say("PING");
            let used = number(&mut client, "memory", "used_memory");
            let most = number(&mut client, "memory", "maxmemory");
            assert!(used <= most + (1 << 20), "{what}: {used} of {most}");
            assert!(server.is_alive());
        }
    }
}

#[test]
fn a_server_that_does_not_evict_refuses_before_it_is_full() {
    for make in makes() {
        let mut server = Server::start(make, &["--maxmemory-policy", "noeviction"]);
        let mut client = server.client();
        limit(&mut client);
        assert_eq!(client.say("BF.RESERVE fits 0.01 600000"), Value::ok());
        let refused = client.say("BF.RESERVE filter 0.01 100000000");
        let none = "ERR Insufficient memory to create filter";
        assert!(refused.error().starts_with(none), "{make:?}: {refused:?}");
        assert!(refused.error().contains("maxmemory"), "{make:?}: {refused:?}");
        // It tells how much is missing.
        assert!(refused.error().contains("157"), "{make:?}: {refused:?}");
        // What is left is enough for small filters and not for more of such a size.
        let used = number(&mut client, "memory", "used_memory");
        client.say(&format!("CONFIG SET maxmemory {}", used + 700_000));
        assert_eq!(client.say("BF.ADD small a"), Value::Int(1), "{make:?}");
        let head = client.say("BF.SCANDUMP fits 0").array().remove(1).bytes();
        let refusals = [
            client.say("BF.RESERVE new 0.01 600000"),
            client.say("BF.INSERT new CAPACITY 600000 ITEMS a"),
            client.say("BF.MERGE new fits"),
            client.call(&[&b"BF.LOADCHUNK"[..], b"new:loading-7", b"1", &head]),
        ];
        for refused in refusals {
            let named = format!("{none} new: it takes ");
            assert!(refused.error().starts_with(&named), "{make:?}: {refused:?}");
        }
        let items: Vec<String> = (0..300_000).map(|item| item.to_string()).collect();
        // In small commands: their words take memory of the same server.
        let stopped = items.chunks(500).find_map(|chunk| {
            let mut words = vec!["BF.MADD", "small"];
            words.extend(chunk.iter().map(String::as_str));
            client.call(&words).array().pop().filter(|last| !last.error().is_empty())
        });
        let stopped = stopped.unwrap();
        let full = "ERR problem inserting into filter small: its next layer takes ";
        assert!(stopped.error().starts_with(full), "{make:?}: {stopped:?}");
        assert_eq!(client.say("EXISTS new"), Value::Int(0));
        assert_eq!(client.say("BF.EXISTS fits a"), Value::Int(0), "reads are answered");
        assert!(number(&mut client, "stats", "evicted_keys") == 0 && server.is_alive());
    }
}

#[test]
fn nothing_to_evict_is_the_servers_to_tell() {
    for make in makes() {
        // Nothing of what is there expires, so there is nothing that may be evicted: the server
        // takes what comes while it is below its limit, and nothing after that.
        let mut server = Server::start(make, &["--maxmemory-policy", "volatile-lru"]);
        let mut client = server.client();
        limit(&mut client);
        assert_eq!(client.say("BF.RESERVE large 0.01 10000000"), Value::ok());
        assert!(client.say("BF.ADD other a").error().starts_with("OOM"), "{make:?}");
        assert_eq!(client.say("BF.EXISTS large a"), Value::Int(0));
        assert_eq!(client.say("DEL large"), Value::Int(1));
        // Some servers free in the background.
        eventually("freed", || client.say("BF.ADD other a") == Value::Int(1));
        // Beyond the machine's memory there is nothing to be had, whatever is evicted.
        let refused = client.say("BF.RESERVE huge 0.000000001 1073741824 KIND counting");
        if number(&mut client, "memory", "total_system_memory") < 20 << 30 {
            assert!(refused.error().contains("Insufficient memory"), "{make:?}: {refused:?}");
        }
        assert!(server.is_alive());
    }
}

#[test]
fn the_operators_limit_holds_whatever_is_evicted() {
    for make in makes() {
        let server = Server::with_module(
            make,
            &["MAX_FILTER_BYTES", "1000000"],
            &["--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"],
        );
        let mut client = server.client();
        let refused = client.say("BF.RESERVE k 0.01 10000000");
        assert!(refused.error().contains("max-filter-bytes"), "{make:?}: {refused:?}");
        client.say("BF.RESERVE g 0.01 1000");
        let items: Vec<String> = (0..2_000_000).map(|item| item.to_string()).collect();
        let mut stopped = String::new();
        for chunk in items.chunks(100_000) {
            let mut words = vec!["BF.MADD", "g"];
            words.extend(chunk.iter().map(String::as_str));
            stopped = client.call(&words).array().last().unwrap().error().to_owned();
            if !stopped.is_empty() {
                break;
            }
        }
        assert!(stopped.contains("max-filter-bytes"), "{make:?}: {stopped:?}");
    }
}
