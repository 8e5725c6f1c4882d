//! Pipelined commands over one connection, and what they cost the server.

use mayhap_testkit::resp::encode;
use mayhap_testkit::{Client, Server, Value};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Keys of one `BF.MADD` while a filter is filled.
const FILL: u64 = 1000;

/// A repeated command.
#[derive(Clone, Debug)]
pub struct Work {
    pub command: &'static str,
    /// The key; empty for a command that has none.
    pub key: String,
    /// Items are drawn from the first so many members, or are absent keys if that is 0.
    pub members: u64,
    /// Items in one command.
    pub items: u64,
}

impl Work {
    pub const PING: Work = Work { command: "PING", key: String::new(), members: 0, items: 0 };
}

/// One connection.
pub struct Load {
    client: Client<Spinning>,
    /// The random state for drawing keys.
    state: u64,
}

impl Load {
    pub fn connect(server: &Server) -> Result<Load, String> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).map_err(say)?;
        stream.set_nodelay(true).map_err(say)?;
        stream.set_nonblocking(true).map_err(say)?;
        Ok(Load { client: Client::over(Spinning(stream)), state: 1 })
    }

    /// A command whose arguments have no spaces; its reply, as lines, must not be an error.
    pub fn say(&mut self, line: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut lines = Vec::new();
        flatten(self.client.try_call(&words).map_err(say)?, &mut lines)?;
        Ok(lines)
    }

    /// Add the members 0 to `keys` to a filter or a set, with a command that takes many: these words
    /// and the members.
    pub fn fill(&mut self, command: &[&str], keys: u64) -> Result<(), String> {
        for from in (0..keys).step_by(FILL as usize) {
            let items: Vec<String> = (from..keys.min(from + FILL)).map(member).collect();
            let mut words = command.to_vec();
            words.extend(items.iter().map(String::as_str));
            checked(self.client.try_call(&words).map_err(say)?)?;
        }
        Ok(())
    }

    /// Microseconds of the server's main thread per command.
    pub fn cost(&mut self, work: &Work, commands: u64, pipeline: u64) -> Result<f64, String> {
        // Encoded before the clock starts.
        let batches: Vec<Vec<u8>> = (0..commands.div_ceil(pipeline))
            .map(|_| {
                let mut bytes = Vec::new();
                (0..pipeline).for_each(|_| self.encode(work, &mut bytes));
                bytes
            })
            .collect();
        // Asking for the time takes time: as much as between the first two.
        let [first, before] = [self.cpu_micros()?, self.cpu_micros()?];
        for bytes in &batches {
            self.client.send(bytes).map_err(say)?;
            (0..pipeline).try_for_each(|_| checked(self.client.read().map_err(say)?))?;
        }
        let took = self.cpu_micros()? - before - (before - first);
        Ok(took / (batches.len() as u64 * pipeline) as f64)
    }

    fn encode(&mut self, work: &Work, bytes: &mut Vec<u8>) {
        let items: Vec<String> = (0..work.items)
            .map(|_| {
                self.state =
                    self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let drawn = self.state >> 20;
                drawn.checked_rem(work.members).map_or_else(|| format!("absent:{drawn}"), member)
            })
            .collect();
        let mut words = vec![work.command];
        words.extend((!work.key.is_empty()).then_some(work.key.as_str()));
        words.extend(items.iter().map(String::as_str));
        encode(&words, bytes);
    }

    fn cpu_micros(&mut self) -> Result<f64, String> {
        let info = self.say("INFO cpu")?.join("\n");
        let field = |name: &str| {
            let line = info.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse::<f64>().ok())
        };
        let both = ["used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"].map(field);
        match both {
            [Some(system), Some(user)] => Ok((system + user) * 1e6),
            _ => Err("INFO cpu tells nothing of the main thread".to_owned()),
        }
    }

    /// The only number of a reply.
    pub fn info_number(&mut self, line: &str) -> Result<u64, String> {
        let lines = self.say(line)?;
        lines.last().and_then(|number| number.parse().ok()).ok_or(format!("{line}: {lines:?}"))
    }

    pub fn version(&mut self) -> Result<String, String> {
        let info = self.say("INFO server")?.join("\n");
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name));
        let version = field("valkey_version:").or(field("redis_version:"));
        Ok(version.unwrap_or("of unknown version").trim().to_owned())
    }
}

/// The lines of a reply, which must not be an error.
fn flatten(reply: Value, lines: &mut Vec<String>) -> Result<(), String> {
    match reply {
        Value::Array(all) => all.into_iter().try_for_each(|reply| flatten(reply, lines))?,
        Value::Bytes(bytes) => lines.push(String::from_utf8_lossy(&bytes).into_owned()),
        Value::Simple(line) => lines.push(line),
        Value::Int(number) => lines.push(number.to_string()),
        Value::Error(why) => return Err(why),
        other => lines.push(format!("{other:?}")),
    }
    Ok(())
}

fn checked(reply: Value) -> Result<(), String> {
    match reply {
        Value::Error(why) => Err(why),
        _ => Ok(()),
    }
}

/// A client that never sleeps while it waits: waking one is work of the server's thread, and takes
/// sometimes next to nothing and sometimes as long as all the rest.
struct Spinning(TcpStream);

impl Spinning {
    fn until_ready<T>(
        &mut self,
        mut act: impl FnMut(&mut TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match act(&mut self.0) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
                done => return done,
            }
        }
    }
}

impl Read for Spinning {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.until_ready(|stream| stream.read(bytes))
    }
}

impl Write for Spinning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.until_ready(|stream| stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn member(number: u64) -> String {
    format!("member:{number}")
}

fn say(error: io::Error) -> String {
    format!("the server: {error}")
}
