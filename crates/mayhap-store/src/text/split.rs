//! Record boundaries: every delimiter, or those outside quotes.

use super::{ExtractRules, KeyField, RecordFormat};
use memchr::{memchr, memchr2, memrchr};

/// Finds the ends of records in text that comes in pieces.
#[derive(Clone, Debug)]
pub(super) enum RecordSplitter {
    /// Every delimiter ends a record.
    Plain { delimiter: u8 },
    /// Delimiters inside quotes belong to the record.
    Quoted { delimiter: u8, separator: u8, state: State },
}

/// The state inside a quoted record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At the start of a field, the only place where a quote opens.
    Start,
    /// In a field, where a quote is an ordinary character.
    Plain,
    /// After an opening quote.
    Quoted,
    /// After a quote in quotes: the first half of an escaped one, or the closing one.
    Closing,
}

const QUOTE: u8 = b'"';

impl RecordSplitter {
    pub(super) fn new(rules: &ExtractRules) -> RecordSplitter {
        let RecordFormat { delimiter, .. } = rules.format;
        match &rules.part {
            KeyField::Csv(csv) => {
                RecordSplitter::Quoted { delimiter, separator: csv.separator, state: State::Start }
            }
            _ => RecordSplitter::Plain { delimiter },
        }
    }

    /// Scan the next piece. Returns the position after the last delimiter that ends a record, if
    /// any.
    pub(super) fn last_boundary(&mut self, piece: &[u8]) -> Option<usize> {
        match self {
            RecordSplitter::Plain { delimiter } => memrchr(*delimiter, piece).map(|at| at + 1),
            RecordSplitter::Quoted { delimiter, separator, state } => {
                let mut last = None;
                *state = boundaries(piece, *delimiter, *separator, *state, |at| last = Some(at));
                last
            }
        }
    }

    /// Whether the text so far ends inside quotes.
    pub(super) fn is_in_quotes(&self) -> bool {
        matches!(self, RecordSplitter::Quoted { state: State::Quoted, .. })
    }

    /// Lines that end in the text, inside quotes or outside.
    pub(super) fn lines(&self, text: &[u8]) -> u64 {
        let (RecordSplitter::Plain { delimiter } | RecordSplitter::Quoted { delimiter, .. }) = self;
        memchr::memchr_iter(*delimiter, text).count() as u64
    }

    /// Where the last quote opens in an incomplete record.
    pub(super) fn last_opening(&self, record: &[u8]) -> usize {
        let RecordSplitter::Quoted { delimiter, separator, .. } = self else { return 0 };
        let (mut state, mut opening) = (State::Start, 0);
        for (at, byte) in record.iter().enumerate() {
            if state == State::Start && *byte == QUOTE {
                opening = at;
            }
            state = boundaries(&[*byte], *delimiter, *separator, state, |_| ());
        }
        opening
    }

    /// The number of records in a whole block, including empty ones.
    pub(super) fn count(&self, text: &[u8]) -> u64 {
        match self {
            RecordSplitter::Plain { delimiter } => {
                let ends = memchr::memchr_iter(*delimiter, text).count();
                let last = text.last().is_some_and(|last| last != delimiter);
                ends as u64 + u64::from(last)
            }
            RecordSplitter::Quoted { .. } => {
                let mut count = 0;
                self.records(text, |_, _| count += 1);
                count
            }
        }
    }

    /// Call for each record of a whole block: where it starts, where it ends, without its
    /// delimiter.
    #[inline]
    pub(super) fn records(&self, text: &[u8], mut each: impl FnMut(usize, usize)) {
        let mut start = 0;
        match self {
            RecordSplitter::Plain { delimiter } => {
                for end in memchr::memchr_iter(*delimiter, text) {
                    each(start, end);
                    start = end + 1;
                }
            }
            RecordSplitter::Quoted { delimiter, separator, .. } => {
                boundaries(text, *delimiter, *separator, State::Start, |next| {
                    each(start, next - 1);
                    start = next;
                });
            }
        }
        if start < text.len() {
            each(start, text.len());
        }
    }
}

/// Call with the position after each delimiter that ends a record; returns the state at the end.
fn boundaries(
    text: &[u8],
    delimiter: u8,
    separator: u8,
    mut state: State,
    mut boundary: impl FnMut(usize),
) -> State {
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        state = match state {
            State::Start | State::Closing if rest[0] == QUOTE => {
                at += 1;
                State::Quoted
            }
            State::Start | State::Closing => State::Plain,
            State::Plain => {
                let Some(found) = memchr2(separator, delimiter, rest) else { return state };
                at += found + 1;
                if rest[found] == delimiter {
                    boundary(at);
                }
                State::Start
            }
            State::Quoted => {
                let Some(found) = memchr(QUOTE, rest) else { return state };
                at += found + 1;
                State::Closing
            }
        };
    }
    state
}
