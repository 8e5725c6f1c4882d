//! A new filter: its size and kind decided, filled with keys.

use super::fill::{check_memory, collect, fill_foreign, fill_native};
use super::{Body, ChangeError, Filled, Filter, HostError, KeySource, Tally};
use crate::budget::Budget;
use mayhap::cascade::{CascadeError, CascadeOptions};
use mayhap::format::Metadata;
use mayhap::kind::BuildMode;
use mayhap::scheme::{Native, Scheme};
use mayhap::sizing::{ClassicShape, Plan, rate_in};
use mayhap::{AnyFilter, Bitmap, Cascade, Hash, Kind, KindSpec, Secret, Spec, SpecError};
use mayhap_foreign::{ForeignError, Format, Options};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// The false-positive rate where nobody says.
pub const DEFAULT_FPR: f64 = 0.01;
/// Where a filter begins that grows with a stream: 158 kB at 1%.
const FIRST_KEYS: u64 = 100_000;

/// What to build.
#[derive(Clone, Debug, Default)]
pub struct BuildSpec {
    /// Which kind, or whose.
    pub target: Target,
    /// Distinct keys to make room for; where nobody says they are counted.
    pub capacity: Option<u64>,
    /// The false-positive rate.
    pub fpr: Option<f64>,
    /// Bytes to spend: decides the rate for the keys, or with a rate the keys.
    pub memory: Option<u64>,
    /// How keys are hashed, in one of Mayhap's own kinds.
    pub scheme: Native,
    /// What its file says beside the filter.
    pub metadata: Metadata,
    /// The memory it may take.
    pub budget: Budget,
    /// At most about so many hashes are held at a time while a static kind is built from keys that can be
    /// read again, as far as memory allows; fewer take more passes.
    pub pass_keys: Option<u64>,
}

/// Which kind, or whose.
#[derive(Clone, Debug, Default)]
pub enum Target {
    /// Blocked where the number of keys is known, scalable where it is not.
    #[default]
    Auto,
    /// One of Mayhap's own kinds.
    Native(KindSpec),
    /// Another program's.
    Foreign(Format, Options),
}

/// A filter that was built.
#[derive(Debug)]
pub struct Built {
    /// The filter.
    pub filter: Filter,
    /// What was read for it.
    pub filled: Filled,
}

/// Numbers decided: what is needed to make the filter.
struct Sized {
    kind: KindSpec,
    capacity: u64,
    fpr: f64,
    /// Where memory was given, and the bits are laid out to fit.
    bytes: Option<u64>,
}

impl Filter {
    /// Build a filter from keys. They may be read twice: first to count them.
    pub fn build(spec: &BuildSpec, keys: &dyn KeySource) -> Result<Built, BuildError> {
        if let Target::Foreign(format, options) = &spec.target {
            return build_foreign(spec, *format, options, keys);
        }
        let sized = spec.sized(keys)?;
        sized.check_memory(spec.budget)?;
        let (filter, filled) = match sized.kind.kind().traits().build {
            BuildMode::AllHashes => {
                let (filter, tally) = build_static(&sized, spec, keys)?;
                (filter, Filled { tally, non_integers: 0 })
            }
            _ => {
                let mut filter = sized.create(spec.scheme)?;
                let filled = fill_native(&mut filter, keys, spec.budget)?;
                (filter, filled)
            }
        };
        Ok(Built { filter: Filter::from_native(filter, spec.metadata.clone()), filled })
    }

    /// Build a cascade: exact on two lists of keys.
    pub fn build_cascade(
        spec: &BuildSpec,
        options: CascadeOptions,
        include: &dyn KeySource,
        exclude: &dyn KeySource,
    ) -> Result<Built, BuildError> {
        let scheme = spec.scheme;
        let (mut include, mut exclude) = (List::new(include), List::new(exclude));
        include.hold_if_stream(scheme, spec.budget)?;
        exclude.hold_if_stream(scheme, spec.budget)?;
        let room = spec.budget.bytes().saturating_sub(OVERHEAD_BYTES) / 2 / 8;
        let max_hashes = room.max(MIN_HASHES).try_into().unwrap_or(usize::MAX);
        let capacity = include.count()?.max(1);
        let target = Spec::new(capacity, spec.fpr.unwrap_or(DEFAULT_FPR))?.with_scheme(scheme);
        let built = Cascade::build(
            target,
            options.with_max_hashes(max_hashes),
            |each| include.pass(scheme, each),
            |each| exclude.pass(scheme, each),
        );
        // What broke the reading off is the cause; the filter's complaint would be its effect.
        let tally = include.tally()? + exclude.tally()?;
        match built {
            Ok(filter) => Ok(Built {
                filter: Filter::from_native(filter, spec.metadata.clone()),
                filled: Filled { tally, non_integers: 0 },
            }),
            Err(CascadeError::InBoth { keys, first, .. }) => {
                Err(in_both(keys, &first, &include, &exclude, scheme))
            }
            Err(CascadeError::Spec(error)) => Err(error.into()),
            Err(error) => Err(BuildError::Cascade(error)),
        }
    }
}

impl BuildSpec {
    /// With a secret for a keyed filter.
    pub fn with_secret(self, secret: Secret) -> BuildSpec {
        BuildSpec { scheme: Native::keyed(secret), ..self }
    }

    /// Decide what was left open. May go through all keys once, to count them.
    fn sized(&self, keys: &dyn KeySource) -> Result<Sized, BuildError> {
        let known = self.capacity.is_some() || self.memory.is_some() || keys.is_repeatable();
        let kind = match self.target {
            Target::Native(kind) => kind,
            _ if known => KindSpec::Blocked,
            _ => Kind::Scalable.into(),
        };
        let capacity = self.capacity_for(kind, keys)?;
        let fpr = self.fpr.unwrap_or(DEFAULT_FPR);
        let mut sized = Sized { kind, capacity, fpr, bytes: None };
        if let (None, Some(bytes), true) = (self.fpr, self.memory, is_planned(kind)) {
            let keys = capacity.max(1);
            let fit = rate_in(kind, keys, bytes);
            sized.fpr = fit.map_err(|error| BuildError::Fit { keys, bytes, error })?;
            sized.bytes = Some(bytes);
        }
        Ok(sized)
    }

    /// How many keys to make room for; 0 where the kind takes what comes.
    fn capacity_for(&self, kind: KindSpec, keys: &dyn KeySource) -> Result<u64, BuildError> {
        if !is_planned(kind) {
            return Ok(0);
        }
        if let Some(capacity) = self.capacity {
            return Ok(capacity);
        }
        if let (Some(fpr), Some(bytes)) = (self.fpr, self.memory) {
            return Ok(Plan::for_keys(kind, fpr, bytes)?.keys());
        }
        if let Some(keys) = keys.count()? {
            return Ok(keys.max(1));
        }
        match (kind, self.memory) {
            (_, Some(bytes)) => Ok(Plan::for_keys(kind, DEFAULT_FPR, bytes)?.keys()),
            (kind, None) if is_static(kind) => Ok(0),
            (KindSpec::Scalable { .. }, None) => Ok(FIRST_KEYS),
            _ => Err(BuildError::Uncountable { name: kind.kind().name() }),
        }
    }
}

/// One of Mayhap's own kinds with nothing in, for a capacity that is given.
pub(super) fn create(spec: &BuildSpec) -> Result<AnyFilter, BuildError> {
    let none: [&[u8]; 0] = [];
    let known = spec.capacity.or(spec.memory).is_some();
    let unknown = matches!(spec.target, Target::Auto) && !known;
    let kind = if unknown { Target::Native(Kind::Scalable.into()) } else { spec.target.clone() };
    let capacity = spec.capacity.or((!known).then_some(FIRST_KEYS));
    let spec = BuildSpec { target: kind, capacity, ..spec.clone() };
    let sized = spec.sized(&super::Slice(&none))?;
    sized.check_memory(spec.budget)?;
    Ok(sized.create(spec.scheme)?)
}

/// Whether its size follows from keys and rate: not that of a bitmap, which depends on its ids, nor
/// that of a cascade, which depends on two lists.
fn is_planned(kind: KindSpec) -> bool {
    matches!(kind.kind().traits().build, BuildMode::Insert | BuildMode::AllHashes)
}

/// Whether it is built from all keys at once.
fn is_static(kind: KindSpec) -> bool {
    kind.kind().traits().build == BuildMode::AllHashes
}

impl Sized {
    /// The filter, with nothing in.
    fn create(&self, scheme: Native) -> Result<AnyFilter, SpecError> {
        match (self.kind, self.bytes) {
            // Made for no number of keys.
            (KindSpec::Bitmap, _) => Ok(Bitmap::new().into()),
            (kind, Some(bytes)) => AnyFilter::create_in(&kind, self.spec(scheme)?, bytes),
            (kind, None) => AnyFilter::create(&kind, self.spec(scheme)?),
        }
    }

    /// What it is made for.
    fn spec(&self, scheme: Native) -> Result<Spec, SpecError> {
        Ok(Spec::new(self.capacity, self.fpr)?.with_scheme(scheme))
    }

    /// Fails where the filter would take more memory than it may.
    fn check_memory(&self, budget: Budget) -> Result<(), BuildError> {
        if !is_planned(self.kind) || is_static(self.kind) && self.capacity == 0 {
            return Ok(());
        }
        let need = match self.bytes {
            Some(bytes) => bytes,
            None => Plan::for_fpr(self.kind, self.capacity, self.fpr)?.bytes(),
        };
        Ok(check_memory(budget, need, self.capacity)?)
    }
}

fn build_foreign(
    spec: &BuildSpec,
    format: Format,
    options: &Options,
    keys: &dyn KeySource,
) -> Result<Built, BuildError> {
    let capacity = match spec.capacity {
        Some(capacity) => capacity,
        None => keys.count()?.ok_or(BuildError::Uncountable { name: format.name() })?,
    };
    let fpr = spec.fpr.unwrap_or(DEFAULT_FPR);
    // What any of them takes, nearly: the textbook's bits, and for some half as many again.
    let bits = match options.making.bits_per_key {
        Some(bits) => (capacity as f64 * bits) as u64,
        None => ClassicShape::for_fpr(capacity.max(1), fpr).bits,
    };
    check_memory(spec.budget, bits / 8 * 3 / 2, capacity)?;
    let mut filter = mayhap_foreign::create(format, capacity, fpr, options)?;
    let tally = fill_foreign(filter.as_mut(), keys)?;
    let filter = Filter::in_memory(Body::Foreign(filter), format, spec.metadata.clone());
    Ok(Built { filter, filled: Filled { tally, non_integers: 0 } })
}

/// What building a static filter takes beside the hashes and the filter, at the most.
fn overhead_bytes(keys: u64) -> u64 {
    keys.saturating_mul(48).min(48 << 20)
}

/// The fewest hashes a pass must be able to keep: those of one shard.
const MIN_SHARD_HASHES: u64 = 2_000_000;

/// A kind that needs all keys at once: their hashes in memory, or several passes over them.
fn build_static(
    sized: &Sized,
    spec: &BuildSpec,
    keys: &dyn KeySource,
) -> Result<(AnyFilter, Tally), BuildError> {
    let (scheme, budget) = (spec.scheme, spec.budget);
    if !keys.is_repeatable() {
        // A growing vector is copied into one twice its size.
        let need = |keys: u64| keys.saturating_mul(3 * 8).saturating_add(overhead_bytes(keys));
        let (mut hashes, tally) = collect(keys, scheme, budget, need)?;
        let target = Spec::new((hashes.len() as u64).max(1), sized.fpr)?.with_scheme(scheme);
        return Ok((AnyFilter::from_hashes(&sized.kind, target, &mut hashes)?, tally));
    }
    let target = sized.spec(scheme)?;
    let capacity = target.capacity();
    let filter_bytes = Plan::for_fpr(sized.kind, capacity, target.fpr())?.bytes();
    let beside = filter_bytes.saturating_add(overhead_bytes(capacity));
    let least = beside.saturating_add(capacity.min(MIN_SHARD_HASHES) * 8);
    check_memory(budget, least, capacity)?;
    let room = budget.bytes().saturating_sub(beside) / 8;
    let room = room.min(spec.pass_keys.unwrap_or(u64::MAX));
    let max_hashes = room.clamp(MIN_SHARD_HASHES, capacity.max(MIN_SHARD_HASHES));
    let mut read: Result<Tally, HostError> = Ok(Tally::default());
    let max_hashes = usize::try_from(max_hashes).unwrap_or(usize::MAX);
    let built = AnyFilter::from_passes(&sized.kind, target, max_hashes, |keep| {
        if read.is_ok() {
            read = keys.hashes(scheme, &mut |hashes| {
                hashes.iter().for_each(|hash| keep(*hash));
                ControlFlow::Continue(())
            });
        }
    });
    // What broke the reading off is the cause; the filter's complaint would be its effect.
    let tally = read?;
    Ok((built?, tally))
}

/// What building a cascade takes beside the hashes and the filter.
const OVERHEAD_BYTES: u64 = 64 << 20;
/// The fewest hashes that are held at a time.
const MIN_HASHES: u64 = 4_000_000;

/// A list that can be gone through again, or one whose hashes are held in memory.
struct List<'a> {
    keys: &'a dyn KeySource,
    held: Option<Vec<Hash>>,
    /// How the last pass ended.
    read: Result<Tally, HostError>,
}

impl List<'_> {
    fn new(keys: &dyn KeySource) -> List<'_> {
        List { keys, held: None, read: Ok(Tally::default()) }
    }

    /// A stream comes by once: all hashes are kept.
    fn hold_if_stream(&mut self, scheme: Native, budget: Budget) -> Result<(), BuildError> {
        if !self.keys.is_repeatable() {
            // A growing vector is copied into one twice its size.
            let need = |keys: u64| keys.saturating_mul(3 * 8).saturating_add(OVERHEAD_BYTES);
            let (hashes, tally) = collect(self.keys, scheme, budget, need)?;
            (self.held, self.read) = (Some(hashes), Ok(tally));
        }
        Ok(())
    }

    fn count(&self) -> Result<u64, BuildError> {
        match &self.held {
            Some(held) => Ok(held.len() as u64),
            None => Ok(self.keys.count()?.unwrap_or(0)),
        }
    }

    fn pass(&mut self, scheme: Native, each: &mut (dyn FnMut(&[Hash]) + Send)) {
        if let Some(held) = &self.held {
            return held.chunks(1 << 16).for_each(each);
        }
        if self.read.is_ok() {
            self.read = self.keys.hashes(scheme, &mut |hashes| {
                each(hashes);
                ControlFlow::Continue(())
            });
        }
    }

    /// What the last pass read, or what broke it off.
    fn tally(&mut self) -> Result<Tally, HostError> {
        std::mem::replace(&mut self.read, Ok(Tally::default()))
    }

    /// Keys with these hashes, which rise, in the order of the list; none where it cannot be read
    /// once more.
    fn keys_of(&self, wanted: &[Hash], scheme: Native) -> Result<Vec<(Hash, Vec<u8>)>, HostError> {
        let (mut found, mut new) = (Vec::new(), HashSet::new());
        if self.held.is_some() {
            return Ok(found);
        }
        self.keys.keys(&mut |keys| {
            for key in keys.iter() {
                let hash = scheme.hash_bytes(key);
                if wanted.binary_search(&hash).is_ok() && new.insert(hash) {
                    found.push((hash, key.to_vec()));
                }
            }
            let all = found.len() == wanted.len();
            if all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok(found)
    }
}

/// Keys in both lists that an error names.
const NAMED: usize = 10;

/// The error that names keys in both lists, the first ten of them.
fn in_both(
    keys: u64,
    first: &[Hash],
    include: &List<'_>,
    exclude: &List<'_>,
    scheme: Native,
) -> BuildError {
    // A list that cannot be read again, or gives hashes only, has no names: what is wrong is told without.
    let these = include.keys_of(first, scheme).unwrap_or_default();
    let those = exclude.keys_of(first, scheme).unwrap_or_default();
    let those: HashMap<Hash, Vec<u8>> = those.into_iter().collect();
    for (hash, this) in &these {
        if let Some(that) = those.get(hash).filter(|that| *that != this) {
            return BuildError::Collision { this: this.clone(), that: that.clone() };
        }
    }
    let named = match these.is_empty() {
        false => these.into_iter().take(NAMED).map(|(_, key)| key).collect(),
        true => those.into_values().take(NAMED).collect(), // the list was a stream
    };
    BuildError::InBoth { keys, named }
}

/// Why a filter cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Keys, rate or memory that cannot be.
    #[error("{0}")]
    Spec(#[from] SpecError),
    /// The keys do not fit into the memory given, at any rate.
    #[error("{error}")]
    Fit {
        /// The keys.
        keys: u64,
        /// The memory.
        bytes: u64,
        /// Why not.
        #[source]
        error: SpecError,
    },
    /// The keys cannot be counted, and their number was not given.
    #[error("the keys of a stream cannot be counted, and a {name} filter must know their number")]
    Uncountable {
        /// What was to be built.
        name: &'static str,
    },
    /// Keys are in both lists of a cascade.
    #[error("{}", both_lists(*keys, named))]
    InBoth {
        /// How many.
        keys: u64,
        /// Some of them, where they can be told.
        named: Vec<Vec<u8>>,
    },
    /// Two keys of a cascade's lists have one hash.
    #[error("two different keys share a hash: {} and {}", quoted(this), quoted(that))]
    Collision {
        /// The one in the first list.
        this: Vec<u8>,
        /// The one in the second.
        that: Vec<u8>,
    },
    /// The cascade cannot be built.
    #[error("{0}")]
    Cascade(#[source] CascadeError),
    /// Keys could not be read or added, or memory does not suffice.
    #[error("{0}")]
    Change(#[from] ChangeError),
}

impl From<HostError> for BuildError {
    fn from(error: HostError) -> BuildError {
        BuildError::Change(error.into())
    }
}

impl From<ForeignError> for BuildError {
    fn from(error: ForeignError) -> BuildError {
        BuildError::Change(error.into())
    }
}

fn quoted(key: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(key))
}

fn both_lists(keys: u64, named: &[Vec<u8>]) -> String {
    let mut text = match keys {
        1 => "1 key is in both lists".to_owned(),
        keys => format!("{keys} keys are in both lists"),
    };
    if !named.is_empty() {
        let names: Vec<String> = named.iter().map(|key| quoted(key)).collect();
        let more = if keys > named.len() as u64 { ", …" } else { "" };
        text += &format!(": {}{more}", names.join(", "));
    }
    text
}
