//! `BF.DEL`.

use crate::{Args, CommandError, Keyspace, Replicate, Reply};

/// `BF.DEL key item…`
pub fn del<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    let Some(filter) = keys.write(key)? else { return Err(CommandError::NOT_FOUND) };
    let removed = filter.remove_many(args.from(2))?;
    if removed.contains(&true) {
        keys.changed(key, "bf.del", Replicate::Verbatim);
    }
    Ok(Reply::Bools(removed))
}
