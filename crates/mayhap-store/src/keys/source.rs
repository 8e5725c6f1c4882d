//! Blocks of whole records, one after another.

use super::csv;
use super::cut::Cutter;
use super::input::{Stop, Stream};
use super::spans::{Span, Spans};
use super::{Input, KeysError, Part, Rules};
use std::fmt;
use std::slice;
use std::sync::Arc;

/// Where a block comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// The number of the input, from 0.
    pub(super) input: usize,
    /// Whether it is the first block of its input.
    pub(super) first: bool,
    /// Bytes of the header row at its front.
    pub(super) header_bytes: usize,
    /// The columns of the key, from 0, in a table.
    pub(super) columns: Arc<[usize]>,
}

/// A buffer of which the front is used. The rest keeps its old bytes, so that nothing is cleared
/// that is written over anyway.
#[derive(Debug, Default)]
pub(super) struct Text {
    buffer: Vec<u8>,
    used: usize,
    /// What is to become of it, see [`fetch`](Text::fetch).
    span: Option<Span>,
}

impl Text {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.used]
    }

    /// To be read later, by another thread maybe.
    pub(super) fn put_off(&mut self, span: Span) {
        self.used = 0;
        self.span = Some(span);
    }

    /// Read what was put off.
    pub(super) fn fetch(&mut self) -> Result<(), KeysError> {
        let Some(span) = self.span.take() else { return Ok(()) };
        self.set(&[], span.bytes).map_err(|_| span.no_memory())?;
        span.read(&mut self.buffer[..span.bytes])?;
        self.used = span.bytes;
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.used == 0 && self.span.is_none()
    }

    pub(super) fn is_full(&self) -> bool {
        self.used == self.buffer.len()
    }

    /// Where more can be read to.
    pub(super) fn room(&mut self) -> &mut [u8] {
        &mut self.buffer[self.used..]
    }

    /// So many bytes were read to the room.
    pub(super) fn took(&mut self, bytes: usize) {
        self.used = (self.used + bytes).min(self.buffer.len());
    }

    /// Be twice as long, for a record longer than the block; how long it could not be.
    pub(super) fn grow(&mut self) -> Result<(), usize> {
        self.make_room(self.used.saturating_mul(2))
    }

    /// End here.
    pub(super) fn cut(&mut self, bytes: usize) {
        self.used = self.used.min(bytes);
    }

    /// Hold a copy of these bytes, and have room for some.
    pub(super) fn set(&mut self, bytes: &[u8], room: usize) -> Result<(), usize> {
        self.used = 0;
        self.span = None;
        let need = bytes.len().max(room);
        if self.buffer.len() > need.saturating_mul(2) {
            // The block before had a huge record; this one need not be as large.
            self.buffer.truncate(need);
            self.buffer.shrink_to_fit();
        }
        self.make_room(need)?;
        self.buffer[..bytes.len()].copy_from_slice(bytes);
        self.used = bytes.len();
        Ok(())
    }

    /// Be at least so long; how long it could not be.
    fn make_room(&mut self, bytes: usize) -> Result<(), usize> {
        if let Some(more) = bytes.checked_sub(self.buffer.len()) {
            self.buffer.try_reserve_exact(more).map_err(|_| bytes)?;
            self.buffer.resize(bytes, 0);
        }
        Ok(())
    }
}

/// Reads the inputs, one after another, in blocks of whole records.
pub(super) struct Source<'a> {
    inputs: slice::Iter<'a, Input>,
    rules: &'a Rules,
    block_bytes: usize,
    stop: Stop<'a>,
    /// Where inputs that cannot be read are told, and passed over.
    unreadable: Option<&'a Unreadable>,
    open: Option<Open<'a>>,
    next_input: usize,
}

/// Told of inputs that cannot be read, when those behind them shall be read all the same.
#[derive(Clone)]
pub(super) struct Unreadable(pub(super) Arc<dyn Fn(KeysError) + Send + Sync>);

impl fmt::Debug for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unreadable")
    }
}

struct Open<'a> {
    stream: Stream<'a>,
    /// In place of the stream, where the input is a plain file of lines.
    spans: Option<Spans>,
    cutter: Cutter,
    /// The start of a record whose end is still to be read.
    carry: Vec<u8>,
    /// Lines of a table that were handed over.
    lines: u64,
    place: Place,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        inputs: &'a [Input],
        rules: &'a Rules,
        block_bytes: usize,
        stop: Stop<'a>,
        unreadable: Option<&'a Unreadable>,
    ) -> Source<'a> {
        let (inputs, block_bytes) = (inputs.iter(), block_bytes.max(1));
        Source { inputs, rules, block_bytes, stop, unreadable, open: None, next_input: 0 }
    }

    /// Go on with the next input, if that is wanted.
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
    pub(super) fn next_block(&mut self, text: &mut Text) -> Result<Option<Place>, KeysError> {
        loop {
            if self.stop.is_wanted() {
                return Err(KeysError::Cancelled);
            }
            if self.open.is_none() {
                let Some(input) = self.inputs.next() else { return Ok(None) };
                self.next_input += 1;
                let any_bytes = self.rules.framing.any_bytes;
                let stream = match input.open(self.stop.clone(), any_bytes) {
                    Ok(stream) => stream,
                    Err(error) => {
                        self.pass_over(error)?;
                        continue;
                    }
                };
                let cutter = Cutter::new(self.rules);
                let spans = match (input, &cutter) {
                    // Standard input may be in the middle of a file.
                    (Input::File(_), Cutter::Plain { delimiter }) => Spans::of(&stream, *delimiter),
                    _ => None,
                };
                self.open = Some(Open {
                    stream,
                    spans,
                    cutter,
                    carry: Vec::new(),
                    lines: 0,
                    place: Place { input: self.next_input - 1, first: true, ..Place::default() },
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
            open.place = Place { first: false, header_bytes: 0, ..place.clone() };
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
    /// Fill `text` with whole records: about a block of them, one at the least. `false` at the
    /// end of the input, whose last record may lack its delimiter.
    fn fill(&mut self, text: &mut Text, block_bytes: usize) -> Result<bool, KeysError> {
        let Open { stream, cutter, carry, lines, .. } = self;
        let no_memory = |bytes| KeysError::Memory { path: stream.path.clone(), bytes };
        text.set(carry, block_bytes).map_err(no_memory)?;
        carry.clear();
        // The carried bytes have been searched already: no record ends in them.
        let mut searched = text.used;
        loop {
            if text.used == text.buffer.len() {
                // A record longer than the block.
                text.make_room(text.used.saturating_mul(2))
                    .map_err(|bytes| KeysError::Memory { path: stream.path.clone(), bytes })?;
            }
            let read = stream
                .read(&mut text.buffer[text.used..])
                .map_err(|error| stream.trouble(error))?;
            text.used += read;
            let is_end = read == 0;
            if is_end && matches!(cutter, Cutter::Plain { .. }) {
                return Ok(false);
            }
            if !is_end && text.used < text.buffer.len() && !stream.waits {
                continue;
            }
            let border = cutter.last_border(&text.buffer[searched..text.used]);
            if is_end && !cutter.is_in_quotes() {
                return Ok(false);
            }
            if let Some(border) = border.map(|at| searched + at) {
                carry.extend_from_slice(&text.buffer[border..text.used]);
                text.used = border;
                if matches!(cutter, Cutter::Quoted { .. }) {
                    *lines += cutter.lines(text.bytes());
                }
                return Ok(true);
            }
            if is_end {
                // All of it is one record that is not whole.
                let before = &text.bytes()[..cutter.last_opening(text.bytes())];
                let line = *lines + cutter.lines(before) + 1;
                return Err(KeysError::OpenQuote { path: stream.path.clone(), line });
            }
            searched = text.used;
        }
    }

    /// Find the columns, and the row that names them.
    fn read_header(&mut self, rules: &Rules, text: &[u8]) -> Result<(), KeysError> {
        let Part::Csv(csv) = &rules.part else { return Ok(()) };
        let mut end = None;
        if csv.has_header {
            Cutter::new(rules).records(text, |_, at| _ = end.get_or_insert(at));
        }
        let header = &text[..end.unwrap_or(0)];
        self.place.header_bytes = end.map_or(0, |end| text.len().min(end + 1));
        let path = &self.stream.path;
        let no_column = |(column, have)| KeysError::NoColumn { path: path.clone(), column, have };
        self.place.columns = csv::find_columns(csv, header).map_err(no_column)?.into();
        Ok(())
    }
}
