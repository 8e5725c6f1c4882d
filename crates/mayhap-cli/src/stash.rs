//! Keys that come and go after a cascade was built: recorded exactly, until it is built anew.

use crate::budget::MaxMemory;
use crate::change::Changed;
use crate::exit::refuse;
use crate::fill::insert_in_order;
use mayhap::{AnyFilter, Cascade, Hash};
use mayhap_store::keys::Reading;
use std::path::Path;

/// Record what is read in the stash of a cascade, with `record`. Gives the filter back where
/// neither it nor the flag has to do with a stash.
pub fn record(
    filter: AnyFilter,
    wanted: bool,
    path: &Path,
    reading: &Reading,
    memory: MaxMemory,
    mut record: impl FnMut(&mut Cascade, &[Hash]) -> u64,
) -> anyhow::Result<Result<(Changed, u64), AnyFilter>> {
    let mut filter = match (filter, wanted) {
        (AnyFilter::Cascade(filter), true) => filter,
        (AnyFilter::Cascade(_), false) => {
            return Err(refuse(
                format!("{}: a cascade is built from whole lists", path.display()),
                "--stash records single keys exactly, until it is built anew",
            ));
        }
        (other, true) => {
            return Err(refuse(
                format!("{}: a {} filter has no stash", path.display(), other.kind()),
                "leave out --stash; only cascades have one",
            ));
        }
        (other, false) => return Ok(Err(other)),
    };
    // All at once: each batch by itself would sort the whole stash.
    let mut hashes = Vec::new();
    let tally = insert_in_order(filter.scheme(), reading, |more| {
        let keys = (hashes.len() + more.len()) as u64;
        // A growing vector is copied into one twice its size, and the stash is a third.
        memory.check(filter.bytes().saturating_add(keys.saturating_mul(4 * 8)), keys)?;
        hashes.extend_from_slice(more);
        Ok(())
    })?;
    let recorded = record(&mut filter, &hashes);
    Ok(Ok(((filter.into(), tally, 0, None), recorded)))
}
