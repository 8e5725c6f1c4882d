//! Inputs: files and standard input, compressed or not.

use super::{KeysError, ProgressAndCancel, lz4};
use crate::budget::Budget;
use crate::exact::ExactSet;
use crate::magic;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// An input.
///
/// ```
/// use mayhap_store::text::Input;
/// use std::ffi::OsStr;
/// assert_eq!(Input::from(OsStr::new("-")), Input::Stdin);
/// assert_eq!(Input::from(OsStr::new("a/b")), Input::File("a/b".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Standard input.
    Stdin,
    /// A file, a pipe, a device.
    File(PathBuf),
}

impl From<&OsStr> for Input {
    /// As on a command line: `-` is standard input.
    fn from(name: &OsStr) -> Input {
        if name == "-" { Input::Stdin } else { Input::File(name.into()) }
    }
}

impl From<PathBuf> for Input {
    /// As on a command line: `-` is standard input.
    fn from(path: PathBuf) -> Input {
        Input::from(path.as_os_str())
    }
}

impl Input {
    /// The name in messages.
    pub fn path(&self) -> &Path {
        match self {
            Input::Stdin => Path::new("-"),
            Input::File(path) => path,
        }
    }

    /// Whether it can be read twice: a regular file, not a pipe or a terminal.
    pub fn is_rereadable(&self) -> bool {
        match self {
            Input::Stdin => false,
            Input::File(path) => path.metadata().is_ok_and(|data| data.is_file()),
        }
    }

    /// Its size on disk (compressed), if known.
    pub fn bytes(&self) -> Option<u64> {
        let data = match self {
            Input::Stdin => stdin().ok()?.metadata().ok()?,
            Input::File(path) => path.metadata().ok()?,
        };
        data.is_file().then_some(data.len())
    }

    /// Open it and detect its compression.
    ///
    /// Known types that are not lists of keys are rejected, unless any bytes are allowed.
    pub(super) fn open<'a>(
        &self,
        stop: CancelToken<'a>,
        any_bytes: bool,
    ) -> Result<Stream<'a>, KeysError> {
        let path = || self.path().to_owned();
        let opened = match self {
            Input::Stdin => stdin(),
            Input::File(path) => open_at_once(path),
        };
        let file = opened.map_err(|error| KeysError::Open { path: path(), error })?;
        let data = file.metadata().map_err(|error| KeysError::Open { path: path(), error })?;
        if data.is_dir() {
            return Err(KeysError::Directory { path: path() });
        }
        let waits = !data.is_file();
        let mut raw = Raw { file, waits, stop, read_bytes: 0 };
        let start = first_bytes(&mut raw)
            .map_err(|error| raw.stop.or(KeysError::Read { path: path(), at: 0, error }))?;
        if !any_bytes {
            self.refuse_known(&start, None)?;
        }
        if ExactSet::is_start_of_file(&start) {
            return Err(KeysError::ExactState { path: path() });
        }
        let codec = Codec::of(&start);
        let bytes = Cursor::new(start).chain(raw);
        let stop = bytes.get_ref().1.stop.clone();
        let Some(codec) = codec else {
            return Ok(Stream { path: path(), codec, waits, reader: Reader::Plain(bytes) });
        };
        let mut packed =
            codec.reader(bytes).map_err(|error| KeysError::Open { path: path(), error })?;
        // An archive in a compressed file is not a list of keys either.
        let mut inside = Vec::new();
        let read = packed.by_ref().take(magic::START as u64).read_to_end(&mut inside);
        read.map_err(|error| stop.or(unpacked(path(), codec, error)))?;
        if !any_bytes {
            self.refuse_known(&inside, Some(codec))?;
        }
        let reader = Reader::Packed(Box::new(Cursor::new(inside).chain(packed)));
        Ok(Stream { path: path(), codec: Some(codec), waits: false, reader })
    }

    /// Fails if the first bytes are not those of a list of keys.
    fn refuse_known(&self, start: &[u8], inside: Option<Codec>) -> Result<(), KeysError> {
        let path = || self.path().to_owned();
        match magic::of_start(start) {
            None => Ok(()),
            Some(_) if start.starts_with(FILTER_MAGIC) => Err(KeysError::Filter { path: path() }),
            Some(what) => Err(KeysError::Binary { path: path(), what, inside }),
        }
    }
}

/// Open a file. Opening a named pipe would block until it has a writer and could not be cancelled:
/// it is opened non-blocking, and the wait for its first bytes can be cancelled.
///
/// Only Linux distinguishes a pipe that never had a writer from one whose writers have gone:
/// polling the former goes on waiting.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_at_once(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    if !path.metadata()?.file_type().is_fifo() {
        return File::open(path);
    }
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// The meaning of a decompression error.
fn unpacked(path: PathBuf, codec: Codec, error: io::Error) -> KeysError {
    if error.raw_os_error().is_some() {
        return KeysError::Read { path, at: 0, error };
    }
    // The decompressor has no other way to report it.
    if codec == Codec::Zstd && error.to_string().contains("requires too much memory") {
        return KeysError::Window { path, allowed: 1 << zstd_window_log() };
    }
    KeysError::Damaged { path, codec, error }
}

/// Unbuffered standard input.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Unbuffered standard input.
#[cfg(windows)]
fn stdin() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(File::from(io::stdin().as_handle().try_clone_to_owned()?))
}

/// The magic bytes of a Mayhap filter.
const FILTER_MAGIC: &[u8] = b"\x89MAY\r\n\x1a\n";

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// `.gz`, of any number of members.
    Gzip,
    /// `.zst`, of any number of frames.
    Zstd,
    /// `.xz`, of any number of streams.
    Xz,
    /// `.bz2`, of any number of streams.
    Bzip2,
    /// `.lz4`, of any number of frames, or of one in the legacy format.
    Lz4,
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Codec::Gzip => "gzip",
            Codec::Zstd => "zstd",
            Codec::Xz => "xz",
            Codec::Bzip2 => "bzip2",
            Codec::Lz4 => "lz4",
        })
    }
}

/// The memory limit of an `.xz` file: what `xz -9` needs, and some more.
const XZ_MEMORY: u64 = 256 << 20;

/// The largest window of a `.zst` file, as a power of two: what `zstd --long=31` makes, if half of
/// the memory is as much. The system allocates only what is used of it.
fn zstd_window_log() -> u32 {
    const MOST: u32 = if cfg!(target_pointer_width = "64") { 31 } else { 30 };
    Budget::default().bytes().max(1).ilog2().clamp(27, MOST)
}

impl Codec {
    const ALL: [Codec; 5] = [Codec::Gzip, Codec::Zstd, Codec::Xz, Codec::Bzip2, Codec::Lz4];

    /// Its magic bytes.
    fn magic(self) -> &'static [u8] {
        match self {
            // The third byte is the only method there is: two bytes alone could be text.
            Codec::Gzip => b"\x1f\x8b\x08",
            Codec::Zstd => b"\x28\xb5\x2f\xfd",
            Codec::Xz => b"\xfd7zXZ\0",
            Codec::Bzip2 => b"BZh",
            Codec::Lz4 => b"\x04\x22\x4d\x18",
        }
    }

    /// The compression of a file with this start.
    pub fn of(start: &[u8]) -> Option<Codec> {
        Codec::ALL.into_iter().find(|codec| match codec {
            // "BZh" could begin a word. A level and the magic of a block, or of the end, could not.
            Codec::Bzip2 => {
                start.starts_with(codec.magic())
                    && start.get(3).is_some_and(|level| (b'1'..=b'9').contains(level))
                    && start.get(4..10).is_some_and(|mark| {
                        mark == b"\x31\x41\x59\x26\x53\x59" || mark == b"\x17\x72\x45\x38\x50\x90"
                    })
            }
            // `pzstd` begins with a skippable frame; so may lz4, whose magic then follows it.
            Codec::Zstd if lz4::is_skippable(start) => !lz4::is_behind_skippable(start),
            Codec::Lz4 => lz4::is_frame(start) || lz4::is_behind_skippable(start),
            _ => start.starts_with(codec.magic()),
        })
    }

    fn reader<'a>(
        self,
        bytes: Chain<Cursor<Vec<u8>>, Raw<'a>>,
    ) -> io::Result<Box<dyn Read + Send + 'a>> {
        Ok(match self {
            Codec::Gzip => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            Codec::Zstd => {
                let mut decoder = zstd::Decoder::new(bytes)?;
                decoder.window_log_max(zstd_window_log())?;
                Box::new(decoder)
            }
            Codec::Xz => {
                let flags = liblzma::stream::CONCATENATED;
                let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, flags)
                    .map_err(io::Error::from)?;
                Box::new(liblzma::read::XzDecoder::new_stream(bytes, stream))
            }
            Codec::Bzip2 => Box::new(bzip2::read::MultiBzDecoder::new(bytes)),
            Codec::Lz4 => Box::new(lz4::Frames::new(bytes)),
        })
    }
}

/// As many bytes as decide the type of the input: no more than a live pipe has sent, unless they
/// could still become magic bytes.
fn first_bytes(raw: &mut Raw<'_>) -> io::Result<Vec<u8>> {
    const ENOUGH: usize = 10;
    let mut start = vec![0; magic::START];
    let mut used = 0;
    let magics = Codec::ALL.map(Codec::magic);
    while used < start.len() {
        let so_far = &start[..used];
        let open = |magic: &[u8]| so_far.starts_with(magic) || magic.starts_with(so_far);
        let codec = used < ENOUGH && magics.iter().any(|magic| open(magic));
        let undecided = codec || lz4::may_be_skippable(so_far) || magic::is_undecided(so_far);
        // A regular file has all of its start.
        if used > 0 && raw.waits && !undecided {
            break;
        }
        match raw.read(&mut start[used..])? {
            0 => break,
            read => used += read,
        }
    }
    start.truncate(used);
    Ok(start)
}

/// Why reading should end: cancelled from outside, or by the consumer.
#[derive(Clone, Debug)]
pub(super) struct CancelToken<'a> {
    pub(super) progress: Arc<ProgressAndCancel>,
    pub(super) halted: &'a AtomicBool,
}

impl CancelToken<'_> {
    pub(super) fn is_wanted(&self) -> bool {
        self.progress.is_stopped() || self.halted.load(Relaxed)
    }

    /// The error, unless reading was cancelled.
    pub(super) fn or(&self, error: KeysError) -> KeysError {
        if self.is_wanted() { KeysError::Cancelled } else { error }
    }
}

/// An open input, decompressed.
pub(super) struct Stream<'a> {
    pub(super) path: PathBuf,
    codec: Option<Codec>,
    /// Whether its writer may be slow, so that data should be passed on at once.
    pub(super) waits: bool,
    reader: Reader<'a>,
}

enum Reader<'a> {
    Plain(Chain<Cursor<Vec<u8>>, Raw<'a>>),
    Packed(Box<dyn Read + Send + 'a>),
}

impl Stream<'_> {
    /// The file, if it is regular and uncompressed, and how much of it was read already.
    pub(super) fn plain_file(&self) -> Option<(File, u64)> {
        let Reader::Plain(reader) = &self.reader else { return None };
        let raw = reader.get_ref().1;
        if self.waits { None } else { Some((raw.file.try_clone().ok()?, raw.read_bytes)) }
    }

    /// Some of the next bytes; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match &mut self.reader {
                Reader::Plain(reader) => reader.read(buffer),
                Reader::Packed(reader) => reader.read(buffer),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// The meaning of a failed read.
    pub(super) fn io_error(&self, error: io::Error) -> KeysError {
        let path = self.path.clone();
        match (&self.reader, self.codec) {
            (Reader::Plain(reader), _) => {
                KeysError::Read { path, at: reader.get_ref().1.read_bytes, error }
            }
            (_, Some(codec)) => unpacked(path, codec, error),
            (_, None) => KeysError::Read { path, at: 0, error },
        }
    }
}

/// The bytes on disk.
struct Raw<'a> {
    file: File,
    waits: bool,
    stop: CancelToken<'a>,
    read_bytes: u64,
}

impl Read for Raw<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = loop {
            if self.waits {
                wait_for(&self.file, &self.stop)?;
            }
            match self.file.read(buffer) {
                // Another process has made the pipe non-blocking, and was faster.
                Err(error) if self.waits && error.kind() == io::ErrorKind::WouldBlock => {}
                read => break read?,
            }
        };
        self.read_bytes += read as u64;
        self.stop.progress.add_bytes(read as u64);
        Ok(read)
    }
}

/// Wait until there is something to read. A blocking read could not be cancelled.
#[cfg(unix)]
fn wait_for(file: &File, stop: &CancelToken<'_>) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    while !stop.is_wanted() {
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&POLL_INTERVAL)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            // Errors will be reported by the read.
            _ => return Ok(()),
        }
    }
    Err(io::Error::other("told to stop"))
}

#[cfg(not(unix))]
fn wait_for(_: &File, _: &CancelToken<'_>) -> io::Result<()> {
    Ok(())
}
