//! The async API: the same answers, many tasks on one connection.

use crate::server::Server;
use mayhap_seen::SeenError;
use mayhap_seen::redis::AsyncSeen;

fn run(work: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
        .block_on(work);
}

#[test]
fn tasks_share_a_connection_and_lose_nothing() {
    let Some(server) = Server::start(&[]) else { return };
    run(async {
        for layout in ["compact", "list"] {
            let url = format!("{}?layout={layout}&prefix={layout}:", server.url());
            let seen = AsyncSeen::open(&url).await.unwrap();
            let tasks: Vec<_> = (0..8)
                .map(|task| {
                    let seen = seen.clone();
                    tokio::spawn(async move {
                        for n in 0..10 {
                            let id = format!("{task}-{n}");
                            seen.mark(b"user", &[&id]).await.unwrap();
                        }
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            let all: Vec<String> =
                (0..8).flat_map(|task| (0..10).map(move |n| format!("{task}-{n}"))).collect();
            assert!(seen.unseen(b"user", &all).await.unwrap().is_empty(), "{layout}");
            assert_eq!(seen.offer(b"user", &["x", "0-0"], 60).await.unwrap(), [&"x"]);
            assert_eq!(seen.mark_unseen(b"user", &["x", "y"]).await.unwrap(), [&"y"]);
            assert_eq!(seen.confirm(b"user", &["x"]).await.unwrap(), 1);
            assert!(seen.forget(b"user").await.unwrap());
            assert_eq!(seen.unseen(b"user", &["x"]).await.unwrap(), [&"x"]);
        }
    });
}

#[test]
fn a_list_moves_and_a_lost_server_fails_open() {
    let Some(mut server) = Server::start(&[]) else { return };
    run(async {
        let seen = AsyncSeen::open(&(server.url() + "?timeout=1")).await.unwrap();
        seen.mark(b"user", &["a", "b"]).await.unwrap();
        let bytes = seen.export(b"user").await.unwrap().unwrap();
        seen.forget(b"user").await.unwrap();
        seen.import(b"user", &bytes).await.unwrap();
        assert_eq!(seen.unseen(b"user", &["a", "c"]).await.unwrap(), [&"c"]);
        server.kill();
        let error = seen.unseen(b"user", &["a"]).await.unwrap_err();
        assert!(matches!(error, SeenError::Unreachable { .. }), "{error}");
        let seen = seen.with_fail_open(true);
        assert_eq!(seen.unseen(b"user", &["a"]).await.unwrap(), [&"a"]);
        assert_eq!(seen.mark(b"user", &["a"]).await.unwrap(), 0);
    });
}
