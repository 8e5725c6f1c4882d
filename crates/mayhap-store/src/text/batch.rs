//! A block of records, and the output of the task for their keys.

use super::source::{BlockStart, ReadBuffer};
use super::split::RecordSplitter;
use super::{ExtractRules, Extracted, Extractor, KeyField, OnMissing, Task};
use std::ops::Range;

/// A block of records in input order, and the task's output for their keys.
#[derive(Debug)]
pub struct Batch<O> {
    /// The task's output: for [`HashKeys`](super::HashKeys) one hash per record that has a key.
    pub out: O,
    text: ReadBuffer,
    /// Records with a key.
    records: Vec<KeyRange>,
    /// Records without a key, each with the number of records before it that have one.
    keyless: Vec<(usize, KeyRange)>,
    place: BlockStart,
    delimiter: u8,
    unparsable: u64,
    count: u64,
    /// The number of records, including skipped empty ones.
    lines: u64,
    /// The number of the first record in its input.
    first_number: u64,
}

/// A record without its delimiter.
#[derive(Clone, Copy, Debug)]
struct KeyRange {
    start: usize,
    end: usize,
}

impl<O> Batch<O> {
    pub(super) fn new(out: O, delimiter: u8) -> Batch<O> {
        Batch {
            out,
            text: ReadBuffer::default(),
            records: Vec::new(),
            keyless: Vec::new(),
            place: BlockStart::default(),
            delimiter,
            unparsable: 0,
            count: 0,
            lines: 0,
            first_number: 1,
        }
    }

    /// To be filled by the source.
    pub(super) fn text_mut(&mut self) -> &mut ReadBuffer {
        &mut self.text
    }

    pub(super) fn set_place(&mut self, place: BlockStart) {
        self.place = place;
    }

    /// Split the text into records and give their keys to the task.
    pub(super) fn work<T: Task<Out = O>>(
        &mut self,
        task: &T,
        rules: &ExtractRules,
        splitter: &RecordSplitter,
        extractor: &mut Extractor<'_>,
    ) {
        let Batch { out, text, records, keyless, place, unparsable, lines, .. } = self;
        records.clear();
        keyless.clear();
        (*unparsable, *lines) = (0, 0);
        task.begin(out);
        let text = &text.bytes()[place.header_bytes..];
        let base = place.header_bytes;
        let format = rules.format;
        if !T::WANTS_KEYS && !format.skip_empty {
            *lines = splitter.count(text);
            self.count = *lines;
            return;
        }
        if rules.is_plain() && !format.crlf && !format.skip_empty {
            splitter.records(text, |start, end| {
                records.push(KeyRange { start: base + start, end: base + end });
                task.key(out, &text[start..end]);
            });
            *lines = records.len() as u64;
        } else {
            extractor.set_columns(&place.columns);
            // Rows of a table end with CRLF (RFC 4180) or with a newline alone. Within quotes there
            // can be none at the end of a record.
            let is_table = matches!(rules.part, KeyField::Csv(_)) && format.delimiter == b'\n';
            let crlf = format.crlf || is_table;
            splitter.records(text, |start, end| {
                *lines += 1;
                let record = &text[start..end];
                let bare = if crlf { record.strip_suffix(b"\r") } else { None };
                let bare = bare.unwrap_or(record);
                if format.skip_empty && bare.is_empty() {
                    return;
                }
                let span = KeyRange { start: base + start, end: base + end };
                match extractor.key(bare) {
                    Extracted::Key(key) => task.key(out, key),
                    Extracted::Unnormalised(key) => {
                        *unparsable += 1;
                        task.key(out, key);
                    }
                    Extracted::Missing if rules.missing == OnMissing::Line => {
                        *unparsable += 1;
                        task.key(out, bare);
                    }
                    Extracted::Missing => {
                        keyless.push((records.len(), span));
                        return;
                    }
                }
                records.push(span);
            });
        }
        task.end(out);
        self.count = (self.records.len() + self.keyless.len()) as u64;
    }

    /// The number of records, whether parsed or only counted.
    pub(super) fn counted(&self) -> u64 {
        self.count
    }

    /// Continue the numbering of the previous batch, in input order.
    pub(super) fn number_from(&mut self, before: (usize, u64)) -> (usize, u64) {
        let (input, next) = before;
        // A header row is a line of the file too.
        let header = u64::from(self.place.header_bytes > 0);
        let start = if self.place.first || input != self.place.input { 1 + header } else { next };
        self.first_number = start;
        (self.place.input, start + self.lines)
    }

    /// The number of records with a key.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// How many of them could not be normalised, see [`Tally`](super::Tally).
    pub fn unparsable(&self) -> u64 {
        self.unparsable
    }

    /// The number of records without a key.
    pub fn missing(&self) -> u64 {
        self.keyless.len() as u64
    }

    /// The number of the first record without a key.
    pub(super) fn first_missing(&self) -> Option<u64> {
        if self.keyless.is_empty() {
            return None;
        }
        self.lines().find(|line| line.key.is_none()).map(|line| line.number)
    }

    /// The number of their input, from 0.
    pub fn input(&self) -> usize {
        self.place.input
    }

    /// Whether it is the first batch of its input.
    pub fn is_first(&self) -> bool {
        self.place.first
    }

    /// The header row, with its delimiter, before the first records of a table.
    pub fn header(&self) -> Option<&[u8]> {
        let header = &self.text.bytes()[..self.place.header_bytes];
        (!header.is_empty()).then_some(header)
    }

    /// Record number `i` of those that have a key, from 0, as it stands in the input, without its
    /// delimiter.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn record(&self, i: usize) -> &[u8] {
        let KeyRange { start, end } = self.records[i];
        &self.text.bytes()[start..end]
    }

    /// All records in input order, with a key and without.
    fn spans(&self) -> impl Iterator<Item = (Option<usize>, KeyRange)> {
        let (mut next, mut keyless) = (0, self.keyless.iter().peekable());
        std::iter::from_fn(move || {
            if let Some((_, span)) = keyless.next_if(|(before, _)| *before == next) {
                return Some((None, *span));
            }
            let span = self.records.get(next)?;
            next += 1;
            Some((Some(next - 1), *span))
        })
    }

    /// The records from key number `keys.start` to before `keys.end`, each with the number of its
    /// key, and the records without a key before each (after the last key: behind it too).
    pub fn lines_among(&self, keys: Range<usize>) -> impl Iterator<Item = (Option<usize>, &[u8])> {
        let mut next = 0;
        let is_last = keys.end == self.records.len();
        let among = move |(key, _): &(Option<usize>, KeyRange)| {
            let at = next;
            next += usize::from(key.is_some());
            keys.contains(&at) || (is_last && at == keys.end)
        };
        self.spans()
            .filter(among)
            .map(|(key, span)| (key, &self.text.bytes()[span.start..span.end]))
    }

    /// All records in input order. Skipped empty ones and a header row have numbers too.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let text = self.text.bytes();
        let (mut number, mut next) = (self.first_number, self.place.header_bytes);
        self.spans().map(move |(key, span)| {
            // Between two records there are only delimiters, one more for each empty record.
            let skipped = text[next..span.start].iter().filter(|byte| **byte == self.delimiter);
            number += skipped.count() as u64;
            next = span.end + 1;
            let this = number;
            number += 1;
            Line { number: this, key, text: &text[span.start..span.end] }
        })
    }

    /// The records that have a key, with the number each has in its input, from 1.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let keyed = self.lines().filter(|line| line.key.is_some());
        keyed.map(|line| (line.number, line.text))
    }

    /// Append the records that `keep` wants, of those that have a key, each with a delimiter.
    pub fn copy_where(&self, mut keep: impl FnMut(usize) -> bool, to: &mut Vec<u8>) {
        self.copy_lines(|key| key.is_some_and(&mut keep), to);
    }

    /// Append the records that `keep` wants, each with a delimiter; `None` is one without a key.
    /// Adjacent ones are copied together.
    pub fn copy_lines(&self, mut keep: impl FnMut(Option<usize>) -> bool, to: &mut Vec<u8>) {
        let text = self.text.bytes();
        let mut run = 0..0;
        for (key, span) in self.spans() {
            if !keep(key) {
                continue;
            }
            if run.end != span.start || run.is_empty() {
                to.extend_from_slice(&text[run.clone()]);
                run.start = span.start;
            }
            run.end = (span.end + 1).min(text.len());
            if span.end == text.len() {
                // The last of an input that ends without a delimiter.
                to.extend_from_slice(&text[run.clone()]);
                to.push(self.delimiter);
                run = 0..0;
            }
        }
        to.extend_from_slice(&text[run]);
    }
}

/// A record in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number in its input, from 1.
    pub number: u64,
    /// Its index among the records with a key, from 0; `None` if it has none.
    pub key: Option<usize>,
    /// The record as it is in the input, without its delimiter.
    pub text: &'a [u8],
}
