//! Any filter, whichever program wrote it, and the files around it.
//!
//! * [`Filter`]: opens, queries, builds, changes, merges and describes a filter; [`Edit`] changes one in its file,
//!   [`Query`] looks keys up in several at once.
//! * `text`, a feature that is on by default: reads keys. Many inputs, compressed or not, become records, records become keys, and
//!   keys are hashed on all cores; results are delivered in input order.
//! * [`keys`]: one key, normalized and encoded; [`key_rules`]: how text becomes a filter's keys; [`secret_file`]: the secret of a keyed one.
//! * [`replace`]: writes files. A file is replaced atomically, by one writer at a time.
//! * [`map`]: files mapped into memory (zero-copy), without reading them first.
//! * [`budget`]: how much memory a filter may take.
//! * [`dedup`]: what came by already, for hosts that hand over keys one by one.
//! * [`quantity`]: sizes as people write them.
//! * [`exact`]: an exact set of 128-bit hashes, without false positives.
//! * [`identity`]: whether two paths are the same file.
//!
//! ```
//! use mayhap_store::replace::Overwrite;
//! use mayhap_store::text::{ExtractRules, Input, KeyReader};
//! use mayhap_store::{BuildSpec, Filter, OpenOptions};
//!
//! let folder = tempfile::tempdir()?;
//! let (list, file) = (folder.path().join("list.txt"), folder.path().join("list.may"));
//! std::fs::write(&list, "ada\neve\nada\n")?;
//!
//! let reader = KeyReader::new(vec![Input::from(list)], ExtractRules::default());
//! let built = Filter::build(&BuildSpec::default(), &reader)?;
//! assert_eq!((built.filled.tally.records, built.filter.info(0).keys), (3, Some(2)));
//! built.filter.save(&file, Overwrite::Filters)?;
//!
//! let filter = Filter::open(&file, &OpenOptions::default())?;
//! let mut answers = Vec::new();
//! filter.contains_all(&[b"eve".as_slice(), b"bob"], &mut answers);
//! assert_eq!(answers, [true, false]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod budget;
pub mod clock;
pub mod dedup;
pub mod exact;
mod filter;
pub mod identity;
pub mod key_rules;
pub mod keys;
mod magic;
pub mod map;
pub mod quantity;
pub mod replace;
pub mod secret_file;
#[cfg(feature = "text")]
pub mod text;

pub use filter::{
    BatchAnswers, BitStats, BuildError, BuildSpec, Built, CascadeInfo, CascadeLayer, ChangeError,
    DEFAULT_FPR, Each, EachBatch, Edit, Filled, Filter, Gathered, HostError, Info, KeySource,
    Lookup, Measured, Merge, NativeInfo, Needs, OpenError, OpenOptions, Overfull, Prepared, Query,
    QuotientInfo, RandomKeys, Removed, Sizes, Slice, Tally, Target, TypedBatch, TypedKeys,
    TypedSource, ValueError, ValueRules, Verify, WindowInfo, check_growth,
};
pub use key_rules::{KeyRequest, KeyRules};
