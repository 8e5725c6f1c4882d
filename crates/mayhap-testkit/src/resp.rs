//! The protocol, both versions, spoken by hand: what clients would hide is what is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `+`: a word of the server.
    Simple(String),
    /// `-`: an error.
    Error(String),
    /// `:`: an integer.
    Int(i64),
    /// `,`: a number.
    Double(f64),
    /// `#`: yes or no.
    Bool(bool),
    /// `_`, and absent strings and arrays.
    Null,
    /// `$`: bytes.
    Bytes(Vec<u8>),
    /// `*`, `~`: several.
    Array(Vec<Value>),
    /// `%`: pairs.
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// What commands answer that have nothing to say.
    pub fn ok() -> Value {
        Value::Simple("OK".into())
    }

    /// An array of integers.
    pub fn ints(all: &[i64]) -> Value {
        Value::Array(all.iter().map(|int| Value::Int(*int)).collect())
    }

    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Simple(text) => text.into_bytes(),
            other => panic!("{other:?} is no string"),
        }
    }

    /// Its bytes as text.
    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// Its items.
    pub fn array(self) -> Vec<Value> {
        match self {
            Value::Array(all) => all,
            other => panic!("{other:?} is no array"),
        }
    }

    /// Its integer.
    pub fn int(&self) -> i64 {
        match self {
            Value::Int(int) => *int,
            other => panic!("{other:?} is no number"),
        }
    }

    /// The line of an error, or nothing.
    pub fn error(&self) -> &str {
        match self {
            Value::Error(line) => line,
            _ => "",
        }
    }
}

/// One connection.
#[derive(Debug)]
pub struct Client<S: Read = TcpStream> {
    stream: BufReader<S>,
}

impl Client {
    /// Connect to a port of this machine.
    ///
    /// # Errors
    /// As the system says.
    pub fn connect(port: u16) -> std::io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client::over(stream))
    }
}

impl<S: Read + Write> Client<S> {
    /// Over a stream that is there.
    pub fn over(stream: S) -> Client<S> {
        Client { stream: BufReader::with_capacity(1 << 16, stream) }
    }

    /// Send what [`encode`] wrote; its replies are read by [`Client::read`], one per command.
    ///
    /// # Errors
    /// As the system says.
    pub fn send(&mut self, commands: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(commands)
    }

    /// Send a command and read its reply.
    ///
    /// # Errors
    /// As the system says, or the connection was closed.
    pub fn try_call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> std::io::Result<Value> {
        let mut command = Vec::new();
        encode(words, &mut command);
        self.send(&command)?;
        self.read()
    }

    /// The same, from a server that answers.
    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Value {
        self.try_call(words).expect("the server answers")
    }

    /// A command whose words have no spaces.
    pub fn say(&mut self, line: &str) -> Value {
        self.call(&line.split(' ').collect::<Vec<_>>())
    }

    /// The next reply.
    ///
    /// # Errors
    /// As the system says, or the connection was closed.
    pub fn read(&mut self) -> std::io::Result<Value> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let (kind, rest) = line.split_at(1);
        let count = || rest.parse::<i64>().unwrap_or(-1);
        Ok(match kind {
            "+" => Value::Simple(rest.into()),
            "-" => Value::Error(rest.into()),
            ":" => Value::Int(rest.parse().unwrap()),
            "," => Value::Double(rest.parse().unwrap()),
            "#" => Value::Bool(rest == "t"),
            "_" => Value::Null,
            "$" | "=" if count() < 0 => Value::Null,
            "$" | "=" => {
                let mut bytes = vec![0; count() as usize + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(bytes.len() - 2);
                Value::Bytes(bytes)
            }
            "*" | "~" if count() < 0 => Value::Null,
            "*" | "~" => Value::Array((0..count()).map(|_| self.read()).collect::<Result<_, _>>()?),
            "%" => {
                let pair = |_| Ok((self.read()?, self.read()?));
                Value::Map((0..count()).map(pair).collect::<std::io::Result<_>>()?)
            }
            other => panic!("unknown reply {other}{rest}"),
        })
    }
}

/// Append a command as it is sent.
pub fn encode<W: AsRef<[u8]>>(words: &[W], out: &mut Vec<u8>) {
    out.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        let word = word.as_ref();
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend(word);
        out.extend(b"\r\n");
    }
}
