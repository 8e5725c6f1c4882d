//! A packet that knows where it has been.
//!
//! Why it is built so: while routing tables change, packets may run in circles until their hop
//! limit kills them, and load every link on the way that many times. Here each hop checks whether
//! the packet has been here, drops it if so, and otherwise adds itself: a `Packet` filter of 32
//! bytes in the header, whatever the length of the path, without a heap. A loop-free path is
//! dropped at the false-positive rate of its hops: with 256 bits and 5 probes, a path of 16 hops
//! about once in three hundred, by the formula below; the sender retries such a packet with another
//! seed. A received filter with too many bits set is dropped at once, since a header of ones would
//! look like a loop everywhere.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example loop_detection
//! ```

use mayhap::packet::Packet;

/// 256 bits, five probes per hop.
type Header = Packet<32, 5>;
/// No honest path of up to 32 hops sets more.
const MAX_BITS: u32 = 160;

/// What a router does with a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Forward([u8; 32]),
    Loop,
    Forged,
}

fn hop(router: u64, wire: [u8; 32], seed: u64) -> Verdict {
    let Ok(mut path) = Header::from_bytes(wire).with_seed(seed).with_limit(MAX_BITS).within_limit()
    else {
        return Verdict::Forged;
    };
    if path.contains(router) {
        return Verdict::Loop;
    }
    match path.insert(router) {
        Ok(_) => Verdict::Forward(path.to_bytes()),
        Err(_) => Verdict::Forged, // longer than any honest path
    }
}

/// Send a packet along a path; returns after how many hops it was dropped, if it was.
fn send(path: impl Iterator<Item = u64>, seed: u64) -> Option<usize> {
    let mut wire = [0; 32];
    for (hops, router) in path.enumerate() {
        match hop(router, wire, seed) {
            Verdict::Forward(next) => wire = next,
            Verdict::Loop | Verdict::Forged => return Some(hops),
        }
    }
    None
}

/// How often a loop-free path with this many hops is dropped: some hop finds all its five bits set
/// by those before.
fn false_drops(hops: u32) -> f64 {
    let fill = |before: u32| 1.0 - (1.0 - 1.0 / 256f64).powf(5.0 * f64::from(before));
    1.0 - (0..hops).map(|before| 1.0 - fill(before).powi(5)).product::<f64>()
}

/// The share of packets dropped on loop-free paths with this many hops.
fn measured(hops: u64, packets: u64) -> f64 {
    let dropped = |packet: &u64| send((0..hops).map(|hop| packet * 1000 + hop), *packet).is_some();
    (0..packets).filter(dropped).count() as f64 / packets as f64
}

fn main() {
    for hops in [4, 8, 16, 24] {
        let (found, expected) = (measured(hops, 200_000), false_drops(hops as u32));
        println!("{hops} hops: {:.4}% dropped, {:.4}% expected", 100.0 * found, 100.0 * expected);
    }
    let around = [1, 2, 3, 4].into_iter().cycle().take(64);
    println!("a loop of four routers: dropped after {:?} hops instead of 64", send(around, 0));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_is_noticed_on_its_first_return() {
        for length in 1..=12usize {
            for seed in 0..200 {
                let path = (0..length as u64).cycle().take(64);
                let dropped = send(path, seed).expect("a loop ends");
                assert!(dropped <= length, "{dropped} hops in a loop of {length}");
            }
        }
    }

    #[test]
    fn false_drops_are_as_the_formula_has_them() {
        for hops in [8, 16, 24] {
            let (found, expected) = (measured(hops, 100_000), false_drops(hops as u32));
            let sigma = (expected / 100_000.0).sqrt();
            // The formula assumes independent bits, which is slightly optimistic.
            assert!((found - expected).abs() < 5.0 * sigma + 0.1 * expected, "{found}, {expected}");
        }
    }

    #[test]
    fn forged_headers_are_dropped() {
        assert_eq!(hop(1, [0xff; 32], 0), Verdict::Forged);
        assert!(matches!(hop(1, [0; 32], 0), Verdict::Forward(_)));
    }
}
