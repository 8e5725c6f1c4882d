//! Every interleaving of inserts into a filter that grows meanwhile: the very files the engine is built
//! from, with loom's atomics and lock. Empty without `--cfg loom`; `cargo xtask test` sets it.
#![cfg(loom)]

#[allow(dead_code, reason = "the model needs a part of it")]
#[path = "../src/filter/growing.rs"]
mod growing;
#[allow(dead_code, reason = "likewise")]
#[path = "../src/kernel/stripes.rs"]
mod stripes;

use growing::{Count, Layer, Layers, Lock, Outcome, Slot};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;
use stripes::{LockWord, Stripes};

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

#[derive(Default)]
struct StripeWord(AtomicU64);

impl LockWord for StripeWord {
    fn peek(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn acquire(&self, old: u64, new: u64) -> bool {
        self.0.compare_exchange(old, new, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn release(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }

    fn wait(_: u32) {
        thread::yield_now();
    }
}

/// A word of bits, written under a stripe: full at so many.
struct Word {
    bits: AtomicU64,
    capacity: u32,
    stripes: Stripes<StripeWord>,
    /// Written with the bits, and read without any lock once they are sealed: loom finds whoever writes
    /// it at the same time.
    plain: UnsafeCell<u64>,
    sealed: AtomicBool,
}

// SAFETY: `plain` is written by whoever holds the stripe, and read once it is sealed. `loom` checks just
// this.
unsafe impl Sync for Word {}

impl Word {
    fn new(capacity: u32) -> Word {
        Word {
            bits: AtomicU64::new(0),
            capacity,
            stripes: Stripes::new(1, 0),
            plain: UnsafeCell::new(0),
            sealed: AtomicBool::new(false),
        }
    }
}

impl Layer for Word {
    type Hash = u64;

    fn contains(&self, hash: u64) -> bool {
        if self.sealed.load(Ordering::Acquire) {
            // SAFETY: nobody writes it any more.
            return self.plain.with(|plain| unsafe { *plain }) & hash == hash;
        }
        self.bits.load(Ordering::Relaxed) & hash == hash
    }

    fn insert(&self, hash: u64, beyond_full: bool) -> Outcome {
        let full = self.bits.load(Ordering::Relaxed).count_ones() >= self.capacity;
        if full && !beyond_full {
            return if self.contains(hash) { Outcome::Known } else { Outcome::Closed };
        }
        let written = self.stripes.write(0, || {
            // As in the engine: a plain load and a store.
            let before = self.bits.load(Ordering::Relaxed);
            self.bits.store(before | hash, Ordering::Relaxed);
            // SAFETY: the stripe is held.
            self.plain.with_mut(|plain| unsafe { *plain |= hash });
            before & hash != hash
        });
        match written {
            None => Outcome::Closed,
            Some((true, _)) => Outcome::New,
            Some((false, _)) => Outcome::Known,
        }
    }

    fn seal(&self) {
        self.stripes.seal();
        self.sealed.store(true, Ordering::Release);
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
    assert!(filter.insert(0b1, 0, next));
    let writers = keys.map(|key| {
        let filter = Arc::clone(&filter);
        thread::spawn(move || {
            let new = filter.insert(key, 0, next);
            assert!(filter.contains::<Word>(key), "not found by whoever inserted it");
            new
        })
    });
    let new = writers.map(|writer| writer.join().unwrap());
    (new, filter)
}

/// Two growths by two threads have more interleavings than anybody waits for: those with at most three
/// preemptions are tried.
#[test]
fn loom_growing_loses_no_key() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
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

/// Readers while a layer is sealed and another is added.
#[test]
fn loom_a_lookup_during_growth_finds_what_was_in() {
    loom::model(|| {
        let filter: Arc<Filter> = Arc::new(Layers::new(vec![Word::new(1)], 2));
        assert!(filter.insert(0b1, 0, grown));
        let writer = {
            let filter = Arc::clone(&filter);
            thread::spawn(move || filter.insert(0b10, 0, grown))
        };
        assert!(filter.contains::<Word>(0b1));
        assert!(writer.join().unwrap());
        assert!(filter.contains::<Word>(0b10) && filter.contains::<Word>(0b1));
    });
}

/// Writers of one stripe keep each other's bits and counts.
#[test]
fn loom_stripes_lose_no_bit_and_no_count() {
    loom::model(|| {
        let word = Arc::new(Word::new(8));
        let other = Arc::clone(&word);
        let writer = thread::spawn(move || other.insert(0b1, false));
        assert_eq!(word.insert(0b10, false), Outcome::New);
        assert_eq!(writer.join().unwrap(), Outcome::New);
        assert!(word.contains(0b11) && word.stripes.total() == 2);
    });
}

/// A key is in before the layer is sealed, or not at all.
#[test]
fn loom_sealing_waits_for_writers_and_stops_them() {
    loom::model(|| {
        let word = Arc::new(Word::new(8));
        let other = Arc::clone(&word);
        let writer = thread::spawn(move || other.insert(0b1, false));
        word.seal();
        // Nobody writes any more, though the writer may still be about to try.
        let was_in = word.contains(0b1);
        let outcome = writer.join().unwrap();
        assert_eq!(outcome, if was_in { Outcome::New } else { Outcome::Closed });
        assert_eq!((word.contains(0b1), word.stripes.total()), (was_in, was_in.into()));
    });
}

/// The control: a stripe whose release carries nothing, which the model must find.
#[test]
#[should_panic]
fn loom_finds_a_stripe_that_does_not_publish() {
    #[derive(Default)]
    struct Careless(AtomicU64);
    impl LockWord for Careless {
        fn peek(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
        fn acquire(&self, old: u64, new: u64) -> bool {
            self.0.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        }
        fn release(&self, value: u64) {
            self.0.store(value, Ordering::Relaxed);
        }
        fn wait(_: u32) {
            thread::yield_now();
        }
    }
    struct Plain(Stripes<Careless>, UnsafeCell<u64>);
    // SAFETY: it is not; that is what the model must find.
    unsafe impl Sync for Plain {}
    loom::model(|| {
        let plain = Arc::new(Plain(Stripes::new(1, 0), UnsafeCell::new(0)));
        let writers = [0b1, 0b10].map(|key| {
            let plain = Arc::clone(&plain);
            thread::spawn(move || {
                plain.0.write(0, || {
                    // SAFETY: as above.
                    plain.1.with_mut(|word| unsafe { *word |= key });
                    true
                })
            })
        });
        writers.into_iter().for_each(|writer| _ = writer.join().unwrap());
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
            thread::spawn(move || filter.insert(key, 0, |_| Some(Word::new(8))))
        });
        writers.into_iter().for_each(|writer| _ = writer.join().unwrap());
    });
}
