//! RedisBloom inside a real server: chunks and payloads go there and come back.

use super::{absent_keys, members};
use mayhap_foreign::redisbloom::{Chain, ChunkLoader, Scaling, dump};
use mayhap_testkit::{Client, Make, Value};

/// A server with the module, stopped with the test, and a connection to it.
struct Server {
    client: Client,
    _server: mayhap_testkit::Server,
}

impl Server {
    fn start(module: &str) -> Server {
        let args = ["--loadmodule", module].map(str::to_owned);
        let server = mayhap_testkit::Server::launch(Make::Redis, &args).unwrap();
        Server { client: server.client(), _server: server }
    }

    fn call(&mut self, words: &[&[u8]]) -> Value {
        self.client.call(words)
    }

    fn ok(&mut self, words: &[&[u8]]) {
        assert_eq!(self.call(words), Value::ok(), "{}", String::from_utf8_lossy(words[0]));
    }

    fn exists(&mut self, name: &[u8], keys: &[String]) -> Vec<bool> {
        let mut words: Vec<&[u8]> = vec![b"BF.MEXISTS", name];
        words.extend(keys.iter().map(String::as_bytes));
        self.call(&words).array().iter().map(|answer| *answer == Value::Int(1)).collect()
    }

    fn add(&mut self, name: &[u8], keys: &[String]) {
        let mut words: Vec<&[u8]> = vec![b"BF.MADD", name];
        words.extend(keys.iter().map(String::as_bytes));
        self.call(&words).array();
    }

    /// All of a filter, chunk by chunk.
    fn scandump(&mut self, name: &[u8]) -> Chain {
        let mut incoming: Option<ChunkLoader> = None;
        let mut iterator = 0i64;
        loop {
            let reply = self.call(&[b"BF.SCANDUMP", name, iterator.to_string().as_bytes()]);
            let pair = reply.array();
            let [Value::Int(next), chunk] = &pair[..] else { panic!("{pair:?}") };
            iterator = *next;
            let chunk = match chunk {
                Value::Bytes(chunk) => &chunk[..],
                _ => &[],
            };
            match &mut incoming {
                _ if iterator == 0 => return incoming.unwrap().finish().unwrap(),
                Some(incoming) => incoming.push(iterator as u64, chunk).unwrap(),
                None => incoming = Some(ChunkLoader::begin(chunk, 1 << 30).unwrap()),
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
            let payload = server.call(&[b"DUMP", name]).bytes();
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
