//! Striped locks that count: who writes a part of an array holds the stripe of that part, for a few
//! nanoseconds, and adds to the stripe's count when it lets go.
//!
//! A stripe is one word: whether it is held, whether it is sealed, and the count. Taking it is one
//! compare-and-swap, and letting it go a plain store: that is why a writer with many words to change is
//! faster with a stripe than with an atomic operation for each word. A sealed stripe cannot be taken again.
//!
//! Whoever finds a stripe held spins for a moment and then yields: its holder may have lost its core.
//!
//! Generic over the word, so that `loom` can try every interleaving of this very file.

/// A lock's word; `loom` has its own.
pub(crate) trait LockWord: Default {
    /// The value, with nothing that was written before it.
    fn peek(&self) -> u64;
    /// Replace the value if it is still `old`, and see all that was written before it was stored.
    fn acquire(&self, old: u64, new: u64) -> bool;
    /// Store a value that carries all that was written before.
    fn release(&self, value: u64);
    /// Wait a little: for the `turn`-th time, from 0.
    fn wait(turn: u32);
}

const HELD: u64 = 1;
const SEALED: u64 = 2;
/// What one key adds to the word.
const ONE: u64 = 4;

/// A power of two of stripes.
#[derive(Debug)]
pub(crate) struct Stripes<W>(Box<[W]>);

/// A stripe that is held. Dropping it lets it go, whatever happens.
struct Held<'a, W: LockWord> {
    word: &'a W,
    then: u64,
}

impl<W: LockWord> Drop for Held<'_, W> {
    #[inline(always)]
    fn drop(&mut self) {
        self.word.release(self.then);
    }
}

impl<W: LockWord> Stripes<W> {
    /// So many, or the next power of two, with `keys` counted already.
    pub fn new(count: usize, keys: u64) -> Self {
        let stripes =
            Stripes((0..count.max(1).next_power_of_two()).map(|_| W::default()).collect());
        stripes.0[0].release(keys.saturating_mul(ONE));
        stripes
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Do this as the only holder of the stripe of part `at`. It says whether the stripe counts one more;
    /// the count after is given back. `None`: it is sealed, and nothing was done.
    #[inline(always)]
    pub fn write(&self, at: usize, work: impl FnOnce() -> bool) -> Option<(bool, u64)> {
        let word = &self.0[at & (self.0.len() - 1)];
        let mut held = Self::hold(word)?;
        let new = work();
        held.then = held.then.saturating_add(u64::from(new) * ONE);
        Some((new, held.then / ONE))
    }

    #[inline(always)]
    fn hold(word: &W) -> Option<Held<'_, W>> {
        let mut turn = 0;
        loop {
            let now = word.peek();
            if now & (HELD | SEALED) == 0 && word.acquire(now, now | HELD) {
                return Some(Held { word, then: now });
            }
            if now & SEALED != 0 {
                return None;
            }
            W::wait(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Let nobody write any more: once this returns, all writes have been made, and whoever sees that it
    /// returned sees them.
    pub fn seal(&self) {
        for word in &self.0 {
            if let Some(mut held) = Self::hold(word) {
                held.then |= SEALED;
            }
        }
    }

    /// All counts.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|word| word.peek() / ONE).fold(0, u64::saturating_add)
    }
}
