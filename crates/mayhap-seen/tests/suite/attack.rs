//! Eight threads and eight tasks compete for ids while replies are lost all the time:
//! nobody waits forever, no id is given twice, and none is lost silently.

use crate::cluster::{self, Node};
use crate::proxy::Proxy;
use crate::server::{Make, Server};
use mayhap_seen::redis::{AsyncSeen, Redis};
use mayhap_seen::{Seen, SeenError};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};

/// What became of an id: how often it was given away, and how many calls did not hear of it.
#[derive(Default)]
struct Fate {
    given: AtomicU32,
    unheard: AtomicU32,
}

impl Fate {
    fn note(&self, start: Instant, answer: Result<usize, SeenError>) {
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        match answer {
            Ok(given) => _ = self.given.fetch_add(given as u32, SeqCst),
            Err(SeenError::Unreachable { .. }) => _ = self.unheard.fetch_add(1, SeqCst),
            Err(error) => panic!("{error}"),
        }
    }
}

const THREADS: usize = 8;

fn attack(url: &str, proxy: &Proxy, ids: usize) {
    let seen = Seen::new(Redis::open(url).unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let tasks = runtime.block_on(AsyncSeen::open(url)).unwrap();
    let fates: Vec<Fate> = (0..ids).map(|_| Fate::default()).collect();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let working: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (seen, tasks, fates, runtime) = (&seen, &tasks, &fates, &runtime);
                scope.spawn(move || {
                    for (at, fate) in fates.iter().enumerate() {
                        let (owner, id) = (format!("user-{}", at % 7), format!("id-{at}"));
                        let (owner, ids) = (owner.as_bytes(), [&id]);
                        let start = Instant::now();
                        let answer = match thread % 2 {
                            0 => seen.mark_unseen(owner, &ids),
                            _ => runtime.block_on(tasks.mark_unseen(owner, &ids)),
                        };
                        fate.note(start, answer.map(|given| given.len()));
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let mut step = 0;
            while !over.load(SeqCst) {
                step = (step * 5 + 3) % 64;
                proxy.cut_after(step);
                std::thread::sleep(Duration::from_millis(5));
            }
            proxy.cut_after(-1);
        });
        working.into_iter().for_each(|thread| thread.join().unwrap());
        over.store(true, SeqCst);
    });
    let (mut given, mut unheard) = (0, 0);
    for (at, fate) in fates.iter().enumerate() {
        let (times, lost) = (fate.given.load(SeqCst), fate.unheard.load(SeqCst));
        assert!(times <= 1, "id-{at} was given {times} times");
        assert!(times == 1 || lost > 0, "id-{at} was given to nobody, and nobody was told");
        given += times;
        unheard += lost;
    }
    assert!(given > 0 && unheard > 0, "{given} given, {unheard} unheard of");
    // All that was given is seen.
    for (at, fate) in fates.iter().enumerate().filter(|(_, fate)| fate.given.load(SeqCst) == 1) {
        let owner = format!("user-{}", at % 7);
        let asked = || seen.unseen(owner.as_bytes(), &[format!("id-{at}")]).map(|ids| ids.len());
        let unseen = asked().or_else(|_| asked()).unwrap();
        assert_eq!(unseen, 0, "id-{at}: {:?}", fate.unheard);
    }
}

#[test]
fn ids_are_given_once_however_many_replies_are_cut_off() {
    if Make::Redis.program_or_skip().is_none() {
        return;
    }
    let ids = if std::env::var_os("MAYHAP_SOAK").is_some() { 20_000 } else { 300 };
    let single = Server::start(&[]).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let announced = listener.local_addr().unwrap().port().to_string();
    let node =
        Node::start_with(Make::Redis, None, &["--cluster-announce-port".to_owned(), announced]);
    cluster::join(std::slice::from_ref(&node));
    let proxies = [Proxy::to(single.port), Proxy::on(listener, node.port)];
    for (proxy, scheme) in proxies.iter().zip(["redis", "redis+cluster"]) {
        for layout in ["compact", "list"] {
            let url = format!("{scheme}://127.0.0.1:{}?layout={layout}", proxy.port);
            attack(&format!("{url}&prefix={layout}:"), proxy, ids);
        }
    }
}
