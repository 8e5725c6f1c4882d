//! Each sender is answered once per minute, however often it asks.
//!
//! Why it is built so: on a broadcast network one request arrives many times, over many paths, and
//! answering each copy makes a storm. Only the recently answered senders matter, so it is a filter
//! that forgets (`Windowed`): four generations of 15 seconds, the oldest dropped as a whole, no
//! timers and no list of addresses. A sender that was answered is certainly remembered for a
//! minute. A new one is a false positive once in a thousand, and asks again: a minute later all
//! that collided with it is forgotten. Time is an argument, so a test can set it. The socket is a
//! real one; it listens on the loopback only.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example broadcast_dedup
//! ```

use mayhap::{Spec, SpecError, Window, Windowed};
use std::io;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

const MINUTE: Duration = Duration::from_secs(60);
const GENERATIONS: u32 = 4;

struct Answered {
    senders: Windowed,
}

impl Answered {
    /// For this many senders per minute, even if they come all at once: a generation that gets more
    /// than its share grows, and frees the memory when it is dropped.
    fn new(senders: u64) -> Result<Answered, SpecError> {
        let window = Window::time(MINUTE, GENERATIONS);
        let spec = Spec::new(senders, 0.001)?;
        Ok(Answered { senders: Windowed::new(spec, window)? })
    }

    /// Whether to answer this sender now, this long after the start. A request is identified by
    /// sender and question.
    fn should_answer(&mut self, sender: &str, question: u64, now: Duration) -> bool {
        let mut key = question.to_le_bytes().to_vec(); // 8 bytes, so the pairs are unambiguous
        key.extend_from_slice(sender.as_bytes());
        self.senders.insert(&key, now)
    }
}

/// Answer on this socket until it is idle; returns requests received and answers sent.
fn serve(socket: &UdpSocket, answered: &mut Answered) -> io::Result<(u64, u64)> {
    let start = Instant::now();
    let (mut heard, mut given) = (0, 0);
    let mut question = [0; 8];
    loop {
        match socket.recv_from(&mut question) {
            Ok((8, sender)) => {
                heard += 1;
                let (question, now) = (u64::from_le_bytes(question), start.elapsed());
                if answered.should_answer(&sender.to_string(), question, now) {
                    socket.send_to(b"here", sender)?;
                    given += 1;
                }
            }
            Ok(_) => {} // not a request
            Err(error)
                if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
            {
                return Ok((heard, given));
            }
            Err(error) => return Err(error),
        }
    }
}

/// This many senders ask one question, each several times.
fn storm(senders: usize, copies: usize) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    let address = socket.local_addr()?;
    let asking = std::thread::spawn(move || -> io::Result<()> {
        for _ in 0..senders {
            let sender = UdpSocket::bind("127.0.0.1:0")?;
            sender.set_read_timeout(Some(Duration::from_secs(10)))?;
            for _ in 0..copies {
                sender.send_to(&7u64.to_le_bytes(), address)?;
            }
            sender.recv(&mut [0; 8])?; // each is answered before the next one asks
        }
        Ok(())
    });
    let counts = serve(&socket, &mut Answered::new(10_000)?)?;
    asking.join().map_err(|_| "a sender failed")??;
    Ok(counts)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (heard, given) = storm(100, 20)?;
    println!("{heard} questions heard, {given} answers given");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_answered_once_a_sender() -> Result<(), Box<dyn std::error::Error>> {
        let (heard, given) = storm(30, 10)?;
        assert!(heard > 150, "{heard} of 300 heard");
        // Ports may be reused; a second sender on one is the same to us.
        assert_eq!(given, 30);
        Ok(())
    }

    #[test]
    fn it_remembers_a_minute_and_forgets_soon_after() -> Result<(), SpecError> {
        let mut answered = Answered::new(1_000)?;
        let at = Duration::from_secs;
        for second in 0..60 {
            assert_eq!(answered.should_answer("10.0.0.1:53", 1, at(second)), second == 0);
        }
        assert!(answered.should_answer("10.0.0.1:53", 2, at(59)), "another question");
        assert!(answered.should_answer("10.0.0.1:53", 1, at(200)), "forgotten");
        let mut new = 0;
        for i in 0..1_000 {
            new += u32::from(answered.should_answer(&format!("10.1.{i}"), 1, at(210)));
        }
        assert!(new > 990, "{new} of 1000");
        Ok(())
    }
}
