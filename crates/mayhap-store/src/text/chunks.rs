//! Chunks of a regular file: located in order, read by the thread that works on them.
//!
//! Copying from the page cache is a good part of reading lines, and sequential reads would leave
//! all of it to one thread. For a regular file only the end of each block of whole records must be
//! found in order, for which its last bytes are nearly always enough.

use super::KeysError;
use super::input::{CancelToken, Stream};
use super::source::ReadBuffer;
use memchr::memrchr;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes searched for the end of a record.
const GLANCE: usize = 4096;

/// A regular file, and how much of it has been handed out.
pub(super) struct ChunkReader {
    file: Arc<File>,
    path: PathBuf,
    delimiter: u8,
    at: u64,
    /// How much has been reported as progress.
    told: u64,
}

/// A chunk that is still to be read.
#[derive(Debug)]
pub(super) struct FileChunk {
    file: Arc<File>,
    path: PathBuf,
    at: u64,
    pub(super) bytes: usize,
}

impl ChunkReader {
    /// The chunks of an input, if it is a regular file.
    pub(super) fn of(stream: &Stream<'_>, delimiter: u8) -> Option<ChunkReader> {
        let (file, told) = stream.plain_file()?;
        let (file, path) = (Arc::new(file), stream.path.clone());
        Some(ChunkReader { file, path, delimiter, at: 0, told })
    }

    /// Give `text` the next records, to be read or read already: about a block of them, one at the
    /// least. `false` at the end of the file, whose last record may lack its delimiter.
    pub(super) fn next(
        &mut self,
        text: &mut ReadBuffer,
        block_bytes: usize,
        stop: &CancelToken<'_>,
    ) -> Result<bool, KeysError> {
        let more = match self.find_boundary(block_bytes) {
            Some(bytes) => {
                let (file, path) = (Arc::clone(&self.file), self.path.clone());
                text.defer(FileChunk { file, path, at: self.at, bytes });
                self.at += bytes as u64;
                true
            }
            None => self.fill(text, block_bytes)?,
        };
        stop.progress.add_bytes(self.at.saturating_sub(self.told));
        self.told = self.at.max(self.told);
        Ok(more)
    }

    /// The length of the next block, if its last bytes contain a record boundary.
    fn find_boundary(&self, block_bytes: usize) -> Option<usize> {
        let before = block_bytes.checked_sub(GLANCE)?;
        let mut last = [0; GLANCE];
        read_exact_at(&self.file, &mut last, self.at + before as u64).ok()?;
        memrchr(self.delimiter, &last).map(|at| before + at + 1)
    }

    /// Read the next block here: near the end, and for long records.
    fn fill(&mut self, text: &mut ReadBuffer, block_bytes: usize) -> Result<bool, KeysError> {
        let no_memory = |bytes| KeysError::Memory { path: self.path.clone(), bytes };
        text.set(&[], block_bytes).map_err(no_memory)?;
        let mut searched = 0;
        loop {
            if text.is_full() {
                text.grow().map_err(no_memory)?;
            }
            let at = self.at + text.bytes().len() as u64;
            let read = read_at(&self.file, text.room(), at);
            let read = read.map_err(|error| io_error(&self.path, at, error))?;
            text.advance(read);
            if read == 0 {
                self.check_length(at)?;
                self.at += text.bytes().len() as u64;
                return Ok(false);
            }
            if !text.is_full() {
                continue;
            }
            if let Some(boundary) = memrchr(self.delimiter, &text.bytes()[searched..]) {
                text.truncate(searched + boundary + 1);
                self.at += text.bytes().len() as u64;
                return Ok(true);
            }
            searched = text.bytes().len();
        }
    }
}

impl ChunkReader {
    /// Fails if the file ends before what was read of it: a truncated end is an error.
    fn check_length(&self, at: u64) -> Result<(), KeysError> {
        let cut = self.file.metadata().is_ok_and(|data| data.is_file() && data.len() < at);
        let shorter = || io::Error::new(io::ErrorKind::UnexpectedEof, "it has become shorter");
        if cut { Err(io_error(&self.path, at, shorter())) } else { Ok(()) }
    }
}

impl FileChunk {
    /// Read it. A file that was truncated meanwhile is an error, not an end.
    pub(super) fn read(&self, buffer: &mut [u8]) -> Result<(), KeysError> {
        read_exact_at(&self.file, buffer, self.at)
            .map_err(|error| io_error(&self.path, self.at, error))
    }

    pub(super) fn no_memory(&self) -> KeysError {
        KeysError::Memory { path: self.path.clone(), bytes: self.bytes }
    }
}

fn io_error(path: &std::path::Path, at: u64, error: io::Error) -> KeysError {
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

/// Some of the bytes there; 0 at the end.
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
