//! Servers that hang, are slow, busy or partitioned: every call ends at its deadline, and nothing
//! is lost silently.

use crate::cluster::{self, Node};
use crate::proxy::Proxy;
use crate::server::{Make, Server};
use mayhap_redis::redis::cmd;
use mayhap_redis::slot_of;
use mayhap_seen::redis::{AsyncSeen, Options, Redis};
use mayhap_seen::{Seen, SeenError};
use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// A call with a timeout of half a second ends long before this, however busy the machine is.
const LONG: Duration = Duration::from_secs(5);

fn open(url: &str) -> Seen<Redis> {
    Seen::new(Redis::open(url).unwrap())
}

/// The result of a call, which must end in time.
fn timely<T>(what: &str, call: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = call();
    assert!(start.elapsed() < LONG, "{what} took {:?}", start.elapsed());
    answer
}

fn away<T: std::fmt::Debug>(answer: Result<T, SeenError>) -> String {
    match answer {
        Err(SeenError::Unreachable { what }) => what,
        other => panic!("{other:?}"),
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap().block_on(work)
}

/// Every call there is.
fn all_are_away(seen: &Seen<Redis>, owner: &str, port: u16) {
    let (owner, ids) = (owner.as_bytes(), ["a", "b"]);
    let many: Vec<(&[u8], &[&str])> = vec![(owner, &ids); 3];
    let said = [
        timely("unseen", || away(seen.unseen(owner, &ids))),
        timely("unseen_many", || away(seen.unseen_many(&many))),
        timely("mark", || away(seen.mark(owner, &ids))),
        timely("mark_many", || away(seen.mark_many(&many))),
        timely("mark_unseen", || away(seen.mark_unseen(owner, &ids))),
        timely("offer", || away(seen.offer(owner, &ids, 60))),
        timely("forget", || away(seen.forget(owner))),
        timely("explain", || away(seen.explain(owner, b"a"))),
        timely("export", || away(seen.export(owner))),
        timely("stats", || away(seen.stats())),
    ];
    for said in said {
        assert!(said.contains(&format!("127.0.0.1:{port}")), "{said}");
    }
}

#[test]
fn a_stopped_server_holds_nobody_longer_than_the_timeout() {
    let Some(server) = Server::start(&[]) else { return };
    let url = |layout| format!("{}?timeout=0.5&layout={layout}", server.url());
    let lists = ["compact", "list"].map(|layout| open(&url(layout)));
    for (seen, owner) in lists.iter().zip(["compact", "list"]) {
        seen.mark(owner.as_bytes(), &["a"]).unwrap();
    }
    let (before, late) = run(async {
        (AsyncSeen::open(&url("compact")).await.unwrap(), AsyncSeen::open(&url("compact")).await)
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(before.mark(b"compact", &["a"])).unwrap();
    server.signal("-STOP");
    for (seen, owner) in lists.iter().zip(["compact", "list"]) {
        all_are_away(seen, owner, server.port);
    }
    for seen in [before, late.unwrap()] {
        let calls = async {
            let start = Instant::now();
            away(seen.unseen(b"compact", &["a"]).await);
            away(seen.mark(b"compact", &["a"]).await);
            away(seen.mark_unseen(b"compact", &["a"]).await);
            assert!(start.elapsed() < 3 * LONG, "{:?}", start.elapsed());
        };
        runtime.block_on(calls);
    }
}

/// A queue of connections that nobody takes is full before long.
#[test]
fn a_stopped_server_behind_a_unix_socket_holds_nobody_either() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock").display().to_string();
    let args = ["--unixsocket", &socket, "--tcp-backlog", "1"];
    let Some(server) = Server::start(&args) else { return };
    let url = format!("redis+unix://{socket}?timeout=0.2");
    let seen = open(&url);
    assert_eq!(seen.mark(b"user", &["a"]).unwrap(), 1);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tasks = runtime.block_on(AsyncSeen::open(&url)).unwrap();
    assert!(runtime.block_on(tasks.unseen(b"user", &["a"])).unwrap().is_empty());
    server.signal("-STOP");
    for _ in 0..6 {
        let said = timely("mark", || away(seen.mark(b"user", &["b"])));
        assert!(said.contains(&socket), "{said}");
        timely("unseen", || away(runtime.block_on(tasks.unseen(b"user", &["a"]))));
    }
}

/// Which slots each node has.
const SLOTS: [std::ops::Range<u16>; 3] = [0..5461, 5461..10_923, 10_923..16_384];

/// An owner whose list is on this node.
fn owner_on(node: usize) -> String {
    let owners = (0..).map(|n| format!("user-{n}"));
    let mut owners = owners.into_iter();
    owners.find(|owner| SLOTS[node].contains(&slot_of(owner.as_bytes()))).unwrap()
}

#[test]
fn a_stopped_node_of_a_cluster_holds_nobody_and_is_named() {
    for make in [Make::Redis, Make::Valkey9] {
        if make.program_or_skip().is_none() {
            continue;
        }
        let nodes = cluster::bare(make);
        let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
        let url = format!("redis+cluster://{}?timeout=0.5", hosts.join(","));
        // One that has asked before, and one that has not.
        let (before, late) = (open(&url), open(&url));
        for node in 0..3 {
            before.mark(owner_on(node).as_bytes(), &["a"]).unwrap();
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let tasks = runtime.block_on(AsyncSeen::open(&url)).unwrap();
        runtime.block_on(tasks.mark(owner_on(0).as_bytes(), &["a"])).unwrap();
        // The first: it is also the one that is asked for the slots.
        nodes[0].stop();
        all_are_away(&before, &owner_on(0), nodes[0].port);
        timely("mark", || away(late.mark(owner_on(0).as_bytes(), &["a"])));
        timely("unseen", || away(late.unseen(owner_on(0).as_bytes(), &["a"])));
        let stopped = format!("127.0.0.1:{}", nodes[0].port);
        let start = Instant::now();
        let said = runtime.block_on(async {
            [
                away(tasks.unseen(owner_on(0).as_bytes(), &["a"]).await),
                away(tasks.mark(owner_on(0).as_bytes(), &["a"]).await),
            ]
        });
        assert!(start.elapsed() < 2 * LONG);
        assert!(said.iter().all(|said| said.contains(&stopped)), "{said:?}");
        // Eight threads at once, on all nodes.
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let seen = [&before, &late][thread % 2];
                scope.spawn(move || {
                    for n in 0..3 {
                        let owner = owner_on(n);
                        let id = format!("{thread}-{n}");
                        _ = timely("mark", || seen.mark(owner.as_bytes(), &[&id]));
                        _ = timely("unseen", || seen.unseen(owner.as_bytes(), &[&id]).map(drop));
                    }
                });
            }
        });
        nodes[0].resume();
        cluster::wait("the cluster to answer again", || {
            before.unseen(owner_on(0).as_bytes(), &["a"]).is_ok_and(|unseen| unseen.is_empty())
        });
        cluster::wait("tasks to be answered again", || {
            let asked = runtime.block_on(tasks.unseen(owner_on(0).as_bytes(), &["a"]));
            asked.is_ok_and(|unseen| unseen.is_empty())
        });
    }
}

/// The policy is on one node; a client that has read it once continues without that node.
#[test]
fn a_stopped_node_that_has_the_policy_takes_its_own_lists_only() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let nodes = cluster::bare(Make::Redis);
    let hosts: Vec<String> = nodes.iter().map(Node::host).collect();
    let url = format!("redis+cluster://{}?timeout=4", hosts.join(","));
    let fresh = Duration::from_millis(500);
    let options = || Options::parse(&url).unwrap().with_policy_fresh_for(fresh);
    let with = (0..3)
        .find(|node| SLOTS[*node].contains(&slot_of(b"mayhap-seen:policy")))
        .expect("a node with the policy");
    let others: Vec<String> = (0..3).filter(|node| *node != with).map(owner_on).collect();
    let seen = Seen::new(Redis::open_with(options()).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tasks = runtime.block_on(AsyncSeen::open_with(options())).unwrap();
    for owner in &others {
        seen.mark(owner.as_bytes(), &["a"]).unwrap();
        runtime.block_on(tasks.mark(owner.as_bytes(), &["b"])).unwrap();
    }
    nodes[with].stop();
    for round in 0..2 {
        std::thread::sleep(2 * fresh);
        for owner in &others {
            let (owner, ids) = (owner.as_bytes(), [format!("c{round}"), format!("d{round}")]);
            assert_eq!(timely("mark", || seen.mark(owner, &ids[..1])).unwrap(), 1);
            let mark = || runtime.block_on(tasks.mark(owner, &ids[1..]));
            assert_eq!(timely("mark", mark).unwrap(), 1);
            assert!(seen.unseen(owner, &ids).unwrap().is_empty());
            assert!(runtime.block_on(tasks.unseen(owner, &ids)).unwrap().is_empty());
        }
    }
    // A client that has not read it yet needs it.
    away(open(&url.replace("=4", "=0.5")).mark(others[0].as_bytes(), &["e"]));
    nodes[with].resume();
    cluster::wait("the node to answer again", || {
        seen.mark(owner_on(with).as_bytes(), &["a"]).is_ok()
    });
}

/// A byte now and then keeps a socket's own timeout from ever being reached.
#[test]
fn a_server_that_drips_holds_nobody_longer_than_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let mut dripping = client.write_all(b"$100000\r\n");
                while dripping.is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                    dripping = client.write_all(b"x");
                }
            });
        }
    });
    let seen = open(&format!("redis://127.0.0.1:{port}?timeout=0.5"));
    all_are_away(&seen, "user", port);
}

/// What a program learns at its first call is a part of that call.
#[test]
fn the_first_call_has_one_deadline_too() {
    let Some(server) = Server::start(&[]) else { return };
    let direct = open(&server.url());
    direct.mark(b"user", &["a"]).unwrap();
    let exported = direct.export(b"user").unwrap().unwrap();
    let proxy = Proxy::to(server.port);
    let url = format!("redis://127.0.0.1:{}?timeout=2", proxy.port);
    type First<'a> = &'a (dyn Fn(&Seen<Redis>) -> Result<(), SeenError> + Sync);
    let calls: [(&str, First<'_>); 7] = [
        ("unseen", &|seen| seen.unseen(b"user", &["a"]).map(drop)),
        ("mark", &|seen| seen.mark(b"user", &["a"]).map(drop)),
        ("offer", &|seen| seen.offer(b"user", &["a"], 60).map(drop)),
        ("forget", &|seen| seen.forget(b"user").map(drop)),
        ("explain", &|seen| seen.explain(b"user", b"a").map(drop)),
        ("stats_of", &|seen| seen.stats_of(b"user").map(drop)),
        ("import", &|seen| seen.import(b"user", &exported)),
    ];
    // Scripts are taught before, so that nothing has to be asked twice.
    for (_, call) in calls {
        call(&open(&url)).unwrap();
    }
    // Two replies are more than there is time for; one is not.
    proxy.slow_down(1500);
    std::thread::scope(|scope| {
        for (name, call) in calls {
            let url = &url;
            scope.spawn(move || {
                let start = Instant::now();
                let answer = call(&open(url));
                let took = start.elapsed();
                assert!(matches!(answer, Err(SeenError::Unreachable { .. })), "{name}: {answer:?}");
                assert!(took < Duration::from_millis(2900), "{name} took {took:?}");
            });
        }
    });
}

/// The reply to a change is lost: nobody may be told that its ids were seen before.
#[test]
fn a_reply_that_is_cut_off_loses_no_ids() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let single = Server::start(&[]).unwrap();
    let proxy = Proxy::to(single.port);
    cut_off(&format!("redis://127.0.0.1:{}", proxy.port), &proxy);

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let announced = listener.local_addr().unwrap().port().to_string();
    let args = ["--cluster-announce-port".to_owned(), announced];
    let node = Node::start_with(Make::Redis, None, &args);
    cluster::join(std::slice::from_ref(&node));
    let proxy = Proxy::on(listener, node.port);
    cut_off(&format!("redis+cluster://127.0.0.1:{}", proxy.port), &proxy);
}

fn cut_off(url: &str, proxy: &Proxy) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for layout in ["compact", "list"] {
        // In the list layout the first reply tells how things stand.
        for before in [0, 1].into_iter().take(if layout == "list" { 2 } else { 1 }) {
            let url = format!("{url}?layout={layout}&prefix={layout}{before}:");
            let seen = open(&url);
            seen.mark_unseen(b"first", &["x"]).unwrap();
            let tasks = runtime.block_on(AsyncSeen::open(&url)).unwrap();
            runtime.block_on(tasks.mark_unseen(b"first", &["y"])).unwrap();
            let ids = ["a", "b"];

            // Slots are learnt and connections made before, or it would be their replies.
            let cut_after = |replies: i64| {
                seen.unseen(b"first", &["x"]).unwrap();
                runtime.block_on(tasks.unseen(b"first", &["x"])).unwrap();
                proxy.cut_after(replies);
            };
            cut_after(before);
            let said = away(seen.mark_unseen(b"u1", &ids));
            assert!(proxy.has_cut() && said.contains("closed"), "{layout}: {said}");
            cut_after(before);
            away(runtime.block_on(tasks.mark_unseen(b"u2", &ids)));
            assert!(proxy.has_cut());
            cut_after(before);
            away(seen.offer(b"u3", &ids, 60));
            // How many were new is an answer too.
            cut_after(0);
            away(seen.mark(b"u4", &ids));
            cut_after(0);
            away(runtime.block_on(tasks.mark(b"u5", &ids)));
            // Reads are repeated.
            seen.mark(b"u6", &ids).unwrap();
            cut_after(0);
            assert!(seen.unseen(b"u6", &ids).unwrap().is_empty(), "{layout}");
            assert!(proxy.has_cut());
            cut_after(0);
            assert!(runtime.block_on(tasks.unseen(b"u6", &ids)).unwrap().is_empty(), "{layout}");
            assert!(proxy.has_cut());
            // Slots whose reply is lost are learnt again, and the change is made once.
            let late = open(&url);
            proxy.cut_after(0);
            match late.mark_unseen(b"u7", &ids) {
                Ok(given) => assert_eq!(given.len(), 2),
                Err(error) => assert!(!url.contains("cluster"), "{error}"),
            }
        }
    }
}

/// A server that went and came back while nobody asked is no outage, for changes neither.
#[test]
fn connections_that_were_closed_while_idle_are_replaced_without_a_word() {
    let Some(mut server) = Server::start(&["--appendonly", "yes"]) else { return };
    let seen = open(&server.url());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tasks = runtime.block_on(AsyncSeen::open(&server.url())).unwrap();
    for round in 0..3 {
        let id = format!("{round}");
        assert_eq!(seen.mark_unseen(b"user", &[&id]).unwrap(), [&&id]);
        assert_eq!(runtime.block_on(tasks.mark_unseen(b"task", &[&id])).unwrap(), [&&id]);
        server.kill();
        server.revive();
    }
}

fn fails_open(url: &str) {
    let seen = open(url);
    let said = away(seen.mark(b"user", &["a"]));
    let told = std::sync::Arc::new(std::sync::Mutex::new(vec![]));
    let tells = std::sync::Arc::clone(&told);
    let seen = open(url)
        .with_fail_open(true)
        .when_failing_open(move |error| tells.lock().unwrap().push(error.to_string()));
    assert_eq!(seen.mark_unseen(b"user", &["a"]).unwrap(), [&"a"], "{said}");
    assert_eq!(seen.mark(b"user", &["a"]).unwrap(), 0, "{said}");
    assert_eq!(seen.failures(), 2);
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    run(async {
        let tasks = AsyncSeen::open(url).await.unwrap().with_fail_open(true);
        assert_eq!(tasks.mark_unseen(b"user", &["a"]).await.unwrap(), [&"a"]);
        assert_eq!(tasks.failures(), 1);
    });
}

#[test]
fn what_passes_fails_open() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    // Connection refused.
    fails_open("redis://127.0.0.1:1?timeout=1");
    fails_open("redis+cluster://127.0.0.1:1,127.0.0.1:2?timeout=1");
    // BUSY.
    let server = Server::start(&["--busy-reply-threshold", "1"]).unwrap();
    let mut running = server.connection();
    let looping = std::thread::spawn(move || {
        _ = cmd("EVAL").arg("while true do end").arg(0).exec(&mut running);
    });
    let busy = open(&server.url());
    cluster::wait("BUSY", || busy.unseen(b"user", &["a"]).is_err());
    assert!(away(busy.unseen(b"user", &["a"])).contains("BUSY"));
    fails_open(&server.url());
    drop(server);
    looping.join().unwrap();
    // NOREPLICAS.
    let server = Server::start(&["--min-replicas-to-write", "1"]).unwrap();
    for layout in ["compact", "list"] {
        let url = format!("{}?layout={layout}", server.url());
        assert!(away(open(&url).mark(b"user", &["a"])).contains("NOREPLICAS"));
        fails_open(&url);
    }
    // CLUSTERDOWN, and a cluster that has no slots at all.
    let node = Node::start_with(Make::Redis, None, &[]);
    fails_open(&format!("redis+cluster://127.0.0.1:{}?timeout=1", node.port));
    let mut connection = node.connection();
    cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(0).arg(100).exec(&mut connection).unwrap();
    fails_open(&format!("redis+cluster://127.0.0.1:{}?timeout=1", node.port));
    // MASTERDOWN.
    let args = ["--replica-serve-stale-data", "no", "--replicaof", "127.0.0.1", "1"];
    let server = Server::start(&args[..2]).unwrap();
    cmd("REPLICAOF").arg("127.0.0.1").arg(1).exec(&mut server.connection()).unwrap();
    assert!(away(open(&server.url()).unseen(b"user", &["a"])).contains("MASTERDOWN"));
    fails_open(&server.url());
    // Too many clients.
    let server = Server::start(&["--maxclients", "1"]).unwrap();
    let _held = server.connection();
    fails_open(&server.url());
    // LOADING.
    let mut server = Server::start(&[]).unwrap();
    let seen = open(&server.url());
    for owner in 0..500 {
        seen.mark(format!("user-{owner}").as_bytes(), &["a"]).unwrap();
    }
    cmd("SAVE").exec(&mut server.connection()).unwrap();
    server.kill();
    server.revive_with(&[
        "--key-load-delay",
        "50000",
        "--loading-process-events-interval-bytes",
        "1024",
    ]);
    let mut said = String::new();
    cluster::wait("LOADING", || {
        said = away(open(&server.url()).unseen(b"user", &["a"]));
        said.contains("LOADING")
    });
    fails_open(&server.url());
}
