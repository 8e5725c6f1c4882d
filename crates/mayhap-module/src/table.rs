//! Every command, one row each. Arity, key positions, flags, `COMMAND DOCS` and `docs/COMMANDS.md`
//! are generated from here.

mod cuckoo;

pub use cuckoo::CUCKOO;

use crate::args::is;
use crate::handlers::{add, create, debug, info, merge, query, remove, shard, transfer, unseen};
use crate::{Args, CommandError, Keyspace, Reply};
use std::fmt::Write;

/// The function of a command.
pub type Handler = for<'a> fn(&mut dyn Keyspace, &Args<'a>) -> Result<Reply<'a>, CommandError>;

/// One command.
#[derive(Debug)]
pub struct Command {
    /// Its name, without the prefix.
    pub name: &'static str,
    /// Its arguments in order.
    pub args: &'static [Arg],
    /// Its flags.
    pub flags: &'static [Flag],
    /// Its complexity.
    pub cost: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The origin of the command.
    pub origin: Origin,
    /// Its handler.
    pub run: Handler,
}

/// Two families of commands, each with filters of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `BF.*`: [`COMMANDS`].
    Bloom,
    /// `CF.*`: [`CUCKOO`].
    Cuckoo,
}

/// An argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// A key.
    Key(&'static str),
    /// One or more keys that are only read, up to the word that ends them or the end.
    Keys(&'static str),
    /// One value.
    One(&'static str, Value),
    /// One or more items.
    Items,
    /// A required word.
    Word(&'static str),
    /// An optional word.
    Flag(&'static str),
    /// An optional last word; without it the command only reads.
    WriteFlag(&'static str),
    /// An optional word with a value.
    Option(&'static str, &'static str, Value),
    /// One of several optional words.
    OneOf(&'static str, &'static [&'static str]),
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes.
    Text,
    /// A whole number.
    Integer,
    /// A number with a fraction.
    Double,
}

/// A command flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// It may change the key.
    Write,
    /// It needs memory, and is rejected if the server has none.
    DenyOom,
    /// It changes nothing.
    ReadOnly,
    /// It costs about as much as `GET`.
    Fast,
}

impl Flag {
    /// The server's name of it.
    pub const fn name(self) -> &'static str {
        match self {
            Flag::Write => "write",
            Flag::DenyOom => "deny-oom",
            Flag::ReadOnly => "readonly",
            Flag::Fast => "fast",
        }
    }
}

/// What a command does with a key, for ACL rules such as `%R~*` and `%W~*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it.
    Read,
    /// Creates it or adds to it.
    Write,
    /// Removes from it.
    Delete,
    /// Answers from it and adds to it.
    ReadWrite,
}

/// The origin of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// RedisBloom has it too.
    Compatible,
    /// Only Mayhap has it.
    Ours,
}

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

impl Command {
    /// As the server counts: including the command's name, negative for "at least".
    pub const fn arity(&self) -> i32 {
        let (least, most) = self.words();
        if least == most { least as i32 } else { -(least as i32) }
    }

    /// The minimum and maximum number of arguments, including the name.
    pub const fn words(&self) -> (usize, usize) {
        let (mut least, mut more, mut at) = (1, Some(0), 0);
        while at < self.args.len() {
            match (self.args[at], more) {
                (Arg::Key(_) | Arg::One(..) | Arg::Word(_), _) => least += 1,
                (Arg::Keys(_) | Arg::Items, _) => (least, more) = (least + 1, None),
                (Arg::Flag(_) | Arg::WriteFlag(_) | Arg::OneOf(..), Some(known)) => {
                    more = Some(known + 1);
                }
                (Arg::Option(..), Some(known)) => more = Some(known + 2),
                (Arg::Flag(_) | Arg::WriteFlag(_) | Arg::OneOf(..) | Arg::Option(..), None) => {}
            }
            at += 1;
        }
        match more {
            Some(more) => (least, least + more),
            None => (least, usize::MAX),
        }
    }

    /// Whether this number of arguments, including the name, is valid.
    #[inline]
    pub const fn takes(&self, words: usize) -> bool {
        let (least, most) = self.words();
        least <= words && words <= most
    }

    /// Whether only the command itself can tell where its keys end, or what it does with them.
    /// Otherwise there is one, which comes first.
    pub const fn must_be_asked(&self) -> bool {
        let mut at = 0;
        while at < self.args.len() {
            if matches!(self.args[at], Arg::Keys(_) | Arg::WriteFlag(_)) {
                return true;
            }
            at += 1;
        }
        false
    }

    /// The positions of the keys in this very command.
    pub fn key_places(&self, args: &Args<'_>) -> std::ops::Range<usize> {
        match self.args {
            [Arg::Keys(_), ..] => 1..query::keys_and_items(args).map_or(1, |(count, _)| count + 1),
            [Arg::Key(_), Arg::Keys(_), Arg::Flag(word)] => {
                let last = args.count().saturating_sub(1);
                let ends = args.count() > 3 && is(args.word(last), word);
                1..args.count() - usize::from(ends)
            }
            _ => 1..2,
        }
    }

    /// What it does with the key of this argument, at most.
    pub fn access(&self, arg: &Arg) -> Access {
        match arg {
            Arg::Keys(_) => Access::Read,
            _ if !self.writes() => Access::Read,
            _ if self.write_flag().is_some() => Access::ReadWrite,
            _ if self.flags.contains(&Flag::DenyOom) => Access::Write,
            _ => Access::Delete,
        }
    }

    /// What this very command does with the key at this index.
    pub fn access_at(&self, place: usize, args: &Args<'_>) -> Access {
        let last = args.count().saturating_sub(1);
        match (self.args.get(place - 1), self.write_flag()) {
            // As in the handler: the word is a flag only after a key and an item.
            (Some(Arg::Key(_)), Some(word)) if last < 3 || !is(args.word(last), word) => {
                Access::Read
            }
            (Some(arg @ Arg::Key(_)), _) => self.access(arg),
            _ => Access::Read, // of a list of keys
        }
    }

    /// The word without which it only reads.
    fn write_flag(&self) -> Option<&'static str> {
        self.args.iter().find_map(|arg| match arg {
            Arg::WriteFlag(word) => Some(*word),
            _ => None,
        })
    }

    /// Whether it may change a key.
    pub fn writes(&self) -> bool {
        self.flags.contains(&Flag::Write)
    }

    /// The flags as the server wants them.
    pub fn flag_words(&self) -> String {
        let mut words: Vec<_> = self.flags.iter().map(|flag| flag.name()).collect();
        if self.must_be_asked() {
            words.push("getkeys-api");
        }
        words.join(" ")
    }

    /// Its syntax, after its name.
    pub fn usage(&self) -> String {
        let words = self.args.iter().map(|arg| match arg {
            Arg::Key(name) | Arg::One(name, _) => (*name).to_owned(),
            Arg::Keys(name) => format!("{name} [{name} ...]"),
            Arg::Items => "item [item ...]".to_owned(),
            Arg::Word(word) => (*word).to_owned(),
            Arg::Flag(word) | Arg::WriteFlag(word) => format!("[{word}]"),
            Arg::Option(word, value, _) => format!("[{word} {value}]"),
            Arg::OneOf(_, words) => format!("[{}]", words.join(" | ")),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

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
