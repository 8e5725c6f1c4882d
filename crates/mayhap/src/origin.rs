//! In debug builds only: which scheme made a batch of hashes, so that one given to a filter with
//! another scheme is caught where it happens. Every answer for it would be wrong, and nothing else
//! detects it: one hash looks like another.
//!
//! A hash does not store its scheme, and in release builds nothing is recorded. So each thread
//! remembers the first hash of the last few batches it made; batches that were put together in
//! other ways are not checked.

use crate::hash::Hash;
use crate::scheme::Native;

/// Record that this scheme made these hashes.
#[cfg(feature = "std")]
#[inline(always)]
pub(crate) fn note(scheme: &Native, hashes: &[Hash]) {
    #[cfg(all(debug_assertions, feature = "std"))]
    made::note(scheme, hashes);
    let _ = (scheme, hashes);
}

/// Panics in debug builds where another scheme made these hashes.
#[inline(always)]
#[track_caller]
pub(crate) fn check(scheme: &Native, hashes: &[Hash]) {
    #[cfg(all(debug_assertions, feature = "std"))]
    made::check(scheme, hashes);
    let _ = (scheme, hashes);
}

#[cfg(all(debug_assertions, feature = "std"))]
mod made {
    use super::{Hash, Native};
    use crate::scheme::Scheme;
    use std::cell::RefCell;
    use std::collections::VecDeque;

    /// Batches remembered.
    const LAST: usize = 16;

    thread_local! {
        static MADE: RefCell<VecDeque<(Hash, Native)>> = const { RefCell::new(VecDeque::new()) };
    }

    pub(super) fn note(scheme: &Native, hashes: &[Hash]) {
        let Some(first) = hashes.first() else { return };
        MADE.with_borrow_mut(|made| {
            made.truncate(LAST - 1);
            made.push_front((*first, *scheme));
        });
    }

    #[track_caller]
    pub(super) fn check(scheme: &Native, hashes: &[Hash]) {
        let Some(first) = hashes.first() else { return };
        let other = MADE.with_borrow(|made| {
            let mut by = made.iter().filter(|(hash, _)| hash == first).map(|(_, by)| *by);
            // Two schemes may agree on a hash: it is enough if one of them is the filter's.
            let one = by.next();
            one.filter(|one| one != scheme && by.all(|by| by != *scheme))
        });
        if let Some(other) = other {
            panic!(
                "hashes made with {} given to a filter that hashes with {}: \
                 make them with the filter's own hash_batch",
                described(&other),
                described(scheme)
            );
        }
    }

    fn described(scheme: &Native) -> String {
        let how =
            scheme.seed().map_or_else(|| "a secret".to_owned(), |seed| format!("seed {seed}"));
        // What filters usually have goes without saying.
        if !scheme.id().has_columns() { how } else { format!("{how} as {}", scheme.id().name()) }
    }
}

#[cfg(all(test, debug_assertions, feature = "std"))]
mod tests {
    use crate::{Blocked, Classic, Counting, Fuse, Hash, Scalable, Secret, Spec};
    use std::panic::catch_unwind;

    /// The message for hashes that another filter made.
    fn said(call: impl Fn(&[Hash]) + std::panic::RefUnwindSafe) -> Option<String> {
        let other = Blocked::new(Spec::new(10, 0.01).unwrap().with_seed(7)).unwrap();
        let hashes = other.hash_batch(&["ada", "eve"]);
        let payload = catch_unwind(|| call(&hashes)).err()?;
        payload.downcast_ref::<String>().cloned()
    }

    #[test]
    fn hashes_of_another_scheme_are_caught() {
        let spec = Spec::new(100, 0.01).unwrap();
        let want = Some(
            "hashes made with seed 7 given to a filter that hashes with seed 0: \
             make them with the filter's own hash_batch"
                .to_owned(),
        );
        let new = || Blocked::new(spec).unwrap();
        assert_eq!(said(|hashes| _ = new().insert_batch(hashes)), want);
        assert_eq!(said(|hashes| new().insert_batch_new(hashes, &mut vec![])), want);
        assert_eq!(said(|hashes| new().contains_batch(hashes, &mut vec![])), want);
        assert_eq!(said(|hashes| _ = new().into_shared().insert_batch(hashes)), want);
        assert_eq!(said(|hashes| _ = Scalable::new(spec).unwrap().insert_batch(hashes)), want);
        assert_eq!(said(|hashes| _ = Counting::new(spec).unwrap().insert_batch(hashes)), want);
        assert_eq!(said(|hashes| _ = Classic::new(spec).unwrap().insert_batch(hashes)), want);
        let fuse = || Fuse::with_spec(spec, ["ada"]).unwrap();
        assert_eq!(said(|hashes| fuse().contains_batch(hashes, &mut vec![])), want);
        let keyed = spec.with_secret(Secret::from_bytes([1; 16]));
        let said_keyed = said(|hashes| _ = Blocked::new(keyed).unwrap().insert_batch(hashes));
        assert!(said_keyed.unwrap().contains("that hashes with a secret"));
        // Its own, those of an equal scheme, and unknown ones.
        let same = spec.with_seed(7);
        assert_eq!(said(|hashes| _ = Blocked::new(same).unwrap().insert_batch(hashes)), None);
        assert_eq!(said(|_| _ = new().insert_batch(&[Hash(1), Hash(2)])), None);
    }
}
