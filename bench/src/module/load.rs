//! Pipelined commands over one connection, and what they cost the server.

use super::server::Server;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
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
    stream: BufReader<Spinning>,
    /// The random state for drawing keys.
    state: u64,
}

impl Load {
    pub fn connect(server: &Server) -> Result<Load, String> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).map_err(say)?;
        stream.set_nodelay(true).map_err(say)?;
        stream.set_nonblocking(true).map_err(say)?;
        Ok(Load { stream: BufReader::with_capacity(1 << 20, Spinning(stream)), state: 1 })
    }

    /// A command whose arguments have no spaces; its reply, as lines, must not be an error.
    pub fn say(&mut self, line: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut bytes = Vec::new();
        spell(&mut bytes, &words);
        self.stream.get_mut().write_all(&bytes).map_err(say)?;
        let mut lines = Vec::new();
        self.reply(&mut |line| lines.push(line.to_owned()))?;
        Ok(lines)
    }

    /// Add the members 0 to `keys` to a filter or a set, with the command that takes many.
    pub fn fill(&mut self, command: &str, key: &str, keys: u64) -> Result<(), String> {
        let mut bytes = Vec::new();
        for from in (0..keys).step_by(FILL as usize) {
            let items: Vec<String> = (from..keys.min(from + FILL)).map(member).collect();
            bytes.clear();
            let mut words = vec![command, key];
            words.extend(items.iter().map(String::as_str));
            spell(&mut bytes, &words);
            self.stream.get_mut().write_all(&bytes).map_err(say)?;
            self.reply(&mut |_| ())?;
        }
        Ok(())
    }

    /// Microseconds of the server's main thread per command.
    pub fn cost(&mut self, work: &Work, commands: u64, pipeline: u64) -> Result<f64, String> {
        // Encoded before the clock starts.
        let batches: Vec<Vec<u8>> = (0..commands.div_ceil(pipeline))
            .map(|_| {
                let mut bytes = Vec::new();
                (0..pipeline).for_each(|_| self.spell(&mut bytes, work));
                bytes
            })
            .collect();
        // Asking for the time takes time: as much as between the first two.
        let [first, before] = [self.cpu_micros()?, self.cpu_micros()?];
        for bytes in &batches {
            self.stream.get_mut().write_all(bytes).map_err(say)?;
            (0..pipeline).try_for_each(|_| self.reply(&mut |_| ()))?;
        }
        let took = self.cpu_micros()? - before - (before - first);
        Ok(took / (batches.len() as u64 * pipeline) as f64)
    }

    fn spell(&mut self, bytes: &mut Vec<u8>, work: &Work) {
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
        spell(bytes, &words);
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

    /// Read one reply; `heard` is called with its lines.
    fn reply(&mut self, heard: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line).map_err(say)? == 0 {
            return Err("the server is gone".to_owned());
        }
        let (kind, rest) = line.trim_end().split_at(1);
        match kind {
            "-" => return Err(rest.to_owned()),
            "$" => {
                let count = rest.parse::<i64>().map_err(|error| error.to_string())?;
                let mut bytes = vec![0; usize::try_from(count + 2).unwrap_or(0)];
                self.stream.read_exact(&mut bytes).map_err(say)?;
                heard(&String::from_utf8_lossy(&bytes));
            }
            "*" => {
                let count = rest.parse::<i64>().map_err(|error| error.to_string())?;
                (0..count).try_for_each(|_| self.reply(heard))?;
            }
            _ => heard(rest),
        }
        Ok(())
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

fn spell(bytes: &mut Vec<u8>, words: &[&str]) {
    // Writing to a vector cannot fail.
    _ = write!(bytes, "*{}\r\n", words.len());
    for word in words {
        _ = write!(bytes, "${}\r\n{word}\r\n", word.len());
    }
}

fn say(error: io::Error) -> String {
    format!("the server: {error}")
}
