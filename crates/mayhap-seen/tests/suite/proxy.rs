//! A proxy between a client and a server, which can drop a reply or delay all.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

pub struct Proxy {
    pub port: u16,
    cut: Arc<AtomicI64>,
    millis: Arc<AtomicU64>,
}

impl Proxy {
    /// In front of a server at this port.
    pub fn to(server: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Proxy::on(listener, server)
    }

    /// The same with a port that was chosen before.
    pub fn on(listener: TcpListener, server: u16) -> Proxy {
        let (port, cut) = (listener.local_addr().unwrap().port(), Arc::new(AtomicI64::new(-1)));
        let (shared, millis) = (Arc::clone(&cut), Arc::new(AtomicU64::new(0)));
        let slow = Arc::clone(&millis);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let (up, down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || carry(up, server, || false));
                let (cut, slow) = (Arc::clone(&shared), Arc::clone(&slow));
                thread::spawn(move || {
                    carry(down, client, || {
                        thread::sleep(Duration::from_millis(slow.load(SeqCst)));
                        cut.fetch_sub(1, SeqCst) == 0
                    });
                });
            }
        });
        Proxy { port, cut, millis }
    }

    /// Pass this many replies; the next one is dropped, and its connection closed.
    pub fn cut_after(&self, replies: i64) {
        self.cut.store(replies, SeqCst);
    }

    /// Delay every reply by this long from now on.
    pub fn slow_down(&self, millis: u64) {
        self.millis.store(millis, SeqCst);
    }

    /// Whether the reply was cut.
    pub fn has_cut(&self) -> bool {
        self.cut.load(SeqCst) < 0
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, cuts: impl Fn() -> bool) {
    let mut bytes = vec![0; 1 << 16];
    loop {
        match from.read(&mut bytes) {
            Ok(count) if count > 0 && !cuts() && to.write_all(&bytes[..count]).is_ok() => {}
            _ => break,
        }
    }
    _ = from.shutdown(Shutdown::Both);
    _ = to.shutdown(Shutdown::Both);
}
