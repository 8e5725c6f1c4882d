//! `CF.*` as clients see it, on real servers.

use mayhap_testkit::{Client, Make, Server, Value, makes};

/// The same answers in both protocols.
fn yes(protocol: u8, yes: bool) -> Value {
    if protocol == 3 { Value::Bool(yes) } else { Value::Int(yes.into()) }
}

fn all(protocol: u8, answers: &[bool]) -> Value {
    Value::Array(answers.iter().map(|answer| yes(protocol, *answer)).collect())
}

fn clients(server: &Server) -> [(u8, Client); 2] {
    let (two, mut three) = (server.client(), server.client());
    three.say("HELLO 3");
    [(2, two), (3, three)]
}

#[test]
fn replies_have_the_shapes_of_redisbloom() {
    for make in makes() {
        let server = Server::start(make, &[]);
        for (p, mut c) in clients(&server) {
            c.say("FLUSHALL");
            // A secret under which no two of these items meet: every "no" below is certain.
            let secret = "SECRET 000102030405060708090a0b0c0d0e0f";
            assert_eq!(c.say(&format!("CF.RESERVE a 9 EXPANSION 0 {secret}")), Value::ok());
            assert_eq!(c.say("CF.ADD a 3"), yes(p, true));
            assert_eq!(c.say("CF.ADD a 4"), yes(p, true));
            assert_eq!(c.say("CF.ADDNX a 4"), yes(p, false));
            assert_eq!(c.say("CF.ADDNX a 9"), yes(p, true));
            assert_eq!(c.say("CF.INSERT a ITEMS 4 5"), all(p, &[true, true]));
            assert_eq!(c.say("CF.INSERTNX a ITEMS 4 6"), Value::ints(&[0, 1]));
            assert_eq!(c.say("CF.DEL a 3"), yes(p, true));
            assert_eq!(c.say("CF.DEL a 3"), yes(p, false));
            assert_eq!(c.say("CF.EXISTS a 3"), yes(p, false));
            assert_eq!(c.say("CF.EXISTS a 4"), yes(p, true));
            assert_eq!(c.say("CF.MEXISTS a 4 3"), all(p, &[true, false]));
            assert_eq!(c.say("CF.COUNT a 3"), Value::Int(0));
            assert_eq!(c.say("CF.COUNT a 4"), Value::Int(2));
            // Nine fit, and five are in.
            let full = c.say("CF.INSERT a ITEMS b c d e f g");
            let last = if p == 3 { Value::Bool(false) } else { Value::Int(-1) };
            let mut want = all(p, &[true; 4]).array();
            want.extend([last.clone(), last]);
            assert_eq!(full, Value::Array(want));
            assert_eq!(c.say("CF.INSERTNX a ITEMS z b"), Value::ints(&[-1, 0]));
            assert_eq!(c.say("CF.ADD a x").error(), "Filter is full");
            let names = [
                "Size",
                "Number of buckets",
                "Number of filters",
                "Number of items inserted",
                "Number of items deleted",
                "Bucket size",
                "Expansion rate",
                "Max iterations",
            ];
            let numbers: Vec<i64> = match c.say("CF.INFO a") {
                Value::Map(pairs) if p == 3 => {
                    let got = pairs.iter().map(|(name, _)| name.clone().text());
                    assert!(got.eq(names.map(str::to_owned)));
                    pairs.iter().map(|(_, value)| value.int()).collect()
                }
                Value::Array(flat) if p == 2 => {
                    let got = flat.iter().step_by(2).map(|name| name.clone().text());
                    assert!(got.eq(names.map(str::to_owned)));
                    flat.iter().skip(1).step_by(2).map(Value::int).collect()
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(numbers[1..], [4, 1, 9, 1, 2, 0, 20]);
            let line =
                "bktsize:2 buckets:4 items:9 deletes:1 filters:1 max_iterations:20 expansion:0";
            assert_eq!(c.say("CF.DEBUG a").text(), line);
            assert_eq!(c.say("CF.COMPACT a"), Value::ok());
            assert_eq!(c.say("TYPE a").text(), "mayhap-cf");
            // What is of another type.
            c.say("SET text x");
            c.say("BF.ADD bloom x");
            for key in ["text", "bloom"] {
                assert_eq!(c.say(&format!("CF.EXISTS {key} x")), yes(p, false));
                assert_eq!(c.say(&format!("CF.COUNT {key} x")), Value::Int(0));
                assert_eq!(c.say(&format!("CF.DEL {key} x")).error(), "Not found");
                assert!(c.say(&format!("CF.ADD {key} x")).error().starts_with("WRONGTYPE"));
                assert!(c.say(&format!("CF.RESERVE {key} 100")).error().starts_with("WRONGTYPE"));
            }
            assert!(c.say("BF.ADD a x").error().starts_with("WRONGTYPE"));
            assert_eq!(
                c.say("CF.RESERVE").error(),
                "ERR wrong number of arguments for 'cf.reserve' command"
            );
            // The end of a dump is null, and an empty filter has none.
            c.say("CF.RESERVE empty 10");
            let end = Value::Array(vec![Value::Int(0), Value::Null]);
            assert_eq!(c.say("CF.SCANDUMP empty 0"), end);
            let after = c.say("CF.SCANDUMP a 1").array()[0].int();
            assert_eq!(c.say(&format!("CF.SCANDUMP a {after}")), end);
        }
    }
}

/// RedisBloom's issues 533 and 599: each copy in a slot of its own, and no growth after 32 times.
#[test]
fn copies_cost_a_counter_and_nothing_is_refused() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut c = server.client();
        c.say("CF.ADD k hot");
        let bytes = c.say("MEMORY USAGE k").int();
        let many = vec!["hot"; 10_000];
        for _ in 0..14 {
            c.call(&[&["CF.INSERT", "k", "ITEMS"], &many[..]].concat());
        }
        assert_eq!(c.say("CF.COUNT k hot"), Value::Int(140_001));
        assert!(c.say("MEMORY USAGE k").int() < bytes + 100);
        c.say("CF.RESERVE small 4");
        let names: Vec<String> = (0..100_000).map(|item| item.to_string()).collect();
        for items in names.chunks(1000) {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            let taken = c.call(&[&["CF.INSERT", "small", "ITEMS"], &items[..]].concat());
            assert_eq!(taken, Value::ints(&[1; 1000]));
        }
        for items in names.chunks(1000) {
            let items: Vec<&str> = items.iter().map(String::as_str).collect();
            let found = c.call(&[&["CF.MEXISTS", "small"], &items[..]].concat());
            assert_eq!(found, Value::ints(&[1; 1000]));
        }
    }
}

#[test]
fn limits_settings_and_rights_are_those_of_the_other_commands() {
    for make in makes() {
        let args =
            ["MAX_FILTER_BYTES", "4000", "cf-initial-size", "64", "cf-expansion-factor", "0"];
        let server = Server::with_module(make, &args, &[]);
        let mut c = server.client();
        let refused = c.say("CF.RESERVE k 100000");
        assert!(refused.error().contains("max-filter-bytes"), "{refused:?}");
        assert_eq!(c.say("CF.RESERVE k 1000 EXPANSION 1"), Value::ok());
        let mut taken = 0;
        while c.say(&format!("CF.ADD k {taken}")) == Value::Int(1) {
            taken += 1;
        }
        assert!((1000..2200).contains(&taken), "{taken}");
        let refused = c.say("CF.ADD k more");
        assert!(refused.error().contains("max-filter-bytes"), "{refused:?}");
        assert_eq!(c.say("CF.MEXISTS k 0 999"), Value::ints(&[1, 1]), "nothing is lost");
        c.say("CF.ADD auto x");
        let line = "bktsize:2 buckets:32 items:1 deletes:0 filters:1 max_iterations:20 expansion:0";
        assert_eq!(c.say("CF.DEBUG auto").text(), line);
        // Out of memory: what frees and what reads goes on.
        c.say("CONFIG SET maxmemory 1");
        assert!(c.say("CF.ADD auto y").error().starts_with("OOM"));
        assert_eq!(c.say("CF.DEL auto x"), Value::Int(1));
        assert_eq!(c.say("CF.EXISTS auto x"), Value::Int(0));
        c.say("CONFIG SET maxmemory 0");
        // Redis 7.0 has no categories for modules.
        if make != Make::Redis {
            let names = c.say("ACL CAT cuckoo").array();
            assert_eq!(names.len(), mayhap_module::table::CUCKOO.len());
            c.say("ACL SETUSER reader on nopass ~* +@read -@write");
            let mut reader = server.client();
            reader.say("AUTH reader x");
            assert_eq!(reader.say("CF.EXISTS k 1"), Value::Int(1));
            assert!(reader.say("CF.ADD k 1").error().starts_with("NOPERM"));
        }
        c.say("CF.RESERVE gone 1000");
        assert_eq!(c.say("UNLINK gone"), Value::Int(1));
        let prefixed = Server::with_module(make, &["PREFIX", "MH"], &[]);
        let mut c = prefixed.client();
        assert_eq!(c.say("MHCF.ADD k x"), Value::Int(1));
        assert!(c.say("CF.ADD k x").error().starts_with("ERR unknown command"));
    }
}
