//! `BF.INFO` and `BF.CARD`.

use crate::args::is;
use crate::{Args, CommandError, Keyspace, Reply};

const CAPACITY: &str = "Capacity";
const SIZE: &str = "Size";
const FILTERS: &str = "Number of filters";
const ITEMS: &str = "Number of items inserted";
const EXPANSION: &str = "Expansion rate";

/// `BF.CARD key`
pub fn card<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let now = keys.clock().ms();
    let items = keys.read(args.key(1))?.map_or(Ok(0), |filter| filter.items(now))?;
    Ok(Reply::Int(int(items)))
}

/// `BF.INFO key [CAPACITY | SIZE | FILTERS | ITEMS | EXPANSION | FULL]`
pub fn info<'a>(keys: &mut dyn Keyspace, args: &Args<'a>) -> Result<Reply<'a>, CommandError> {
    let now = keys.clock().ms();
    let filter = keys.read(args.key(1))?.ok_or(CommandError::NOT_FOUND)?;
    let (capacity, bytes, layers, items, expansion) = filter.classical(now)?;
    let expansion = expansion.map_or(Reply::Null, |rate| Reply::Int(rate.into()));
    let mut fields = vec![
        (CAPACITY, Reply::Int(int(capacity))),
        (SIZE, Reply::Int(int(bytes))),
        (FILTERS, Reply::Int(int(layers))),
        (ITEMS, Reply::Int(int(items))),
        (EXPANSION, expansion),
    ];
    if args.count() < 3 {
        return Ok(Reply::Fields(fields));
    }
    let names = ["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION"];
    if let Some(at) = names.iter().position(|name| is(args.word(2), name)) {
        let (name, value) = fields.swap_remove(at);
        return Ok(Reply::Field(name, Box::new(value)));
    }
    if !is(args.word(2), "FULL") {
        return Err(CommandError::text("Invalid information value"));
    }
    let info = filter.info(now)?;
    fields.extend([
        ("Kind", Reply::Text(info.kind)),
        ("Keyed", Reply::Bool(info.keyed)),
        ("Error rate", Reply::Double(info.target)),
        ("Error rate now", Reply::Double(info.rate_now)),
        ("Fill", Reply::Double(info.fill)),
    ]);
    if let Some(shard) = filter.shard() {
        fields.push(("Shard", Reply::Line(shard.to_string())));
    }
    if let Some((seconds, generations, age)) = info.window {
        let of_time = seconds > 0.0;
        fields.extend([
            ("Window seconds", Reply::Double(seconds)),
            ("Window generations", Reply::Int(generations.into())),
            (if of_time { "Window age seconds" } else { "Window age items" }, Reply::Double(age)),
        ]);
    }
    Ok(Reply::Fields(fields))
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
