//! `Ribbon` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Ribbon;
use crate::filter::Kind;
use crate::filter::each::{MergeWith, STATIC, create_static, read_by_name, unsupported_changes};
use crate::filter::every_kind::debug_of;
use crate::filter::hash_batch;
use crate::filter::trait_impls::contains;
use crate::format::fields::{array, header_spec, layout, single_array, target_of, u32_param};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Ribbon<B> {
    fn layout(&self) -> FileLayout<'_> {
        let shape = self.shape();
        let array =
            array([self.shards(), shape.columns.into(), shape.wide.into()], self.as_bytes());
        layout(Kind::Ribbon, target_of(self.spec()), self.scheme(), self.keys(), array)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([shards, columns, wide], section) = single_array(header, arrays)?;
        let spec = header_spec(header, scheme)?;
        let (narrow, share) =
            (u32_param("columns", columns)?, u32_param("share of wide slots", wide)?);
        Ribbon::from_bytes(spec, header.keys, shards, narrow, share, section).ok_or_else(|| {
            let got = format!("{shards} shards of {columns} columns");
            FormatError::field("shape", got, "as its directory says, 1 to 32 columns")
        })
    }
}

read_by_name!([B: AsRef<[u8]>] Ribbon<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.as_bytes().len() as u64);
create_static!(Ribbon);
unsupported_changes!(Ribbon, STATIC);
impl<C> MergeWith<Ribbon<C>> for Ribbon {}

debug_of!(Ribbon);
hash_batch!(Ribbon<B>);
contains! {
    [B: AsRef<[u8]>] Ribbon<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
impl<B, C> crate::filter::each::LikeWith<Ribbon<C>> for Ribbon<B> {}
