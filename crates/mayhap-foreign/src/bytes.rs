//! Bytes that may be anybody's: a mapped file, a vector, a stretch of either.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A stretch of shared bytes, cheap to copy. A filter opened over one is queried where it lies.
///
/// The store must give the same bytes whenever asked, as slices, vectors and mapped files do.
///
/// ```
/// use mayhap_foreign::Bytes;
/// let file = Bytes::new(vec![1, 2, 3, 4]);
/// assert_eq!(file.slice(1..3).unwrap().as_ref(), [2, 3]);
/// assert!(file.slice(3..5).is_none());
/// ```
#[derive(Clone)]
pub struct Bytes {
    store: Arc<dyn AsRef<[u8]> + Send + Sync>,
    range: Range<usize>,
}

impl Bytes {
    /// All bytes of a store.
    pub fn new(store: impl AsRef<[u8]> + Send + Sync + 'static) -> Bytes {
        let range = 0..store.as_ref().len();
        Bytes { store: Arc::new(store), range }
    }

    /// A part of these bytes; `None` where it would reach past them.
    pub fn slice(&self, range: Range<usize>) -> Option<Bytes> {
        self.as_ref().get(range.clone())?;
        let start = self.range.start;
        let range = start.checked_add(range.start)?..start.checked_add(range.end)?;
        Some(Bytes { store: Arc::clone(&self.store), range })
    }
}

impl AsRef<[u8]> for Bytes {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &(*self.store).as_ref()[self.range.clone()]
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({:?})", self.range)
    }
}
