//! `Sharded` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Sharded;
use crate::filter::each::{NO_REMOVAL, change_by_name, create_empty, merge_by_name, read_by_name};
use crate::filter::every_kind::{debug_of, is_compatible};
use crate::filter::hash_batch;
use crate::filter::trait_impls::{change, contains, extend};
use crate::filter::{Kind, KindSpec};
use crate::format::fields::{header_spec, params, target_of, u32_param};
use crate::format::parts::{check_keys, layout_of_parts, part_array, parts};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;
use crate::sizing::{MAX_SHARDS, ShardedShape};
use crate::spec::Spec;

impl<B: AsRef<[u8]>> Codec<B> for Sharded<B> {
    fn layout(&self) -> FileLayout<'_> {
        let part = self.shards().first().map_or(0, |shard| shard.spec().capacity());
        let params = vec![SHARD_RULE, self.shards().len() as u64, part];
        layout_of_parts(
            Kind::Sharded,
            self.spec(),
            self.keys(),
            params,
            self.shards().iter().map(part_array),
        )
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let (count, part) = shards_of(header)?;
        let shards = parts(header, scheme, arrays)?;
        let whole = header_spec(header, scheme)?;
        let fits = shards.len() == count as usize
            && shards.iter().all(|shard| target_of(shard.spec()) == (part, whole.fpr()));
        let got = format!("{} pieces where {count} of {part} keys are meant", shards.len());
        let filter =
            fits.then(|| Sharded::from_parts(whole, shards)).flatten().ok_or_else(|| {
                FormatError::field(
                    "shards",
                    got,
                    "1 to 4096, all alike and of one rate, keys that fit",
                )
            })?;
        check_keys(header, filter.keys())?;
        Ok(filter)
    }
}

read_by_name!([B: AsRef<[u8]>] Sharded<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.bytes());
create_empty!(Sharded, kind, spec, bits => {
    let shards = match *kind {
        KindSpec::Sharded { shards } => shards,
        _ => KindSpec::SHARDS,
    };
    match bits {
        Some(bits) => {
            let (layouts, keys) = (spec.layouts(), spec.capacity());
            let each = ShardedShape::laid_out(layouts, keys, bits, shards).each;
            Sharded::with_shape(spec, shards, each)
        }
        None => Sharded::new(spec, shards),
    }
});
change_by_name!(Sharded, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Sharded, Sharded<C>);

/// The rule by which a hash finds its piece, the only one so far.
const SHARD_RULE: u64 = 1;

/// How many pieces a filter has, and what keys each is made for, from the parameters of its
/// header. The pieces themselves may be elsewhere.
pub fn shards_of(header: &Header) -> Result<(u32, u64), FormatError> {
    let [rule, count, part] = params(&header.params)?;
    if rule != SHARD_RULE {
        return Err(FormatError::field("shard rule", rule, "1: written by a newer release?"));
    }
    let count = u32_param("shards", count)?;
    if !(1..=MAX_SHARDS).contains(&count) {
        return Err(FormatError::field("shards", count, "1 to 4096"));
    }
    Ok((count, part))
}

/// What is written where the pieces are elsewhere: the header of a filter in pieces, and no
/// arrays. [`shards_of`] reads it.
pub fn layout_of_shards(spec: Spec, shards: u32, shard_capacity: u64) -> FileLayout<'static> {
    let params = vec![SHARD_RULE, shards.into(), shard_capacity];
    layout_of_parts(Kind::Sharded, spec, 0, params, std::iter::empty())
}

debug_of!(Sharded);
hash_batch!(Sharded<B>);
is_compatible! {
    Sharded [], ours, theirs => {
        let shards = || ours.shards().iter().zip(theirs.shards());
        ours.shards().len() == theirs.shards().len() && shards().all(|(a, b)| a.check_like(b).is_ok())
    };
}
contains! {
    [B: AsRef<[u8]>] Sharded<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
change! {
    [] Insert try_insert_bytes try_insert Sharded, filter, key => Ok(filter.insert(key));
}
extend! {
    [] Sharded, filter: filter.scheme();
}

impl Sharded {
    /// An empty filter for this many keys at a false-positive rate of `fpr`, in `shards` pieces.
    pub fn with_rate(keys: u64, fpr: f64, shards: u32) -> Result<Sharded, crate::SpecError> {
        Sharded::new(Spec::new(keys, fpr)?, shards)
    }
}
