//! A block of records, and what was made of their keys.

use super::cut::Cutter;
use super::source::{Place, Text};
use super::{Extractor, Rules, Task};

/// A block of records in the order of the input, and what the task kept of their keys.
#[derive(Debug)]
pub struct Batch<O> {
    /// What the task kept: for [`Hashing`](super::Hashing) one hash a record.
    pub out: O,
    text: Text,
    records: Vec<Span>,
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
        let Batch { out, text, records, place, unparsed, lines, .. } = self;
        records.clear();
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
            extractor.set_column(place.column);
            cutter.records(text, |start, end| {
                *lines += 1;
                let record = &text[start..end];
                let bare = if framing.crlf { record.strip_suffix(b"\r") } else { None };
                let bare = bare.unwrap_or(record);
                if framing.skip_empty && bare.is_empty() {
                    return;
                }
                records.push(Span { start: base + start, end: base + end });
                match extractor.key(bare) {
                    Some(key) => task.key(out, key),
                    None => {
                        *unparsed += 1;
                        task.key(out, bare);
                    }
                }
            });
        }
        task.end(out);
        self.count = self.records.len() as u64;
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

    /// How many records there are.
    pub fn records(&self) -> usize {
        self.records.len()
    }

    /// How many of them had no such part, or did not parse: they are their own keys.
    pub fn unparsed(&self) -> u64 {
        self.unparsed
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

    /// Record number `i` of the batch, from 0, as it stands in the input, without its delimiter.
    ///
    /// # Panics
    /// If there is no such record.
    pub fn record(&self, i: usize) -> &[u8] {
        let Span { start, end } = self.records[i];
        &self.text.bytes()[start..end]
    }

    /// All records, with the number each has in its input, from 1. Those passed over as empty,
    /// and a header row, have numbers too.
    pub fn numbered(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let text = self.text.bytes();
        let (mut number, mut next) = (self.first_number, self.place.header_bytes);
        self.records.iter().map(move |span| {
            // Between two records there are delimiters only, one more for each empty one.
            let skipped = text[next..span.start].iter().filter(|byte| **byte == self.delimiter);
            number += skipped.count() as u64;
            next = span.end + 1;
            let this = number;
            number += 1;
            (this, &text[span.start..span.end])
        })
    }

    /// Append the records that `keep` wants, each with a delimiter. Neighbours are copied in one
    /// go.
    pub fn copy_where(&self, mut keep: impl FnMut(usize) -> bool, to: &mut Vec<u8>) {
        let text = self.text.bytes();
        let mut run = 0..0;
        for (i, span) in self.records.iter().enumerate() {
            if !keep(i) {
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
