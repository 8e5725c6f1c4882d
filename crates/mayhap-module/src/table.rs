//! Every command, one row each. Arity, key positions, flags, `COMMAND DOCS` and `docs/COMMANDS.md`
//! are generated from here.

mod command;
mod cuckoo;

pub use command::{Access, Arg, Command, Family, Flag, Handler, Origin, Value};
pub use cuckoo::CUCKOO;

use crate::handlers::{add, create, debug, info, merge, query, remove, shard, transfer, unseen};
use std::fmt::Write;

const WRITES: &[Flag] = &[Flag::Write, Flag::DenyOom];
const FREES: &[Flag] = &[Flag::Write];
const READS: &[Flag] = &[Flag::ReadOnly, Flag::Fast];

const EXPANSION: Arg = Arg::Option("EXPANSION", "expansion", Value::Integer);
const NONSCALING: Arg = Arg::Flag("NONSCALING");
const KIND: Arg = Arg::Option("KIND", "blocked|classic|quotient|windowed", Value::Text);
const WINDOW: Arg = Arg::Option("WINDOW", "seconds", Value::Double);
const LAST: Arg = Arg::Option("LAST", "items", Value::Integer);
const GENERATIONS: Arg = Arg::Option("GENERATIONS", "generations", Value::Integer);
const EX: Arg = Arg::Option("EX", "seconds", Value::Integer);
const COMPAT: Arg = Arg::Flag("COMPAT");
const SECRET: Arg = Arg::Option("SECRET", "hex", Value::Text);
const KEY: Arg = Arg::Key("key");
const IDENTITY: Arg = Arg::One("id/index/count", Value::Text);

/// All of them.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "RESERVE",
        args: &[
            KEY,
            Arg::One("error_rate", Value::Double),
            Arg::One("capacity", Value::Integer),
            EXPANSION,
            NONSCALING,
            KIND,
            WINDOW,
            LAST,
            GENERATIONS,
            EX,
            Arg::Flag("NX"),
            COMPAT,
            SECRET,
        ],
        flags: WRITES,
        cost: "O(1), and zeroed memory for the capacity",
        about: "Create an empty filter for this many items at this false-positive rate.",
        origin: Origin::Compatible,
        run: create::reserve,
    },
    Command {
        name: "ADD",
        args: &[KEY, Arg::One("item", Value::Text)],
        flags: &[Flag::Write, Flag::DenyOom, Flag::Fast],
        cost: "O(l), l = layers: one cache line each",
        about: "Add one item. 1 if it was certainly new, 0 if it may have been there.",
        origin: Origin::Compatible,
        run: add::add,
    },
    Command {
        name: "MADD",
        args: &[KEY, Arg::Items],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "Add items. For each 1 if it was certainly new, 0 if it may have been there.",
        origin: Origin::Compatible,
        run: add::madd,
    },
    Command {
        name: "INSERT",
        args: &[
            KEY,
            Arg::Option("CAPACITY", "capacity", Value::Integer),
            Arg::Option("ERROR", "error_rate", Value::Double),
            EXPANSION,
            Arg::Flag("NOCREATE"),
            NONSCALING,
            KIND,
            WINDOW,
            LAST,
            GENERATIONS,
            EX,
            COMPAT,
            SECRET,
            Arg::Option("AT", "unix_ms", Value::Integer),
            Arg::Option("TIGHTENING", "ratio", Value::Double),
            Arg::Option("SEED", "seed", Value::Text),
            Arg::Option("VALIDATESCALETO", "items", Value::Integer),
            Arg::Word("ITEMS"),
            Arg::Items,
        ],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "Add items; the filter is created with the options if it does not exist.",
        origin: Origin::Compatible,
        run: add::insert,
    },
    Command {
        name: "EXISTS",
        args: &[KEY, Arg::One("item", Value::Text)],
        flags: READS,
        cost: "O(l), l = layers: one cache line each",
        about: "Whether the item may be in: 0 is certain.",
        origin: Origin::Compatible,
        run: query::exists,
    },
    Command {
        name: "MEXISTS",
        args: &[KEY, Arg::Items],
        flags: READS,
        cost: "O(n·l), n = items, l = layers",
        about: "Whether each of the items may be in: 0 is certain.",
        origin: Origin::Compatible,
        run: query::mexists,
    },
    Command {
        name: "INFO",
        args: &[
            KEY,
            Arg::OneOf("field", &["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", "FULL"]),
        ],
        flags: READS,
        cost: "O(l), l = layers; FULL reads every bit",
        about: "Facts about the filter; with FULL also kind, target and current false-positive rate.",
        origin: Origin::Compatible,
        run: info::info,
    },
    Command {
        name: "CARD",
        args: &[KEY],
        flags: READS,
        cost: "O(l), l = layers",
        about: "The number of items; 0 if there is no filter.",
        origin: Origin::Compatible,
        run: info::card,
    },
    Command {
        name: "DEBUG",
        args: &[KEY],
        flags: READS,
        cost: "O(l), l = layers",
        about: "The number of items, and a line for each layer: bytes, bits, hashes, capacity, items, rate.",
        origin: Origin::Compatible,
        run: debug::debug,
    },
    Command {
        name: "SCANDUMP",
        args: &[KEY, Arg::One("iterator", Value::Integer)],
        flags: &[Flag::ReadOnly],
        cost: "O(b), b = bytes of the chunk; the last one computes the checksums of the whole filter",
        about: "The next chunk of a dump and the next iterator; begin at 0, end at 0.",
        origin: Origin::Compatible,
        run: transfer::scandump,
    },
    Command {
        name: "LOADCHUNK",
        args: &[KEY, Arg::One("iterator", Value::Integer), Arg::One("data", Value::Text)],
        flags: WRITES,
        cost: "O(b), b = bytes of the chunk; the last one verifies the whole dump",
        about: "Load a chunk of a dump, RedisBloom's or Mayhap's, with its iterator.",
        origin: Origin::Compatible,
        run: transfer::loadchunk,
    },
    Command {
        name: "DEL",
        args: &[KEY, Arg::Items],
        flags: FREES,
        cost: "O(n), n = items",
        about: "Remove items that were added to a quotient filter. For each 1, or 0 if it was certainly not in.",
        origin: Origin::Ours,
        run: remove::del,
    },
    Command {
        name: "CLEAR",
        args: &[KEY],
        flags: FREES,
        cost: "O(b), b = bytes of the filter",
        about: "Remove all items; the filter stays.",
        origin: Origin::Ours,
        run: create::clear,
    },
    Command {
        name: "MERGE",
        args: &[Arg::Key("destination"), Arg::Keys("source"), Arg::Flag("LAYERS")],
        flags: WRITES,
        cost: "O(b), b = bytes of all filters",
        about: "Add everything other filters hold: those of one geometry bit by bit, others with LAYERS side by side.",
        origin: Origin::Ours,
        run: merge::merge,
    },
    Command {
        name: "MEXISTSANY",
        args: &[Arg::Keys("key"), Arg::Word("ITEMS"), Arg::Items],
        flags: &[Flag::ReadOnly],
        cost: "O(f·n·l), f = filters, n = items, l = layers",
        about: "Whether each of the items may be in any of the filters: 0 is certain.",
        origin: Origin::Ours,
        run: query::mexists_any,
    },
    Command {
        name: "UNSEEN",
        args: &[KEY, Arg::Items, Arg::WriteFlag("MARK")],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "The items that are certainly not in; with MARK they are also added, atomically.",
        origin: Origin::Ours,
        run: unseen::unseen,
    },
    Command {
        name: "UNSEEN_RO",
        args: &[KEY, Arg::Items],
        flags: READS,
        cost: "O(n·l), n = items, l = layers",
        about: "BF.UNSEEN without MARK, for replicas and for users who may not write.",
        origin: Origin::Ours,
        run: unseen::unseen_ro,
    },
    Command {
        name: "SHARDID",
        args: &[KEY, IDENTITY],
        flags: FREES,
        cost: "O(1)",
        about: "Mark a filter as one shard of a larger one. BADSHARD if it is another already; BF.CLEAR removes the mark.",
        origin: Origin::Ours,
        run: shard::shard_id,
    },
    Command {
        name: "SHARDMADD",
        args: &[KEY, IDENTITY, Arg::Items],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "As BF.MADD, if the key holds this shard: else BADSHARD, and nothing is added or created.",
        origin: Origin::Ours,
        run: shard::madd,
    },
    Command {
        name: "SHARDMEXISTS",
        args: &[KEY, IDENTITY, Arg::Items],
        flags: READS,
        cost: "O(n·l), n = items, l = layers",
        about: "As BF.MEXISTS, if the key holds this shard: else BADSHARD. A missing key is an error, not a no.",
        origin: Origin::Ours,
        run: shard::mexists,
    },
];

/// `docs/COMMANDS.md`.
pub fn commands_page() -> String {
    let mut page = "# The commands of the module\n\n\
        Printed from the command table (`crates/mayhap-module/src/table.rs`) by\n\
        `MAYHAP_WRITE_DOCS=1 cargo test -p mayhap-module --lib commands_page`; a test fails where the two\n\
        differ. What the options mean, and what differs from RedisBloom: [REDIS.md](REDIS.md).\n"
        .to_owned();
    for (title, family, commands, origin) in [
        ("As in RedisBloom", "BF", COMMANDS, Origin::Compatible),
        ("Ours", "BF", COMMANDS, Origin::Ours),
        ("Items that can be deleted, as in RedisBloom", "CF", CUCKOO, Origin::Compatible),
    ] {
        _ = write!(page, "\n## {title}\n");
        for command in commands.iter().filter(|command| command.origin == origin) {
            let Command { name, cost, about, .. } = command;
            let (usage, flags) = (command.usage(), command.flag_words());
            _ = write!(
                page,
                "\n### {family}.{name}\n\n```text\n{family}.{name} {usage}\n```\n\n{about}\n\n\
                 Cost: {cost}. Flags: {flags}.\n"
            );
        }
    }
    page
}

#[cfg(test)]
mod tests;
