//! The time, for files that note when they were written and windows that forget by it.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970: the ticks of every window of time.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Seconds since 1970, as files note when they were written.
pub fn now_s() -> u64 {
    now_ms() / 1000
}
