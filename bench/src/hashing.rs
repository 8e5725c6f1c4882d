//! The cost of a secret: hashing 32-byte keys, keyed against seeded, interleaved.

use crate::comparison::median;
use crate::splitmix::splitmix;
use mayhap::Secret;
use mayhap::scheme::{Native, Scheme};
use std::hint::black_box;
use std::time::Instant;

const KEYS: u64 = 8192;
const ROUNDS: u64 = 200;

/// Nanoseconds per 32-byte key.
pub struct Hashing {
    pub seeded: f64,
    pub keyed: f64,
    /// The median of the rounds' differences.
    pub difference: f64,
}

pub fn measure() -> Hashing {
    let seeded = Native::seeded(1);
    let keyed = Native::keyed(Secret::from_bytes([7; 16]));
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let keys: Vec<[u8; 32]> = (0..KEYS).map(|i| key(round * KEYS + i)).collect();
        times.push((hash_all(&seeded, &keys), hash_all(&keyed, &keys)));
    }
    let middle = |of: fn(&(f64, f64)) -> f64| median(times.iter().map(of)).unwrap_or(f64::NAN);
    Hashing {
        seeded: middle(|times| times.0),
        keyed: middle(|times| times.1),
        difference: middle(|times| times.1 - times.0),
    }
}

fn key(i: u64) -> [u8; 32] {
    let mut key = [0; 32];
    for (lane, bytes) in key.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = splitmix(4 * i + lane as u64).to_le_bytes();
    }
    key
}

fn hash_all(scheme: &Native, keys: &[[u8; 32]]) -> f64 {
    let start = Instant::now();
    for key in keys {
        black_box(scheme.hash(key));
    }
    start.elapsed().as_secs_f64() * 1e9 / keys.len() as f64
}
