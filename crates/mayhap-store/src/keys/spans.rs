//! Spans of a plain file: found one after another, read by whoever works on them.
//!
//! Copying from the system's cache is a good part of reading lines, and reading one after another
//! would keep all threads but one from it. Of a plain file little must be known in order: where
//! each block of whole records ends, for which a look at its last bytes nearly always suffices.

use super::KeysError;
use super::input::{Stop, Stream};
use super::source::Text;
use memchr::memrchr;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes looked at for the end of a record.
const GLANCE: usize = 4096;

/// A plain file, and how far its spans have been given out.
pub(super) struct Spans {
    file: Arc<File>,
    path: PathBuf,
    delimiter: u8,
    at: u64,
    /// How far progress has been told.
    told: u64,
}

/// A span that is still to be read.
#[derive(Debug)]
pub(super) struct Span {
    file: Arc<File>,
    path: PathBuf,
    at: u64,
    pub(super) bytes: usize,
}

impl Spans {
    /// The spans of an input, where it is a plain file.
    pub(super) fn of(stream: &Stream<'_>, delimiter: u8) -> Option<Spans> {
        let (file, told) = stream.plain_file()?;
        let (file, path) = (Arc::new(file), stream.path.clone());
        Some(Spans { file, path, delimiter, at: 0, told })
    }

    /// Give `text` the next records, to be read or read already: about a block of them, one at the
    /// least. `false` at the end of the file, whose last record may lack its delimiter.
    pub(super) fn next(
        &mut self,
        text: &mut Text,
        block_bytes: usize,
        stop: &Stop<'_>,
    ) -> Result<bool, KeysError> {
        let more = match self.glance(block_bytes) {
            Some(bytes) => {
                let (file, path) = (Arc::clone(&self.file), self.path.clone());
                text.put_off(Span { file, path, at: self.at, bytes });
                self.at += bytes as u64;
                true
            }
            None => self.fill(text, block_bytes)?,
        };
        stop.watch.add_bytes(self.at.saturating_sub(self.told));
        self.told = self.at.max(self.told);
        Ok(more)
    }

    /// How long the next block is, if its last bytes tell.
    fn glance(&self, block_bytes: usize) -> Option<usize> {
        let before = block_bytes.checked_sub(GLANCE)?;
        let mut last = [0; GLANCE];
        read_exact_at(&self.file, &mut last, self.at + before as u64).ok()?;
        memrchr(self.delimiter, &last).map(|at| before + at + 1)
    }

    /// Read the next block here: near the end, and where a record is long.
    fn fill(&mut self, text: &mut Text, block_bytes: usize) -> Result<bool, KeysError> {
        let no_memory = |bytes| KeysError::Memory { path: self.path.clone(), bytes };
        text.set(&[], block_bytes).map_err(no_memory)?;
        let mut searched = 0;
        loop {
            if text.is_full() {
                text.grow().map_err(no_memory)?;
            }
            let at = self.at + text.bytes().len() as u64;
            let read = read_at(&self.file, text.room(), at);
            let read = read.map_err(|error| trouble(&self.path, at, error))?;
            text.took(read);
            if read == 0 {
                self.check_length(at)?;
                self.at += text.bytes().len() as u64;
                return Ok(false);
            }
            if !text.is_full() {
                continue;
            }
            if let Some(border) = memrchr(self.delimiter, &text.bytes()[searched..]) {
                text.cut(searched + border + 1);
                self.at += text.bytes().len() as u64;
                return Ok(true);
            }
            searched = text.bytes().len();
        }
    }
}

impl Spans {
    /// Fails where the file ends before what was read of it: an end that was cut off is none.
    fn check_length(&self, at: u64) -> Result<(), KeysError> {
        let cut = self.file.metadata().is_ok_and(|data| data.is_file() && data.len() < at);
        let shorter = || io::Error::new(io::ErrorKind::UnexpectedEof, "it has become shorter");
        if cut { Err(trouble(&self.path, at, shorter())) } else { Ok(()) }
    }
}

impl Span {
    /// Read it. A file that has become shorter meanwhile is an error, not an end.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<(), KeysError> {
        read_exact_at(&self.file, buffer, self.at)
            .map_err(|error| trouble(&self.path, self.at, error))
    }

    pub(super) fn no_memory(&self) -> KeysError {
        KeysError::Memory { path: self.path.clone(), bytes: self.bytes }
    }
}

fn trouble(path: &std::path::Path, at: u64, error: io::Error) -> KeysError {
    KeysError::Read { path: path.to_owned(), at, error }
}

fn read_exact_at(file: &File, mut buffer: &mut [u8], mut at: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        match read_at(file, buffer, at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                buffer = &mut buffer[read..];
                at += read as u64;
            }
        }
    }
    Ok(())
}

/// The bytes there, some of them; 0 at the end.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    loop {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, buffer, at);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, at);
        match read {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}
