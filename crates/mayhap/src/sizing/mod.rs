//! Keys ⇄ bits ⇄ probes ⇄ rate: plain numbers in and out, nothing allocated.

mod blocked;
mod classic;
mod fuse;
mod occupancy;
mod scalable;
mod windowed;

pub use blocked::{BlockedShape, LINE_BITS, MAX_LINES_PER_KEY, MAX_PROBES_PER_LINE};
pub use classic::ClassicShape;
pub use fuse::{FuseShape, MAX_WIDTH};
pub(crate) use fuse::{MAX_SEGMENT_LOG, RECORD_BYTES, SHARD_ALIGN, Segments, directory_bytes};
pub(crate) use scalable::any_of;
pub use scalable::{Layer, ScalableShape};
pub use windowed::WindowedShape;

/// How often a stranger has the very hash of one of `keys` keys: the floor under every rate.
pub fn hash_floor(keys: u64) -> f64 {
    keys as f64 / 2f64.powi(64)
}
