//! Keys in a map, for tests without a server.

use super::{Clock, Keyspace, Replicate};
use crate::{Args, CommandError, Filter, KeyArg, Reply, Settings, table};
use mayhap::Secret;
use std::collections::HashMap;

/// Keys in a map.
#[derive(Default)]
pub struct Memory {
    pub filters: HashMap<Vec<u8>, Filter>,
    pub expires_ms: HashMap<Vec<u8>, i64>,
    pub replicated: Vec<Vec<Vec<u8>>>,
    pub events: Vec<&'static str>,
    pub settings: Settings,
    pub now_ms: u64,
    pub room: Option<u64>,
    pub secrets: u8,
    /// How often a key was opened to write.
    pub opened: u32,
    /// The arguments of the running command.
    pub running: Vec<Vec<u8>>,
    /// Whether it is one of `CF.*`.
    pub cuckoo_runs: bool,
}

impl Memory {
    /// Run a command given by its arguments.
    pub fn run(&mut self, words: &[&[u8]]) -> Result<Reply<'static>, CommandError> {
        let name = String::from_utf8_lossy(words[0]).to_ascii_uppercase();
        let (table, name) = match name.strip_prefix("CF.") {
            Some(name) => (table::CUCKOO, name),
            None => (table::COMMANDS, name.strip_prefix("BF.").expect("ours")),
        };
        self.cuckoo_runs = words[0][0].eq_ignore_ascii_case(&b'c');
        let command = table.iter().find(|command| command.name == name).expect("known");
        if !command.takes(words.len()) {
            return Err(CommandError::Arity);
        }
        self.running = words.iter().map(|word| word.to_vec()).collect();
        let reply = (command.run)(self, &Args::new(words))?;
        Ok(match reply {
            Reply::Words(words) => {
                let leak = |word: &[u8]| -> &'static [u8] { word.to_vec().leak() };
                Reply::Words(words.into_iter().map(leak).collect())
            }
            Reply::Fields(fields) => Reply::Fields(fields.into_iter().map(own_field).collect()),
            Reply::Field(name, value) => Reply::Field(name, Box::new(own(*value))),
            other => own(other),
        })
    }

    /// Run a command given as text.
    pub fn say(&mut self, line: &str) -> Result<Reply<'static>, CommandError> {
        let words: Vec<&[u8]> = line.split(' ').map(str::as_bytes).collect();
        self.run(&words)
    }
}

impl Memory {
    fn of_family(&self, cuckoo: bool, there: bool) -> Result<(), CommandError> {
        match there && cuckoo != self.cuckoo_runs {
            true => Err(CommandError::WRONG_TYPE),
            false => Ok(()),
        }
    }
}

fn own_field<'a>((name, value): (&'static str, Reply<'a>)) -> (&'static str, Reply<'static>) {
    (name, own(value))
}

/// Replies that borrow nothing.
fn own(reply: Reply<'_>) -> Reply<'static> {
    match reply {
        Reply::Ok => Reply::Ok,
        Reply::Null => Reply::Null,
        Reply::Int(number) => Reply::Int(number),
        Reply::Double(number) => Reply::Double(number),
        Reply::Bool(yes) => Reply::Bool(yes),
        Reply::Bools(all) => Reply::Bools(all),
        Reply::Taken(all) => Reply::Taken(all),
        Reply::Ints(all) => Reply::Ints(all),
        Reply::LastChunk => Reply::LastChunk,
        Reply::BoolsUntil(all, error) => Reply::BoolsUntil(all, error),
        Reply::Text(text) => Reply::Text(text),
        Reply::Lines(lines) => Reply::Lines(lines),
        Reply::Line(text) => Reply::Line(text),
        Reply::Chunk(next, bytes) => Reply::Chunk(next, bytes),
        other => panic!("{other:?} is nested"),
    }
}

impl Keyspace for Memory {
    fn read(&mut self, key: KeyArg<'_>) -> Result<Option<&Filter>, CommandError> {
        let found = self.filters.get(key.name);
        self.of_family(found.is_some_and(|filter| filter.cuckoo().is_some()), found.is_some())?;
        Ok(self.filters.get(key.name))
    }

    fn write(&mut self, key: KeyArg<'_>) -> Result<Option<&mut Filter>, CommandError> {
        self.opened += 1;
        self.read(key)?;
        Ok(self.filters.get_mut(key.name))
    }

    fn create(
        &mut self,
        key: KeyArg<'_>,
        filter: Filter,
        expires_ms: Option<i64>,
    ) -> Result<(), CommandError> {
        assert!(self.filters.insert(key.name.to_vec(), filter).is_none());
        self.expires_ms.extend(expires_ms.map(|at| (key.name.to_vec(), at)));
        Ok(())
    }

    fn replace(&mut self, key: KeyArg<'_>, filter: Filter) -> Result<(), CommandError> {
        assert!(self.filters.insert(key.name.to_vec(), filter).is_some());
        Ok(())
    }

    fn changed(&mut self, _: KeyArg<'_>, event: &'static str, replicate: Replicate) {
        self.events.push(event);
        self.replicated.push(match replicate {
            Replicate::Verbatim => self.running.clone(),
            Replicate::As(name, words) => {
                let ours = table::COMMANDS.iter().any(|command| command.name == name);
                let name = if ours { format!("BF.{name}") } else { name.to_owned() };
                std::iter::once(name.into_bytes()).chain(words).collect()
            }
        });
    }

    fn settings(&self) -> Settings {
        self.settings
    }

    fn clock(&self) -> Clock {
        Clock::Fixed(self.now_ms)
    }

    fn secret(&mut self) -> Secret {
        self.secrets = self.secrets.wrapping_add(1);
        Secret::from_bytes([self.secrets; 16])
    }

    fn room_bytes(&mut self, has: u64) -> u64 {
        self.room.unwrap_or(1 << 30).saturating_sub(has)
    }
}
