//! The way out of errors that libraries report: they say what is wrong, not which flag mends it.

use crate::numbers::size_flag;
use mayhap::format::FormatError;
use mayhap::{Kind, MergeError, SpecError, Unsupported};
use mayhap_foreign::{Choice, ForeignError, Missing};
use mayhap_redis::FilterError;
use mayhap_seen::{RecordError, SeenError};
use mayhap_store::exact::ExactSet;
use mayhap_store::key_rules::KeyRulesError;
use mayhap_store::map::MapError;
use mayhap_store::replace::{LockError, ReplaceError};
use mayhap_store::secret_file::SecretFileError;
use mayhap_store::text::KeysError;
use mayhap_store::{BuildError, ChangeError, OpenError};
use std::error::Error;
use std::io::{self, ErrorKind};

/// What to do about an error, if it or what caused it is one we know.
pub fn hint_along(error: &(dyn Error + 'static)) -> Option<String> {
    hint_for(error).or_else(|| hint_along(error.source()?))
}

/// What to do about an error, if it is one we know.
pub fn hint_for(error: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = error.downcast_ref::<KeysError>() {
        return keys(error);
    }
    if let Some(error) = error.downcast_ref::<OpenError>() {
        return open(error);
    }
    if let Some(error) = error.downcast_ref::<ChangeError>() {
        return change(error);
    }
    if let Some(error) = error.downcast_ref::<BuildError>() {
        return build(error);
    }
    if let Some(error) = error.downcast_ref::<KeyRulesError>() {
        return crate::key_args::hint(error);
    }
    if let Some(error) = error.downcast_ref::<SecretFileError>() {
        return secret(error);
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
        return filters(error);
    }
    if let Some(error) = error.downcast_ref::<SeenError>() {
        return seen(error);
    }
    if let Some(error) = error.downcast_ref::<ForeignError>() {
        return foreign(error);
    }
    if error.is::<MergeError>() {
        return Some(
            "filters merge when built alike: the same --kind, -n, -p and --seed or --key-file"
                .to_owned(),
        );
    }
    if error.is::<Unsupported>() {
        return Some("`mayhap plan -n KEYS` shows what each kind can do".to_owned());
    }
    error.downcast_ref::<io::Error>().and_then(|error| system(error, "is the name right?"))
}

fn filters(error: &FilterError) -> Option<String> {
    let hint = match error {
        FilterError::Spec(error) => return spec(error),
        FilterError::NoModule { .. } => {
            "start it with --loadmodule libmayhap_module.so; if its prefix is another one, say ?prefix=MH in the address"
        }
        FilterError::NotNative { .. } => {
            "load the module of mayhap there, or build the filter with --format redisbloom"
        }
        FilterError::NoSave { .. } => {
            "DUMP it and read the payload: `mayhap info --format valkey-bloom`"
        }
        FilterError::Shards { .. } => "leave out --shards: what the filter says is used",
        other => other.hint()?,
    };
    Some(hint.to_owned())
}

fn foreign(error: &ForeignError) -> Option<String> {
    Some(match error {
        ForeignError::Unrecognised { .. } => "name its format with --format".to_owned(),
        ForeignError::Missing { what: Missing::Probes, .. } => "give it with --probes".to_owned(),
        ForeignError::Missing { what: Missing::Column(_), .. } => {
            "name it with --column".to_owned()
        }
        ForeignError::Untranslatable { to, .. } => {
            format!("`mayhap build --format {to}` builds one from the keys")
        }
        ForeignError::Choice { choice, .. } => match choice {
            Choice::BitsPerKey => "leave out --bits-per-key".to_owned(),
            Choice::Growth => "leave out --expansion and --nonscaling".to_owned(),
            Choice::Variant(_) => "leave out --variant, or name another".to_owned(),
            _ => "leave out --seed, or give another".to_owned(),
        },
        _ => return None,
    })
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

fn open(error: &OpenError) -> Option<String> {
    match error {
        OpenError::Format { error, .. } => format(error),
        OpenError::Ambiguous { candidates, .. } => {
            let names: Vec<&str> = candidates.iter().map(|format| format.name()).collect();
            Some(format!("if it is one, name its format: --format {}", names.join(" | ")))
        }
        OpenError::Secret { error: SecretFileError::Read { .. }, .. } => {
            Some("name the file that `build --keyed` wrote with --key-file".to_owned())
        }
        // What is below has its own.
        _ => None,
    }
}

fn secret(error: &SecretFileError) -> Option<String> {
    let hint = match error {
        SecretFileError::Read { .. } => "name the file that `build --keyed` wrote with --key-file",
        SecretFileError::NotOne { .. } => {
            "a key file is one line of 32 hex digits, as `build --keyed` writes it"
        }
        SecretFileError::Write { error, .. } if error.kind() == ErrorKind::StorageFull => {
            return system(error, "");
        }
        SecretFileError::Write { .. } => "name a place you may write to with --key-file",
        SecretFileError::Other { .. } => "name another one with --key-file, or move it away",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn change(error: &ChangeError) -> Option<String> {
    let hint = match error {
        ChangeError::Memory { over, keys } => return Some(crate::budget::hint(over, *keys)),
        ChangeError::Copy { .. } => "allow more with --max-memory",
        ChangeError::Format { error } => return format(error),
        ChangeError::Static { .. } => {
            "build it again from all lists, or with --kind blocked to add to it"
        }
        ChangeError::TwoLists => "--stash records single keys exactly, until it is built again",
        ChangeError::NoStash { .. } => "leave out --stash; only cascades have one",
        ChangeError::NoRemoval { .. } => {
            "build it with --kind quotient to remove keys, or with --kind windowed to forget old ones"
        }
        ChangeError::NoIntersection => "leave out --op intersect",
        ChangeError::Unlike { .. } => {
            "only filters that hash alike can be merged: build both in one format"
        }
        ChangeError::Keys { .. } => "build both with the same --normalize and --key-type",
        ChangeError::MergeStatic { kind, .. } => {
            return Some(format!("build one {kind} filter from all lists of keys"));
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

fn build(error: &BuildError) -> Option<String> {
    let hint = match error {
        BuildError::Fit { keys, bytes, .. } => {
            let bytes = size_flag(*bytes);
            return Some(format!("`mayhap plan -n {keys} --memory {bytes}` shows what can be had"));
        }
        BuildError::Uncountable { name } => match Kind::from_name(name) {
            None | Some(Kind::Sharded) => "say how many will come with -n",
            _ => "say how many will come with -n, or let it grow with --kind scalable",
        },
        BuildError::InBoth { .. } => {
            "take them out of one list, or let one count with --prefer include or --prefer exclude"
        }
        BuildError::Collision { .. } => "build with another --seed: that parts them",
        _ => return None,
    };
    Some(hint.to_owned())
}

fn map(error: &MapError) -> Option<String> {
    match error {
        MapError::Open { error, .. } => system(error, "is the name right?"),
        MapError::Directory { .. } => Some("name the filter's file".to_owned()),
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
        ReplaceError::Filter { .. } => {
            "choose another name for the lines, or remove the file first".to_owned()
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
