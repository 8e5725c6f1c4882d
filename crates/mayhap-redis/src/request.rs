//! What is asked: commands, and scripts by their digest.

use redis::{Cmd, Value};
use std::sync::OnceLock;

/// A script that servers learn once and are then called for by its digest.
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

/// One thing to ask.
pub struct Request(Kind);

enum Kind {
    Command(Cmd),
    Script { script: &'static Script, keys: Vec<Vec<u8>>, args: Vec<Vec<u8>> },
}

/// What came back: a value, or what the server had against it.
pub type Reply = Result<Value, String>;

impl Request {
    /// A command.
    pub fn command(cmd: Cmd) -> Request {
        Request(Kind::Command(cmd))
    }

    /// A script with its keys, which must share a slot of the cluster, and arguments.
    pub fn script(script: &'static Script, keys: Vec<Vec<u8>>, args: Vec<Vec<u8>>) -> Request {
        Request(Kind::Script { script, keys, args })
    }

    pub(crate) fn by_digest(&self) -> Cmd {
        self.cmd("EVALSHA", Script::digest)
    }

    /// The same in bytes, as they go to a server.
    pub(crate) fn write_by_digest(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Kind::Command(cmd) => cmd.write_packed_command(out),
            Kind::Script { .. } => self.by_digest().write_packed_command(out),
        }
    }

    pub(crate) fn in_full(&self) -> Cmd {
        self.cmd("EVAL", |script| script.code)
    }

    fn cmd(&self, eval: &str, name: impl Fn(&'static Script) -> &'static str) -> Cmd {
        match &self.0 {
            Kind::Command(cmd) => cmd.clone(),
            Kind::Script { script, keys, args } => {
                let mut cmd = redis::cmd(eval);
                cmd.arg(name(script)).arg(keys.len());
                keys.iter().chain(args).for_each(|part| _ = cmd.arg(part.as_slice()));
                cmd
            }
        }
    }
}

/// Those the server has not learnt the script for.
pub(crate) fn unknown_scripts(replies: &[Reply]) -> Vec<usize> {
    let unknown = |reply: &Reply| matches!(reply, Err(why) if why.contains("NOSCRIPT") || why.contains("NoScript"));
    (0..replies.len()).filter(|at| unknown(&replies[*at])).collect()
}

/// An error inside a value is an answer of its own.
pub(crate) fn reply(value: Value) -> Reply {
    match value {
        Value::ServerError(error) => Err(error.to_string()),
        value => Ok(value),
    }
}
