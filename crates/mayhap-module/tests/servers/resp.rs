//! The protocol, both versions, spoken by hand: what clients would hide is what is tested.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Simple(String),
    Error(String),
    Int(i64),
    Double(f64),
    Bool(bool),
    Null,
    Bytes(Vec<u8>),
    Array(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl Value {
    pub fn ok() -> Value {
        Value::Simple("OK".into())
    }

    pub fn ints(all: &[i64]) -> Value {
        Value::Array(all.iter().map(|int| Value::Int(*int)).collect())
    }

    pub fn bytes(self) -> Vec<u8> {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Simple(text) => text.into_bytes(),
            other => panic!("{other:?} is no string"),
        }
    }

    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    pub fn array(self) -> Vec<Value> {
        match self {
            Value::Array(all) => all,
            other => panic!("{other:?} is no array"),
        }
    }

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

pub struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub fn connect(port: u16) -> std::io::Result<Client> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(60)))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    pub fn try_call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> std::io::Result<Value> {
        let mut line = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            let word = word.as_ref();
            line.extend(format!("${}\r\n", word.len()).bytes());
            line.extend(word);
            line.extend(b"\r\n");
        }
        self.stream.get_mut().write_all(&line)?;
        self.read()
    }

    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> Value {
        self.try_call(words).expect("the server answers")
    }

    /// A command whose words have no spaces.
    pub fn say(&mut self, line: &str) -> Value {
        self.call(&line.split(' ').collect::<Vec<_>>())
    }

    fn read(&mut self) -> std::io::Result<Value> {
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
