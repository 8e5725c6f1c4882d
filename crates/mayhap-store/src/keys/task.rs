//! What is kept of a key once its block is read.

/// What is done with the keys of a block, on the thread that has it.
///
/// The output is created once and reused for many blocks, with its memory.
pub trait Task: Sync {
    /// What is kept of a block.
    type Out: Default + Send;

    /// Whether it looks at keys at all. If not, records are only counted.
    const WANTS_KEYS: bool = true;

    /// A new block begins: discard the previous one.
    fn begin(&self, out: &mut Self::Out);

    /// The next key. Called once per record, in order.
    fn key(&self, out: &mut Self::Out, key: &[u8]);

    /// The block is done: the time to look up all of its keys at once.
    fn end(&self, _out: &mut Self::Out) {}
}

/// Two tasks at once: both see every key.
impl<A: Task, B: Task> Task for (A, B) {
    type Out = (A::Out, B::Out);

    fn begin(&self, out: &mut Self::Out) {
        self.0.begin(&mut out.0);
        self.1.begin(&mut out.1);
    }

    #[inline]
    fn key(&self, out: &mut Self::Out, key: &[u8]) {
        self.0.key(&mut out.0, key);
        self.1.key(&mut out.1, key);
    }

    fn end(&self, out: &mut Self::Out) {
        self.0.end(&mut out.0);
        self.1.end(&mut out.1);
    }
}

/// Keeps the bytes of each key.
#[derive(Clone, Copy, Debug)]
pub struct CollectKeys;

impl Task for CollectKeys {
    type Out = KeyBuffer;

    fn begin(&self, out: &mut KeyBuffer) {
        out.clear();
    }

    fn key(&self, out: &mut KeyBuffer, key: &[u8]) {
        out.push(key);
    }
}

/// The bytes of many keys, concatenated.
#[derive(Clone, Debug, Default)]
pub struct KeyBuffer {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBuffer {
    /// Forget all keys, and keep the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Append a key.
    #[inline]
    pub fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.ends.len()
    }

    /// Key number `i`, from 0.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let end = *self.ends.get(i)?;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// All keys in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let key = &self.bytes[start..*end];
            start = *end;
            key
        })
    }
}
