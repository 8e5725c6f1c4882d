//! Every interleaving of inserts into a filter that grows meanwhile: the very file the engine is built
//! from, with loom's atomics and lock. Empty without `--cfg loom`; `cargo xtask test` sets it.
#![cfg(loom)]

#[allow(dead_code, reason = "the model needs a part of it")]
#[path = "../src/filter/growing.rs"]
mod growing;

use growing::{Count, Layer, Layers, Lock, Slot};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

/// As `OnceLock`: filled once, read with all that was written before.
struct Once<T> {
    filled: AtomicBool,
    value: UnsafeCell<Option<T>>,
}

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once { filled: AtomicBool::new(false), value: UnsafeCell::new(None) }
    }
}

// SAFETY: `value` is written once, by the one thread that fills it, before `filled` is released; it is
// read by those who have acquired that. `loom` checks just this.
unsafe impl<T: Send + Sync> Sync for Once<T> {}

impl<T> Slot<T> for Once<T> {
    fn get(&self) -> Option<&T> {
        if !self.filled.load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: it was filled before, and nobody writes it again.
        self.value.with(|value| unsafe { (*value).as_ref() })
    }

    fn fill(&self, value: T) {
        // SAFETY: called once, before anybody reads.
        self.value.with_mut(|place| unsafe { *place = Some(value) });
        self.filled.store(true, Ordering::Release);
    }
}

#[derive(Default)]
struct Number(AtomicUsize);

impl Count for Number {
    fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self, count: usize) {
        self.0.store(count, Ordering::Release);
    }
}

#[derive(Default)]
struct Guard(Mutex<()>);

impl Lock for Guard {
    fn while_locked<T>(&self, work: impl FnOnce() -> T) -> T {
        let _held = self.0.lock().unwrap();
        work()
    }
}

/// A word of bits that is full with one key.
struct Word {
    bits: AtomicU64,
    capacity: u32,
}

impl Word {
    fn new(capacity: u32) -> Word {
        Word { bits: AtomicU64::new(0), capacity }
    }
}

impl Layer for Word {
    type Hash = u64;

    fn contains(&self, hash: u64) -> bool {
        self.bits.load(Ordering::Relaxed) & hash == hash
    }

    fn insert(&self, hash: u64) -> bool {
        self.bits.fetch_or(hash, Ordering::Relaxed) & hash != hash
    }

    fn is_full(&self) -> bool {
        self.bits.load(Ordering::Relaxed).count_ones() >= self.capacity
    }
}

type Filter = Layers<Once<Word>, Number, Guard>;

fn grown(_: &Filter) -> Option<Word> {
    Some(Word::new(1))
}

/// Two threads insert their keys; what each was told, and the filter after.
fn insert_both(keys: [u64; 2], next: fn(&Filter) -> Option<Word>) -> ([bool; 2], Arc<Filter>) {
    let filter: Arc<Filter> = Arc::new(Layers::new(vec![Word::new(1)], 3));
    // Full from the start: whoever comes first must grow it.
    assert!(filter.insert(0b1, next));
    let writers = keys.map(|key| {
        let filter = Arc::clone(&filter);
        thread::spawn(move || {
            let new = filter.insert(key, next);
            assert!(filter.contains::<Word>(key), "not found by whoever inserted it");
            new
        })
    });
    let new = writers.map(|writer| writer.join().unwrap());
    (new, filter)
}

#[test]
fn loom_growing_loses_no_key() {
    loom::model(|| {
        let (new, filter) = insert_both([0b10, 0b100], grown);
        assert_eq!(new, [true, true]);
        assert!([0b1, 0b10, 0b100].iter().all(|key| filter.contains::<Word>(*key)));
        // One or two layers more: each grows at most once for each that was full.
        assert!((2..=3).contains(&filter.newest_first::<Word>().count()));
    });
}

#[test]
fn loom_one_key_inserted_twice_is_new_to_somebody() {
    loom::model(|| {
        let (new, filter) = insert_both([0b10, 0b10], grown);
        assert!(new[0] || new[1]);
        assert!(filter.contains::<Word>(0b10));
    });
}

#[test]
fn loom_without_memory_the_newest_layer_takes_all() {
    loom::model(|| {
        let (new, filter) = insert_both([0b10, 0b100], |_| None);
        assert_eq!(new, [true, true]);
        assert_eq!(filter.newest_first::<Word>().count(), 1);
        assert!([0b1, 0b10, 0b100].iter().all(|key| filter.contains::<Word>(*key)));
    });
}

/// The control: where the count does not carry what was written before it, the model must find it.
#[test]
#[should_panic]
fn loom_finds_a_slot_that_is_read_too_early() {
    #[derive(Default)]
    struct Careless(AtomicUsize);
    impl Count for Careless {
        fn get(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
        fn set(&self, count: usize) {
            self.0.store(count, Ordering::Relaxed);
        }
    }
    /// A slot that trusts the count alone.
    struct Trusting(UnsafeCell<Option<Word>>);
    impl Default for Trusting {
        fn default() -> Trusting {
            Trusting(UnsafeCell::new(None))
        }
    }
    // SAFETY: it is not; that is what the model must find.
    unsafe impl Sync for Trusting {}
    impl Slot<Word> for Trusting {
        fn get(&self) -> Option<&Word> {
            // SAFETY: as above.
            self.0.with(|value| unsafe { (*value).as_ref() })
        }
        fn fill(&self, value: Word) {
            // SAFETY: as above.
            self.0.with_mut(|place| unsafe { *place = Some(value) });
        }
    }
    loom::model(|| {
        let filter: Arc<Layers<Trusting, Careless, Guard>> =
            Arc::new(Layers::new(vec![Word::new(0)], 2));
        let writers = [0b10, 0b100].map(|key| {
            let filter = Arc::clone(&filter);
            thread::spawn(move || filter.insert(key, |_| Some(Word::new(8))))
        });
        writers.into_iter().for_each(|writer| _ = writer.join().unwrap());
    });
}
