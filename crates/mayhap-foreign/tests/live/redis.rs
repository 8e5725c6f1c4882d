//! RedisBloom inside a real server: chunks and payloads go there and come back.

use super::{absent_keys, members};
use mayhap_foreign::redisbloom::{Chain, Incoming, Scaling, dump};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server with the module, on its own port; stopped with the test.
struct Server {
    child: Child,
    connection: BufReader<TcpStream>,
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// What a server answers.
#[derive(Debug, PartialEq)]
enum Reply {
    Text(String),
    Error(String),
    Number(i64),
    Bytes(Option<Vec<u8>>),
    List(Vec<Reply>),
}

impl Server {
    fn start(module: &str) -> Server {
        // Free now, and unlikely to be taken in the meantime.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
            .args(["--loadmodule", module])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server");
        let give_up = Instant::now() + Duration::from_secs(30);
        loop {
            if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                return Server { child, connection: BufReader::new(stream) };
            }
            assert!(child.try_wait().unwrap().is_none(), "the server ended: is {module} a module?");
            assert!(Instant::now() < give_up, "the server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn call(&mut self, words: &[&[u8]]) -> Reply {
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).bytes());
            command.extend_from_slice(word);
            command.extend(b"\r\n");
        }
        self.connection.get_mut().write_all(&command).unwrap();
        self.reply()
    }

    fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.connection.read_line(&mut line).unwrap();
        let (kind, rest) = line.trim_end().split_at(1);
        let number = || rest.parse::<i64>().unwrap();
        match kind {
            "+" => Reply::Text(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Number(number()),
            "$" => Reply::Bytes((number() >= 0).then(|| {
                let mut bytes = vec![0; number() as usize + 2];
                self.connection.read_exact(&mut bytes).unwrap();
                bytes.truncate(number() as usize);
                bytes
            })),
            "*" => Reply::List((0..number()).map(|_| self.reply()).collect()),
            other => panic!("a reply of type {other}"),
        }
    }

    fn ok(&mut self, words: &[&[u8]]) {
        let reply = self.call(words);
        assert_eq!(reply, Reply::Text("OK".to_owned()), "{}", String::from_utf8_lossy(words[0]));
    }

    fn exists(&mut self, name: &[u8], keys: &[String]) -> Vec<bool> {
        let mut words: Vec<&[u8]> = vec![b"BF.MEXISTS", name];
        words.extend(keys.iter().map(String::as_bytes));
        let Reply::List(answers) = self.call(&words) else { panic!("no list") };
        answers.iter().map(|answer| *answer == Reply::Number(1)).collect()
    }

    fn add(&mut self, name: &[u8], keys: &[String]) {
        let mut words: Vec<&[u8]> = vec![b"BF.MADD", name];
        words.extend(keys.iter().map(String::as_bytes));
        assert!(matches!(self.call(&words), Reply::List(_)));
    }

    /// All of a filter, chunk by chunk.
    fn scandump(&mut self, name: &[u8]) -> Chain {
        let mut incoming: Option<Incoming> = None;
        let mut iterator = 0i64;
        loop {
            let reply = self.call(&[b"BF.SCANDUMP", name, iterator.to_string().as_bytes()]);
            let Reply::List(pair) = reply else { panic!("{reply:?}") };
            let [Reply::Number(next), Reply::Bytes(chunk)] = &pair[..] else { panic!("{pair:?}") };
            let chunk = chunk.as_deref().unwrap_or_default();
            iterator = *next;
            match &mut incoming {
                _ if iterator == 0 => return incoming.unwrap().finish().unwrap(),
                Some(incoming) => incoming.push(iterator as u64, chunk).unwrap(),
                None => incoming = Some(Incoming::begin(chunk, 1 << 30).unwrap()),
            }
        }
    }
}

fn ours(scaling: Scaling, capacity: u64, keys: &[String]) -> Chain {
    let mut chain = Chain::reserve(capacity, 0.01, scaling).unwrap();
    let hashes: Vec<_> = keys.iter().map(|key| chain.hash(key)).collect();
    chain.insert_batch(&hashes).unwrap();
    chain
}

fn agree(server: &mut Server, name: &[u8], chain: &Chain) {
    assert!(server.exists(name, &members()).iter().all(|answer| *answer));
    let absent_keys = absent_keys(5000);
    let answers: Vec<bool> = absent_keys.iter().map(|key| chain.contains(key)).collect();
    assert_eq!(server.exists(name, &absent_keys), answers);
    assert!(answers.contains(&true) && answers.contains(&false));
}

#[test]
#[ignore = "needs RedisBloom: MAYHAP_REDISBLOOM=/path/to/redisbloom.so cargo xtask test --live"]
fn redisbloom() {
    let module = std::env::var("MAYHAP_REDISBLOOM").expect("MAYHAP_REDISBLOOM names the module");
    let mut server = Server::start(&module);
    let chains = [
        (Scaling::Fixed, 1100, "fixed"),
        (Scaling::By(2), 100, "by2"),
        (Scaling::By(1), 90, "by1"),
    ];
    for (scaling, capacity, name) in chains {
        let chain = ours(scaling, capacity, &members());
        let [loaded, restored, native] =
            ["loaded", "restored", "native"].map(|how| format!("{how}-{name}").into_bytes());
        for chunk in chain.chunks_of(1000) {
            let iterator = chunk.iterator.to_string();
            server.ok(&[b"BF.LOADCHUNK", &loaded, iterator.as_bytes(), &chunk.bytes]);
        }
        for options in [dump::Options::default(), dump::Options { rdb_version: 9, compress: false }]
        {
            let payload = dump::encode(&chain, options);
            server.ok(&[b"RESTORE", &restored, b"0", &payload, b"REPLACE"]);
        }
        let capacity = capacity.to_string();
        let mut reserve: Vec<&[u8]> = vec![b"BF.RESERVE", &native, b"0.01", capacity.as_bytes()];
        match scaling {
            Scaling::Fixed => reserve.push(b"NONSCALING"),
            Scaling::By(1) => reserve.extend([&b"EXPANSION"[..], b"1"]),
            Scaling::By(_) => {}
        }
        server.ok(&reserve);
        server.add(&native, &members());
        for name in [&loaded, &restored, &native] {
            agree(&mut server, name, &chain);
            assert_eq!(server.scandump(name).encode(), chain.encode(), "byte for byte");
            let Reply::Bytes(Some(payload)) = server.call(&[b"DUMP", name]) else { panic!() };
            let (dumped, options) = dump::decode_with_options(&payload).unwrap();
            assert_eq!(dumped.encode(), chain.encode());
            assert_eq!(dump::encode(&dumped, options), payload, "byte for byte");
        }
        // They grow alike there and here.
        if scaling != Scaling::Fixed {
            let more: Vec<String> = (0..2000).map(|i| format!("more-{i}")).collect();
            let mut grown = chain.clone();
            more.iter().for_each(|key| _ = grown.insert(key).unwrap());
            server.add(&loaded, &more);
            assert_eq!(server.scandump(&loaded).encode(), grown.encode(), "byte for byte");
        }
    }
}
