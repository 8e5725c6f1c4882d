//! `Classic` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Classic;
use crate::filter::Kind;
use crate::filter::each::{NO_REMOVAL, change_by_name, create_empty, merge_by_name, read_by_name};
use crate::filter::every_kind::{is_compatible, with_rate};
use crate::filter::hash_batch;
use crate::filter::stats::LayerStats;
use crate::filter::trait_impls::{change, extend};
use crate::format::fields::{array, layout, single_array, u32_param};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::key::AnyKey;
use crate::scheme::{Native, Scheme};
use crate::sizing::ClassicShape;

impl<B: AsRef<[u8]>> Codec<B> for Classic<Native, B> {
    fn layout(&self) -> FileLayout<'_> {
        let (shape, scheme) = (self.shape(), *self.scheme());
        let array = array([shape.bits, shape.probes.into()], self.as_bytes());
        layout(Kind::Classic, (self.capacity(), self.fpr()), scheme, self.keys(), array)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([bits, probes], section) = single_array(header, arrays)?;
        let shape = ClassicShape { bits, probes: u32_param("probes", probes)? };
        // Nobody sets them, so they would be counted as keys and lost when written again.
        let spare = bits % 8;
        let last = section.as_ref().last().copied().unwrap_or(0);
        if spare != 0 && last >> spare != 0 {
            return Err(FormatError::field("bits past the last", last >> spare, "zero"));
        }
        let filter =
            shape.is_valid().then(|| Classic::from_parts(scheme, shape, section)).flatten();
        let filter = filter.ok_or_else(|| {
            let got = format!("{bits} bits, {probes} probes");
            FormatError::field("shape", got, "as many bits as there are, and 1 to 64 probes")
        })?;
        Ok(filter.with_target(header.capacity, header.fpr, header.keys))
    }
}

read_by_name!([B: AsRef<[u8]>] Classic<Native, B>, filter => scheme: *filter.scheme(),
    target: (filter.capacity(), filter.fpr()), bytes: filter.as_bytes().len() as u64;
    fn layers(&self) -> Option<Vec<LayerStats>> {
        Some(vec![LayerStats::of_flat(self, self.shape())])
    }
);
create_empty!(Classic, _kind, spec, bits => match bits {
    Some(bits) => Classic::with_shape(spec, ClassicShape::for_bits(spec.capacity(), bits)),
    None => Classic::new(spec),
});
change_by_name!(Classic, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Classic, Classic<Native, C>);

with_rate!(Classic);
hash_batch!(Classic<Native, B>);
is_compatible! {
    Classic [Native,], ours, theirs => ours.check_like(theirs).is_ok();
}
change! {
    [S: Scheme<Keys = AnyKey>] Insert try_insert_bytes try_insert Classic<S>, filter, key => Ok(filter.insert(key));
}
extend! {
    [] Classic, filter: *filter.scheme();
}

impl<S: Scheme<Keys = AnyKey>, B: AsRef<[u8]>> crate::Contains for Classic<S, B> {
    #[inline]
    fn contains_bytes(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn contains_bytes_batch(&self, keys: &[&[u8]], answers: &mut Vec<bool>) {
        let hashes: Vec<_> = keys.iter().map(|key| self.hash(key)).collect();
        self.contains_batch(&hashes, answers);
    }

    #[inline]
    fn contains(&self, key: impl crate::Key) -> bool {
        self.contains(key)
    }
}
