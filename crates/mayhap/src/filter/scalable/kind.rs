//! `Scalable` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Scalable;
use crate::filter::Kind;
use crate::filter::each::{NO_REMOVAL, change_by_name, merge_by_name, read_by_name};
use crate::format::fields::{header_spec, params, u32_param};
use crate::format::parts::{check_keys, outline_of_parts, part_array, parts};
use crate::format::{Codec, FormatError, Header, Outline};
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Scalable<B> {
    fn layout(&self) -> Outline<'_> {
        let params = vec![self.growth().into()];
        outline_of_parts(
            Kind::Scalable,
            self.spec(),
            self.keys(),
            params,
            self.layers().iter().map(part_array),
        )
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let [growth] = params(&header.params)?;
        let layers = parts(header, scheme, arrays)?;
        let got = format!("{} layers, growth {growth}", layers.len());
        let filter = Scalable::from_parts(
            header_spec(header, scheme)?,
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
    target: (filter.capacity(), filter.spec().fpr()), bytes: filter.bytes());
change_by_name!(Scalable, _filter, _key => remove: Err(NO_REMOVAL));
merge_by_name!(Scalable, Scalable<C>);
