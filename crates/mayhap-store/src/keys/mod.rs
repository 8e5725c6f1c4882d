//! Keys in: inputs, records, keys, batches.
//!
//! ```text
//! Input ─ open, decompress ─▶ bytes ─ cut at record borders ─▶ block ─▶ Batch ─▶ consumer
//!         by magic                    one thread at a time      any thread      in input order
//! ```
//!
//! [`Rules`] say what a record is and which bytes of it are the key; [`Reading`] drives it; a
//! [`Task`] says what is kept of each key ([`Hashing`]: its hash).

mod batch;
mod count;
mod csv;
mod cut;
mod error;
mod extract;
mod hashes;
mod input;
mod json;
mod lz4;
mod normalise;
mod reading;
mod relay;
mod rules;
mod source;
mod spans;
mod spell;
mod task;
mod url;
mod watch;

pub use batch::{Batch, Line};
pub use count::Survey;
pub use csv::{Column, Csv};
pub use error::KeysError;
pub use extract::{Extracted, Extractor, compound};
pub use hashes::{Hashes, Hashing};
pub use input::{Codec, Input};
pub use json::Pointer;
pub use normalise::Normaliser;
pub use reading::{Reading, Tally};
pub use rules::{FieldRange, Fields, Framing, OnMissing, Part, Rules};
pub use spell::Spelling;
pub use task::{Collecting, KeyBytes, Task};
pub use url::TRACKING;
pub use watch::Watch;
