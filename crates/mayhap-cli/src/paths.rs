//! Names of files on the command line, where `-` cannot stand for standard input or output.

use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::{Path, PathBuf};

/// A file that is opened by its name. `-` is refused: elsewhere it is standard input or output,
/// and a file of that name would surprise.
pub fn file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| {
        if path == Path::new("-") {
            return Err("the name of a file is wanted here, not standard input or output; \
                        a file that is called - is ./-"
                .to_owned());
        }
        Ok(path)
    })
}
