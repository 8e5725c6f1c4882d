//! Load arguments and configurations: ours, and those of the modules we take the place of.

use mayhap_testkit::{Client, Server, Value, makes};

fn log_of(server: &Server) -> String {
    std::fs::read_to_string(server.dir.join("log")).unwrap()
}

fn get(client: &mut Client, name: &str) -> Option<String> {
    let mut pair = client.say(&format!("CONFIG GET {name}")).array();
    (pair.len() == 2).then(|| pair.remove(1).text())
}

#[test]
fn load_arguments_of_other_modules_start_the_server() {
    for make in makes() {
        let args = [
            "INITIAL_SIZE",
            "1234",
            "bf-error-rate",
            "0.02",
            "CF_MAX_EXPANSIONS",
            "16",
            "cf-bucket-size",
            "4",
            "bloom-tightening-ratio",
            "0.5",
        ];
        let server = Server::with_module(make, &args, &[]);
        let mut client = server.client();
        assert_eq!(get(&mut client, "mayhap.bf-error-rate").as_deref(), Some("0.02"));
        client.say("BF.ADD k a");
        assert_eq!(client.say("BF.INFO k CAPACITY"), Value::ints(&[1234]));
        let log = log_of(&server);
        for name in ["cf-max-expansions", "cf-bucket-size", "bloom-tightening-ratio"] {
            assert!(log.contains(&format!("{name} has no effect")), "{make:?}: {log}");
        }
    }
}

#[test]
fn configurations_have_redisblooms_names_where_the_server_lets_them() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        // Redis 8 and newer.
        let Some(rate) = get(&mut client, "bf-error-rate") else {
            assert_eq!(get(&mut client, "mayhap.bf-error-rate").as_deref(), Some("0.01"));
            assert!(!log_of(&server).contains("Invalid flag"), "nothing is tried in vain");
            continue;
        };
        assert_eq!(rate, "0.01");
        for (name, usual, good, bad) in [
            ("bf-error-rate", "0.01", "0.02", "1"),
            ("bf-initial-size", "100", "200", "0"),
            ("bf-expansion-factor", "4", "3", "32769"),
            ("cf-bucket-size", "2", "3", "256"),
            ("cf-initial-size", "1024", "2048", "0"),
            ("cf-max-iterations", "20", "30", "65536"),
            ("cf-expansion-factor", "1", "2", "-1"),
            ("cf-max-expansions", "32", "64", "65537"),
        ] {
            assert_eq!(get(&mut client, name).as_deref(), Some(usual), "{name}");
            assert_eq!(client.say(&format!("CONFIG SET {name} {good}")), Value::ok());
            let refused = client.say(&format!("CONFIG SET {name} {bad}"));
            assert!(refused.error().contains("must be in the range"), "{name}: {refused:?}");
            assert_eq!(get(&mut client, name).as_deref(), Some(good), "{name}");
        }
        assert_eq!(get(&mut client, "mayhap.bf-error-rate").as_deref(), Some("0.02"));
        // Both names, and not the same value.
        let args = ["--bf-error-rate", "0.03", "--mayhap.bf-error-rate", "0.04"];
        let both = Server::start(make, &args);
        assert_eq!(get(&mut both.client(), "bf-error-rate").as_deref(), Some("0.04"));
        assert!(log_of(&both).contains("bf-error-rate is set twice, to 0.03 and to 0.04"));
        // A file that has one name of a setting, or the other.
        for line in ["bf-error-rate 0.03", "mayhap.bf-error-rate 0.03"] {
            let (name, value) = line.split_once(' ').unwrap();
            let server = Server::start(make, &[&format!("--{name}"), value]);
            let mut client = server.client();
            assert_eq!(get(&mut client, "bf-error-rate").as_deref(), Some("0.03"), "{line}");
            assert_eq!(get(&mut client, "mayhap.bf-error-rate").as_deref(), Some("0.03"), "{line}");
        }
    }
}

#[test]
fn configurations_say_what_is_allowed() {
    for make in makes() {
        let server = Server::start(make, &["--mayhap.bf-initial-size", "300"]);
        let mut client = server.client();
        assert_eq!(get(&mut client, "mayhap.bf-initial-size").as_deref(), Some("300"));
        for (name, bad, text) in [
            ("bf-error-rate", "0", "[1e-12, 1)"),
            ("bf-error-rate", "x", "[1e-12, 1)"),
            ("bf-initial-size", "0", "[1, 1073741824]"),
            ("bf-expansion-factor", "-1", "[0, 32768]"),
            ("replies", "redis", "redisbloom"),
        ] {
            let refused = client.say(&format!("CONFIG SET mayhap.{name} {bad}"));
            assert!(refused.error().contains(text), "{make:?}: {name}: {refused:?}");
        }
        // No growth, as in RedisBloom.
        assert_eq!(client.say("CONFIG SET mayhap.bf-expansion-factor 0"), Value::ok());
        client.say("BF.ADD fixed a");
        assert_eq!(client.say("BF.INFO fixed EXPANSION"), Value::Array(vec![Value::Null]));
        assert_eq!(client.say("CONFIG SET mayhap.bf-expansion-factor 8"), Value::ok());
        client.say("BF.ADD grows a");
        assert_eq!(client.say("BF.INFO grows EXPANSION"), Value::ints(&[8]));
    }
}

#[test]
fn redisblooms_scheme_has_redisblooms_defaults() {
    for make in makes() {
        let server = Server::with_module(make, &["COMPAT", "yes"], &[]);
        let mut client = server.client();
        assert_eq!(get(&mut client, "mayhap.bf-expansion-factor").as_deref(), Some("2"));
        client.say("BF.RESERVE bf 0.01 10");
        (0..100).for_each(|item| _ = client.say(&format!("BF.ADD bf {item}")));
        // Line by line what RedisBloom answers.
        let lines = [
            "size:99",
            "bytes:16 bits:128 hashes:8 hashwidth:64 capacity:10 size:10 ratio:0.005",
            "bytes:32 bits:256 hashes:9 hashwidth:64 capacity:20 size:20 ratio:0.0025",
            "bytes:72 bits:576 hashes:10 hashwidth:64 capacity:40 size:40 ratio:0.00125",
            "bytes:160 bits:1280 hashes:11 hashwidth:64 capacity:80 size:29 ratio:0.000625",
        ];
        let debug = client.say("BF.DEBUG bf").array();
        assert_eq!(debug.into_iter().map(Value::text).collect::<Vec<_>>(), lines);
        let info = client.say("BF.INFO bf").array();
        assert_eq!(info[3], Value::Int(32 + 4 * 64 + 16 + 32 + 72 + 160));
        assert_eq!(info[9], Value::Int(2));
        // One filter of that scheme among others.
        assert_eq!(client.say("CONFIG SET mayhap.compat no"), Value::ok());
        assert_eq!(get(&mut client, "mayhap.bf-expansion-factor").as_deref(), Some("4"));
        client.say("BF.RESERVE theirs 0.01 10 COMPAT");
        assert_eq!(client.say("BF.INFO theirs EXPANSION"), Value::ints(&[2]));
        client.say("BF.RESERVE ours 0.01 10");
        assert_eq!(client.say("BF.INFO ours EXPANSION"), Value::ints(&[4]));
    }
}

#[test]
fn replies_have_the_shapes_of_either_family() {
    for make in makes() {
        let server = Server::with_module(make, &["REPLIES", "valkey-bloom"], &[]);
        for protocol in [2, 3] {
            let mut client = server.client();
            client.say(&format!("HELLO {protocol}"));
            client.say("FLUSHALL");
            client.say("BF.RESERVE fixed 0.01 2000 NONSCALING");
            assert_eq!(client.say("BF.ADD k a"), Value::Int(1));
            assert_eq!(client.say("BF.EXISTS k a"), Value::Int(1));
            assert_eq!(client.say("BF.MADD k a b"), Value::ints(&[0, 1]));
            assert_eq!(client.say("BF.MEXISTS k a z"), Value::ints(&[1, 0]));
            assert_eq!(client.say("BF.INFO fixed CAPACITY"), Value::Int(2000));
            assert_eq!(client.say("BF.INFO fixed EXPANSION"), Value::Null);
            let info = client.say("BF.INFO fixed").array();
            assert_eq!((info.len(), &info[1]), (10, &Value::Int(2000)));
        }
        let mut client = server.client();
        client.say("HELLO 3");
        assert_eq!(client.say("CONFIG SET mayhap.replies redisbloom"), Value::ok());
        assert_eq!(client.say("BF.EXISTS k a"), Value::Bool(true));
        let one = Value::Map(vec![(Value::Simple("Capacity".into()), Value::Int(2000))]);
        assert_eq!(client.say("BF.INFO fixed CAPACITY"), one);
        assert_eq!(get(&mut server.client(), "mayhap.replies").as_deref(), Some("redisbloom"));
    }
}

#[test]
fn insert_takes_an_expansion_for_filters_that_do_not_grow() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        let line = "BF.INSERT k CAPACITY 2 EXPANSION 2 NONSCALING ITEMS a b c";
        let answers = client.say(line).array();
        assert_eq!(answers[2].error(), "ERR non scaling filter is full", "{make:?}");
        assert_eq!(client.say("BF.INFO k EXPANSION"), Value::Array(vec![Value::Null]));
        let answer = client.say("BF.INSERT l NONSCALING EXPANSION 3 ERROR 0.1 ITEMS a");
        assert_eq!(answer, Value::ints(&[1]));
        assert_eq!(
            client.say("BF.INSERT l NOCREATE EXPANSION 1 NONSCALING ITEMS a").array().len(),
            1
        );
        let refused = client.say("BF.RESERVE m 0.01 10 EXPANSION 2 NONSCALING");
        assert_eq!(refused.error(), "Nonscaling filters cannot expand");
        assert_eq!(client.say("BF.RESERVE m 0.01 10 EXPANSION 0 NONSCALING"), Value::ok());
    }
}
