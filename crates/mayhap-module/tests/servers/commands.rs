//! Every command, its replies and its errors, on every server, in both protocols.

use mayhap_module::table::{COMMANDS, Command, Origin};
use mayhap_testkit::{Client, Make, Server, Value, makes};

fn clients(server: &Server) -> [(u8, Client); 2] {
    let (two, mut three) = (server.client(), server.client());
    three.say("HELLO 3");
    [(2, two), (3, three)]
}

/// A reply as RESP2 has it, in RESP3's words where that is spoken.
fn yes_no(protocol: u8, all: &[i64]) -> Value {
    let one = |int: &i64| if protocol == 3 { Value::Bool(*int == 1) } else { Value::Int(*int) };
    Value::Array(all.iter().map(one).collect())
}

fn single(protocol: u8, int: i64) -> Value {
    if protocol == 3 { Value::Bool(int == 1) } else { Value::Int(int) }
}

#[test]
fn replies_are_those_clients_expect() {
    for make in makes() {
        let server = Server::start(make, &[]);
        for (protocol, mut client) in clients(&server) {
            client.say("FLUSHALL");
            let c = &mut client;
            assert_eq!(c.say("BF.RESERVE k 0.01 1000"), Value::ok());
            assert_eq!(c.say("BF.ADD k a"), single(protocol, 1));
            assert_eq!(c.say("BF.ADD k a"), single(protocol, 0));
            assert_eq!(c.say("BF.MADD k a b"), yes_no(protocol, &[0, 1]));
            assert_eq!(c.say("BF.INSERT k ITEMS b c"), yes_no(protocol, &[0, 1]));
            assert_eq!(c.say("BF.EXISTS k a"), single(protocol, 1));
            assert_eq!(c.say("BF.EXISTS none a"), single(protocol, 0));
            assert_eq!(c.say("BF.MEXISTS k a x"), yes_no(protocol, &[1, 0]));
            assert_eq!(c.say("BF.MEXISTS none a x"), yes_no(protocol, &[0, 0]));
            assert_eq!(c.say("BF.MEXISTSANY none k ITEMS a x"), yes_no(protocol, &[1, 0]));
            assert_eq!(c.say("BF.CARD k"), Value::Int(3));
            assert_eq!(c.say("BF.CARD none"), Value::Int(0));
            let names = [
                "Capacity",
                "Size",
                "Number of filters",
                "Number of items inserted",
                "Expansion rate",
            ];
            match c.say("BF.INFO k") {
                Value::Map(pairs) => {
                    assert_eq!(protocol, 3);
                    let keys: Vec<_> = pairs.into_iter().map(|(key, _)| key.text()).collect();
                    assert_eq!(keys, names);
                }
                Value::Array(flat) => {
                    assert_eq!((protocol, flat.len()), (2, 10));
                    assert_eq!(flat[1], Value::Int(1000));
                    assert_eq!(flat[7], Value::Int(3));
                    assert_eq!(flat[9], Value::Int(4));
                    let keys: Vec<_> = flat.into_iter().step_by(2).map(Value::text).collect();
                    assert_eq!(keys, names);
                }
                other => panic!("{other:?}"),
            }
            let capacity = Value::Int(1000);
            assert_eq!(
                c.say("BF.INFO k capacity"),
                match protocol {
                    3 => Value::Map(vec![(Value::Simple("Capacity".into()), capacity)]),
                    _ => Value::Array(vec![capacity]),
                }
            );
            c.say("BF.RESERVE fixed 0.01 2 NONSCALING");
            let full = Value::Error("ERR non scaling filter is full".into());
            let mut stopped = yes_no(protocol, &[1, 1]).array();
            stopped.push(full.clone());
            assert_eq!(c.say("BF.MADD fixed a b c d"), Value::Array(stopped));
            assert_eq!(c.say("BF.ADD fixed c"), full);
            assert_eq!(c.say("BF.RESERVE k 0.01 5 NX"), Value::Null);
            assert_eq!(
                c.say("BF.UNSEEN k a z MARK"),
                Value::Array(vec![Value::Bytes(b"z".into())])
            );
            assert_eq!(c.say("BF.UNSEEN k a z MARK"), Value::Array(vec![]));
            c.say("BF.RESERVE counting 0.01 100 KIND counting");
            c.say("BF.ADD counting a");
            assert_eq!(c.say("BF.DEL counting a b"), yes_no(protocol, &[1, 0]));
            assert_eq!(c.say("BF.CLEAR k"), Value::ok());
            assert_eq!(c.say("BF.EXISTS k a"), single(protocol, 0));
            c.say("BF.ADD x 1");
            c.say("BF.ADD y 2");
            assert!(c.say("BF.MERGE x y").error().contains("secrets"));
            assert_eq!(c.say("BF.MERGE x y LAYERS"), Value::ok());
            assert_eq!(c.say("BF.MEXISTS x 1 2 3"), yes_no(protocol, &[1, 1, 0]));
            let dump = c.say("BF.SCANDUMP k 0").array();
            assert_eq!(dump[0], Value::Int(1));
        }
    }
}

#[test]
fn errors_are_those_clients_expect() {
    for make in makes() {
        let server = Server::start(make, &[]);
        for (_, mut client) in clients(&server) {
            client.say("FLUSHALL");
            client.say("BF.RESERVE k 0.01 100");
            client.say("SET text hello");
            for (line, text) in [
                ("BF.RESERVE n x 10", "ERR bad error rate"),
                ("BF.RESERVE n 1 10", "ERR error rate must be in the range (0.000000, 1.000000)"),
                ("BF.RESERVE n 0.1 x", "ERR bad capacity"),
                ("BF.RESERVE n 0.1 0", "ERR capacity must be in the range [1, 1073741824]"),
                ("BF.RESERVE n 0.1 9 EXPANSION", "ERR no expansion"),
                ("BF.RESERVE n 0.1 9 EXPANSION x", "ERR bad expansion"),
                (
                    "BF.RESERVE n 0.1 9 EXPANSION -1",
                    "ERR expansion must be in the range [0, 32768]",
                ),
                ("BF.RESERVE n 0.1 9 NONSCALING EXPANSION 2", "Nonscaling filters cannot expand"),
                ("BF.RESERVE k 0.1 9", "ERR item exists"),
                ("BF.INSERT n NOCREATE ITEMS a", "ERR not found"),
                ("BF.INSERT n FOO ITEMS a", "Unknown argument received"),
                ("BF.INSERT n ERROR x ITEMS a", "Bad error rate"),
                ("BF.INSERT n CAPACITY x ITEMS a", "Bad capacity"),
                ("BF.INSERT n EXPANSION x ITEMS a", "Bad expansion"),
                (
                    "BF.INSERT n ERROR 0.5 EXPANSION",
                    "ERR wrong number of arguments for 'bf.insert' command",
                ),
                ("BF.INFO n", "ERR not found"),
                ("BF.INFO k foo", "Invalid information value"),
                ("BF.SCANDUMP n 0", "ERR not found"),
                ("BF.SCANDUMP k x", "Second argument must be numeric"),
                ("BF.LOADCHUNK n x y", "ERR Second argument must be numeric"),
                ("BF.LOADCHUNK n 1 y", "ERR received bad data"),
                ("BF.ADD", "ERR wrong number of arguments for 'bf.add' command"),
                ("BF.ADD k", "ERR wrong number of arguments for 'bf.add' command"),
                ("BF.ADD k a b", "ERR wrong number of arguments for 'bf.add' command"),
                ("BF.INSERT k ITEMS", "ERR wrong number of arguments for 'bf.insert' command"),
                ("BF.INFO k items x", "ERR wrong number of arguments for 'bf.info' command"),
            ] {
                assert_eq!(client.say(line).error().to_lowercase(), text.to_lowercase(), "{line}");
            }
            for command in COMMANDS {
                let name = format!("BF.{}", command.name);
                let line = match command.name {
                    "RESERVE" => "text 0.01 100",
                    "INFO" | "CARD" | "CLEAR" | "DEBUG" => "text",
                    "SCANDUMP" => "text 0",
                    "LOADCHUNK" => "text 1 x",
                    "INSERT" | "MEXISTSANY" => "text ITEMS a",
                    "MERGE" => "text k",
                    "SHARDID" => "text 00112233445566778899aabbccddeeff/1/3",
                    "SHARDMADD" | "SHARDMEXISTS" => "text 00112233445566778899aabbccddeeff/1/3 a",
                    _ => "text a",
                };
                let got = client.say(&format!("{name} {line}"));
                assert!(got.error().starts_with("WRONGTYPE"), "{name}: {got:?}");
            }
            assert_eq!(client.say("EXISTS n"), Value::Int(0));
        }
    }
}

#[test]
fn the_server_knows_every_row() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        for command in COMMANDS {
            let name = format!("BF.{}", command.name);
            let info = client.say(&format!("COMMAND INFO {name}")).array().remove(0).array();
            assert_eq!(info[1].int(), i64::from(command.arity()), "{name}");
            let flags: Vec<String> = info[2].clone().array().into_iter().map(Value::text).collect();
            for flag in command.flags {
                let flag = flag.name().replace("deny-oom", "denyoom");
                assert!(flags.contains(&flag), "{name}: {flag} not in {flags:?}");
            }
            let docs = client.say(&format!("COMMAND DOCS {name}")).array().remove(1).array();
            assert_eq!(docs[1].clone().text(), command.about, "{name}");
        }
        let log = std::fs::read_to_string(server.dir.join("log")).unwrap();
        assert!(!log.contains("Invalid command info") && !log.contains("refuses"), "{log}");
        let keys = client.say("COMMAND GETKEYS BF.MEXISTSANY a b ITEMS x y");
        assert_eq!(keys, Value::Array(vec![Value::Bytes(b"a".into()), Value::Bytes(b"b".into())]));
        let keys = client.say("COMMAND GETKEYS BF.MERGE d s t LAYERS").array();
        assert_eq!(keys.len(), 3);
        // Redis 7.0 has no categories for modules.
        if make != Make::Redis {
            for (category, is_in_it) in [
                ("bloom", (|row| row.origin == Origin::Compatible) as fn(&Command) -> bool),
                ("mayhap", |row| row.origin != Origin::Compatible),
            ] {
                let rows = client.say(&format!("ACL CAT {category}")).array();
                let rows = rows.into_iter().map(Value::text).filter(|name| name.starts_with("bf."));
                let mut rows: Vec<String> = rows.collect();
                rows.sort();
                let names = COMMANDS.iter().filter(|row| is_in_it(row));
                let mut names: Vec<String> =
                    names.map(|row| format!("bf.{}", row.name.to_lowercase())).collect();
                names.sort();
                assert_eq!(rows, names, "{category}");
            }
            client.say("ACL SETUSER reader on nopass ~* +@bloom -@write");
            let mut reader = server.client();
            reader.say("AUTH reader any");
            assert_eq!(reader.say("BF.EXISTS k a"), Value::Int(0));
            assert!(reader.say("BF.ADD k a").error().starts_with("NOPERM"));
        }
    }
}

#[test]
fn settings_come_from_arguments_and_config() {
    for make in makes() {
        let args = ["PREFIX", "MH", "INITIAL_SIZE", "1234", "ERROR_RATE", "0.001"];
        let server = Server::with_module(make, &args, &[]);
        let mut client = server.client();
        assert_eq!(client.say("MH.ADD k a"), Value::Int(1));
        assert!(client.say("BF.ADD k a").error().contains("unknown command"));
        assert_eq!(client.say("MH.INFO k CAPACITY"), Value::ints(&[1234]));
        let get = |client: &mut Client, name: &str| {
            client.say(&format!("CONFIG GET mayhap.{name}")).array().remove(1).text()
        };
        assert_eq!(get(&mut client, "bf-error-rate"), "0.001");
        assert_eq!(get(&mut client, "bf-initial-size"), "1234");
        assert_eq!(client.say("CONFIG SET mayhap.bf-initial-size 50"), Value::ok());
        assert_eq!(client.say("CONFIG SET mayhap.bf-error-rate 0.05"), Value::ok());
        assert!(!client.say("CONFIG SET mayhap.bf-error-rate 5").error().is_empty());
        assert_eq!(get(&mut client, "bf-error-rate"), "0.05");
        client.say("MH.ADD l a");
        assert_eq!(client.say("MH.INFO l CAPACITY"), Value::ints(&[50]));
        assert_eq!(client.say("CONFIG SET mayhap.max-filter-bytes 1mb"), Value::ok());
        let none = "ERR Insufficient memory to create filter";
        assert!(client.say("MH.RESERVE big 0.01 10000000").error().starts_with(none));
        assert_eq!(client.say("CONFIG SET mayhap.compat yes"), Value::ok());
        client.say("MH.ADD theirs a");
        let full = client.say("MH.INFO theirs FULL").array();
        assert!(full.contains(&Value::Bytes(b"redisbloom".into())), "{full:?}");
    }
}

#[test]
fn the_keys_life_is_the_servers() {
    for make in makes() {
        let server = Server::start(make, &["--notify-keyspace-events", "KEA"]);
        let mut client = server.client();
        client.say("BF.RESERVE k 0.01 1000 EX 100");
        assert!((90..=100).contains(&client.say("TTL k").int()));
        client.say("BF.ADD k a");
        assert_eq!(client.say("COPY k l"), Value::Int(1));
        assert_eq!(client.say("BF.EXISTS l a"), Value::Int(1));
        client.say("BF.ADD l b");
        assert_eq!(client.say("BF.EXISTS k b"), Value::Int(0), "a copy is its own");
        let usage = client.say("MEMORY USAGE k").int();
        assert!((1300..3500).contains(&usage), "{usage}");
        let digest = client.say("DEBUG DIGEST-VALUE k l");
        assert_ne!(digest.clone().array()[0], digest.array()[1]);
        let before = client.say("INFO memory").text();
        client.say("BF.RESERVE big 0.01 10000000");
        let used = |info: &str| -> i64 {
            let line = info.lines().find(|line| line.starts_with("used_memory:")).unwrap();
            line["used_memory:".len()..].trim().parse().unwrap()
        };
        let after = client.say("INFO memory").text();
        assert!(used(&after) - used(&before) > 10_000_000, "the server counts our memory");
        assert_eq!(client.say("UNLINK big"), Value::Int(1));
        let info = client.say("INFO mayhap_stats").text();
        assert!(info.contains("mayhap_filters:"), "{info}");
        assert!(info.contains("mayhap_hits:1"), "{info}");
        assert!(info.contains("mayhap_misses:1"), "{info}");
        // Those who watch a key hear of changes, and of nothing else.
        let mut watcher = server.client();
        watcher.say("WATCH k");
        client.say("BF.ADD k a");
        watcher.say("MULTI");
        watcher.say("PING");
        assert_ne!(watcher.say("EXEC"), Value::Null);
        watcher.say("WATCH k");
        client.say("BF.ADD k new");
        watcher.say("MULTI");
        watcher.say("PING");
        assert_eq!(watcher.say("EXEC"), Value::Null);
        // Events.
        let mut listener = server.client();
        listener.say("SUBSCRIBE __keyspace@0__:k");
        client.say("BF.ADD k newer");
        let event = listener.call(&["PING"]).array();
        assert_eq!(event[2], Value::Bytes(b"bf.add".into()));
    }
}
