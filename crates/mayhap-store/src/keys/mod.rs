//! One key: from text to the bytes that are hashed, and what is kept of it.

mod encoding;
mod hashes;
mod normalize;
mod task;
mod url;

pub use encoding::TextEncoding;
pub use hashes::{HashKeys, Hashes};
pub use normalize::Normalizer;
pub use task::{CollectKeys, KeyBuffer, Task};
pub use url::TRACKING_PARAMS;
