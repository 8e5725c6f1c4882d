//! How the program ends: grep's three codes, and errors that say what to do.

use crate::print::StdoutError;
use mayhap_redis::FilterError;
use mayhap_store::replace::ReplaceError;
use mayhap_store::text::KeysError;
use std::fmt;
use std::io::ErrorKind;
use std::process::ExitCode;

/// What scripts read: 0 yes, 1 no, 2 trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; for a question: something matched.
    Yes,
    /// The question was answered, and the answer is no.
    No,
    /// It did not work, or not as asked. What went wrong has been said.
    Error,
    /// Somebody sent a signal.
    Interrupted,
    /// Whoever read standard output has gone.
    BrokenPipe,
}

impl Exit {
    /// 0 for a yes, 1 for a no.
    pub fn of(yes: bool) -> Exit {
        if yes { Exit::Yes } else { Exit::No }
    }

    /// The one that is told where there were both: an error hides a no, and a no hides a yes.
    pub fn worse(self, other: Exit) -> Exit {
        match (self, other) {
            (Exit::Yes, other) | (other, Exit::Yes) => other,
            (Exit::No, other) | (other, Exit::No) => other,
            (first, _) => first,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Yes => 0,
            Exit::No => 1,
            Exit::Error => 2,
            Exit::Interrupted => crate::signals::INTERRUPTED,
            Exit::BrokenPipe => crate::signals::BROKEN_PIPE,
        })
    }
}

/// An error with the way out of it.
#[derive(Debug)]
struct Hinted {
    error: anyhow::Error,
    hint: String,
}

impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Hinted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// Say what to do about an error.
pub trait HintExt<T> {
    /// The hint is printed below the error, on a line of its own.
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> HintExt<T> for Result<T, E> {
    fn hint(self, hint: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| with_hint(error.into(), hint))
    }
}

/// An error with its hint.
pub fn with_hint(error: anyhow::Error, hint: impl Into<String>) -> anyhow::Error {
    Hinted { error, hint: hint.into() }.into()
}

/// An error made of two sentences: what is wrong, and what to do.
pub fn error_with_hint(what: impl fmt::Display, hint: impl Into<String>) -> anyhow::Error {
    with_hint(anyhow::anyhow!("{what}"), hint)
}

/// End with 2 and a message when another program truncates a filter's file that is in use.
pub fn on_truncated_filter() {
    let after = ": another program truncated the file while it was in use\n\
                 hint: run it again; write a new file beside it and rename it, as mayhap does\n";
    mayhap_store::map::exit_on_truncation(2, "error: ", after);
}

/// The code for what went wrong, after saying it on standard error.
///
/// A reader of standard output that has left (`| head`) is told nothing: it had enough. The code
/// says that not all was printed, as shells have it for programs that end by SIGPIPE.
pub fn report(error: &anyhow::Error) -> Exit {
    if is_broken_pipe(error) {
        return Exit::BrokenPipe;
    }
    crate::print::error(&message(error), hint_of(error).as_deref());
    let cancelled = |error: &KeysError| error.is_cancelled();
    let ended = |error: &FilterError| *error == FilterError::Cancelled;
    let left = |error: &ReplaceError| matches!(error, ReplaceError::Cancelled);
    let signal = error.chain().filter_map(|cause| cause.downcast_ref()).any(cancelled)
        || error.chain().filter_map(|cause| cause.downcast_ref()).any(ended)
        || error.chain().filter_map(|cause| cause.downcast_ref()).any(left);
    if signal { Exit::Interrupted } else { Exit::Error }
}

/// The error and its causes on one line.
fn message(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        // Some errors repeat their cause; nobody needs to read it twice.
        if !text.ends_with(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
    }
    text
}

/// What the error's own hint says, or else what is known about errors like it.
fn hint_of(error: &anyhow::Error) -> Option<String> {
    let own = |cause: &(dyn std::error::Error + 'static)| {
        Some(cause.downcast_ref::<Hinted>()?.hint.clone())
    };
    error.chain().find_map(own).or_else(|| error.chain().find_map(crate::hints::hint_for))
}

/// Whether standard output has lost its reader. Other pipes and connections that break, to a
/// server for one, are errors like others.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref::<StdoutError>());
    causes.any(|error| error.kind() == ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;
    use std::io;

    #[test]
    fn a_hint_survives_its_contexts() {
        let error: anyhow::Result<()> = Err(io::Error::other("why")).hint("do this");
        let error = error.context("what").unwrap_err();
        assert_eq!(message(&error), "what: why");
        assert_eq!(hint_of(&error).as_deref(), Some("do this"));
    }

    #[test]
    fn a_reader_that_left_is_told_apart_from_a_server_that_did() {
        let broken = || io::Error::from(ErrorKind::BrokenPipe);
        let stdout: anyhow::Result<()> = Err(crate::print::stdout_error(broken())).context("out");
        assert_eq!(report(&stdout.unwrap_err()), Exit::BrokenPipe);
        let server: anyhow::Result<()> = Err(broken()).context("asking a server");
        assert_eq!(report(&server.unwrap_err()), Exit::Error);
    }
}
