//! The options of commands that create filters.

use crate::args::{decimal, integer, is};
use crate::filter::{Scale, Shape, Wish};
use crate::{CommandError, Settings};
use mayhap::{Secret, Window};

/// Generations of a window when nobody says otherwise.
const GENERATIONS: u32 = 4;

/// Which command's texts and options are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `BF.RESERVE key rate capacity …`.
    Reserve,
    /// `BF.INSERT key … ITEMS item…`.
    Insert,
}

/// What was asked for beside the filter itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// The filter, if one is to be made.
    pub wish: Wish,
    /// When it is to expire, in seconds from now.
    pub expires_s: Option<i64>,
    /// Whether a filter that is there already is no error.
    pub if_absent: bool,
    /// Whether no filter is to be made.
    pub no_create: bool,
    /// The time that windows are told, instead of the server's.
    pub at_ms: Option<u64>,
    /// How many items it must be able to grow to.
    pub scale_to: Option<u64>,
    /// Where the items begin.
    pub items_at: Option<usize>,
}

/// What was said so far, each at most once.
#[derive(Default)]
struct Said {
    expansion: Option<u32>,
    nonscaling: bool,
    kind: Option<Kind>,
    span_ms: Option<u64>,
    last: Option<u64>,
    generations: Option<u32>,
    compat: bool,
    capacity: bool,
    words: Vec<&'static str>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Blocked,
    Classic,
    Counting,
    Windowed,
}

const WORDS: [&str; 17] = [
    "EXPANSION",
    "NONSCALING",
    "KIND",
    "WINDOW",
    "LAST",
    "GENERATIONS",
    "EX",
    "NX",
    "COMPAT",
    "SECRET",
    "CAPACITY",
    "ERROR",
    "NOCREATE",
    "AT",
    "SEED",
    "TIGHTENING",
    "VALIDATESCALETO",
];

impl Options {
    /// Read them; `words` begins at place `from` of the command. `wish` is what holds where
    /// nothing is said.
    pub fn parse(
        words: &[&[u8]],
        from: usize,
        wish: Wish,
        dialect: Dialect,
    ) -> Result<Options, CommandError> {
        let mut options = Options {
            wish,
            expires_s: None,
            if_absent: false,
            no_create: false,
            at_ms: None,
            scale_to: None,
            items_at: None,
        };
        let mut said = Said { capacity: dialect == Dialect::Reserve, ..Said::default() };
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            if dialect == Dialect::Insert && is(word, "ITEMS") {
                options.items_at = Some(from + at);
                break;
            }
            let Some(name) = WORDS.into_iter().find(|name| is(word, name)) else {
                return Err(CommandError::UNKNOWN_ARGUMENT);
            };
            if said.words.contains(&name) {
                return Err(CommandError::said(format_args!("{name} was given twice")));
            }
            said.words.push(name);
            if options.flag(&mut said, name, dialect)? {
                continue;
            }
            let Some(value) = words.get(at) else {
                return Err(match (name, dialect) {
                    ("EXPANSION", Dialect::Reserve) => CommandError::text("ERR no expansion"),
                    ("EXPANSION" | "CAPACITY" | "ERROR", Dialect::Insert) => CommandError::Arity,
                    _ => CommandError::said(format_args!("{name} needs a value")),
                });
            };
            at += 1;
            options.value(&mut said, name, value, dialect)?;
        }
        options.settle(&said, dialect)?;
        Ok(options)
    }

    /// Options that are one word. `false`: it has a value.
    fn flag(
        &mut self,
        said: &mut Said,
        name: &str,
        dialect: Dialect,
    ) -> Result<bool, CommandError> {
        match (name, dialect) {
            ("NONSCALING", _) => said.nonscaling = true,
            ("COMPAT", _) => said.compat = true,
            ("NX", Dialect::Reserve) => self.if_absent = true,
            ("NOCREATE", Dialect::Insert) => self.no_create = true,
            ("NX" | "NOCREATE", _) => return Err(CommandError::UNKNOWN_ARGUMENT),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn value(
        &mut self,
        said: &mut Said,
        name: &str,
        value: &[u8],
        dialect: Dialect,
    ) -> Result<(), CommandError> {
        match (name, dialect) {
            ("EXPANSION", _) => {
                let got = integer(value).ok_or(bad(name, dialect))?;
                let within = u32::try_from(got).ok().filter(|got| *got <= Settings::MAX_EXPANSION);
                said.expansion = Some(within.ok_or(match dialect {
                    Dialect::Reserve => {
                        CommandError::text("ERR expansion must be in the range [0, 32768]")
                    }
                    Dialect::Insert => bad(name, dialect),
                })?);
            }
            ("KIND", _) => said.kind = Some(kind(value)?),
            ("WINDOW", _) => {
                let got = decimal(value).filter(|s| (0.001..=1e12).contains(s));
                let got = got.ok_or(CommandError::text(
                    "ERR bad WINDOW: it must be seconds, 0.001 or more",
                ))?;
                said.span_ms = Some((got * 1000.0).round() as u64);
            }
            ("LAST", _) => said.last = Some(capacity(value)?),
            ("GENERATIONS", _) => {
                let got = integer(value).filter(|got| (1..=1024).contains(got));
                let got = got.ok_or(CommandError::text("ERR GENERATIONS must be 1 to 1024"))?;
                said.generations = Some(got as u32);
            }
            ("EX", _) => {
                let got = integer(value).filter(|got| (1..=1 << 40).contains(got));
                let got = got.ok_or(CommandError::text("ERR invalid expire time"))?;
                self.expires_s = Some(got);
            }
            ("SECRET", _) => self.wish.secret = secret(value)?,
            ("SEED", _) => self.wish.secret = seed(value)?,
            ("TIGHTENING", _) => {
                // Ours are tightened as the total rate demands; a bad number is still one.
                let good = decimal(value).is_some_and(|got| got > 0.0 && got < 1.0);
                if !good {
                    return Err(CommandError::text("ERR bad tightening ratio"));
                }
            }
            ("CAPACITY", Dialect::Insert) => {
                let got = integer(value).filter(|got| (1..=MAX_CAPACITY).contains(got));
                self.wish.capacity = got.ok_or(bad(name, dialect))? as u64;
                said.capacity = true;
            }
            ("ERROR", Dialect::Insert) => {
                let got = decimal(value).filter(|got| *got > 0.0 && *got < 1.0);
                self.wish.fpr = got.ok_or(bad(name, dialect))?;
            }
            ("AT", Dialect::Insert) => {
                let got = integer(value).and_then(|got| u64::try_from(got).ok());
                let got = got.filter(|ms| *ms < 1 << 53);
                self.at_ms =
                    Some(got.ok_or(CommandError::text(
                        "ERR bad AT: it must be milliseconds since 1970",
                    ))?);
            }
            ("VALIDATESCALETO", Dialect::Insert) => {
                let got = integer(value).filter(|got| *got > 0);
                self.scale_to =
                    Some(got.ok_or(CommandError::text("ERR bad validate scale to"))? as u64);
            }
            _ => return Err(CommandError::UNKNOWN_ARGUMENT),
        }
        Ok(())
    }

    /// Put what was said together, or say why it does not fit.
    fn settle(&mut self, said: &Said, dialect: Dialect) -> Result<(), CommandError> {
        let windowed = said.span_ms.is_some() || said.last.is_some() || said.generations.is_some();
        let kind = match (said.kind, windowed) {
            (None, true) => Kind::Windowed,
            (Some(kind), true) if kind != Kind::Windowed => {
                return Err(CommandError::text(
                    "ERR WINDOW, LAST and GENERATIONS are for KIND windowed",
                ));
            }
            (kind, _) => kind.unwrap_or(Kind::Blocked),
        };
        // RedisBloom refuses both together in `BF.RESERVE`, unless the expansion is 0, which is
        // the same; in `BF.INSERT` the filter does not grow.
        let expansion = match (said.expansion, dialect) {
            (Some(1..), Dialect::Reserve) if said.nonscaling => {
                return Err(CommandError::text("Nonscaling filters cannot expand"));
            }
            _ if said.nonscaling => None,
            (expansion, _) => expansion,
        };
        if said.compat && (said.kind.is_some() || windowed) {
            return Err(CommandError::text("ERR COMPAT filters have no KIND"));
        }
        let keyed = said.words.iter().find(|word| matches!(**word, "SECRET" | "SEED"));
        if let Some(word) = keyed.filter(|_| said.compat) {
            return Err(CommandError::said(format_args!("COMPAT filters have no {word}")));
        }
        let compat = said.compat
            || self.wish.shape == Shape::Compat
                && said.kind.is_none()
                && !windowed
                && keyed.is_none();
        self.wish.shape = match kind {
            _ if compat => Shape::Compat,
            Kind::Blocked => Shape::Blocked,
            Kind::Classic => Shape::Classic,
            Kind::Counting => Shape::Counting,
            Kind::Windowed => Shape::Windowed(self.window(said)?),
        };
        let grows = matches!(self.wish.shape, Shape::Blocked | Shape::Compat);
        match expansion {
            Some(1..) if !grows => {
                return Err(CommandError::text("Nonscaling filters cannot expand"));
            }
            Some(expansion) => self.wish.scale = Scale::of(expansion),
            None if said.nonscaling && !matches!(self.wish.shape, Shape::Windowed(_)) => {
                self.wish.scale = Scale::Fixed;
            }
            None => {}
        }
        if self.scale_to.is_some() && self.wish.factor().is_none() {
            return Err(CommandError::text(
                "ERR cannot use NONSCALING and VALIDATESCALETO options together",
            ));
        }
        Ok(())
    }

    fn window(&mut self, said: &Said) -> Result<Window, CommandError> {
        let generations = said.generations.unwrap_or(GENERATIONS);
        match (said.span_ms, said.last) {
            (Some(_), Some(_)) => {
                Err(CommandError::text("ERR a window is of time (WINDOW) or of items (LAST)"))
            }
            (Some(ms), None) if ms < u64::from(generations) => {
                Err(CommandError::text("ERR bad WINDOW: a generation must last a millisecond"))
            }
            (Some(ms), None) => Ok(Window::span(ms, generations)),
            // The settings' capacity is nobody's wish; any other must be the same number.
            (None, Some(last)) if last != self.wish.capacity && said.capacity => {
                Err(CommandError::text(
                    "ERR LAST is the capacity of the window: both must be the same number",
                ))
            }
            (None, last) => {
                self.wish.capacity = last.unwrap_or(self.wish.capacity);
                Ok(Window::last_keys(generations))
            }
        }
    }
}

const MAX_CAPACITY: i64 = Settings::MAX_CAPACITY as i64;

/// The error rate of `BF.RESERVE`.
pub fn error_rate(word: &[u8]) -> Result<f64, CommandError> {
    let got = decimal(word).ok_or(CommandError::text("ERR bad error rate"))?;
    if !(got > 0.0 && got < 1.0) {
        return Err(CommandError::text("ERR error rate must be in the range (0.000000, 1.000000)"));
    }
    Ok(got)
}

/// The capacity of `BF.RESERVE`.
pub fn capacity(word: &[u8]) -> Result<u64, CommandError> {
    let got = integer(word).ok_or(CommandError::text("ERR bad capacity"))?;
    if !(1..=MAX_CAPACITY).contains(&got) {
        return Err(CommandError::text("ERR capacity must be in the range [1, 1073741824]"));
    }
    Ok(got as u64)
}

fn bad(name: &str, dialect: Dialect) -> CommandError {
    CommandError::text(match (name, dialect) {
        ("EXPANSION", Dialect::Reserve) => "ERR bad expansion",
        ("EXPANSION", Dialect::Insert) => "Bad expansion",
        ("CAPACITY", _) => "Bad capacity",
        _ => "Bad error rate",
    })
}

fn kind(word: &[u8]) -> Result<Kind, CommandError> {
    let kinds = [
        ("blocked", Kind::Blocked),
        ("classic", Kind::Classic),
        ("counting", Kind::Counting),
        ("windowed", Kind::Windowed),
    ];
    kinds.into_iter().find(|(name, _)| is(word, name)).map(|(_, kind)| kind).ok_or(
        CommandError::text("ERR bad KIND: it must be blocked, classic, counting or windowed"),
    )
}

/// 32 hexadecimal digits.
fn secret(word: &[u8]) -> Result<Secret, CommandError> {
    let bad = CommandError::text("ERR bad SECRET: it must be 32 hexadecimal digits");
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8);
    let digits: Option<Vec<u8>> = word.iter().map(digit).collect();
    let digits = digits.filter(|digits| digits.len() == 32).ok_or(bad)?;
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    Ok(Secret::from_bytes(bytes))
}

/// valkey-bloom's seed of 32 bytes: its halves folded into a secret.
fn seed(word: &[u8]) -> Result<Secret, CommandError> {
    let seed: &[u8; 32] = word.try_into().map_err(|_| CommandError::text("ERR invalid seed"))?;
    Ok(Secret::from_bytes(std::array::from_fn(|i| seed[i] ^ seed[i + 16])))
}
