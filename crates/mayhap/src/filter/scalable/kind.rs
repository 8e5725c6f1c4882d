//! `Scalable` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Scalable;
use crate::filter::each::{NO_REMOVAL, change_by_name, create_empty, merge_by_name, read_by_name};
use crate::filter::every_kind::{debug_of, is_compatible, with_rate};
use crate::filter::hash_batch;
use crate::filter::stats::LayerStats;
use crate::filter::trait_impls::{change, contains, extend};
use crate::filter::{Kind, KindSpec};
use crate::format::fields::{header_spec, optimize_param, params_and_optimize, u32_param};
use crate::format::parts::{check_keys, layout_of_parts, part_array, parts};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Scalable<B> {
    fn layout(&self) -> FileLayout<'_> {
        let mut params = vec![self.growth().into()];
        params.extend(optimize_param(self.spec()));
        layout_of_parts(
            Kind::Scalable,
            self.spec(),
            self.keys(),
            params,
            self.layers().iter().map(part_array),
        )
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([growth], optimize) = params_and_optimize(header)?;
        let layers = parts(header, scheme, arrays)?;
        let got = format!("{} layers, growth {growth}", layers.len());
        let filter = Scalable::from_parts(
            header_spec(header, scheme)?.with_optimize(optimize),
            u32_param("growth", growth)?,
            layers,
        )
        .ok_or_else(|| {
            FormatError::field(
                "layers",
                got,
                "at least one, growth 2 to 1024, keys and capacities that fit",
            )
        })?;
        check_keys(header, filter.keys())?;
        Ok(filter)
    }
}

read_by_name!([B: AsRef<[u8]>] Scalable<B>, filter => scheme: filter.scheme(),
    target: (filter.capacity(), filter.spec().fpr()), bytes: filter.bytes();
    fn layer_count(&self) -> u64 {
        self.layers().len() as u64
    }
    fn layers(&self) -> Option<Vec<LayerStats>> {
        Some(self.layers().iter().map(LayerStats::of_blocked).collect())
    }
    fn growth(&self) -> Option<u32> {
        Some(self.growth())
    }
);
// Layers are sized by the rate alone, so that all of them together keep it.
create_empty!(Scalable, kind, spec, _bits => match *kind {
    KindSpec::Scalable { growth } => Scalable::new(spec)?.with_growth(growth),
    _ => Scalable::new(spec),
});
change_by_name!(Scalable, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Scalable, Scalable<C>);

debug_of!(Scalable);
with_rate!(Scalable);
hash_batch!(Scalable<B>);
is_compatible! {
    Scalable [], ours, theirs => ours.scheme() == theirs.scheme();
}
contains! {
    [B: AsRef<[u8]>] Scalable<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
change! {
    [] Insert try_insert_bytes try_insert Scalable, filter, key => Ok(filter.insert(key));
}
extend! {
    [] Scalable, filter: filter.scheme();
}
