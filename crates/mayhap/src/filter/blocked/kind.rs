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
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, Columns, ProbeRule};
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
    Some(bits) => {
        Blocked::with_shape(spec, BlockedShape::in_bits(spec.layouts(), spec.capacity(), bits))
    }
    None => Blocked::new(spec),
});
change_by_name!(Blocked, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Blocked, Blocked<C>);

/// Added to the probes per line where each has a column of its own.
const COLUMNS: u64 = 256;

pub(crate) fn line_params(shape: BlockedShape) -> [u64; 3] {
    let rule = match shape.rule {
        ProbeRule::Columns => COLUMNS,
        ProbeRule::Scattered => 0,
    };
    [shape.lines, shape.lines_per_key.into(), rule + u64::from(shape.probes_per_line)]
}

/// A filter of lines, alone or as a part of another.
pub(crate) fn lines<T: AsRef<[u8]>>(
    spec: Spec,
    keys: u64,
    [lines, lines_per_key, probes_per_line]: [u64; 3],
    section: T,
) -> Result<Blocked<T>, FormatError> {
    let lines_per_key = u32_param("lines per key", lines_per_key)?;
    let probes = u32_param("probes per line", probes_per_line)?;
    let shape = match probes_per_line.checked_sub(COLUMNS) {
        Some(_) if spec.scheme().id().has_columns() => {
            let shape = BlockedShape::with_columns(lines, lines_per_key, probes - COLUMNS as u32);
            check_columns(shape)?;
            shape
        }
        _ => BlockedShape::new(lines, lines_per_key, probes),
    };
    // A line count past 2⁵⁵ would wrap or saturate into one that fits.
    let bytes = section.as_ref().len() as u64;
    if lines.checked_mul(64) != Some(bytes) {
        let got = format!("{lines} in {bytes} bytes");
        return Err(FormatError::field("lines", got, "as many as there are, of 64 bytes each"));
    }
    Blocked::from_parts(spec, shape, keys, section).ok_or_else(|| {
        let got = format!("{lines} lines, {lines_per_key} a key, {probes} probes");
        FormatError::field("shape", got, "at least one line, 1 to 4 a key, 1 to 16 probes")
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

fn check_columns(shape: BlockedShape) -> Result<(), FormatError> {
    if shape.layout_of_columns().is_none() {
        let need = "one line of 8 columns, two half lines of 4 or two lines of 8";
        return Err(FormatError::field("shape", shape, need));
    }
    if !shape.is_odd() {
        let need = match shape.layout_of_columns() {
            Some(Columns::TwoLines) => "twice an odd number",
            _ => "an odd number",
        };
        return Err(FormatError::field("lines", shape.lines, need));
    }
    Ok(())
}
