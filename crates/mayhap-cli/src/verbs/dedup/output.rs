//! Where lines go: out at once, or into files that are replaced whole.

use crate::exit::error_with_hint;
use crate::files::stdout_file;
use crate::print;
use anyhow::Context;
use mayhap_store::identity::FileId;
use mayhap_store::replace::{self, Finished, Overwrite, Pending};
use mayhap_store::text::{Codec, Input, KeysError, ProgressAndCancel};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Where lines go.
pub enum Output {
    /// Standard output, a pipe, a device: what is written is out, and cannot be taken back.
    Stream { file: File, path: Option<PathBuf>, watch: Arc<ProgressAndCancel> },
    /// A file that takes the name at the end.
    Whole(Pending),
    /// Each input's lines take the place of the input, at the end.
    InPlace(InPlace),
}

/// Writing broke off.
pub struct BrokeOff {
    /// So many bytes of the text had gone out.
    pub written: usize,
    pub error: anyhow::Error,
}

impl Output {
    /// Standard output, until the watch says stop: also while nobody reads it.
    pub fn stdout(watch: &Arc<ProgressAndCancel>) -> anyhow::Result<Output> {
        print::check_stdout()?;
        let file = stdout_file().map_err(print::stdout_error)?;
        Ok(Output::stream(file, None, watch))
    }

    fn stream(file: File, path: Option<PathBuf>, watch: &Arc<ProgressAndCancel>) -> Output {
        let file = replace::impatient_pipe(&file).unwrap_or(file);
        Output::Stream { file, path, watch: Arc::clone(watch) }
    }

    /// A file of this name, replaced whole; written through where it is a pipe or a device.
    pub fn open(path: &Path, watch: &Arc<ProgressAndCancel>) -> anyhow::Result<Output> {
        if let Some(file) = replace::special_file(path)? {
            return Ok(Output::stream(file, Some(path.to_owned()), watch));
        }
        Ok(Output::Whole(Pending::begin(path, Overwrite::NoFilter)?))
    }

    /// Whether what is written is out at once, and not only with the [`commit`](Output::commit).
    pub fn is_stream(&self) -> bool {
        matches!(self, Output::Stream { .. })
    }

    /// Whether each input has an output of its own.
    pub fn is_in_place(&self) -> bool {
        matches!(self, Output::InPlace(_))
    }

    /// Write lines that came from this input.
    pub fn write(&mut self, input: usize, text: &[u8]) -> Result<(), BrokeOff> {
        match self {
            Output::Stream { file, path, watch } => {
                let mut written = 0;
                while written < text.len() {
                    let error = match file.write(&text[written..]) {
                        Ok(0) => io::ErrorKind::WriteZero.into(),
                        Ok(bytes) => {
                            written += bytes;
                            continue;
                        }
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            if watch.is_stopped() {
                                return Err(BrokeOff {
                                    written,
                                    error: KeysError::Cancelled.into(),
                                });
                            }
                            replace::wait_to_write(file);
                            continue;
                        }
                        Err(error) => error,
                    };
                    let error = match path {
                        None => print::stdout_error(error),
                        Some(path) => cannot_write(path, error),
                    };
                    return Err(BrokeOff { written, error });
                }
                Ok(())
            }
            Output::Whole(file) => file
                .write_all(text)
                .map_err(|error| BrokeOff { written: 0, error: cannot_write(file.path(), error) }),
            Output::InPlace(files) => {
                files.write(input, text).map_err(|error| BrokeOff { written: 0, error })
            }
        }
    }

    /// All is written: have files take their names.
    pub fn commit(self) -> anyhow::Result<()> {
        match self {
            Output::Stream { .. } => Ok(()),
            Output::Whole(file) => Ok(file.commit()?),
            Output::InPlace(files) => files.commit(),
        }
    }
}

fn cannot_write(path: &Path, error: io::Error) -> anyhow::Error {
    anyhow::Error::new(error).context(format!("cannot write {}", path.display()))
}

/// Inputs that are replaced by what is kept of their lines.
pub struct InPlace {
    inputs: Vec<Before>,
    /// The input whose lines are coming, its new file, and the bytes written to it.
    current: Option<(usize, Pending, u64)>,
    /// What lines end with, once one was written.
    delimiter: Option<u8>,
    finished: Vec<Finished>,
}

/// An input as it was before anything was read.
struct Before {
    path: PathBuf,
    state: (Option<FileId>, u64, Option<SystemTime>),
    /// How it ends.
    last: Option<u8>,
}

impl InPlace {
    /// Look at the inputs, before anything is read, and refuse what cannot be replaced.
    pub fn new(inputs: &[Input]) -> anyhow::Result<InPlace> {
        let before = |input: &Input| {
            let Input::File(path) = input else {
                return Err(error_with_hint(
                    "--in-place replaces files, and standard input is none",
                    "name the files to be replaced, or send the output on with -o",
                ));
            };
            check_plain(path)?;
            Ok(Before { state: state_of(path)?, last: last_byte(path)?, path: path.clone() })
        };
        let inputs = inputs.iter().map(before).collect::<anyhow::Result<Vec<_>>>()?;
        for (at, one) in inputs.iter().enumerate() {
            if let Some(other) = inputs[..at].iter().find(|other| other.state.0 == one.state.0) {
                return Err(error_with_hint(
                    format!(
                        "{} and {} are the same file",
                        other.path.display(),
                        one.path.display()
                    ),
                    "--in-place takes each file once",
                ));
            }
        }
        Ok(InPlace { inputs, current: None, delimiter: None, finished: Vec::new() })
    }

    fn write(&mut self, input: usize, text: &[u8]) -> anyhow::Result<()> {
        if self.current.as_ref().is_none_or(|(current, ..)| *current != input) {
            self.finish_current()?;
            let path = &self.inputs[input].path;
            self.current = Some((input, Pending::begin(path, Overwrite::Anything)?, 0));
        }
        if let Some((_, file, bytes)) = &mut self.current {
            file.write_all(text).map_err(|error| cannot_write(file.path(), error))?;
            *bytes += text.len() as u64;
            self.delimiter = text.last().copied().or(self.delimiter);
        }
        Ok(())
    }

    fn finish_current(&mut self) -> anyhow::Result<()> {
        let Some((input, file, bytes)) = self.current.take() else { return Ok(()) };
        let Before { state: (_, before, _), last, .. } = &self.inputs[input];
        // Every line is written with its delimiter, which the last one may have been without.
        let whole = before + u64::from(last.is_some() && *last != self.delimiter);
        // As long as all of its lines: none was left out, and the file can stay.
        if bytes != whole {
            self.finished.push(file.finish()?);
        }
        Ok(())
    }

    fn commit(mut self) -> anyhow::Result<()> {
        self.finish_current()?;
        for Before { path, state, .. } in &self.inputs {
            if state_of(path)? != *state {
                return Err(error_with_hint(
                    format!("{} changed while it was read: no file was replaced", path.display()),
                    "run it again when nobody writes to the file",
                ));
            }
        }
        Ok(self.finished.into_iter().try_for_each(Finished::commit)?)
    }
}

fn state_of(path: &Path) -> anyhow::Result<(Option<FileId>, u64, Option<SystemTime>)> {
    let data = path.metadata().with_context(|| format!("cannot open {}", path.display()))?;
    Ok((FileId::of_path(path), data.len(), data.modified().ok()))
}

/// How the file ends; nothing if it is empty.
fn last_byte(path: &Path) -> anyhow::Result<Option<u8>> {
    let read = || -> io::Result<Option<u8>> {
        let mut file = File::open(path)?;
        if file.metadata()?.len() == 0 {
            return Ok(None);
        }
        file.seek(SeekFrom::End(-1))?;
        let mut last = [0];
        file.read_exact(&mut last)?;
        Ok(Some(last[0]))
    };
    read().with_context(|| format!("cannot read {}", path.display()))
}

/// Fails where the file is not plain text that could be written back.
fn check_plain(path: &Path) -> anyhow::Result<()> {
    let cannot_open = || format!("cannot open {}", path.display());
    if !path.metadata().with_context(cannot_open)?.is_file() {
        return Err(error_with_hint(
            format!("{} is not a regular file: it cannot be replaced", path.display()),
            "leave out --in-place",
        ));
    }
    let mut start = Vec::new();
    let file = File::open(path).with_context(cannot_open)?;
    file.take(16).read_to_end(&mut start).with_context(cannot_open)?;
    match Codec::of(&start) {
        None => Ok(()),
        Some(codec) => Err(error_with_hint(
            format!(
                "{} is compressed ({codec}), and would be replaced by plain lines",
                path.display()
            ),
            "leave out --in-place, and compress what comes out",
        )),
    }
}
