//! `Counting` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Counting;
use crate::filter::Kind;
use crate::filter::each::{change_by_name, create_empty, merge_by_name, read_by_name};
use crate::filter::every_kind::{debug_of, is_compatible, with_rate};
use crate::filter::hash_batch;
use crate::filter::stats::LayerStats;
use crate::filter::trait_impls::{change, contains, extend};
use crate::format::fields::{array, header_spec, layout, single_array, target_of, u32_param};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;
use crate::sizing::ClassicShape;

impl<B: AsRef<[u8]>> Codec<B> for Counting<B> {
    fn layout(&self) -> FileLayout<'_> {
        let shape = self.shape();
        let array = array([shape.bits, shape.probes.into()], self.as_bytes());
        layout(Kind::Counting, target_of(self.spec()), self.scheme(), self.keys(), array)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([counters, probes], section) = single_array(header, arrays)?;
        let shape = ClassicShape { bits: counters, probes: u32_param("probes", probes)? };
        let spec = header_spec(header, scheme)?;
        Counting::from_parts(spec, shape, header.keys, section).ok_or_else(|| {
            let got = format!("{counters} counters, {probes} probes");
            let need = "as many counters as there are, zero past the last, and 1 to 64 probes";
            FormatError::field("shape", got, need)
        })
    }
}

read_by_name!([B: AsRef<[u8]>] Counting<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.as_bytes().len() as u64;
    fn layers(&self) -> Option<Vec<LayerStats>> {
        Some(vec![LayerStats::of_flat(self, self.shape())])
    }
);
create_empty!(Counting, _kind, spec, bits => match bits {
    Some(bits) => Counting::with_shape(spec, ClassicShape::for_bits(spec.capacity(), bits / 4)),
    None => Counting::new(spec),
});
change_by_name!(Counting, filter, key => remove: Ok(filter.remove(key)));
merge_by_name!(Counting, Counting<C>);

debug_of!(Counting);
with_rate!(Counting);
hash_batch!(Counting<B>);
is_compatible! {
    Counting [], ours, theirs => ours.check_like(theirs).is_ok();
}
contains! {
    [B: AsRef<[u8]>] Counting<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
change! {
    [] Insert try_insert_bytes try_insert Counting, filter, key => Ok(filter.insert(key));
    [] Remove try_remove_bytes try_remove Counting, filter, key => Ok(filter.remove(key));
}
extend! {
    [] Counting, filter: filter.scheme();
}
