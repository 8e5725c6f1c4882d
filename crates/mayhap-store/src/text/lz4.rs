//! The lz4 frame format, read to its very end.

use lz4_flex::frame::FrameDecoder;
use std::io::{self, Read};

/// The magic bytes of a frame.
const FRAME: &[u8] = b"\x04\x22\x4d\x18";

/// The legacy format of `lz4 -l` and the Linux kernel: blocks without an end mark.
const LEGACY: &[u8] = b"\x02\x21\x4c\x18";

/// Whether a file starts with a frame.
pub(super) fn is_frame(start: &[u8]) -> bool {
    start.starts_with(FRAME) || start.starts_with(LEGACY)
}

/// Whether a file starts with a skippable frame: zstd has the same ones.
pub(super) fn is_skippable(start: &[u8]) -> bool {
    matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
}

/// Whether this could still become one, and what follows it is not known yet.
pub(super) fn may_be_skippable(start: &[u8]) -> bool {
    match start {
        [] | [0x50..=0x5f] | [0x50..=0x5f, 0x2a] | [0x50..=0x5f, 0x2a, 0x4d] => true,
        _ => is_skippable(start) && start.len() < 24,
    }
}

/// Whether a file starts with such a frame, followed by one of lz4.
pub(super) fn is_behind_skippable(start: &[u8]) -> bool {
    let behind = skippable_bytes(start).and_then(|bytes| start.get(bytes..));
    is_skippable(start) && behind.is_some_and(is_frame)
}

fn skippable_bytes(start: &[u8]) -> Option<usize> {
    let bytes = u32::from_le_bytes(*start.get(4..)?.first_chunk()?);
    usize::try_from(bytes).ok()?.checked_add(8)
}

/// Frames one after another.
///
/// The decoder takes the end of the input between two blocks for the end of a frame. So this checks
/// where the input ends: after the end mark of a frame, or it was truncated.
///
/// Each frame has its own decoder: a shared one fails if a frame has smaller blocks than the one
/// before.
pub(super) struct Frames<R: Read> {
    /// `None` only while it is replaced.
    decoder: Option<FrameDecoder<Counted<R>>>,
    /// Bytes read when the last frame ended.
    ended: u64,
}

impl<R: Read> Frames<R> {
    pub(super) fn new(bytes: R) -> Frames<R> {
        Frames { decoder: Some(FrameDecoder::new(Counted::new(bytes))), ended: 0 }
    }

    fn input(&self) -> Option<&Counted<R>> {
        self.decoder.as_ref().map(FrameDecoder::get_ref)
    }

    /// Begin the next frame.
    fn next_frame(&mut self) -> io::Result<()> {
        let Some(decoder) = self.decoder.take() else { return Ok(()) };
        let mut input = decoder.into_inner();
        let passed = input.pass_skippable();
        self.ended = input.bytes;
        self.decoder = Some(FrameDecoder::new(input));
        passed
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.input().is_some_and(|input| input.bytes == self.ended) {
                self.next_frame()?;
            }
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(buffer)?;
            let input = decoder.get_ref();
            if read > 0 || (input.at_end && (input.bytes == self.ended || input.is_legacy)) {
                return Ok(read);
            }
            if input.at_end {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off"));
            }
            self.ended = input.bytes;
        }
    }
}

/// Counts bytes, and can look ahead at the next ones.
struct Counted<R> {
    inner: R,
    /// Read already, to be read again.
    ahead: Vec<u8>,
    bytes: u64,
    at_end: bool,
    is_legacy: bool,
}

impl<R: Read> Counted<R> {
    fn new(inner: R) -> Counted<R> {
        Counted { inner, ahead: Vec::new(), bytes: 0, at_end: false, is_legacy: false }
    }

    /// Skip skippable frames, and see which format follows.
    fn pass_skippable(&mut self) -> io::Result<()> {
        loop {
            let missing = 8usize.saturating_sub(self.ahead.len()) as u64;
            self.inner.by_ref().take(missing).read_to_end(&mut self.ahead)?;
            let bytes = skippable_bytes(&self.ahead).filter(|_| is_skippable(&self.ahead));
            let Some(bytes) = bytes else { break };
            self.ahead.clear();
            let body = bytes as u64 - 8;
            let passed = io::copy(&mut self.inner.by_ref().take(body), &mut io::sink())?;
            if passed < body {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut off"));
            }
        }
        self.is_legacy = self.ahead.starts_with(LEGACY);
        Ok(())
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = if self.ahead.is_empty() {
            self.inner.read(buffer)?
        } else {
            let read = buffer.len().min(self.ahead.len());
            buffer[..read].copy_from_slice(&self.ahead[..read]);
            self.ahead.drain(..read);
            read
        };
        self.bytes += read as u64;
        self.at_end |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lz4_flex::frame::{FrameEncoder, FrameInfo};
    use std::io::Write;

    fn frame(text: &[u8]) -> Vec<u8> {
        let info = FrameInfo::new().content_checksum(true);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        Frames::new(bytes).read_to_end(&mut text).map(|_| text)
    }

    #[test]
    fn frames_are_read_one_after_another_and_metadata_is_passed_over() {
        let text = b"ada\neve\n".repeat(50_000);
        let metadata = b"\x5a\x2a\x4d\x18\x03\0\0\0abc";
        let both = [metadata, &*frame(&text), metadata, &*frame(b"bob\n"), metadata].concat();
        assert!(is_behind_skippable(&both));
        assert_eq!(read(&both).unwrap(), [&*text, b"bob\n"].concat());
        assert_eq!(read(&frame(b"")).unwrap(), b"");
        let legacy = [LEGACY, &[5, 0, 0, 0, 0x40], b"ada\n"].concat();
        assert_eq!(read(&legacy).unwrap(), b"ada\n");
    }

    #[test]
    fn what_is_cut_off_anywhere_is_no_end() {
        let whole = [frame(&b"ada\neve\n".repeat(40_000)), frame(b"bob\n")].concat();
        let first = frame(&b"ada\neve\n".repeat(40_000)).len();
        for cut in (1..whole.len()).step_by(7).chain(whole.len() - 12..whole.len()) {
            assert_eq!(read(&whole[..cut]).is_ok(), cut == first, "{cut} bytes");
        }
    }
}
