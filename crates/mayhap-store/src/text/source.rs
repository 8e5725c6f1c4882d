//! Blocks of whole records, in order.

use super::chunks::{ChunkReader, FileChunk};
use super::csv;
use super::input::{CancelToken, Stream};
use super::split::RecordSplitter;
use super::{ExtractRules, Input, KeyField, KeysError};
use std::fmt;
use std::slice;
use std::sync::Arc;

/// The origin of a block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockStart {
    /// The number of the input, from 0.
    pub(super) input: usize,
    /// Whether it is the first block of its input.
    pub(super) first: bool,
    /// Bytes of the header row at its front.
    pub(super) header_bytes: usize,
    /// The columns of the key, from 0, in a table.
    pub(super) columns: Arc<[usize]>,
}

/// A buffer of which the front is used. The rest is not cleared, because it is overwritten anyway.
#[derive(Debug, Default)]
pub(super) struct ReadBuffer {
    buffer: Vec<u8>,
    used: usize,
    /// A chunk still to be read, see [`load`](ReadBuffer::load).
    chunk: Option<FileChunk>,
}

impl ReadBuffer {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }

    /// To be read later, perhaps by another thread.
    pub(super) fn defer(&mut self, chunk: FileChunk) {
        self.used = 0;
        self.chunk = Some(chunk);
    }

    /// Read the deferred chunk.
    pub(super) fn load(&mut self) -> Result<(), KeysError> {
        let Some(chunk) = self.chunk.take() else { return Ok(()) };
        self.set(&[], chunk.bytes).map_err(|_| chunk.no_memory())?;
        chunk.read(&mut self.buffer[..chunk.bytes])?;
        self.used = chunk.bytes;
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.used == 0 && self.chunk.is_none()
    }

    pub(super) fn is_full(&self) -> bool {
        self.used == self.buffer.len()
    }

    /// The free space to read into.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.used..]
    }

    /// This many bytes were read into the free space.
    pub(super) fn advance(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.buffer.len());
    }

    /// Double its length, for a record longer than the block; the error is the length that failed.
    pub(super) fn grow(&mut self) -> Result<(), usize> {
        self.resize(self.used.saturating_mul(2))
    }

    /// Truncate to this length.
    pub(super) fn truncate(&mut self, bytes: usize) {
        self.used = self.used.min(bytes);
    }

    /// Hold a copy of these bytes, with free space after them.
    pub(super) fn set(&mut self, bytes: &[u8], room: usize) -> Result<(), usize> {
        self.used = 0;
        self.chunk = None;
        let need = bytes.len().max(room);
        if self.buffer.len() > need.saturating_mul(2) {
            // The previous block had a huge record; this one need not be as large.
            self.buffer.truncate(need);
            self.buffer.shrink_to_fit();
        }
        self.resize(need)?;
        self.buffer[..bytes.len()].copy_from_slice(bytes);
        self.used = bytes.len();
        Ok(())
    }

    /// Make it at least this long; the error is the length that failed.
    fn resize(&mut self, bytes: usize) -> Result<(), usize> {
        if let Some(more) = bytes.checked_sub(self.buffer.len()) {
            self.buffer.try_reserve_exact(more).map_err(|_| bytes)?;
            self.buffer.resize(bytes, 0);
        }
        Ok(())
    }
}

/// Reads the inputs in order, in blocks of whole records.
pub(super) struct Source<'a> {
    inputs: slice::Iter<'a, Input>,
    rules: &'a ExtractRules,
    block_bytes: usize,
    stop: CancelToken<'a>,
    /// Set if unreadable inputs are reported and skipped.
    unreadable: Option<&'a Unreadable>,
    open: Option<Open<'a>>,
    next_input: usize,
}

/// Called for unreadable inputs, if the following ones are to be read all the same.
#[derive(Clone)]
pub(super) struct Unreadable(pub(super) Arc<dyn Fn(KeysError) + Send + Sync>);

impl fmt::Debug for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unreadable")
    }
}

struct Open<'a> {
    stream: Stream<'a>,
    /// Replaces the stream, if the input is a regular file of lines.
    spans: Option<ChunkReader>,
    splitter: RecordSplitter,
    /// The start of a record whose end is still to be read.
    carry: Vec<u8>,
    /// Lines of a table delivered so far.
    lines: u64,
    place: BlockStart,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        inputs: &'a [Input],
        rules: &'a ExtractRules,
        block_bytes: usize,
        stop: CancelToken<'a>,
        unreadable: Option<&'a Unreadable>,
    ) -> Source<'a> {
        let (inputs, block_bytes) = (inputs.iter(), block_bytes.max(1));
        Source { inputs, rules, block_bytes, stop, unreadable, open: None, next_input: 0 }
    }

    /// Continue with the next input, if allowed.
    fn pass_over(&mut self, error: KeysError) -> Result<(), KeysError> {
        self.open = None;
        match self.unreadable {
            Some(unreadable) if !error.is_cancelled() => {
                (unreadable.0)(error);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Fill `text` with the next records, all of one input; `None` at the very end.
    pub(super) fn next_block(
        &mut self,
        text: &mut ReadBuffer,
    ) -> Result<Option<BlockStart>, KeysError> {
        loop {
            if self.stop.is_wanted() {
                return Err(KeysError::Cancelled);
            }
            if self.open.is_none() {
                let Some(input) = self.inputs.next() else { return Ok(None) };
                self.next_input += 1;
                let any_bytes = self.rules.format.any_bytes;
                let stream = match input.open(self.stop.clone(), any_bytes) {
                    Ok(stream) => stream,
                    Err(error) => {
                        self.pass_over(error)?;
                        continue;
                    }
                };
                let splitter = RecordSplitter::new(self.rules);
                let spans = match (input, &splitter) {
                    // Standard input may be in the middle of a file.
                    (Input::File(_), RecordSplitter::Plain { delimiter }) => {
                        ChunkReader::of(&stream, *delimiter)
                    }
                    _ => None,
                };
                self.open = Some(Open {
                    stream,
                    spans,
                    splitter,
                    carry: Vec::new(),
                    lines: 0,
                    place: BlockStart {
                        input: self.next_input - 1,
                        first: true,
                        ..BlockStart::default()
                    },
                });
            }
            let Some(open) = &mut self.open else { continue };
            let more = match &mut open.spans {
                Some(spans) => spans.next(text, self.block_bytes, &self.stop),
                None => open.fill(text, self.block_bytes),
            };
            let more = more.map_err(|error| self.stop.or(error)).and_then(|more| {
                if open.place.first && text.used > 0 {
                    open.read_header(self.rules, text.bytes())?;
                }
                Ok(more)
            });
            let more = match more {
                Ok(more) => more,
                Err(error) => {
                    self.pass_over(error)?;
                    continue;
                }
            };
            let place = open.place.clone();
            open.place = BlockStart { first: false, header_bytes: 0, ..place.clone() };
            if !more {
                self.open = None;
            }
            if !text.is_empty() {
                return Ok(Some(place));
            }
        }
    }
}

impl Open<'_> {
    /// Fill `text` with whole records: about a block of them, at least one. `false` at the end of
    /// the input, whose last record may lack its delimiter.
    fn fill(&mut self, text: &mut ReadBuffer, block_bytes: usize) -> Result<bool, KeysError> {
        let Open { stream, splitter, carry, lines, .. } = self;
        let no_memory = |bytes| KeysError::Memory { path: stream.path.clone(), bytes };
        text.set(carry, block_bytes).map_err(no_memory)?;
        carry.clear();
        // The carried bytes have been searched already: no record ends in them.
        let mut searched = text.used;
        loop {
            if text.used == text.buffer.len() {
                // A record longer than the block.
                text.resize(text.used.saturating_mul(2))
                    .map_err(|bytes| KeysError::Memory { path: stream.path.clone(), bytes })?;
            }
            let read = stream
                .read(&mut text.buffer[text.used..])
                .map_err(|error| stream.io_error(error))?;
            text.used += read;
            let is_end = read == 0;
            if is_end && matches!(splitter, RecordSplitter::Plain { .. }) {
                return Ok(false);
            }
            if !is_end && text.used < text.buffer.len() && !stream.waits {
                continue;
            }
            let boundary = splitter.last_boundary(&text.buffer[searched..text.used]);
            if is_end && !splitter.is_in_quotes() {
                return Ok(false);
            }
            if let Some(boundary) = boundary.map(|at| searched + at) {
                carry.extend_from_slice(&text.buffer[boundary..text.used]);
                text.used = boundary;
                if matches!(splitter, RecordSplitter::Quoted { .. }) {
                    *lines += splitter.lines(text.bytes());
                }
                return Ok(true);
            }
            if is_end {
                // All of it is one incomplete record.
                let before = &text.bytes()[..splitter.last_opening(text.bytes())];
                let line = *lines + splitter.lines(before) + 1;
                return Err(KeysError::OpenQuote { path: stream.path.clone(), line });
            }
            searched = text.used;
        }
    }

    /// Find the columns, and the header row.
    fn read_header(&mut self, rules: &ExtractRules, text: &[u8]) -> Result<(), KeysError> {
        let KeyField::Csv(csv) = &rules.part else { return Ok(()) };
        let mut end = None;
        if csv.has_header {
            RecordSplitter::new(rules).records(text, |_, at| _ = end.get_or_insert(at));
        }
        let header = &text[..end.unwrap_or(0)];
        self.place.header_bytes = end.map_or(0, |end| text.len().min(end + 1));
        let path = &self.stream.path;
        let no_column = |(column, have)| KeysError::NoColumn { path: path.clone(), column, have };
        self.place.columns = csv::find_columns(csv, header).map_err(no_column)?.into();
        Ok(())
    }
}
