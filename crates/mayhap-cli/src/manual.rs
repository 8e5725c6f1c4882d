//! The end of each verb's long help and manual page: examples, exit status, environment, files.

/// Files of verbs that change a filter.
pub const FILTER_FILES: &str = "  FILE.key     the secret of a keyed filter: one line of 32 hex digits, readable only by its owner
  .FILE.*.tmp  the new file while it is written, beside the old one: renamed when it is complete,
               removed if it fails";

/// Files of verbs that only read a filter.
pub const KEY_FILES: &str = "  FILE.key  the secret of a keyed filter, as `build --keyed` wrote it";

/// Files of seen lists.
pub const SEEN_FILES: &str = "  seen.redb  an embedded store: one file, under any name";

const ENVIRONMENT: &str = "  NO_COLOR        if set, no colours; --color decides otherwise
  CLICOLOR_FORCE  if set, colours also in pipes and files";

const SEEN_ENVIRONMENT: &str = "  MAYHAP_SEEN_STORE  the store, unless --store names one";

/// Examples and exit status, followed by the environment and these files.
pub fn page(own: &str, files: &str) -> String {
    let mut text = format!("{own}\n\nENVIRONMENT:\n{ENVIRONMENT}");
    if !files.is_empty() {
        text += &format!("\n\nFILES:\n{files}");
    }
    text
}

/// The same for seen lists.
pub fn seen_page(own: &str) -> String {
    format!("{own}\n\nENVIRONMENT:\n{SEEN_ENVIRONMENT}\n{ENVIRONMENT}\n\nFILES:\n{SEEN_FILES}")
}
