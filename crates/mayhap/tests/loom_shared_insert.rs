//! Every interleaving of shared inserts, in place of the few that a stress test happens to meet.
//!
//! The very file the engine is built from, with loom's word in place of the standard one. Empty
//! without `--cfg loom`; `cargo xtask test` sets it.
#![cfg(loom)]

#[allow(dead_code, reason = "the model needs `set` only")]
#[path = "../src/kernel/atomic.rs"]
mod atomic;

use atomic::{Word, set};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::thread;

impl Word for AtomicU64 {
    fn load(&self) -> u64 {
        self.load(Relaxed)
    }

    fn or(&self, mask: u64) -> u64 {
        self.fetch_or(mask, Relaxed)
    }
}

/// What two threads are told when each inserts its key, a mask a word; and the words after.
fn insert_both(keys: [[u64; 2]; 2], set: fn(&AtomicU64, u64) -> bool) -> ([bool; 2], [u64; 2]) {
    let words = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let writers = keys.map(|masks| {
        let words = Arc::clone(&words);
        // No short cut at the first new bit: the others must be set too.
        thread::spawn(move || set(&words[0], masks[0]) | set(&words[1], masks[1]))
    });
    let new = writers.map(|writer| writer.join().unwrap());
    (new, [words[0].load(Relaxed), words[1].load(Relaxed)])
}

#[test]
fn loom_no_bit_is_lost() {
    loom::model(|| {
        let (new, words) = insert_both([[0b0011, 0b1000], [0b0110, 0b1000]], set);
        assert_eq!(words, [0b0111, 0b1000]);
        // Each has a bit of its own in the first word, and must hear of it.
        assert_eq!(new, [true, true]);
    });
}

#[test]
fn loom_a_key_inside_another_is_new_or_not_but_never_hides_it() {
    loom::model(|| {
        let (new, words) = insert_both([[0b01, 0], [0b11, 0]], set);
        assert_eq!(words, [0b11, 0]);
        assert!(new[1], "the second bit has one owner");
    });
}

/// In one word there is one winner; over several both may win somewhere, but never none.
#[test]
fn loom_one_key_inserted_twice_is_new_to_somebody() {
    loom::model(|| {
        let (new, words) = insert_both([[0b101, 0], [0b101, 0]], set);
        assert_eq!(words, [0b101, 0]);
        assert!(new[0] != new[1], "{new:?}");
    });
    loom::model(|| {
        let (new, words) = insert_both([[0b101, 0b1], [0b101, 0b1]], set);
        assert_eq!(words, [0b101, 0b1]);
        assert!(new[0] || new[1]);
    });
}

#[test]
fn loom_readers_see_bits_come_and_never_go() {
    loom::model(|| {
        let word = Arc::new(AtomicU64::new(0b1000));
        let writers = [0b0011, 0b0110].map(|mask| {
            let word = Arc::clone(&word);
            thread::spawn(move || set(&*word, mask))
        });
        let (before, after) = (word.load(Relaxed), word.load(Relaxed));
        assert_eq!(before & 0b1000, 0b1000);
        assert_eq!(before & !after, 0, "{before:b} became {after:b}");
        writers.into_iter().for_each(|writer| _ = writer.join().unwrap());
        // What was acknowledged before the joins is there after them.
        assert_eq!(word.load(Relaxed), 0b1111);
    });
}

/// The control: with a store in place of the `or`, the model must find the lost bit.
#[test]
#[should_panic(expected = "a bit was lost")]
fn loom_finds_the_bit_that_a_plain_store_loses() {
    fn careless(word: &AtomicU64, mask: u64) -> bool {
        let old = word.load(Relaxed);
        word.store(old | mask, Relaxed);
        old & mask != mask
    }
    loom::model(|| {
        let (_, words) = insert_both([[0b0011, 0], [0b0110, 0]], careless);
        assert_eq!(words, [0b0111, 0], "a bit was lost");
    });
}
