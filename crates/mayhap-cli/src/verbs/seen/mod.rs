//! `mayhap seen …`: what has each user already seen?

mod bulk;
mod export;
mod ids;
mod policy;
mod show;
mod store;

use crate::exit::Exit;
use crate::globals::Globals;
use crate::manual;
use crate::numbers;
use crate::{print, usage};
use clap::{Args, Subcommand};
use ids::{IdArgs, OneId, bytes};
use mayhap_seen::SeenError;
use serde_json::json;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use store::{Access, Lists, StoreArgs};

const MANUAL: &str = "\
EXAMPLES:
  export MAYHAP_SEEN_STORE=seen.redb
  mayhap seen mark alice a b c
  printf 'a\\nd\\n' | mayhap seen unseen alice   # prints d

EXIT STATUS:
  0    yes, or done
  1    no
  2    an error, reported on standard error
  130  interrupted by a signal";

/// Seen lists: record what each user was shown, and find what is new to them.
///
/// A list belongs to an owner (a user) and takes 9 KB for 5000 ids, 180 bytes for 20. "Unseen" is
/// certain; an unseen id is mistaken for seen at most at the policy's rate. A store is created by
/// the first `mark` and remembers its policy.
#[derive(Args)]
#[command(after_long_help = manual::seen_page(MANUAL))]
pub struct Seen {
    #[command(subcommand)]
    what: SeenCommand,
}

const MARK: &str = "\
EXAMPLES:
  mayhap seen mark --store seen.redb alice a b c
  mayhap seen mark --store redis://localhost --owners-from shown.tsv

EXIT STATUS:
  0    marked
  2    an error, reported on standard error
  130  interrupted by a signal";

const UNSEEN: &str = "\
EXAMPLES:
  mayhap seen unseen --store seen.redb alice < candidates.txt

EXIT STATUS:
  0    some ids are unseen, and printed
  1    none is
  2    an error, reported on standard error
  130  interrupted by a signal";

const MARK_UNSEEN: &str = "\
EXAMPLES:
  mayhap seen mark-unseen --store seen.redb alice < candidates.txt

EXIT STATUS:
  0    some ids were unseen, and printed
  1    none was
  2    an error, reported on standard error
  130  interrupted by a signal";

const OFFER: &str = "\
EXAMPLES:
  mayhap seen offer --for 10m --store seen.redb alice < candidates.txt

EXIT STATUS:
  0    some ids are unseen, and printed
  1    none is
  2    an error, reported on standard error
  130  interrupted by a signal";

const CONFIRM: &str = "\
EXAMPLES:
  mayhap seen confirm --store seen.redb alice a b

EXIT STATUS:
  0    marked
  2    an error, reported on standard error
  130  interrupted by a signal";

const EXPLAIN: &str = "\
EXAMPLES:
  mayhap seen explain --store seen.redb alice a

EXIT STATUS:
  0    it is hidden, and why is printed
  1    it is not
  2    an error, reported on standard error
  130  interrupted by a signal";

const FORGET: &str = "\
EXAMPLES:
  mayhap seen forget --store seen.redb alice

EXIT STATUS:
  0    forgotten
  1    there was nothing to forget
  2    an error, reported on standard error
  130  interrupted by a signal";

const EXPORT: &str = "\
EXAMPLES:
  mayhap seen export --store seen.redb > lists.jsonl

EXIT STATUS:
  0    some lists were printed
  1    there are none
  2    an error, reported on standard error
  130  interrupted by a signal";

const IMPORT: &str = "\
EXAMPLES:
  mayhap seen import --store redis://localhost lists.jsonl

EXIT STATUS:
  0    imported
  2    an error, reported on standard error
  130  interrupted by a signal";

const STATS: &str = "\
EXAMPLES:
  mayhap seen stats --store seen.redb alice

EXIT STATUS:
  0    shown
  1    the owner has no list
  2    an error, reported on standard error
  130  interrupted by a signal";

#[derive(Subcommand)]
enum SeenCommand {
    #[command(after_long_help = manual::seen_page(MARK))]
    Mark(Mark),
    /// Print the ids that the owner has not seen, in order
    ///
    /// Exit: 0 if there are some, 1 if none, 2 for errors.
    #[command(after_long_help = manual::seen_page(UNSEEN))]
    Unseen(Ask),
    /// Print the unseen ids and mark them, in one step: each id goes to one caller only
    ///
    /// Exit: 0 if there are some, 1 if none, 2 for errors.
    #[command(after_long_help = manual::seen_page(MARK_UNSEEN))]
    MarkUnseen(Ask),
    #[command(after_long_help = manual::seen_page(OFFER))]
    Offer(Offer),
    /// Mark ids that were offered and really shown; it is never too late
    #[command(after_long_help = manual::seen_page(CONFIRM))]
    Confirm(Mark),
    #[command(after_long_help = manual::seen_page(EXPLAIN))]
    Explain(Explain),
    #[command(after_long_help = manual::seen_page(FORGET))]
    Forget(Forget),
    #[command(after_long_help = manual::seen_page(EXPORT))]
    Export(Export),
    #[command(after_long_help = manual::seen_page(IMPORT))]
    Import(Import),
    #[command(after_long_help = manual::seen_page(STATS))]
    Stats(Stats),
    Policy(policy::PolicyVerb),
}

/// Record that the owner has seen these ids; prints how many were new
#[derive(Args)]
struct Mark {
    #[command(flatten)]
    store: StoreArgs,
    /// Mark for many owners: lines of `owner TAB id`; `-` is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["owner", "ids"])]
    owners_from: Option<PathBuf>,
    /// Whose list
    #[arg(required_unless_present = "owners_from")]
    owner: Option<OsString>,
    /// The ids; without any they are read from standard input, one per line
    #[arg(value_name = "ID")]
    ids: Vec<OsString>,
}

/// Which of these ids?
#[derive(Args)]
struct Ask {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    ids: IdArgs,
}

/// Print the unseen ids and count them as seen for a while: `confirm` those really shown
#[derive(Args)]
struct Offer {
    #[command(flatten)]
    store: StoreArgs,
    /// How long they count as seen unless confirmed
    #[arg(long = "for", value_name = "TIME", default_value = "60s", value_parser = numbers::duration)]
    ttl: Duration,
    #[command(flatten)]
    ids: IdArgs,
}

/// Explain why an id is hidden: by which slice, and since when. Exit: 0 if it is, 1 if it is not
#[derive(Args)]
struct Explain {
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    one: OneId,
}

/// Forget an owner. Exit: 0 if there was something to forget, 1 if not
#[derive(Args)]
struct Forget {
    #[command(flatten)]
    store: StoreArgs,
    /// Whose list
    owner: OsString,
}

/// Print an owner's list, or all, as lines of JSON for `import`
///
/// Exit: 0 if there are some, 1 if none, 2 for errors: lists that cannot be read are named on
/// standard error and left out, the others are printed.
#[derive(Args)]
struct Export {
    #[command(flatten)]
    store: StoreArgs,
    /// Whose list; without an owner all lists
    owner: Option<OsString>,
}

/// Add exported lists to a store: the union of both
///
/// SeenCommand is there already stays, importing twice does no harm, and neither does an older
/// export.
#[derive(Args)]
struct Import {
    #[command(flatten)]
    store: StoreArgs,
    /// SeenCommand `export` printed; `-` is standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

/// Count owners, ids and bytes: of one owner, or of the whole store, which reads all of it
///
/// Exit: 0, 1 if the owner has no list, 2 for errors, also if there are lists that cannot be read.
#[derive(Args)]
struct Stats {
    #[command(flatten)]
    store: StoreArgs,
    /// Whose list
    owner: Option<OsString>,
}

impl Seen {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        match self.what {
            SeenCommand::Mark(mark) | SeenCommand::Confirm(mark) => mark.run(globals),
            SeenCommand::Unseen(ask) => {
                ask.run(globals, |lists, owner, ids| Ok(lists.unseen(owner, ids)?), Access::Read)
            }
            SeenCommand::MarkUnseen(ask) => {
                let access = Access::Create;
                ask.run(globals, |lists, owner, ids| Ok(lists.mark_unseen(owner, ids)?), access)
            }
            SeenCommand::Offer(Offer { store, ttl, ids }) => {
                // Rounded up: an offer never ends early.
                let seconds = ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0);
                let offer = |lists: &Lists,
                             owner: &[u8],
                             ids: &'_ [Vec<u8>]|
                 -> anyhow::Result<Vec<Vec<u8>>> {
                    Ok(lists.offer(owner, ids, seconds)?.into_iter().cloned().collect())
                };
                ask(&store, &ids, globals, offer, Access::Create)
            }
            SeenCommand::Explain(explain) => explain.run(globals),
            SeenCommand::Forget(Forget { store, owner }) => {
                Ok(Exit::of(store.open(Access::Change)?.forget(&bytes(&owner))?))
            }
            SeenCommand::Export(Export { store, owner }) => {
                export::export(&store.open(Access::Read)?, owner, globals)
            }
            SeenCommand::Import(Import { store, file }) => {
                export::import(&store.open(Access::Create)?, &file, globals)
            }
            SeenCommand::Stats(stats) => stats.run(globals),
            SeenCommand::Policy(policy) => policy.run(globals),
        }
    }
}

impl Mark {
    fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        if let Some(file) = &self.owners_from {
            let totals = bulk::load(&self.store, file, globals)?;
            show::totals(&totals, globals)?;
            return Ok(Exit::Yes);
        }
        let owner = bytes(&self.owner.unwrap_or_default());
        let Some(ids) = ids::all(&self.ids)? else { return Ok(usage::help("seen")) };
        let lists = self.store.open(Access::Create)?;
        let new = lists.mark(&owner, &ids)?;
        let expired = expired(&lists, &[(&owner, &ids)])?;
        if globals.json {
            print::json(&json!({"ids": ids.len(), "new": new, "let_go": expired}))?;
        } else if !globals.quiet {
            print::out(&format!("{new}\n"))?;
            if expired > 0 {
                show::expired(expired, &lists.policy()?);
            }
        }
        Ok(Exit::Yes)
    }
}

/// How many of the ids just marked are gone already: a call for more than the policy keeps loses
/// its own first ids.
fn expired(lists: &Lists, shown: &[(&[u8], &[Vec<u8>])]) -> anyhow::Result<u64> {
    // While the server is away nothing is known and nothing is kept: it is not asked again.
    if lists.failures() > 0 {
        return Ok(0);
    }
    let Ok(policy) = lists.policy() else { return Ok(0) };
    let most = u64::from(policy.slices()) * u64::from(policy.ids());
    let over =
        |(_, ids): &&(&[u8], &[Vec<u8>])| policy.every().is_none() && ids.len() as u64 > most;
    let over: Vec<(&[u8], &[Vec<u8>])> = shown.iter().filter(over).copied().collect();
    let mut gone = 0;
    for unseen in lists.unseen_many(&over)? {
        gone += unseen.into_iter().collect::<HashSet<_>>().len() as u64;
    }
    Ok(gone)
}

impl Ask {
    fn run(
        self,
        globals: &Globals,
        find: impl for<'a> Fn(&Lists, &[u8], &'a [Vec<u8>]) -> anyhow::Result<Vec<&'a Vec<u8>>>,
        access: Access,
    ) -> anyhow::Result<Exit> {
        let find = |lists: &Lists, owner: &[u8], ids: &[Vec<u8>]| -> anyhow::Result<Vec<Vec<u8>>> {
            Ok(find(lists, owner, ids)?.into_iter().cloned().collect())
        };
        ask(&self.store, &self.ids, globals, find, access)
    }
}

/// Find ids and print them, one per line.
fn ask(
    store: &StoreArgs,
    ids: &IdArgs,
    globals: &Globals,
    find: impl Fn(&Lists, &[u8], &[Vec<u8>]) -> anyhow::Result<Vec<Vec<u8>>>,
    access: Access,
) -> anyhow::Result<Exit> {
    let Some(all) = ids::all(&ids.ids)? else { return Ok(usage::help("seen")) };
    let found = find(&store.open(access)?, &bytes(&ids.owner), &all);
    // Ids that are marked are this caller's, whoever else has acknowledged them or not.
    let (found, unacknowledged) = match found {
        Ok(found) => (found, None),
        Err(error) => match given(&all, &error) {
            Some(found) => (found, Some(error)),
            None => return Err(error),
        },
    };
    if !globals.quiet {
        let mut text = vec![];
        for id in &found {
            if globals.json {
                let mut line = json!({});
                print::put_text(&mut line, "id", id);
                text.extend_from_slice(line.to_string().as_bytes());
            } else {
                text.extend_from_slice(id);
            }
            text.push(b'\n');
        }
        print::out_bytes(|to| to.write_all(&text))?;
    }
    unacknowledged.map_or(Ok(Exit::of(!found.is_empty())), Err)
}

/// The ids that a call was given although too few replicas have acknowledged it: each once.
fn given(all: &[Vec<u8>], error: &anyhow::Error) -> Option<Vec<Vec<u8>>> {
    let Some(SeenError::Unacknowledged { known, .. }) = error.downcast_ref() else { return None };
    let mut met = HashSet::new();
    let unseen = all.iter().zip(known.first()?).filter(|(_, known)| !**known);
    Some(unseen.map(|(id, _)| id).filter(|id| met.insert(*id)).cloned().collect())
}

impl Explain {
    fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let OneId { owner, id } = &self.one;
        let why = self.store.open(Access::Read)?.explain(&bytes(owner), &bytes(id))?;
        show::explanation(&why, globals)
    }
}

impl Stats {
    fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let lists = self.store.open(Access::Read)?;
        match &self.owner {
            Some(owner) => show::list(lists.stats_of(&bytes(owner))?, globals),
            None => show::store(&lists.stats()?, &lists.policy()?, globals),
        }
    }
}
