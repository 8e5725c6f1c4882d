//! Where records end: at every delimiter, or at those outside quotes.

use super::{Framing, Part, Rules};
use memchr::{memchr, memchr2, memrchr};

/// Finds the ends of records in text that comes piece by piece.
#[derive(Clone, Debug)]
pub(super) enum Cutter {
    /// Every delimiter ends a record.
    Plain { delimiter: u8 },
    /// Delimiters inside quotes belong to the record.
    Quoted { delimiter: u8, separator: u8, state: State },
}

/// Where in a quoted record we are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At the start of a field, the only place where a quote opens.
    Start,
    /// In a field, where a quote is a letter like others.
    Plain,
    /// Behind an opening quote.
    Quoted,
    /// Behind a quote in quotes: the first half of two, or the closing one.
    Closing,
}

const QUOTE: u8 = b'"';

impl Cutter {
    pub(super) fn new(rules: &Rules) -> Cutter {
        let Framing { delimiter, .. } = rules.framing;
        match &rules.part {
            Part::Csv(csv) => {
                Cutter::Quoted { delimiter, separator: csv.separator, state: State::Start }
            }
            _ => Cutter::Plain { delimiter },
        }
    }

    /// Look at the next piece. Behind the last delimiter in it that ends a record, if one does.
    pub(super) fn last_border(&mut self, piece: &[u8]) -> Option<usize> {
        match self {
            Cutter::Plain { delimiter } => memrchr(*delimiter, piece).map(|at| at + 1),
            Cutter::Quoted { delimiter, separator, state } => {
                let mut last = None;
                *state = borders(piece, *delimiter, *separator, *state, |at| last = Some(at));
                last
            }
        }
    }

    /// Whether the text so far ends inside quotes.
    pub(super) fn is_in_quotes(&self) -> bool {
        matches!(self, Cutter::Quoted { state: State::Quoted, .. })
    }

    /// Lines that end in the text, within quotes or without.
    pub(super) fn lines(&self, text: &[u8]) -> u64 {
        let (Cutter::Plain { delimiter } | Cutter::Quoted { delimiter, .. }) = self;
        memchr::memchr_iter(*delimiter, text).count() as u64
    }

    /// Where the last quote is opened in a record that is not whole.
    pub(super) fn last_opening(&self, record: &[u8]) -> usize {
        let Cutter::Quoted { delimiter, separator, .. } = self else { return 0 };
        let (mut state, mut opening) = (State::Start, 0);
        for (at, byte) in record.iter().enumerate() {
            if state == State::Start && *byte == QUOTE {
                opening = at;
            }
            state = borders(&[*byte], *delimiter, *separator, state, |_| ());
        }
        opening
    }

    /// How many records a whole block has, empty ones among them.
    pub(super) fn count(&self, text: &[u8]) -> u64 {
        match self {
            Cutter::Plain { delimiter } => {
                let ends = memchr::memchr_iter(*delimiter, text).count();
                let last = text.last().is_some_and(|last| last != delimiter);
                ends as u64 + u64::from(last)
            }
            Cutter::Quoted { .. } => {
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
            Cutter::Plain { delimiter } => {
                for end in memchr::memchr_iter(*delimiter, text) {
                    each(start, end);
                    start = end + 1;
                }
            }
            Cutter::Quoted { delimiter, separator, .. } => {
                borders(text, *delimiter, *separator, State::Start, |next| {
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

/// Call with the place behind each delimiter that ends a record; the state at the end.
fn borders(
    text: &[u8],
    delimiter: u8,
    separator: u8,
    mut state: State,
    mut border: impl FnMut(usize),
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
                    border(at);
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
