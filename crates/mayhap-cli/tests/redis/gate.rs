//! A way to a server on which bytes can be held up: what is sent stops in the middle.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

pub struct Gate {
    pub port: u16,
    passed: Arc<AtomicU64>,
    limit: Arc<AtomicU64>,
}

impl Gate {
    /// To this server, for so many bytes; then nothing goes through until it is opened.
    pub fn to(server: u16, limit: u64) -> Gate {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (passed, limit) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(limit)));
        let (count, most) = (Arc::clone(&passed), Arc::clone(&limit));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (back, front) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (count, most) = (Arc::clone(&count), Arc::clone(&most));
                std::thread::spawn(move || pass(client, server, &count, &most));
                let (count, most) = (AtomicU64::new(0), AtomicU64::new(u64::MAX));
                std::thread::spawn(move || pass(back, front, &count, &most));
            }
        });
        Gate { port, passed, limit }
    }

    /// Wait until it is shut.
    pub fn until_shut(&self) {
        mayhap_testkit::eventually("bytes", || {
            self.passed.load(Relaxed) >= self.limit.load(Relaxed)
        });
    }

    pub fn open(&self) {
        self.limit.store(u64::MAX, Relaxed);
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, count: &AtomicU64, most: &AtomicU64) {
    let mut bytes = [0; 16 << 10];
    while let Ok(got @ 1..) = from.read(&mut bytes) {
        while count.load(Relaxed) >= most.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        count.fetch_add(got as u64, Relaxed);
        if to.write_all(&bytes[..got]).is_err() {
            break;
        }
    }
    _ = to.shutdown(std::net::Shutdown::Both);
    _ = from.shutdown(std::net::Shutdown::Both);
}
