//! Which shard of which filter a value is.

use crate::CommandError;
use mayhap::format::dump::ShardId;

/// Why a key is not the shard that was asked for.
pub fn mismatch(found: Option<ShardId>) -> CommandError {
    CommandError::Text(match found {
        Some(found) => format!("BADSHARD the key holds another shard: {found}").into(),
        None => "BADSHARD the key holds a filter that is not a shard".into(),
    })
}
