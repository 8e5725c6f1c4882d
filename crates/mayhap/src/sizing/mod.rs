//! Keys ⇄ bits ⇄ probes ⇄ rate: plain numbers in and out, nothing allocated.

mod blocked;
mod cascade;
mod classic;
mod compare;
mod fuse;
mod occupancy;
mod plan;
mod quotient;
mod ribbon;
mod scalable;
mod sharded;
mod windowed;

pub(crate) use blocked::Columns;
pub use blocked::{BlockedShape, LINE_BITS, MAX_LINES_PER_KEY, MAX_PROBES_PER_LINE, ProbeRule};
pub use cascade::{CascadeShape, FirstShape, cascade_bound};
pub use classic::ClassicShape;
pub(crate) use classic::CountingShape;
pub use compare::{Question, bitmap_bytes, bound_bytes, hash_set_bytes};
pub use fuse::{FuseShape, MAX_WIDTH};
pub(crate) use fuse::{MAX_SEGMENT_LOG, RECORD_BYTES, SHARD_ALIGN, Segments, directory_bytes};
pub(crate) use plan::Unplanned;
pub use plan::{Plan, rate_in};
pub(crate) use quotient::{LineLayout, MAX_OFFSET, doublings};
pub use quotient::{MAX_REMAINDER_BITS, MIN_REMAINDER_BITS, QuotientShape};
pub(crate) use ribbon::{
    BLOCK_SLOTS, LayerShape, Layout, MAX_LAYERS, RIBBON_PADDING, RIBBON_RECORD, Slots64, Slots128,
    shards_for,
};
pub use ribbon::{ExactShape, MAX_COLUMNS, RibbonShape};
pub use scalable::{Layer, ScalableShape};
pub(crate) use scalable::{any_of, any_of_equal};
pub use sharded::{MAX_SHARDS, ShardedShape, shard_capacity};
pub use windowed::WindowedShape;

/// The probability that an absent key has the same hash as one of `keys` keys: no filter has a lower rate.
pub fn collision_rate(keys: u64) -> f64 {
    keys as f64 / 2f64.powi(64)
}

/// Numbers a formula can work with: these functions accept any input, and rejecting is left
/// to [`Spec`](crate::Spec).
fn clamp_inputs(keys: u64, fpr: f64) -> (u64, f64) {
    // Layers of composites may be tighter than what callers may ask for.
    let fpr = if fpr.is_nan() { 0.5 } else { fpr.clamp(1e-18, 1.0 - 1e-9) };
    (keys.min(crate::spec::MAX_CAPACITY), fpr)
}
