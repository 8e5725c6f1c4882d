//! Configuration errors stay errors, also if calls fail open.

use crate::cluster::{self, Node};
use crate::server::{Make, Server};
use mayhap_redis::redis::cmd;
use mayhap_seen::redis::{AsyncSeen, Redis};
use mayhap_seen::{Seen, SeenError};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// What both clients say, at once.
fn refused(url: &str) -> String {
    let start = Instant::now();
    let seen = Seen::new(Redis::open(url).unwrap()).with_fail_open(true);
    let told = |answer: SeenError| match answer {
        SeenError::Refused { what } => what,
        other => panic!("{url}: {other:?}"),
    };
    let said = told(seen.mark_unseen(b"user", &["a"]).unwrap_err());
    assert_eq!(told(seen.unseen(b"user", &["a"]).unwrap_err()), said);
    assert_eq!(seen.failures(), 0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tasks = AsyncSeen::open(url).await.unwrap();
        assert_eq!(told(tasks.unseen(b"user", &["a"]).await.unwrap_err()), said);
        let tasks = AsyncSeen::open(url).await.unwrap().with_fail_open(true);
        assert_eq!(told(tasks.unseen(b"user", &["a"]).await.unwrap_err()), said);
    });
    assert!(start.elapsed() < Duration::from_secs(4), "{said}: {:?}", start.elapsed());
    said
}

#[test]
fn logins_that_are_wrong_stay_errors() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let server = Server::start(&[]).unwrap();
    let mut connection = server.connection();
    let user = ["SETUSER", "reader", "on", ">secret", "~*", "+get"];
    cmd("ACL").arg(&user).exec(&mut connection).unwrap();
    cmd("CONFIG").arg("SET").arg("requirepass").arg("secret").exec(&mut connection).unwrap();
    let at = |login: &str| format!("redis://{login}127.0.0.1:{}/0", server.port);
    assert!(refused(&at("")).contains("NOAUTH"));
    let said = refused(&at(":wrong-word@"));
    assert!(said.contains("WRONGPASS") && !said.contains("wrong-word"), "{said}");
    let seen = Seen::new(Redis::open(&at("reader:secret@")).unwrap()).with_fail_open(true);
    let error = seen.mark(b"user", &["a"]).unwrap_err();
    assert!(error.to_string().contains("NOPERM"), "{error}");
    assert!(matches!(error, SeenError::Refused { .. }), "{error:?}");

    let nodes = ["one", "two", "three"].map(|word| Node::start_with(Make::Redis, Some(word), &[]));
    cluster::join(&nodes);
    let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
    // Each has a login of its own.
    let url = format!("redis+cluster://{}", hosts.join(","));
    let seen = Seen::new(Redis::open(&url).unwrap());
    for owner in 0..30 {
        assert_eq!(seen.mark(format!("user-{owner}").as_bytes(), &["a"]).unwrap(), 1);
    }
    assert_eq!(seen.stats().unwrap().owners, 30);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let tasks = AsyncSeen::open(&url).await.unwrap();
        for owner in 0..30 {
            let owner = format!("user-{owner}");
            assert!(tasks.unseen(owner.as_bytes(), &["a"]).await.unwrap().is_empty());
        }
    });
    // With the first login alone the others refuse; nothing is shown as unseen for that.
    let first = format!("redis+cluster://{}", hosts[0]);
    let seen = Seen::new(Redis::open(&first).unwrap()).with_fail_open(true);
    let asked: Vec<_> =
        (0..30).map(|owner| seen.unseen(format!("user-{owner}").as_bytes(), &["a"])).collect();
    assert!(asked.iter().any(Result::is_err));
    for error in asked.into_iter().filter_map(Result::err) {
        let said = error.to_string();
        let names = |node: &Node| said.contains(&format!("127.0.0.1:{}", node.port));
        assert!(said.contains("WRONGPASS") && nodes[1..].iter().any(names), "{said}");
    }
    assert!(refused(&format!("redis+cluster://127.0.0.1:{}", nodes[0].port)).contains("NOAUTH"));
}

#[test]
fn addresses_that_are_wrong_stay_errors() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let server = Server::start(&[]).unwrap();
    let said = refused(&format!("redis+cluster://127.0.0.1:{}", server.port));
    assert!(said.contains("not a cluster") && said.contains("redis://"), "{said}");
    assert!(refused(&format!("redis://127.0.0.1:{}/99", server.port)).contains("DB index"));
    // A replica is read from, and says at once that it takes no marks.
    let replica = Server::start(&[]).unwrap();
    cmd("REPLICAOF").arg("127.0.0.1").arg(server.port).exec(&mut replica.connection()).unwrap();
    let lists = Seen::new(Redis::open(&replica.url()).unwrap()).with_fail_open(true);
    assert_eq!(lists.unseen(b"user", &["a"]).unwrap(), [&"a"]);
    for layout in ["compact", "list"] {
        let lists = Redis::open(&format!("{}?layout={layout}", replica.url())).unwrap();
        let error = Seen::new(lists).with_fail_open(true).mark(b"user", &["a"]).unwrap_err();
        assert!(error.to_string().contains("a replica"), "{error}");
        assert!(matches!(error, SeenError::Refused { .. }), "{error:?}");
    }
    // A node of a cluster, addressed as a single server.
    let nodes = cluster::bare(Make::Redis);
    let alone = Redis::open(&format!("redis://127.0.0.1:{}", nodes[0].port)).unwrap();
    let alone = Seen::new(alone).with_fail_open(true);
    let errors: Vec<SeenError> = (0..20)
        .filter_map(|n| alone.unseen(format!("user-{n}").as_bytes(), &["a"]).err())
        .collect();
    assert!(!errors.is_empty());
    assert!(
        errors.iter().all(|error| error.to_string().contains("redis+cluster://")),
        "{errors:?}"
    );
    // Not a Redis server.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            _ = client.read(&mut [0; 1000]);
            _ = client.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    assert!(refused(&format!("redis://127.0.0.1:{port}")).contains("not a Redis"));
}
