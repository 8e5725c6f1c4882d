//! The disk around mayhap's filters.
//!
//! * [`keys`]: keys in. Many inputs, compressed or not, become records, records become keys, and
//!   keys are hashed on all cores; what comes of it is handed over in the order of the input.
//! * [`replace`]: whole files out. A file is replaced at once or not at all, by one writer at a
//!   time.
//! * [`map`]: filters opened where they lie, without reading them first.
//! * [`memory`]: how much a filter may take.
//! * [`exact`]: the set that never errs, for those who can pay for it.
//! * [`identity`]: which file a name stands for.
//!
//! ```
//! use mayhap::{Blocked, Spec};
//! use mayhap_store::keys::{Hashing, Input, KeysError, Reading, Rules};
//! use mayhap_store::{map, replace};
//! use std::ops::ControlFlow;
//!
//! let folder = tempfile::tempdir()?;
//! let (list, file) = (folder.path().join("list.txt"), folder.path().join("list.may"));
//! std::fs::write(&list, "ada\neve\nada\n")?;
//!
//! let mut filter = Blocked::new(Spec::new(1_000, 0.01)?)?;
//! let reading = Reading::new(vec![Input::from(list)], Rules::default());
//! let tally = reading.run(&Hashing(filter.scheme()), |batch| {
//!     filter.insert_batch(&batch.out);
//!     Ok::<_, KeysError>(ControlFlow::Continue(()))
//! })?;
//! assert_eq!((tally.records, filter.keys()), (3, 2));
//!
//! let notes = mayhap::format::Notes::new();
//! replace::file(&file, replace::Over::Filters, |to| filter.write_to(to, &notes))?;
//! let opened = map::open(&file, None, map::Check::Everything)?;
//! assert!(opened.filter.contains("eve") && !opened.filter.contains("bob"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod exact;
pub mod identity;
pub mod keys;
mod magic;
pub mod map;
pub mod memory;
pub mod replace;
