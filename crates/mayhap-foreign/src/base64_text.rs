//! Base64 in pieces: neither side of it is ever whole in memory twice.

use crate::ForeignError;
use base64::engine::GeneralPurpose;
use base64::read::DecoderReader;
use base64::write::EncoderWriter;
use std::io::{Read, Write};

/// Write these one after another as one text.
pub(crate) fn write(
    to: &mut dyn Write,
    alphabet: GeneralPurpose,
    pieces: &[&[u8]],
) -> Result<(), ForeignError> {
    let mut encoder = EncoderWriter::new(to, &alphabet);
    for piece in pieces {
        encoder.write_all(piece)?;
    }
    encoder.finish()?;
    Ok(())
}

/// Takes bytes off the front of a text.
pub(crate) struct Decoder<'a> {
    text: &'a [u8],
    taken: u64,
    reader: DecoderReader<'a, GeneralPurpose, &'a [u8]>,
}

impl<'a> Decoder<'a> {
    /// Padded text comes in fours; what is behind the last four would never be read.
    pub fn new(text: &'a [u8], alphabet: &'a GeneralPurpose) -> Result<Decoder<'a>, ForeignError> {
        if !text.len().is_multiple_of(4) {
            let need = "a multiple of 4, as padding makes it";
            return Err(ForeignError::field("length of the base64", text.len(), need));
        }
        Ok(Decoder { text, taken: 0, reader: DecoderReader::new(text, alphabet) })
    }

    /// How many bytes the text holds that were not taken yet.
    pub fn left(&self) -> u64 {
        let padding = self.text.iter().rev().take(2).filter(|byte| **byte == b'=').count();
        ((self.text.len() / 4 * 3) as u64).saturating_sub(padding as u64 + self.taken)
    }

    /// Fails unless so many bytes are left, and no more.
    pub fn expect(&self, field: &'static str, need: u64) -> Result<(), ForeignError> {
        let have = self.left();
        if have < need {
            return Err(ForeignError::Truncated { field, need, have });
        }
        if have > need {
            return Err(ForeignError::Trailing { bytes: have - need });
        }
        Ok(())
    }

    /// The next bytes.
    pub fn fill(&mut self, field: &'static str, bytes: &mut [u8]) -> Result<(), ForeignError> {
        let bad = |error| ForeignError::field(field, error, "base64 with padding");
        self.reader.read_exact(bytes).map_err(bad)?;
        self.taken += bytes.len() as u64;
        Ok(())
    }
}
