//! Every command, one row each. Arity, key positions, flags, `COMMAND DOCS` and
//! `docs/COMMANDS.md` are read from here; a fact is written nowhere else.

use crate::args::is;
use crate::handlers::{add, ask, create, debug, info, merge, remove, shard, transfer, unseen};
use crate::{Args, CommandError, Keyspace, Reply};
use std::fmt::Write;

/// What does a command.
pub type Handler = for<'a> fn(&mut dyn Keyspace, &Args<'a>) -> Result<Reply<'a>, CommandError>;

/// One command.
#[derive(Debug)]
pub struct Command {
    /// Its name, without the prefix.
    pub name: &'static str,
    /// Its arguments in order.
    pub args: &'static [Arg],
    /// What the server must know about it.
    pub flags: &'static [Flag],
    /// What it costs.
    pub cost: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where the command comes from.
    pub origin: Origin,
    /// What does it.
    pub run: Handler,
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
    /// A word that must be there.
    Word(&'static str),
    /// A word that may be there.
    Flag(&'static str),
    /// A last word that may be there; without it the command only reads.
    WriteFlag(&'static str),
    /// A word with a value that may be there.
    Option(&'static str, &'static str, Value),
    /// One of several words, or none.
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

/// What the server must know about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// It may change the key.
    Write,
    /// It needs memory, and is refused where the server has none.
    DenyOom,
    /// It changes nothing.
    ReadOnly,
    /// It costs about as much as `GET`.
    Fast,
}

impl Flag {
    /// As the server spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Flag::Write => "write",
            Flag::DenyOom => "deny-oom",
            Flag::ReadOnly => "readonly",
            Flag::Fast => "fast",
        }
    }
}

/// What a command does with a key: what ACL rules such as `%R~*` and `%W~*` are about.
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

/// Where a command comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// RedisBloom has it too.
    Compatible,
    /// Ours.
    Ours,
}

const WRITES: &[Flag] = &[Flag::Write, Flag::DenyOom];
const FREES: &[Flag] = &[Flag::Write];
const READS: &[Flag] = &[Flag::ReadOnly, Flag::Fast];

const EXPANSION: Arg = Arg::Option("EXPANSION", "expansion", Value::Integer);
const NONSCALING: Arg = Arg::Flag("NONSCALING");
const KIND: Arg = Arg::Option("KIND", "blocked|classic|counting|windowed", Value::Text);
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
        about: "Create an empty filter for this many items at this rate of false positives.",
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
        about: "Add items, creating the filter as the options say where there is none.",
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
        run: ask::exists,
    },
    Command {
        name: "MEXISTS",
        args: &[KEY, Arg::Items],
        flags: READS,
        cost: "O(n·l), n = items, l = layers",
        about: "Whether each of the items may be in: 0 is certain.",
        origin: Origin::Compatible,
        run: ask::mexists,
    },
    Command {
        name: "INFO",
        args: &[
            KEY,
            Arg::OneOf("field", &["CAPACITY", "SIZE", "FILTERS", "ITEMS", "EXPANSION", "FULL"]),
        ],
        flags: READS,
        cost: "O(l), l = layers; FULL reads every bit",
        about: "What the filter is, and with FULL how it stands: kind, rate asked for, rate now.",
        origin: Origin::Compatible,
        run: info::info,
    },
    Command {
        name: "CARD",
        args: &[KEY],
        flags: READS,
        cost: "O(l), l = layers",
        about: "How many items were counted in; 0 where there is no filter.",
        origin: Origin::Compatible,
        run: info::card,
    },
    Command {
        name: "DEBUG",
        args: &[KEY],
        flags: READS,
        cost: "O(l), l = layers",
        about: "The items counted in, and a line for each layer: bytes, bits, hashes, capacity, items, rate.",
        origin: Origin::Compatible,
        run: debug::debug,
    },
    Command {
        name: "SCANDUMP",
        args: &[KEY, Arg::One("iterator", Value::Integer)],
        flags: &[Flag::ReadOnly],
        cost: "O(b), b = bytes of the chunk; the last one sums the whole filter",
        about: "The next piece of a dump and the iterator to go on with; begin at 0, end at 0.",
        origin: Origin::Compatible,
        run: transfer::scandump,
    },
    Command {
        name: "LOADCHUNK",
        args: &[KEY, Arg::One("iterator", Value::Integer), Arg::One("data", Value::Text)],
        flags: WRITES,
        cost: "O(b), b = bytes of the chunk; the last one checks the whole dump",
        about: "Load a piece of a dump, RedisBloom's or ours, with the iterator it came with.",
        origin: Origin::Compatible,
        run: transfer::loadchunk,
    },
    Command {
        name: "DEL",
        args: &[KEY, Arg::Items],
        flags: FREES,
        cost: "O(n), n = items",
        about: "Give items up that were added to a counting filter. For each 1, or 0 if it was certainly not in.",
        origin: Origin::Ours,
        run: remove::del,
    },
    Command {
        name: "CLEAR",
        args: &[KEY],
        flags: FREES,
        cost: "O(b), b = bytes of the filter",
        about: "Forget all items; the filter stays.",
        origin: Origin::Ours,
        run: create::clear,
    },
    Command {
        name: "MERGE",
        args: &[Arg::Key("destination"), Arg::Keys("source"), Arg::Flag("LAYERS")],
        flags: WRITES,
        cost: "O(b), b = bytes of all filters",
        about: "Take in what other filters hold: those of one geometry bit by bit, others with LAYERS side by side.",
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
        run: ask::mexists_any,
    },
    Command {
        name: "UNSEEN",
        args: &[KEY, Arg::Items, Arg::WriteFlag("MARK")],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "Those of the items that are certainly not in; with MARK they are added in the same step.",
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
        about: "Mark a filter as one shard of a larger one. BADSHARD where it is another already; BF.CLEAR takes the mark away.",
        origin: Origin::Ours,
        run: shard::shard_id,
    },
    Command {
        name: "SHARDMADD",
        args: &[KEY, IDENTITY, Arg::Items],
        flags: WRITES,
        cost: "O(n·l), n = items, l = layers",
        about: "As BF.MADD, if the key holds this shard: else BADSHARD, and nothing is added or made.",
        origin: Origin::Ours,
        run: shard::madd,
    },
    Command {
        name: "SHARDMEXISTS",
        args: &[KEY, IDENTITY, Arg::Items],
        flags: READS,
        cost: "O(n·l), n = items, l = layers",
        about: "As BF.MEXISTS, if the key holds this shard: else BADSHARD. A key that is missing is an error, not a no.",
        origin: Origin::Ours,
        run: shard::mexists,
    },
];

impl Command {
    /// As the server counts: the command's name included, negative for "at least".
    pub const fn arity(&self) -> i32 {
        let (least, most) = self.words();
        if least == most { least as i32 } else { -(least as i32) }
    }

    /// The fewest and the most words it has, its name included.
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

    /// Whether a command of so many words, its name included, has them all.
    #[inline]
    pub const fn takes(&self, words: usize) -> bool {
        let (least, most) = self.words();
        least <= words && words <= most
    }

    /// Whether only the command itself can tell where its keys end, or what it does with them.
    /// Elsewhere there is one, which comes first.
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

    /// Where its keys are in this very command.
    pub fn key_places(&self, args: &Args<'_>) -> std::ops::Range<usize> {
        match self.args {
            [Arg::Keys(_), ..] => 1..ask::keys_and_items(args).map_or(1, |(count, _)| count + 1),
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

    /// What this very command does with the key at this place.
    pub fn access_at(&self, place: usize, args: &Args<'_>) -> Access {
        let last = args.count().saturating_sub(1);
        match (self.args.get(place - 1), self.write_flag()) {
            // As the handler has it: the word is a flag only after a key and an item.
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

    /// How it is called, after its name.
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
    for (title, origin) in [("As in RedisBloom", Origin::Compatible), ("Ours", Origin::Ours)] {
        _ = write!(page, "\n## {title}\n");
        for command in COMMANDS.iter().filter(|command| command.origin == origin) {
            let Command { name, cost, about, .. } = command;
            let (usage, flags) = (command.usage(), command.flag_words());
            _ = write!(
                page,
                "\n### BF.{name}\n\n```text\nBF.{name} {usage}\n```\n\n{about}\n\n\
                 Cost: {cost}. Flags: {flags}.\n"
            );
        }
    }
    page
}

#[cfg(test)]
mod tests;
