//! Key files: where the secret of a keyed filter is kept, beside the filter and never in it.
//!
//! A key file is one line of 32 hex digits, readable by its owner only. The secret itself is
//! shown nowhere: not by `info`, not in an error, not with `--json`.

use crate::exit::{Hint, refuse};
use anyhow::Context;
use clap::Args;
use mayhap::Secret;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Where the secret of a keyed filter is found.
#[derive(Args, Clone, Debug, Default)]
pub struct KeyFile {
    /// Where the secret of a keyed filter is kept; the default is beside it, FILE.key
    #[arg(long, value_name = "KEYFILE", value_parser = crate::paths::file())]
    key_file: Option<PathBuf>,
}

impl KeyFile {
    /// Whether one was named.
    pub fn is_named(&self) -> bool {
        self.key_file.is_some()
    }

    /// The file that was named.
    pub fn named(&self) -> Option<&PathBuf> {
        self.key_file.as_ref()
    }

    fn path_for(&self, filter: &Path) -> PathBuf {
        let beside = || {
            let mut name = OsString::from(filter);
            name.push(".key");
            PathBuf::from(name)
        };
        self.key_file.clone().unwrap_or_else(beside)
    }

    /// The secret of a filter that is keyed.
    pub fn read(&self, filter: &Path) -> anyhow::Result<Secret> {
        let path = self.path_for(filter);
        let why = || {
            format!(
                "{} is keyed, and its key file {} cannot be read",
                filter.display(),
                path.display()
            )
        };
        read(&path)
            .with_context(why)
            .hint("name the file that `build --keyed` wrote with --key-file")
    }

    /// The secret for a filter to be made: that of the key file if there is one, so that filters
    /// can share it; else a new one, which is written there first.
    pub fn read_or_make(&self, filter: &Path) -> anyhow::Result<Secret> {
        self.read_or_keep(filter, random)
    }

    /// Keep the secret of a filter that came from elsewhere. One that is there already must be
    /// the same.
    pub fn keep(&self, filter: &Path, secret: Secret) -> anyhow::Result<()> {
        if self.read_or_keep(filter, || Ok(secret))? == secret {
            return Ok(());
        }
        Err(refuse(
            format!("the key file {} has another secret", self.path_for(filter).display()),
            "name another one with --key-file, or move it away",
        ))
    }

    fn read_or_keep(
        &self,
        filter: &Path,
        secret: impl FnOnce() -> anyhow::Result<Secret>,
    ) -> anyhow::Result<Secret> {
        let path = self.path_for(filter);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => secret()
                .and_then(|secret| keep(secret, file))
                .with_context(|| format!("writing the key file {}", path.display())),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                read(&path).with_context(|| format!("reading the key file {}", path.display()))
            }
            Err(error) => Err(error)
                .with_context(|| format!("making the key file {}", path.display()))
                .hint("name a place you may write to with --key-file"),
        }
    }
}

/// A secret that nobody knows.
pub fn random() -> anyhow::Result<Secret> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| anyhow::anyhow!("no random numbers: {error}"))?;
    Ok(Secret::from_bytes(bytes))
}

/// Before the filter: a filter whose secret was lost answers nobody.
fn keep(secret: Secret, mut file: File) -> anyhow::Result<Secret> {
    let line: String = secret.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_all()?;
    Ok(secret)
}

fn read(path: &Path) -> anyhow::Result<Secret> {
    let mut text = String::new();
    // A key file is 33 bytes; whatever else this is, we need not know how long.
    File::open(path)?.take(64).read_to_string(&mut text)?;
    parse(text.trim()).ok_or_else(|| {
        refuse(
            "it is not a key file",
            "a key file is one line of 32 hex digits, as `build --keyed` writes it",
        )
    })
}

fn parse(text: &str) -> Option<Secret> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let byte = |[high, low]: &[u8; 2]| Some((digit(*high)? << 4 | digit(*low)?) as u8);
    let bytes: Vec<u8> = pairs.iter().map(byte).collect::<Option<_>>()?;
    Some(Secret::from_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_read_again() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let filter = folder.path().join("f");
        let keys = KeyFile::default();
        assert!(keys.read(&filter).is_err());
        let made = keys.read_or_make(&filter)?;
        assert_eq!(keys.read_or_make(&filter)?, made);
        assert_eq!(keys.read(&filter)?, made);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = folder.path().join("f.key").metadata()?.permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        Ok(())
    }

    #[test]
    fn other_text_is_no_secret_and_is_not_repeated() {
        for text in ["", "00", "zz", "é", &"0".repeat(33), &"0".repeat(31), &"g".repeat(32)] {
            assert!(parse(text).is_none(), "{text:?}");
        }
        let secret = parse("000102030405060708090a0b0c0d0e0F");
        assert_eq!(secret, Some(Secret::from_bytes(std::array::from_fn(|i| i as u8))));
    }
}
