//! The options of commands that create filters.

use crate::args::{decimal, integer, is};
use crate::filter::{CreateSpec, Scale, Shape};
use crate::{CommandError, Settings};
use mayhap::{Secret, Window};

/// Default number of generations of a window.
const GENERATIONS: u32 = 4;

/// Which command's syntax and error texts apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandSyntax {
    /// `BF.RESERVE key rate capacity …`.
    Reserve,
    /// `BF.INSERT key … ITEMS item…`.
    Insert,
}

/// The options of a command, beside the filter itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// The filter, if one is to be created.
    pub create_spec: CreateSpec,
    /// When it is to expire, in seconds from now.
    pub expires_s: Option<i64>,
    /// Whether an existing filter is not an error.
    pub if_absent: bool,
    /// Whether no filter is to be created.
    pub no_create: bool,
    /// The time for windows, instead of the server's.
    pub at_ms: Option<u64>,
    /// How many items it must be able to grow to.
    pub scale_to: Option<u64>,
    /// Where the items begin.
    pub items_at: Option<usize>,
}

/// The options parsed so far, each at most once.
#[derive(Default)]
struct ParsedOptions {
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
    Quotient,
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
    /// Parse them; `words` begins at index `from` of the command. `create_spec` has the defaults.
    pub fn parse(
        words: &[&[u8]],
        from: usize,
        create_spec: CreateSpec,
        dialect: CommandSyntax,
    ) -> Result<Options, CommandError> {
        let mut options = Options {
            create_spec,
            expires_s: None,
            if_absent: false,
            no_create: false,
            at_ms: None,
            scale_to: None,
            items_at: None,
        };
        let mut said = ParsedOptions {
            capacity: dialect == CommandSyntax::Reserve,
            ..ParsedOptions::default()
        };
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            if dialect == CommandSyntax::Insert && is(word, "ITEMS") {
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
                    ("EXPANSION", CommandSyntax::Reserve) => CommandError::text("ERR no expansion"),
                    ("EXPANSION" | "CAPACITY" | "ERROR", CommandSyntax::Insert) => {
                        CommandError::Arity
                    }
                    _ => CommandError::said(format_args!("{name} needs a value")),
                });
            };
            at += 1;
            options.value(&mut said, name, value, dialect)?;
        }
        options.settle(&said, dialect)?;
        Ok(options)
    }

    /// Options without a value. `false`: it has one.
    fn flag(
        &mut self,
        said: &mut ParsedOptions,
        name: &str,
        dialect: CommandSyntax,
    ) -> Result<bool, CommandError> {
        match (name, dialect) {
            ("NONSCALING", _) => said.nonscaling = true,
            ("COMPAT", _) => said.compat = true,
            ("NX", CommandSyntax::Reserve) => self.if_absent = true,
            ("NOCREATE", CommandSyntax::Insert) => self.no_create = true,
            ("NX" | "NOCREATE", _) => return Err(CommandError::UNKNOWN_ARGUMENT),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn value(
        &mut self,
        said: &mut ParsedOptions,
        name: &str,
        value: &[u8],
        dialect: CommandSyntax,
    ) -> Result<(), CommandError> {
        match (name, dialect) {
            ("EXPANSION", _) => {
                let got = integer(value).ok_or(bad(name, dialect))?;
                let within = u32::try_from(got).ok().filter(|got| *got <= Settings::MAX_EXPANSION);
                said.expansion = Some(within.ok_or(match dialect {
                    CommandSyntax::Reserve => {
                        CommandError::text("ERR expansion must be in the range [0, 32768]")
                    }
                    CommandSyntax::Insert => bad(name, dialect),
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
            ("SECRET", _) => self.create_spec.secret = secret(value)?,
            ("SEED", _) => self.create_spec.secret = seed(value)?,
            ("TIGHTENING", _) => {
                // Mayhap's are tightened as the total rate demands; an invalid number is still an
                // error.
                let good = decimal(value).is_some_and(|got| got > 0.0 && got < 1.0);
                if !good {
                    return Err(CommandError::text("ERR bad tightening ratio"));
                }
            }
            ("CAPACITY", CommandSyntax::Insert) => {
                let got = integer(value).filter(|got| (1..=MAX_CAPACITY).contains(got));
                self.create_spec.capacity = got.ok_or(bad(name, dialect))? as u64;
                said.capacity = true;
            }
            ("ERROR", CommandSyntax::Insert) => {
                let got = decimal(value).filter(|got| *got > 0.0 && *got < 1.0);
                self.create_spec.fpr = got.ok_or(bad(name, dialect))?;
            }
            ("AT", CommandSyntax::Insert) => {
                let got = integer(value).and_then(|got| u64::try_from(got).ok());
                let got = got.filter(|ms| *ms < 1 << 53);
                self.at_ms =
                    Some(got.ok_or(CommandError::text(
                        "ERR bad AT: it must be milliseconds since 1970",
                    ))?);
            }
            ("VALIDATESCALETO", CommandSyntax::Insert) => {
                let got = integer(value).filter(|got| *got > 0);
                self.scale_to =
                    Some(got.ok_or(CommandError::text("ERR bad validate scale to"))? as u64);
            }
            _ => return Err(CommandError::UNKNOWN_ARGUMENT),
        }
        Ok(())
    }

    /// Combine the options, or return why they conflict.
    fn settle(&mut self, said: &ParsedOptions, dialect: CommandSyntax) -> Result<(), CommandError> {
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
        // RedisBloom rejects both together in `BF.RESERVE`, unless the expansion is 0, which is the
        // same; in `BF.INSERT` the filter does not grow.
        let expansion = match (said.expansion, dialect) {
            (Some(1..), CommandSyntax::Reserve) if said.nonscaling => {
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
            || self.create_spec.shape == Shape::Compat
                && said.kind.is_none()
                && !windowed
                && keyed.is_none();
        self.create_spec.shape = match kind {
            _ if compat => Shape::Compat,
            Kind::Blocked => Shape::Blocked,
            Kind::Classic => Shape::Classic,
            Kind::Quotient => Shape::Quotient,
            Kind::Windowed => Shape::Windowed(self.window(said)?),
        };
        let grows =
            matches!(self.create_spec.shape, Shape::Blocked | Shape::Quotient | Shape::Compat);
        match expansion {
            Some(1..) if !grows => {
                let what = match self.create_spec.shape {
                    Shape::Windowed(_) => "a window does not grow beyond what it is made for",
                    _ => "filters of this KIND do not grow: reserve a larger one, or KIND blocked",
                };
                return Err(CommandError::said(format_args!("EXPANSION: {what}")));
            }
            Some(expansion) => self.create_spec.scale = Scale::of(expansion),
            None if said.nonscaling && !matches!(self.create_spec.shape, Shape::Windowed(_)) => {
                self.create_spec.scale = Scale::Fixed;
            }
            None => {}
        }
        if self.scale_to.is_some() && self.create_spec.factor().is_none() {
            return Err(CommandError::text(
                "ERR cannot use NONSCALING and VALIDATESCALETO options together",
            ));
        }
        Ok(())
    }

    fn window(&mut self, said: &ParsedOptions) -> Result<Window, CommandError> {
        let generations = said.generations.unwrap_or(GENERATIONS);
        match (said.span_ms, said.last) {
            (Some(_), Some(_)) => {
                Err(CommandError::text("ERR a window is of time (WINDOW) or of items (LAST)"))
            }
            (Some(ms), None) if ms < u64::from(generations) => {
                Err(CommandError::text("ERR bad WINDOW: a generation must last a millisecond"))
            }
            (Some(ms), None) => Ok(Window::span(ms, generations)),
            // A capacity from the settings was not requested; any other must be the same number.
            (None, Some(last)) if last != self.create_spec.capacity && said.capacity => {
                Err(CommandError::text(
                    "ERR LAST is the capacity of the window: both must be the same number",
                ))
            }
            (None, last) => {
                self.create_spec.capacity = last.unwrap_or(self.create_spec.capacity);
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

fn bad(name: &str, dialect: CommandSyntax) -> CommandError {
    CommandError::text(match (name, dialect) {
        ("EXPANSION", CommandSyntax::Reserve) => "ERR bad expansion",
        ("EXPANSION", CommandSyntax::Insert) => "Bad expansion",
        ("CAPACITY", _) => "Bad capacity",
        _ => "Bad error rate",
    })
}

fn kind(word: &[u8]) -> Result<Kind, CommandError> {
    let kinds = [
        ("blocked", Kind::Blocked),
        ("classic", Kind::Classic),
        ("quotient", Kind::Quotient),
        // What there was before: the same commands, in a quarter of the memory.
        ("counting", Kind::Quotient),
        ("windowed", Kind::Windowed),
    ];
    kinds.into_iter().find(|(name, _)| is(word, name)).map(|(_, kind)| kind).ok_or(
        CommandError::text("ERR bad KIND: it must be blocked, classic, quotient or windowed"),
    )
}

/// 32 hexadecimal digits.
fn secret(word: &[u8]) -> Result<Secret, CommandError> {
    let bad = CommandError::text("ERR bad SECRET: it must be 32 hexadecimal digits");
    Secret::from_hex(word).ok_or(bad)
}

/// valkey-bloom's seed of 32 bytes: its halves folded into a secret.
fn seed(word: &[u8]) -> Result<Secret, CommandError> {
    let seed: &[u8; 32] = word.try_into().map_err(|_| CommandError::text("ERR invalid seed"))?;
    Ok(Secret::from_bytes(std::array::from_fn(|i| seed[i] ^ seed[i + 16])))
}
