//! Key files: where the secret of a keyed filter is stored, beside the filter and never in it.
//!
//! A key file is one line of 32 hex digits, readable by its owner only. The secret itself appears
//! nowhere else: not in an error, not in what a host shows about a filter.

use mayhap::Secret;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// Where the secret of a keyed filter comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SecretSource {
    /// The key file beside the filter, `FILE.key`.
    #[default]
    Beside,
    /// This key file. It is read even where the filter is not keyed: whoever believes that it is
    /// shall be told.
    File(PathBuf),
    /// This one, from elsewhere.
    Value(Secret),
}

impl SecretSource {
    /// The key file of a filter in this file.
    pub fn path_for(&self, filter: &Path) -> PathBuf {
        match self {
            SecretSource::File(path) => path.clone(),
            _ => {
                let mut name = OsString::from(filter);
                name.push(".key");
                name.into()
            }
        }
    }

    /// Whether somebody named a secret.
    pub fn is_given(&self) -> bool {
        *self != SecretSource::Beside
    }

    /// The secret of a filter in this file.
    pub fn read(&self, filter: &Path) -> Result<Secret, SecretFileError> {
        match self {
            SecretSource::Value(secret) => Ok(*secret),
            _ => read(&self.path_for(filter)),
        }
    }

    /// The secret for a new filter: that of the key file if there is one, so that filters can
    /// share it; else a new one, which is written there first.
    pub fn read_or_create(&self, filter: &Path) -> Result<Secret, SecretFileError> {
        self.read_or_write(filter, random)
    }

    /// Store the secret of a filter that came from elsewhere. One that is there already must be
    /// the same.
    pub fn store(&self, filter: &Path, secret: Secret) -> Result<(), SecretFileError> {
        if self.read_or_write(filter, || Ok(secret))? == secret {
            return Ok(());
        }
        Err(SecretFileError::Other { path: self.path_for(filter) })
    }

    fn read_or_write(
        &self,
        filter: &Path,
        secret: impl FnOnce() -> Result<Secret, SecretFileError>,
    ) -> Result<Secret, SecretFileError> {
        if let SecretSource::Value(secret) = self {
            return Ok(*secret);
        }
        let path = self.path_for(filter);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(&path) {
            Ok(file) => {
                let written = secret().and_then(|secret| match write(secret, file) {
                    Ok(()) => Ok(secret),
                    Err(error) => Err(SecretFileError::Write { path: path.clone(), error }),
                });
                // Half a key file would be in the way of the next attempt.
                written.inspect_err(|_| _ = std::fs::remove_file(&path))
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => read(&path),
            Err(error) => Err(SecretFileError::Write { path, error }),
        }
    }
}

/// A secret that nobody knows.
pub fn random() -> Result<Secret, SecretFileError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| SecretFileError::Random(error.to_string()))?;
    Ok(Secret::from_bytes(bytes))
}

/// Written and synced before the filter: a filter whose secret was lost answers nobody.
fn write(secret: Secret, mut file: File) -> io::Result<()> {
    file.write_all(format!("{}\n", secret.to_hex()).as_bytes())?;
    file.sync_all()
}

fn read(path: &Path) -> Result<Secret, SecretFileError> {
    let mut text = String::new();
    // A key file is 33 bytes; whatever else this is, we need not know how long.
    File::open(path)
        .and_then(|file| file.take(64).read_to_string(&mut text))
        .map_err(|error| SecretFileError::Read { path: path.to_owned(), error })?;
    let secret = Secret::from_hex(text.trim().as_bytes());
    secret.ok_or_else(|| SecretFileError::NotOne { path: path.to_owned() })
}

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SecretFileError {
    /// The key file cannot be read.
    #[error("key file {} cannot be read: {error}", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file holds something else.
    #[error("key file {} holds no secret", path.display())]
    NotOne {
        /// Which file.
        path: PathBuf,
    },
    /// The key file cannot be written.
    #[error("key file {} cannot be written: {error}", path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The key file has a secret already, and another one.
    #[error("key file {} has another secret", path.display())]
    Other {
        /// Which file.
        path: PathBuf,
    },
    /// The system gives no random numbers.
    #[error("no random numbers: {0}")]
    Random(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_is_made_once_and_read_again() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let filter = folder.path().join("f");
        let source = SecretSource::Beside;
        assert!(source.read(&filter).is_err());
        let made = source.read_or_create(&filter)?;
        assert_eq!(source.read_or_create(&filter)?, made);
        assert_eq!(source.read(&filter)?, made);
        assert!(source.store(&filter, made).is_ok());
        assert!(source.store(&filter, Secret::from_bytes([7; 16])).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = folder.path().join("f.key").metadata()?.permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        Ok(())
    }
}
