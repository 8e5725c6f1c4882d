//! What is kept of a key once its block is read.

/// What is done with the keys of a block, on whichever thread has it.
///
/// The output is made once and used for many blocks, so that its memory is, too.
pub trait Task: Sync {
    /// What is kept of a block.
    type Out: Default + Send;

    /// Whether it looks at keys at all. One that does not has its records counted, and nothing
    /// else of them is known.
    const WANTS_KEYS: bool = true;

    /// A new block begins: forget the one before.
    fn begin(&self, out: &mut Self::Out);

    /// The next key. It is called once for each record, in order.
    fn key(&self, out: &mut Self::Out, key: &[u8]);

    /// The block is done: the moment to ask a filter for all of its keys at once.
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
pub struct Collecting;

impl Task for Collecting {
    type Out = KeyBytes;

    fn begin(&self, out: &mut KeyBytes) {
        out.bytes.clear();
        out.ends.clear();
    }

    fn key(&self, out: &mut KeyBytes, key: &[u8]) {
        out.bytes.extend_from_slice(key);
        out.ends.push(out.bytes.len());
    }
}

/// The bytes of many keys, one after another.
#[derive(Clone, Debug, Default)]
pub struct KeyBytes {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl KeyBytes {
    /// How many keys there are.
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
