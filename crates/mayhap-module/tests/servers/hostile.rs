//! What no honest client sends. The server must answer, and live.

use mayhap_testkit::{Server, Value, makes};

#[test]
fn nothing_a_client_sends_ends_the_server() {
    for make in makes() {
        let mut server = Server::start(make, &[]);
        let mut client = server.client();
        let numbers = [
            "0",
            "-1",
            "1",
            "nan",
            "inf",
            "-inf",
            "1e308",
            "1e-308",
            "0.5",
            "9223372036854775807",
            "-9223372036854775808",
            "18446744073709551615",
            "1073741824",
            "4294967296",
            "x",
            "",
        ];
        for rate in numbers {
            for capacity in numbers {
                for options in [&[][..], &["NONSCALING"], &["COMPAT"], &["KIND", "counting"]] {
                    let mut words = vec!["BF.RESERVE", "n", rate, capacity];
                    words.extend(options);
                    client.call(&words);
                    client.say("BF.ADD n a");
                    client.say("DEL n");
                }
            }
        }
        for option in
            ["EXPANSION", "WINDOW", "LAST", "GENERATIONS", "EX", "CAPACITY", "ERROR", "AT"]
        {
            for number in numbers {
                client.call(&["BF.INSERT", "n", option, number, "ITEMS", "a"]);
                client.call(&["BF.RESERVE", "m", "0.01", "100", option, number]);
                client.say("BF.MADD m 1 2 3 4 5");
                client.call(&["BF.INSERT", "m", option, number, option, number, "ITEMS", "a"]);
                client.say("DEL n m");
            }
        }
        client.say("BF.RESERVE w 0.01 100 WINDOW 1");
        for number in numbers {
            client.call(&["BF.INSERT", "w", "AT", number, "ITEMS", "a"]);
            client.call(&["BF.SCANDUMP", "w", number]);
            client.call(&["BF.LOADCHUNK", "w", number, "data"]);
            client.call(&["BF.LOADCHUNK", "c", number, "data"]);
        }
        // Many items, a large one, none at all.
        let soak = std::env::var_os("MAYHAP_SOAK").is_some();
        let (many, bytes) = if soak { (1_000_000, 512 << 20) } else { (100_000, 64 << 20) };
        let items: Vec<String> = (0..many).map(|item| item.to_string()).collect();
        let mut words = vec!["BF.MADD", "many"];
        words.extend(items.iter().map(String::as_str));
        assert_eq!(client.call(&words).array().len(), many);
        let large = vec![b'x'; bytes];
        assert_eq!(client.call(&[&b"BF.ADD"[..], b"large", &large]), Value::Int(1));
        assert_eq!(client.call(&[&b"BF.EXISTS"[..], b"large", &large]), Value::Int(1));
        assert_eq!(client.call(&["BF.ADD", "", ""]), Value::Int(1));
        assert_eq!(client.call(&["BF.EXISTS", "", ""]), Value::Int(1));
        assert_eq!(client.say("PING"), Value::Simple("PONG".into()));
        assert!(server.is_alive());
    }
}

#[test]
fn memory_is_asked_for_before_it_is_taken() {
    for make in makes() {
        let mut server = Server::start(make, &["--maxmemory", "20mb"]);
        let mut client = server.client();
        let none = "ERR Insufficient memory to create filter";
        assert!(client.say("BF.RESERVE k 0.01 1073741824").error().starts_with(none));
        assert!(client.say("BF.RESERVE k 0.01 1073741824 COMPAT").error().starts_with(none));
        assert!(client.say("BF.RESERVE k 0.01 100000000 KIND counting").error().starts_with(none));
        // RedisBloom's header of one link of 2^40 bytes, all of it consistent.
        let mut head = Vec::new();
        let bits_per_entry = 0.01f64.ln().abs() / 0.480453013918201;
        head.extend(0u64.to_le_bytes());
        for field in [1u32, 5, 2] {
            head.extend(field.to_le_bytes());
        }
        for field in [1u64 << 40, 1 << 43, 0] {
            head.extend(field.to_le_bytes());
        }
        head.extend(0.01f64.to_le_bytes());
        head.extend(bits_per_entry.to_le_bytes());
        head.extend(7u32.to_le_bytes());
        head.extend(100u64.to_le_bytes());
        head.push(0);
        assert_eq!(
            client.call(&[&b"BF.LOADCHUNK"[..], b"k", &b"1"[..], &head]).error(),
            "ERR received bad data"
        );
        // A filter grows until it may not; then it says so, and forgets nothing.
        client.say("BF.RESERVE g 0.01 1000");
        let mut refused = false;
        for from in (0..20_000_000u64).step_by(50_000) {
            let items: Vec<String> = (from..from + 50_000).map(|item| item.to_string()).collect();
            let mut words = vec!["BF.MADD", "g"];
            words.extend(items.iter().map(String::as_str));
            match client.call(&words) {
                Value::Array(all) => refused = all.last().unwrap().error() != "",
                error => {
                    assert!(error.error().contains("OOM"), "{error:?}");
                    refused = true;
                }
            }
            if refused {
                break;
            }
        }
        assert!(refused && server.is_alive());
        let mut words = vec!["BF.MEXISTS".to_owned(), "g".to_owned()];
        words.extend((0..1000).map(|item| (item * 50).to_string()));
        let found = client.call(&words).array();
        assert!(found.iter().all(|found| *found == Value::Int(1)));
    }
}
