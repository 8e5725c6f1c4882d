//! Requests: commands, and scripts by their digest.

use crate::slot::slot_of;
use redis::{Cmd, Value};
use std::sync::OnceLock;

/// A script that servers load once and then run by its digest (`EVALSHA`).
///
/// ```
/// use mayhap_redis::Script;
/// static ECHO: Script = Script::new("return ARGV[1]");
/// ```
pub struct Script {
    code: &'static str,
    digest: OnceLock<String>,
}

impl Script {
    /// A script in Lua.
    pub const fn new(code: &'static str) -> Script {
        Script { code, digest: OnceLock::new() }
    }

    fn digest(&self) -> &str {
        self.digest.get_or_init(|| redis::Script::new(self.code).get_hash().to_owned())
    }
}

/// A command or script, and the slot of its key.
pub struct Request {
    slot: Option<u16>,
    kind: Kind,
}

enum Kind {
    Command(Cmd),
    Script { script: &'static Script, keys: Vec<Vec<u8>>, args: Vec<Vec<u8>> },
}

/// The value, or the server's error message.
pub type Reply = Result<Value, String>;

impl Request {
    /// A command without keys, which any node can answer.
    pub fn command(cmd: &Cmd) -> Request {
        Request { slot: None, kind: Kind::Command(cmd.clone()) }
    }

    /// A command on this key, and others of its slot.
    pub fn about(key: &[u8], cmd: &Cmd) -> Request {
        Request::at(slot_of(key), cmd)
    }

    /// A script with its keys, which must share a slot of the cluster, and arguments.
    pub fn script(script: &'static Script, keys: Vec<Vec<u8>>, args: Vec<Vec<u8>>) -> Request {
        let slot = keys.first().map(|key| slot_of(key));
        Request { slot, kind: Kind::Script { script, keys, args } }
    }

    /// A command on keys of this slot.
    pub(crate) fn at(slot: u16, cmd: &Cmd) -> Request {
        Request { slot: Some(slot), kind: Kind::Command(cmd.clone()) }
    }

    /// A command that any node can answer.
    pub(crate) fn anywhere(cmd: &Cmd) -> Request {
        Request::command(cmd)
    }

    pub(crate) fn slot(&self) -> Option<u16> {
        self.slot
    }

    /// The bytes sent: a script by its digest, or `in_full` where the server does not know it.
    pub(crate) fn write(&self, in_full: bool, out: &mut Vec<u8>) {
        match &self.kind {
            Kind::Command(cmd) => cmd.write_packed_command(out),
            Kind::Script { .. } => self.cmd(in_full).write_packed_command(out),
        }
    }

    /// The same as a command of the `redis` crate.
    pub(crate) fn cmd(&self, in_full: bool) -> Cmd {
        match &self.kind {
            Kind::Command(cmd) => cmd.clone(),
            Kind::Script { script, keys, args } => {
                let mut cmd = redis::cmd(if in_full { "EVAL" } else { "EVALSHA" });
                cmd.arg(if in_full { script.code } else { script.digest() }).arg(keys.len());
                keys.iter().chain(args).for_each(|part| _ = cmd.arg(part.as_slice()));
                cmd
            }
        }
    }
}
