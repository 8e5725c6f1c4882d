//! The way out of errors that libraries report: they say what is wrong, not which flag mends it.

use mayhap::format::FormatError;
use mayhap::{MergeError, Refused, SpecError};
use mayhap_redis::FilterError;
use mayhap_seen::{RecordError, SeenError};
use mayhap_store::exact::ExactSet;
use mayhap_store::keys::KeysError;
use mayhap_store::map::MapError;
use mayhap_store::replace::{LockError, ReplaceError};
use std::error::Error;
use std::io::{self, ErrorKind};

/// What to do about an error, if it is one we know.
pub fn hint_for(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<KeysError>() {
        return keys(error);
    }
    if let Some(error) = error.downcast_ref::<MapError>() {
        return map(error);
    }
    if let Some(error) = error.downcast_ref::<ReplaceError>() {
        return replace(error);
    }
    if let Some(error) = error.downcast_ref::<LockError>() {
        return lock(error);
    }
    if let Some(error) = error.downcast_ref::<SpecError>() {
        return spec(error);
    }
    if let Some(error) = error.downcast_ref::<FilterError>() {
        return match error {
            FilterError::Spec(error) => spec(error),
            other => other.hint().map(str::to_owned),
        };
    }
    if let Some(error) = error.downcast_ref::<SeenError>() {
        return seen(error);
    }
    if error.is::<MergeError>() {
        return Some(
            "filters merge when built alike: the same --kind, -n, -p and --seed or --key-file"
                .to_owned(),
        );
    }
    if error.is::<Refused>() {
        return Some("`mayhap plan -n KEYS` shows what each kind can do".to_owned());
    }
    error.downcast_ref::<io::Error>().and_then(|error| system(error, "is the name right?"))
}

fn seen(error: &SeenError) -> Option<String> {
    let hint = match error {
        SeenError::Policy { .. } => {
            "leave out --policy to use the stored one; `mayhap seen policy` changes it for all"
        }
        SeenError::InUse { .. } => "--wait waits for it to end",
        SeenError::Owner { .. } => {
            "`mayhap seen policy owner=1` allows every name but the empty one"
        }
        SeenError::Record { error: RecordError::Damaged { .. }, .. } => {
            "`mayhap seen forget` removes the list, whatever is left of it"
        }
        SeenError::Gone { .. } => "put the file back, or start with a new one, and mark again",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn keys(error: &KeysError) -> Option<String> {
    Some(match error {
        KeysError::Open { error, .. } | KeysError::Read { error, .. } => {
            return system(error, INPUT);
        }
        KeysError::Directory { path } => {
            format!("name files: `find {} -type f` lists them", path.display())
        }
        KeysError::Filter { path } => {
            format!("`mayhap info {}` shows what it is, and `merge` joins filters", path.display())
        }
        KeysError::ExactState { .. } => {
            "`mayhap dedup --exact --state` reads it, and `mayhap verify` checks it".to_owned()
        }
        KeysError::Binary { what, .. } if what.starts_with("UTF-16") => {
            "convert it with `iconv -f utf-16 -t utf-8`; --binary reads it as it is".to_owned()
        }
        KeysError::Binary { .. } => {
            "name a file of lines, unpack it first, or read its bytes as they are with --binary"
                .to_owned()
        }
        KeysError::Window { .. } => {
            "decompress it with `zstd -dc --long=31` on a machine with more memory".to_owned()
        }
        KeysError::NoKey { .. } => {
            "--on-missing skip passes such lines over, --on-missing line takes them whole"
                .to_owned()
        }
        KeysError::Damaged { .. } => {
            "decompress it yourself to see how far it is whole, or fetch it again".to_owned()
        }
        KeysError::NoColumn { .. } => {
            "name a column of the first row, or give its number".to_owned()
        }
        KeysError::OpenQuote { .. } => {
            "close the quote, or write it twice within quotes; where quotes are letters like \
             others, --delimiter , --field N takes a column without them"
                .to_owned()
        }
        KeysError::Memory { .. } => {
            "are its lines separated by something else than newlines? -0 is for NUL".to_owned()
        }
        _ => return None,
    })
}

fn map(error: &MapError) -> Option<String> {
    match error {
        MapError::Open { error, .. } => system(error, "is the name right?"),
        MapError::Directory { .. } => Some("name the filter's file".to_owned()),
        MapError::Format { error, .. } => format(error),
        MapError::Memory { .. } => Some("allow more with --max-memory".to_owned()),
        MapError::Changed { .. } => Some(
            "run it again; write a new file beside it and rename it, as mayhap does".to_owned(),
        ),
        _ => None,
    }
}

/// What to do about a file that is no filter, or a damaged one.
pub fn format(error: &FormatError) -> Option<String> {
    let hint = match error {
        FormatError::NotOurs { magic } if ExactSet::is_start_of_file(magic) => {
            "it is an exact state: `mayhap dedup --exact --state` reads it, and `mayhap verify` checks it"
        }
        FormatError::NotOurs { .. } => {
            "a filter is wanted here: `mayhap build -o FILE LIST` makes one of a list of keys"
        }
        FormatError::SecretNeeded | FormatError::WrongSecret => {
            "name the file that `build --keyed` wrote with --key-file"
        }
        FormatError::NotKeyed => "leave out --key-file",
        FormatError::Memory { .. } => "allow more with --max-memory",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn replace(error: &ReplaceError) -> Option<String> {
    Some(match error {
        ReplaceError::NotAFilter { .. } => {
            "choose another name, or replace it with --force".to_owned()
        }
        ReplaceError::Data { .. } => {
            "it is read only: choose another name; `mayhap build -o FILE` makes a filter of keys, \
             `convert -o` copies one out"
                .to_owned()
        }
        ReplaceError::Sync { error, .. } => return system(error, "is there such a folder?"),
        ReplaceError::Exists { .. } => "choose another name".to_owned(),
        ReplaceError::Directory { .. } => "name a file in it".to_owned(),
        ReplaceError::Write { error, .. } => return system(error, "is there such a folder?"),
        _ => return None,
    })
}

fn lock(error: &LockError) -> Option<String> {
    match error {
        LockError::Held { .. } => Some("--wait waits for it to end".to_owned()),
        LockError::Open { error, .. } => system(error, "`mayhap build -o FILE` makes a new filter"),
        _ => None,
    }
}

fn spec(error: &SpecError) -> Option<String> {
    let hint = match error {
        SpecError::Memory { .. } => "`mayhap plan` shows what fits; a higher rate (-p) needs less",
        SpecError::TooSmall { .. } => "`mayhap plan` with the same -n and --memory shows what fits",
        SpecError::Width { .. } => "--kind blocked has no such limit",
        SpecError::BelowHash { .. } => {
            "ask for a higher rate, or split the keys over several filters"
        }
        SpecError::Capacity { .. } => "-n is the number of distinct keys: 5000, 10M, 2G",
        SpecError::Rate { .. } => "a rate is written 1%, 0.01, 1/1000 or 1e-6",
        SpecError::Passes { .. } => {
            "the input changed while it was read: build again when it is at rest"
        }
        SpecError::Shards { .. } => "a filter is cut into 1 to 4096 --shards",
        SpecError::Window { .. } => {
            "a window is cut into 1 to 1024 --generations of at least a millisecond"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// As all Unixes number it; to the standard library it is one of "other" errors.
const EIO: i32 = 5;

const INPUT: &str = "is the name right? `-` is standard input";

fn system(error: &io::Error, if_missing: &'static str) -> Option<String> {
    let hint = match error.kind() {
        ErrorKind::NotFound => if_missing,
        ErrorKind::PermissionDenied => "you may not: ask its owner, or choose another place",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on the disk; what was there before is as it was"
        }
        ErrorKind::ReadOnlyFilesystem => "choose a place that can be written to",
        _ if cfg!(unix) && error.raw_os_error() == Some(EIO) => {
            "the disk failed: see the system's log, or choose another place"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}
