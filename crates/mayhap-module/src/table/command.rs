//! What a row says, and what follows from it: arity, key positions, ACL rules, flags, syntax.

use crate::args::is;
use crate::handlers::query;
use crate::{Args, CommandError, Keyspace, Reply};

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
    /// `BF.*`: [`COMMANDS`](super::COMMANDS).
    Bloom,
    /// `CF.*`: [`CUCKOO`](super::CUCKOO).
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
