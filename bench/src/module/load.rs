//! Commands in pipelines, and what they cost the server.

use super::server::Server;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Keys of one `BF.MADD` while a filter is filled.
const FILL: u64 = 1000;

/// One connection.
pub struct Load {
    stream: BufReader<TcpStream>,
    /// Where keys are drawn from.
    state: u64,
}

impl Load {
    pub fn connect(server: &Server) -> Result<Load, String> {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).map_err(say)?;
        stream.set_nodelay(true).map_err(say)?;
        Ok(Load { stream: BufReader::with_capacity(1 << 20, stream), state: 1 })
    }

    /// A command whose words have no spaces; its reply, as lines, must be no error.
    pub fn say(&mut self, line: &str) -> Result<Vec<String>, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut bytes = Vec::new();
        spell(&mut bytes, &words);
        self.stream.get_mut().write_all(&bytes).map_err(say)?;
        let mut lines = Vec::new();
        self.reply(&mut |line| lines.push(line.to_owned()))?;
        Ok(lines)
    }

    /// Put the keys 0 to `keys` into a filter.
    pub fn fill(&mut self, filter: &str, keys: u64) -> Result<(), String> {
        let mut bytes = Vec::new();
        for from in (0..keys).step_by(FILL as usize) {
            let items: Vec<String> = (from..keys.min(from + FILL)).map(member).collect();
            bytes.clear();
            let mut words = vec!["BF.MADD", filter];
            words.extend(items.iter().map(String::as_str));
            spell(&mut bytes, &words);
            self.stream.get_mut().write_all(&bytes).map_err(say)?;
            self.reply(&mut |_| ())?;
        }
        Ok(())
    }

    /// Microseconds of the server's main thread for one command: `of` keys each, drawn from the
    /// first `keys` members, or strangers where that is 0.
    pub fn cost(
        &mut self,
        command: &str,
        filter: &str,
        keys: u64,
        of: u64,
        commands: u64,
        pipeline: u64,
    ) -> Result<f64, String> {
        // Spelled before the clock starts.
        let batches: Vec<(Vec<u8>, u64)> = (0..commands.div_ceil(pipeline))
            .map(|_| {
                let mut bytes = Vec::new();
                (0..pipeline).for_each(|_| self.command(&mut bytes, command, filter, keys, of));
                (bytes, pipeline)
            })
            .collect();
        let before = self.cpu_micros()?;
        let mut done = 0;
        for (bytes, count) in &batches {
            self.stream.get_mut().write_all(bytes).map_err(say)?;
            (0..*count).try_for_each(|_| self.reply(&mut |_| ()))?;
            done += count;
        }
        Ok((self.cpu_micros()? - before) / done as f64)
    }

    fn command(&mut self, bytes: &mut Vec<u8>, command: &str, filter: &str, keys: u64, of: u64) {
        let items: Vec<String> = (0..of)
            .map(|_| {
                self.state =
                    self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let drawn = self.state >> 20;
                drawn.checked_rem(keys).map_or_else(|| format!("stranger:{drawn}"), member)
            })
            .collect();
        let mut words = vec![command];
        words.extend((!filter.is_empty()).then_some(filter));
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

    /// The one number of a reply.
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

    /// Read one reply; `heard` hears its lines.
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

fn member(number: u64) -> String {
    format!("member:{number}")
}

fn spell(bytes: &mut Vec<u8>, words: &[&str]) {
    // A vector takes everything.
    _ = write!(bytes, "*{}\r\n", words.len());
    for word in words {
        _ = write!(bytes, "${}\r\n{word}\r\n", word.len());
    }
}

fn say(error: std::io::Error) -> String {
    format!("the server: {error}")
}
