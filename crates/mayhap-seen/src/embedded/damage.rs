//! A truncated or corrupted file makes redb panic on broken invariants. Here that becomes an error
//! which names the file.

use crate::SeenError;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

thread_local! {
    /// Whether a panic of this thread becomes an error, and is not printed.
    static IS_TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Run something that may find the file damaged.
pub(super) fn catch_damage<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, SeenError>,
) -> Result<T, SeenError> {
    static QUIET: Once = Once::new();
    if !std::thread::panicking() {
        QUIET.call_once(|| {
            let print = panic::take_hook();
            panic::set_hook(Box::new(move |why| {
                if !IS_TOLD.get() {
                    print(why);
                }
            }));
        });
    }
    let outer = IS_TOLD.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_TOLD.set(outer);
    done.unwrap_or_else(|why| {
        let why = match (why.downcast_ref::<&str>(), why.downcast_ref::<String>()) {
            (Some(why), _) => why,
            (_, Some(why)) => why.as_str(),
            _ => "it cannot be read",
        };
        let what = format!("{}: the file is damaged: {why}", path.display());
        Err(SeenError::Refused { what })
    })
}
