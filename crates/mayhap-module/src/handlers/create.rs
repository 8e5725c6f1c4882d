//! `BF.RESERVE` and `BF.CLEAR`.

use super::memory_limit::explained;
use super::options::{CommandSyntax, Options, capacity, error_rate};
use crate::filter::CreateSpec;
use crate::{Args, CommandError, KeyArg, Keyspace, Replicate, Reply};

/// `BF.RESERVE key error_rate capacity …`
pub fn reserve<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    let secret = keys.secret();
    let create_spec = CreateSpec {
        fpr: error_rate(args.word(2))?,
        capacity: capacity(args.word(3))?,
        ..CreateSpec::by(&keys.settings(), secret)
    };
    let options = Options::parse(args.from(4), 4, create_spec, CommandSyntax::Reserve)?;
    if keys.read(key)?.is_some() {
        return if options.if_absent { Ok(Reply::Null) } else { Err(CommandError::EXISTS) };
    }
    create(keys, key, &options)?;
    Ok(Reply::Ok)
}

/// Create the filter of these options under a key that does not exist, and replicate it.
pub fn create(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    options: &Options,
) -> Result<(), CommandError> {
    let room = keys.room_bytes(0);
    let filter = options.create_spec.make(room).map_err(|error| {
        let need = options.create_spec.bytes().unwrap_or(0.0) as u64;
        explained(error, keys, key, 0, need, room)
    })?;
    if let Some(items) = options.scale_to {
        check_scale(&options.create_spec, items, room)?;
    }
    // Relative times mean something else on a replica, and in an append-only file.
    let expires_ms = options
        .expires_s
        .map(|seconds| seconds.saturating_mul(1000).saturating_add_unsigned(keys.clock().ms()));
    keys.create(key, filter, expires_ms)?;
    let mut words = vec![key.name.to_vec()];
    words.extend(options.create_spec.words());
    keys.changed(key, "bf.reserve", Replicate::As("RESERVE", words));
    if let Some(at) = expires_ms {
        let words = vec![key.name.to_vec(), at.to_string().into_bytes()];
        keys.changed(key, "expire", Replicate::As("PEXPIREAT", words));
    }
    Ok(())
}

/// Whether it could grow to this many items within the limits.
fn check_scale(create_spec: &CreateSpec, items: u64, room_bytes: u64) -> Result<(), CommandError> {
    // Grown filters cost up to 1.7 times the bits of one created for all items.
    let grown = CreateSpec { capacity: items.min(1 << 47), ..*create_spec };
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
