//! `Blocked` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Blocked;
use crate::filter::Kind;
use crate::filter::each::{NO_REMOVAL, change_by_name, create_empty, merge_by_name, read_by_name};
use crate::filter::every_kind::{debug_of, is_compatible, with_rate};
use crate::filter::hash_batch;
use crate::filter::stats::LayerStats;
use crate::filter::trait_impls::{change, contains, extend};
use crate::format::fields::{array, header_spec, layout, single_array, target_of, u32_param};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;
use crate::sizing::BlockedShape;
use crate::spec::Spec;

impl<B: AsRef<[u8]>> Codec<B> for Blocked<B> {
    fn layout(&self) -> FileLayout<'_> {
        let array = array(line_params(self.shape()), self.as_bytes());
        layout(Kind::Blocked, target_of(self.spec()), self.scheme(), self.keys(), array)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let (params, section) = single_array(header, arrays)?;
        lines(header_spec(header, scheme)?, header.keys, params, section)
    }
}

read_by_name!([B: AsRef<[u8]>] Blocked<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.as_bytes().len() as u64;
    fn layers(&self) -> Option<Vec<LayerStats>> {
        Some(vec![LayerStats::of_blocked(self)])
    }
);
create_empty!(Blocked, _kind, spec, bits => match bits {
    Some(bits) => Blocked::with_shape(spec, BlockedShape::for_bits(spec.capacity(), bits)),
    None => Blocked::new(spec),
});
change_by_name!(Blocked, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Blocked, Blocked<C>);

pub(crate) fn line_params(shape: BlockedShape) -> [u64; 3] {
    [shape.lines, shape.lines_per_key.into(), shape.probes_per_line.into()]
}

/// A filter of lines, alone or as a part of another.
pub(crate) fn lines<T: AsRef<[u8]>>(
    spec: Spec,
    keys: u64,
    [lines, lines_per_key, probes_per_line]: [u64; 3],
    section: T,
) -> Result<Blocked<T>, FormatError> {
    let shape = BlockedShape {
        lines,
        lines_per_key: u32_param("lines per key", lines_per_key)?,
        probes_per_line: u32_param("probes per line", probes_per_line)?,
    };
    // A line count past 2⁵⁵ would wrap or saturate into one that fits.
    let whole = lines.checked_mul(64) == Some(section.as_ref().len() as u64);
    whole.then(|| Blocked::from_parts(spec, shape, keys, section)).flatten().ok_or_else(|| {
        let got = format!("{lines} lines, {lines_per_key} a key, {probes_per_line} probes");
        FormatError::field("shape", got, "as many lines as there are, 1 to 4 a key, 1 to 16 probes")
    })
}

debug_of!(Blocked);
with_rate!(Blocked);
hash_batch!(Blocked<B>);
is_compatible! {
    Blocked [], ours, theirs => ours.check_like(theirs).is_ok();
}
contains! {
    [B: AsRef<[u8]>] Blocked<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
change! {
    [] Insert try_insert_bytes try_insert Blocked, filter, key => Ok(filter.insert(key));
}
extend! {
    [] Blocked, filter: filter.scheme();
}
