//! `Cascade` among the kinds: its file (an array for each layer that is there, and for the stash),
//! and what `AnyFilter` asks of it.

use super::{Cascade, CascadeError, CascadeOptions, Counts, ExactLayer, FirstLayer, Stash};
use crate::filter::blocked::kind::{line_params, lines};
use crate::filter::each::{Create, MergeWith, Reason, read_by_name, unsupported_changes};
use crate::filter::every_kind::debug_of;
use crate::filter::hash_batch;
use crate::filter::trait_impls::contains;
use crate::filter::{ExactRibbon, Fuse, Kind, KindSpec, Ribbon};
use crate::format::fields::{counted, header_spec, params, target_of, u32_param};
use crate::format::{Array, Codec, FileLayout, FormatError, Header, MAX_KEYS};
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::spec::{Spec, SpecError};
use std::borrow::Cow;

const TWO_LISTS: Reason =
    "is built from two whole lists: build it again, or use its stash until then";

read_by_name!([B: AsRef<[u8]>] Cascade<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.bytes());
unsupported_changes!(Cascade, TWO_LISTS);

impl Create for Cascade {
    fn create(kind: &KindSpec, _: Spec, _: Option<u64>) -> Result<Self, SpecError> {
        Err(SpecError::Kind { kind: kind.kind(), what: TWO_LISTS })
    }

    /// With nothing to exclude.
    fn from_hashes(kind: &KindSpec, spec: Spec, hashes: &mut [Hash]) -> Result<Self, SpecError> {
        let options = match *kind {
            KindSpec::Cascade(options) => options,
            _ => CascadeOptions::default(),
        };
        let built = Cascade::from_hashes(spec, options, hashes.to_vec(), Vec::new());
        built.map_err(|error| match error {
            CascadeError::Spec(error) => error,
            // Cannot be: the other list is empty.
            _ => SpecError::Kind { kind: Kind::Cascade, what: TWO_LISTS },
        })
    }
}
impl<C> MergeWith<Cascade<C>> for Cascade {}

/// The layers, as the file's parameters name them: by the number of their kind. A second layer of
/// fingerprints is not named: the first files had no other.
const NONE: u64 = 0;
const BLOCKED: u64 = Kind::Blocked.id() as u64;
const FUSE: u64 = Kind::Fuse.id() as u64;
const RIBBON: u64 = Kind::Ribbon.id() as u64;

impl<B: AsRef<[u8]>> Codec<B> for Cascade<B> {
    fn layout(&self) -> FileLayout<'_> {
        let (capacity, fpr) = target_of(self.spec());
        let Counts { included, excluded, in_both } = self.counts();
        let (first, layer) = match self.first() {
            FirstLayer::None => (NONE, None),
            FirstLayer::Fuse(fuse) => (FUSE, Some(fuse_array(fuse))),
            FirstLayer::Ribbon(ribbon) => (RIBBON, Some(ribbon_array(ribbon))),
            FirstLayer::Blocked(blocked) => {
                let mut params = line_params(blocked.shape()).to_vec();
                params.push(blocked.keys().min(MAX_KEYS));
                (BLOCKED, Some(Array { params, bytes: Cow::Borrowed(blocked.as_bytes()) }))
            }
        };
        let stash = self.stash();
        let stash = (!stash.is_empty()).then(|| stash_array(stash));
        let mut params = vec![first, included, excluded.min(MAX_KEYS), in_both];
        let exact = match self.exact() {
            ExactLayer::Fuse(fuse) => fuse_array(fuse),
            ExactLayer::Ribbon(ribbon) => {
                params.push(RIBBON);
                exact_array(ribbon)
            }
        };
        FileLayout {
            kind: Kind::Cascade,
            scheme: self.scheme().id(),
            seed_or_key_check: self.scheme().seed_or_key_check(),
            scheme_data: &[],
            capacity,
            fpr,
            keys: self.keys().min(MAX_KEYS),
            params,
            arrays: layer.into_iter().chain([exact]).chain(stash).collect(),
        }
    }

    fn read(header: &Header, scheme: Native, sections: Vec<B>) -> Result<Self, FormatError> {
        let (given, second) = match *header.params {
            [ref given @ .., second] if given.len() == 4 => (given, second),
            ref given => (given, FUSE),
        };
        let [first, included, excluded, in_both] = params(given)?;
        if included.max(excluded).max(in_both) > MAX_KEYS {
            return Err(FormatError::field("keys of a list", "too many", "at most 2^56"));
        }
        let spec = header_spec(header, scheme)?;
        let arrays = header.arrays.iter().map(|entry| entry.params.as_slice());
        let mut arrays = arrays.zip(sections);
        let first = match first {
            NONE => FirstLayer::None,
            FUSE => FirstLayer::Fuse(fuse(spec, next(&mut arrays)?)?),
            BLOCKED => {
                let ([a, b, c, keys], section) = next(&mut arrays)?;
                FirstLayer::Blocked(lines(spec, counted(keys)?, [a, b, c], section)?)
            }
            RIBBON => FirstLayer::Ribbon(ribbon(spec, next(&mut arrays)?)?),
            other => return Err(FormatError::field("first layer", other, "0, 2, 6 or 10")),
        };
        let exact = match second {
            FUSE => ExactLayer::Fuse(fuse(spec, next(&mut arrays)?)?),
            RIBBON => ExactLayer::Ribbon(exact(scheme, next(&mut arrays)?)?),
            other => return Err(FormatError::field("second layer", other, "10, or not named")),
        };
        let stash = match arrays.next() {
            Some((given, section)) => stash(params(given)?, section.as_ref())?,
            None => Stash::default(),
        };
        if arrays.next().is_some() {
            return Err(FormatError::field(
                "leaves",
                header.arrays.len(),
                "two layers and a stash",
            ));
        }
        let counts = Counts { included, excluded, in_both };
        let filter = Cascade::from_parts(spec, first, exact, counts, stash).ok_or_else(|| {
            let got = format!("{included} included keys");
            FormatError::field("layers", got, "no more keys than the last has, and that of one bit")
        })?;
        if header.keys != filter.keys().min(MAX_KEYS) {
            return Err(FormatError::field("keys", header.keys, "those included and added"));
        }
        Ok(filter)
    }
}

fn fuse_array<B: AsRef<[u8]>>(fuse: &Fuse<B>) -> Array<'_> {
    let params = vec![fuse.shards(), fuse.width().into(), fuse.keys().min(MAX_KEYS)];
    Array { params, bytes: Cow::Borrowed(fuse.as_bytes()) }
}

fn ribbon_array<B: AsRef<[u8]>>(ribbon: &Ribbon<B>) -> Array<'_> {
    let shape = ribbon.shape();
    let keys = ribbon.keys().min(MAX_KEYS);
    let params = vec![ribbon.shards(), shape.columns.into(), shape.wide.into(), keys];
    Array { params, bytes: Cow::Borrowed(ribbon.as_bytes()) }
}

fn exact_array<B: AsRef<[u8]>>(exact: &ExactRibbon<B>) -> Array<'_> {
    let params = vec![exact.shards(), exact.keys().min(MAX_KEYS)];
    Array { params, bytes: Cow::Borrowed(exact.as_bytes()) }
}

fn stash_array(stash: &Stash) -> Array<'static> {
    let hashes = stash.added().iter().chain(stash.removed());
    let bytes = hashes.flat_map(|hash| hash.0.to_le_bytes()).collect();
    Array { params: vec![stash.added().len() as u64], bytes: Cow::Owned(bytes) }
}

/// The next array of a file and its `N` parameters.
fn next<'a, T, const N: usize>(
    arrays: &mut impl Iterator<Item = (&'a [u64], T)>,
) -> Result<([u64; N], T), FormatError> {
    let missing = || FormatError::field("leaves", "too few", "as many as there are layers");
    let (given, section) = arrays.next().ok_or_else(missing)?;
    Ok((params(given)?, section))
}

fn fuse<T: AsRef<[u8]>>(
    spec: Spec,
    ([shards, width, keys], section): ([u64; 3], T),
) -> Result<Fuse<T>, FormatError> {
    let small_width = u32_param("width", width)?;
    Fuse::from_bytes(spec, counted(keys)?, shards, small_width, section).ok_or_else(|| {
        let got = format!("{shards} shards of {width} bits");
        FormatError::field("shape", got, "as its directory says, 1 to 32 bits wide")
    })
}

fn ribbon<T: AsRef<[u8]>>(
    spec: Spec,
    ([shards, columns, wide, keys], section): ([u64; 4], T),
) -> Result<Ribbon<T>, FormatError> {
    let (narrow, share) = (u32_param("columns", columns)?, u32_param("share of wide slots", wide)?);
    let ribbon = Ribbon::from_bytes(spec, counted(keys)?, shards, narrow, share, section);
    ribbon.ok_or_else(|| {
        let got = format!("{shards} shards of {columns} columns");
        FormatError::field("shape", got, "as its directory says, 1 to 32 columns")
    })
}

fn exact<T: AsRef<[u8]>>(
    scheme: Native,
    ([shards, keys], section): ([u64; 2], T),
) -> Result<ExactRibbon<T>, FormatError> {
    ExactRibbon::from_bytes(scheme, counted(keys)?, shards, section).ok_or_else(|| {
        let got = format!("{shards} shards of one column");
        FormatError::field("shape", got, "as its directory says")
    })
}

fn stash([added]: [u64; 1], bytes: &[u8]) -> Result<Stash, FormatError> {
    let wrong = || {
        let need = "hashes in order, added ones and then removed ones, each once";
        FormatError::field("stash", format!("{added} added in {} bytes", bytes.len()), need)
    };
    let (words, rest) = bytes.as_chunks();
    let split = usize::try_from(added).ok().filter(|added| *added <= words.len());
    let (Some(split), [], false) = (split, rest, words.is_empty()) else { return Err(wrong()) };
    let hashes =
        |words: &[[u8; 8]]| words.iter().map(|word| Hash(u64::from_le_bytes(*word))).collect();
    let (added, removed) = words.split_at(split);
    Stash::from_parts(hashes(added), hashes(removed)).ok_or_else(wrong)
}

debug_of!(Cascade);
hash_batch!(Cascade<B>);
contains! {
    [B: AsRef<[u8]>] Cascade<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
impl<B, C> crate::filter::each::LikeWith<Cascade<C>> for Cascade<B> {}
