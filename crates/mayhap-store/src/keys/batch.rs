//! A block of records, and what was made of their keys.

use super::cut::Cutter;
use super::source::{Place, Text};
use super::{Extracted, Extractor, OnMissing, Part, Rules, Task};
use std::ops::Range;

/// A block of records in the order of the input, and what the task kept of their keys.
#[derive(Debug)]
pub struct Batch<O> {
    /// What the task kept: for [`Hashing`](super::Hashing) one hash per record that has a key.
    pub out: O,
    text: Text,
    /// Those that have a key.
    records: Vec<Span>,
    /// Those that have none, each with the number of records before it that have one.
    keyless: Vec<(usize, Span)>,
    place: Place,
    delimiter: u8,
    unparsed: u64,
    count: u64,
    /// Records, and those passed over as empty.
    lines: u64,
    /// The number of the first of them in its input.
    first_number: u64,
}

/// A record without its delimiter.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    end: usize,
}

impl<O> Batch<O> {
    pub(super) fn new(out: O, delimiter: u8) -> Batch<O> {
        Batch {
            out,
            text: Text::default(),
            records: Vec::new(),
            keyless: Vec::new(),
            place: Place::default(),
            delimiter,
            unparsed: 0,
            count: 0,
            lines: 0,
            first_number: 1,
        }
    }

    /// To be filled by the source.
    pub(super) fn text_mut(&mut self) -> &mut Text {
        &mut self.text
    }

    pub(super) fn set_place(&mut self, place: Place) {
        self.place = place;
    }

    /// Cut the text into records and give their keys to the task.
    pub(super) fn work<T: Task<Out = O>>(
        &mut self,
        task: &T,
        rules: &Rules,
        cutter: &Cutter,
        extractor: &mut Extractor<'_>,
    ) {
        let Batch { out, text, records, keyless, place, unparsed, lines, .. } = self;
        records.clear();
        keyless.clear();
        (*unparsed, *lines) = (0, 0);
        task.begin(out);
        let text = &text.bytes()[place.header_bytes..];
        let base = place.header_bytes;
        let framing = rules.framing;
        if !T::WANTS_KEYS && !framing.skip_empty {
            *lines = cutter.count(text);
            self.count = *lines;
            return;
        }
        if rules.is_plain() && !framing.crlf && !framing.skip_empty {
            cutter.records(text, |start, end| {
                records.push(Span { start: base + start, end: base + end });
                task.key(out, &text[start..end]);
            });
            *lines = records.len() as u64;
        } else {
            extractor.set_columns(&place.columns);
            // Lines of a table end as RFC 4180 has it, or with a newline alone. Within quotes
            // there can be none at the end of a record.
            let is_table = matches!(rules.part, Part::Csv(_)) && framing.delimiter == b'\n';
            let crlf = framing.crlf || is_table;
            cutter.records(text, |start, end| {
                *lines += 1;
                let record = &text[start..end];
                let bare = if crlf { record.strip_suffix(b"\r") } else { None };
                let bare = bare.unwrap_or(record);
                if framing.skip_empty && bare.is_empty() {
                    return;
                }
                let span = Span { start: base + start, end: base + end };
                match extractor.key(bare) {
                    Extracted::Key(key) => task.key(out, key),
                    Extracted::Unnormalised(key) => {
                        *unparsed += 1;
                        task.key(out, key);
                    }
                    Extracted::Missing if rules.missing == OnMissing::Line => {
                        *unparsed += 1;
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

    /// How many records came by, be they known or only counted.
    pub(super) fn counted(&self) -> u64 {
        self.count
    }

    /// Follow on the batch before, in input order.
    pub(super) fn number_from(&mut self, before: (usize, u64)) -> (usize, u64) {
        let (input, next) = before;
        // A header row is a line of the file too.
        let header = u64::from(self.place.header_bytes > 0);
        let start = if self.place.first || input != self.place.input { 1 + header } else { next };
        self.first_number = start;
        (self.place.input, start + self.lines)
    }

    /// How many records there are that have a key.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// How many of them are keys as they stand, see [`Tally`](super::Tally).
    pub fn unparsed(&self) -> u64 {
        self.unparsed
    }

    /// How many records there are besides that have no key.
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

    /// The number of the input they all come from, from 0.
    pub fn input(&self) -> usize {
        self.place.input
    }

    /// Whether it is the first batch of its input.
    pub fn is_first(&self) -> bool {
        self.place.first
    }

    /// The header row, with its delimiter, in front of the first records of a table.
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
        let Span { start, end } = self.records[i];
        &self.text.bytes()[start..end]
    }

    /// All records in the order of the input, with a key and without.
    fn spans(&self) -> impl Iterator<Item = (Option<usize>, Span)> {
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

    /// The records from key number `keys.start` on to before `keys.end`, each with the number of
    /// its key, and those without a key in front of each (after the last key: behind it too).
    pub fn lines_among(&self, keys: Range<usize>) -> impl Iterator<Item = (Option<usize>, &[u8])> {
        let mut next = 0;
        let is_last = keys.end == self.records.len();
        let among = move |(key, _): &(Option<usize>, Span)| {
            let at = next;
            next += usize::from(key.is_some());
            keys.contains(&at) || (is_last && at == keys.end)
        };
        self.spans()
            .filter(among)
            .map(|(key, span)| (key, &self.text.bytes()[span.start..span.end]))
    }

    /// All records in the order of the input. Those passed over as empty, and a header row, have
    /// numbers too.
    pub fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let text = self.text.bytes();
        let (mut number, mut next) = (self.first_number, self.place.header_bytes);
        self.spans().map(move |(key, span)| {
            // Between two records there are delimiters only, one more for each empty one.
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
    /// Neighbours are copied in one go.
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
    /// Where it stands among the records that have a key, from 0; `None` if it has none.
    pub key: Option<usize>,
    /// The record as it stands in the input, without its delimiter.
    pub text: &'a [u8],
}
