//! `CF.RESERVE`, `CF.DEL`, `CF.COMPACT`, `CF.INFO` and `CF.DEBUG`.

use crate::args::{decimal, integer, is};
use crate::filter::CuckooSpec;
use crate::handlers::memory_limit::explained;
use crate::settings::CuckooSettings;
use crate::{Args, CommandError, Filter, KeyArg, Keyspace, Replicate, Reply, Settings};
use mayhap::Secret;
use mayhap::format::dump::CuckooParams;

/// `CF.RESERVE key capacity [BUCKETSIZE b] [MAXITERATIONS i] [EXPANSION e] [ERROR rate] [GROWTH g]
/// [SECRET hex]`
pub fn reserve<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let key = args.key(1);
    let options = args.from(3);
    if !options.len().is_multiple_of(2) {
        return Err(CommandError::Arity);
    }
    let capacity = integer(args.word(2)).ok_or(CommandError::text("Bad capacity"))?;
    let mut spec = CuckooSpec { doublings: 0, ..default_spec(keys) };
    for pair in options.chunks_exact(2) {
        option(&mut spec, pair[0], pair[1])?;
    }
    let most = Settings::MAX_CAPACITY as i64;
    if capacity < 2 * i64::from(spec.params.bucket_size) || capacity > most {
        return Err(CommandError::Text(
            format!("Capacity must be in the range [2 * BUCKETSIZE, {most}]").into(),
        ));
    }
    spec.capacity = capacity as u64;
    if keys.read(key)?.is_some() {
        return Err(CommandError::EXISTS);
    }
    create(keys, key, &spec)?;
    Ok(Reply::Ok)
}

fn option(spec: &mut CuckooSpec, word: &[u8], value: &[u8]) -> Result<(), CommandError> {
    let within = |name: &str, least: i64, most: i64| {
        let got = integer(value)
            .ok_or_else(|| CommandError::Text(format!("Couldn't parse {name}").into()))?;
        if (least..=most).contains(&got) {
            return Ok(got);
        }
        let text = format!("{name}: value must be in the range [{least}, {most}]");
        Err(CommandError::Text(text.into()))
    };
    if is(word, "BUCKETSIZE") {
        spec.params.bucket_size = within("BUCKETSIZE", 1, 255)? as u16;
    } else if is(word, "MAXITERATIONS") {
        spec.params.max_iterations = within("MAXITERATIONS", 1, 65535)? as u16;
    } else if is(word, "EXPANSION") {
        spec.params.expansion = within("EXPANSION", 0, 32768)? as u16;
    } else if is(word, "ERROR") {
        let rate = decimal(value).ok_or(CommandError::text("Couldn't parse ERROR"))?;
        if !(mayhap::Spec::MIN_FPR..1.0).contains(&rate) {
            let text =
                format!("ERROR: value must be in the range [{:e}, 1)", mayhap::Spec::MIN_FPR);
            return Err(CommandError::Text(text.into()));
        }
        spec.fpr = rate;
    } else if is(word, "GROWTH") {
        let times = within("GROWTH", 1, 1 << 30)? as u64;
        spec.doublings = times.next_power_of_two().trailing_zeros();
    } else if is(word, "SECRET") {
        let bad = CommandError::text("SECRET must be 32 hex digits");
        spec.secret = Secret::from_hex(value).ok_or(bad)?;
    } else {
        return Err(CommandError::UNKNOWN_ARGUMENT);
    }
    Ok(())
}

/// What a filter is like that an item creates.
pub fn default_spec(keys: &mut dyn Keyspace) -> CuckooSpec {
    let CuckooSettings { initial_size, bucket_size, max_iterations, expansion } =
        keys.cuckoo_settings();
    CuckooSpec {
        capacity: initial_size,
        fpr: keys.settings().error_rate,
        doublings: CuckooSpec::DOUBLINGS,
        params: CuckooParams { bucket_size, max_iterations, expansion, deletes: 0 },
        secret: keys.secret(),
    }
}

/// Make the filter at a key where nothing is, and tell replicas all of it.
pub fn create(
    keys: &mut dyn Keyspace,
    key: KeyArg<'_>,
    spec: &CuckooSpec,
) -> Result<(), CommandError> {
    let room = keys.room_bytes(0);
    let made = spec.make(room);
    let filter = made.map_err(|error| explained(error, keys, key, 0, spec.bytes(), room))?;
    keys.create(key, filter, None)?;
    let mut words = vec![key.name.to_vec()];
    words.extend(spec.words());
    keys.changed(key, "cf.reserve", Replicate::As("CF.RESERVE", words));
    Ok(())
}

/// `CF.DEL key item`
pub fn del<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    const NOT_FOUND: CommandError = CommandError::text("Not found");
    let key = args.key(1);
    let filter = keys.write(key).map_err(|_| NOT_FOUND)?.ok_or(NOT_FOUND)?;
    let removed = filter.delete(args.word(2))?;
    if removed {
        keys.changed(key, "cf.del", Replicate::Verbatim);
    }
    Ok(Reply::Bool(removed))
}

/// `CF.COMPACT key`
///
/// There are no sub-filters to move items between: nothing to do, and nothing to wait for.
pub fn compact<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    const NOT_FOUND: CommandError = CommandError::text("Cuckoo filter was not found");
    keys.read(args.key(1)).map_err(|_| NOT_FOUND)?.ok_or(NOT_FOUND)?;
    Ok(Reply::Ok)
}

/// The filter that must be there, and its parameters.
fn found<'k>(
    keys: &'k mut dyn Keyspace,
    key: KeyArg<'_>,
) -> Result<(&'k Filter, CuckooParams), CommandError> {
    let filter = keys.read(key)?.ok_or(CommandError::NOT_FOUND)?;
    let params = filter.cuckoo().ok_or(CommandError::WRONG_TYPE)?;
    Ok((filter, params))
}

/// `CF.INFO key [FULL]`
pub fn info<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (filter, params) = found(keys, args.key(1))?;
    let quotient = filter.quotient()?;
    // These eight and no others: some clients refuse names that they do not know.
    let mut fields = vec![
        ("Size", Reply::Int(int(filter.memory_bytes()))),
        ("Number of buckets", Reply::Int(int(params.buckets(quotient.spec().capacity())))),
        ("Number of filters", Reply::Int(1)),
        ("Number of items inserted", Reply::Int(int(quotient.keys()))),
        ("Number of items deleted", Reply::Int(int(params.deletes))),
        ("Bucket size", Reply::Int(params.bucket_size.into())),
        ("Expansion rate", Reply::Int(params.expansion.into())),
        ("Max iterations", Reply::Int(params.max_iterations.into())),
    ];
    if args.count() < 3 {
        return Ok(Reply::Fields(fields));
    }
    if !is(args.word(2), "FULL") {
        return Err(CommandError::text("Invalid information value"));
    }
    fields.extend([
        ("Capacity", Reply::Int(int(quotient.capacity()))),
        ("Load", Reply::Double(quotient.load())),
        ("Distinct fingerprints", Reply::Int(int(quotient.distinct_fingerprints()))),
        ("Side table entries", Reply::Int(int(quotient.side_entries()))),
        ("Error rate", Reply::Double(quotient.spec().fpr())),
        ("Error rate now", Reply::Double(quotient.fpr_now())),
        ("Items at the error rate", Reply::Int(int(quotient.keys_at_fpr()))),
    ]);
    Ok(Reply::Fields(fields))
}

/// `CF.DEBUG key`
pub fn debug<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let (filter, params) = found(keys, args.key(1))?;
    let quotient = filter.quotient()?;
    let CuckooParams { bucket_size, max_iterations, expansion, deletes } = params;
    Ok(Reply::Line(format!(
        "bktsize:{bucket_size} buckets:{} items:{} deletes:{deletes} filters:1 max_iterations:{max_iterations} expansion:{expansion}",
        params.buckets(quotient.spec().capacity()),
        quotient.keys(),
    )))
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
