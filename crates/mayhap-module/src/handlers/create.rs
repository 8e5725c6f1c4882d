//! `BF.RESERVE` and `BF.CLEAR`.

use super::options::{Dialect, Options, capacity, error_rate};
use super::room::explained;
use crate::filter::Wish;
use crate::{Args, CommandError, KeyArg, Keyspace, Replicate, Reply};

/// `BF.RESERVE key error_rate capacity …`
pub fn reserve<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    let secret = keys.secret();
    let wish = Wish {
        fpr: error_rate(args.word(2))?,
        capacity: capacity(args.word(3))?,
        ..Wish::by(&keys.settings(), secret)
    };
    let options = Options::parse(args.from(4), 4, wish, Dialect::Reserve)?;
    if keys.read(key)?.is_some() {
        return if options.if_absent { Ok(Reply::Null) } else { Err(CommandError::EXISTS) };
    }
    create(keys, key, &options)?;
    Ok(Reply::Ok)
}

/// Make the filter of these options at a key where nothing is, and tell replicas all of it.
pub fn create(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    options: &Options,
) -> Result<(), CommandError> {
    let room = keys.room_bytes(0);
    let filter = options.wish.make(room).map_err(|error| {
        let need = options.wish.bytes().unwrap_or(0.0) as u64;
        explained(error, keys, key, 0, need, room)
    })?;
    if let Some(items) = options.scale_to {
        check_scale(&options.wish, items, room)?;
    }
    // Relative times mean something else on a replica, and in an append-only file.
    let expires_ms = options
        .expires_s
        .map(|seconds| seconds.saturating_mul(1000).saturating_add_unsigned(keys.clock().ms()));
    keys.create(key, filter, expires_ms)?;
    let mut words = vec![key.name.to_vec()];
    words.extend(options.wish.words());
    keys.changed(key, "bf.reserve", Replicate::As("RESERVE", words));
    if let Some(at) = expires_ms {
        let words = vec![key.name.to_vec(), at.to_string().into_bytes()];
        keys.changed(key, "expire", Replicate::As("PEXPIREAT", words));
    }
    Ok(())
}

/// Whether it could grow to so many items within the limits.
fn check_scale(wish: &Wish, items: u64, room_bytes: u64) -> Result<(), CommandError> {
    // Grown filters cost up to 1.7 times the bits of one made for all items.
    let grown = Wish { capacity: items.min(1 << 47), ..*wish };
    if grown.bytes()? * 1.7 > room_bytes as f64 {
        return Err(CommandError::text(
            "ERR provided VALIDATESCALETO causes bloom object to exceed memory limit",
        ));
    }
    Ok(())
}

/// `BF.CLEAR key`
pub fn clear<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    keys.write(key)?.ok_or(CommandError::NOT_FOUND)?.clear()?;
    keys.changed(key, "bf.clear", Replicate::Verbatim);
    Ok(Reply::Ok)
}
