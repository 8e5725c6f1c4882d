//! The rows of `CF.*`: RedisBloom's cuckoo filters by name, grammar and replies.

use super::{Arg, Command, Flag, KEY, Origin, READS, Value, WRITES};
use crate::handlers::cuckoo::{add, create, query, transfer};

const ADDS: &[Flag] = &[Flag::Write, Flag::DenyOom, Flag::Fast];
const ITEM: Arg = Arg::One("item", Value::Text);
const CAPACITY: Arg = Arg::Option("CAPACITY", "capacity", Value::Integer);
const POSITION: Arg = Arg::One("iterator", Value::Integer);
const INSERT: &[Arg] = &[KEY, CAPACITY, Arg::Flag("NOCREATE"), Arg::Word("ITEMS"), Arg::Items];

/// All of them.
pub const CUCKOO: &[Command] = &[
    Command {
        name: "RESERVE",
        args: &[
            KEY,
            Arg::One("capacity", Value::Integer),
            Arg::Option("BUCKETSIZE", "bucketsize", Value::Integer),
            Arg::Option("MAXITERATIONS", "maxiterations", Value::Integer),
            Arg::Option("EXPANSION", "expansion", Value::Integer),
            Arg::Option("ERROR", "error_rate", Value::Double),
            Arg::Option("GROWTH", "times", Value::Integer),
            Arg::Option("SECRET", "hex", Value::Text),
        ],
        flags: WRITES,
        cost: "O(1), and zeroed memory for the capacity",
        about: "Create an empty filter for this many items, which can be deleted again.",
        origin: Origin::Compatible,
        run: create::reserve,
    },
    Command {
        name: "ADD",
        args: &[KEY, ITEM],
        flags: ADDS,
        cost: "O(1); while it grows a line of items is moved, too",
        about: "Add one item, once more if it is in already. Always 1, or an error.",
        origin: Origin::Compatible,
        run: add::add,
    },
    Command {
        name: "ADDNX",
        args: &[KEY, ITEM],
        flags: ADDS,
        cost: "O(1); while it grows a line of items is moved, too",
        about: "Add one item unless it may be in already: 0. Never delete an item that was answered 0.",
        origin: Origin::Compatible,
        run: add::addnx,
    },
    Command {
        name: "INSERT",
        args: INSERT,
        flags: WRITES,
        cost: "O(n), n = items",
        about: "Add items, creating the filter where there is none. For each 1, or -1 if the filter is full.",
        origin: Origin::Compatible,
        run: add::insert,
    },
    Command {
        name: "INSERTNX",
        args: INSERT,
        flags: WRITES,
        cost: "O(n), n = items",
        about: "Add those of the items that are certainly not in. For each 1, 0 if it may be in, -1 if the filter is full.",
        origin: Origin::Compatible,
        run: add::insertnx,
    },
    Command {
        name: "EXISTS",
        args: &[KEY, ITEM],
        flags: READS,
        cost: "O(1): a cache line or two",
        about: "Whether the item may be in: 0 is certain.",
        origin: Origin::Compatible,
        run: query::exists,
    },
    Command {
        name: "MEXISTS",
        args: &[KEY, Arg::Items],
        flags: READS,
        cost: "O(n), n = items",
        about: "Whether each of the items may be in: 0 is certain.",
        origin: Origin::Compatible,
        run: query::mexists,
    },
    Command {
        name: "COUNT",
        args: &[KEY, ITEM],
        flags: READS,
        cost: "O(1): a cache line or two",
        about: "How often the item may be in: never less than it is.",
        origin: Origin::Compatible,
        run: query::count,
    },
    Command {
        name: "DEL",
        args: &[KEY, ITEM],
        flags: &[Flag::Write, Flag::Fast],
        cost: "O(1): a cache line or two",
        about: "Delete one insertion of an item that was added. 0 if it was certainly not in.",
        origin: Origin::Compatible,
        run: create::del,
    },
    Command {
        name: "COMPACT",
        args: &[KEY],
        flags: READS,
        cost: "O(1)",
        about: "Nothing: there are no sub-filters to compact. For programs that call it.",
        origin: Origin::Compatible,
        run: create::compact,
    },
    Command {
        name: "SCANDUMP",
        args: &[KEY, POSITION],
        flags: &[Flag::ReadOnly],
        cost: "O(b), b = bytes of the chunk; the last one sums the whole filter",
        about: "The next piece of a dump and the iterator to go on with; begin at 0, end at 0.",
        origin: Origin::Compatible,
        run: transfer::scandump,
    },
    Command {
        name: "LOADCHUNK",
        args: &[KEY, POSITION, Arg::One("data", Value::Text)],
        flags: WRITES,
        cost: "O(b), b = bytes of the chunk; the last one checks the whole dump",
        about: "Load a piece of a dump of CF.SCANDUMP, with the iterator it came with.",
        origin: Origin::Compatible,
        run: transfer::loadchunk,
    },
    Command {
        name: "INFO",
        args: &[KEY, Arg::OneOf("field", &["FULL"])],
        flags: READS,
        cost: "O(1)",
        about: "What RedisBloom tells of a cuckoo filter, and with FULL how it stands: load, rate now.",
        origin: Origin::Compatible,
        run: create::info,
    },
    Command {
        name: "DEBUG",
        args: &[KEY],
        flags: READS,
        cost: "O(1)",
        about: "The same numbers in one line of text.",
        origin: Origin::Compatible,
        run: create::debug,
    },
];
