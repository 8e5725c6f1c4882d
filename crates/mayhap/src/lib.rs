//! Have I seen this before?
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
mod filter;
#[cfg(feature = "std")]
pub mod format;
mod hash;
#[cfg(feature = "std")]
mod kernel;
mod key;
// A kind among kinds, but the one that needs no standard library.
#[path = "filter/packet.rs"]
mod packet;
mod scheme;
#[cfg(feature = "std")]
pub mod sizing;
#[cfg(feature = "std")]
mod spec;

#[cfg(feature = "std")]
pub use filter::{AnyFilter, Kind, Refused};
#[cfg(feature = "bitmap")]
pub use filter::{Bitmap, NotAnInteger};
#[cfg(feature = "std")]
pub use filter::{
    Blocked, Classic, Contains, Counting, Insert, MergeError, Part, Remove, Scatter, Shared,
    SharedBlocked, SharedClassic,
};
pub use hash::{Hash, Secret};
#[cfg(feature = "std")]
pub use kernel::{Atomics, Pages};
pub use key::Key;
pub use packet::{Packet, PacketError};
pub use scheme::{Native, Scheme, SchemeId};
#[cfg(feature = "std")]
pub use spec::{MAX_CAPACITY, MAX_PROBES, MIN_FPR, Spec, SpecError};
