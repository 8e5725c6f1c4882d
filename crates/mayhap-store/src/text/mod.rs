//! Reads keys from text: inputs, records, keys, batches.
//!
//! ```text
//! Input ─ open, decompress ─▶ bytes ─ split at record ends ─▶ block ─▶ Batch ─▶ consumer
//!         by magic                    one thread at a time      any thread      in input order
//! ```
//!
//! [`ExtractRules`] say what a record is and which bytes of it are the key; [`KeyReader`] drives
//! the pipeline; a [`Task`] says what is kept of each key ([`HashKeys`]: its hash).

mod batch;
mod chunks;
mod count;
mod csv;
mod error;
mod extract;
mod input;
mod json;
mod key_source;
mod lz4;
mod pipeline;
mod progress;
mod reader;
mod rules;
mod source;
mod split;

pub use crate::filter::Tally;
pub use crate::keys::{
    CollectKeys, HashKeys, Hashes, KeyBuffer, Normalizer, TRACKING_PARAMS, Task, TextEncoding,
};
pub use batch::{Batch, Line};
pub use count::InputEstimate;
pub use csv::{Column, Csv};
pub use error::KeysError;
pub use extract::{Extracted, Extractor, compound};
pub use input::{Codec, Input};
pub use json::Pointer;
pub use progress::ProgressAndCancel;
pub use reader::KeyReader;
pub use rules::{ExtractRules, FieldRange, Fields, KeyField, OnMissing, RecordFormat};
