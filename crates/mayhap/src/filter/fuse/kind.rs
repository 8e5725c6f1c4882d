//! `Fuse` among the kinds: its file, and what `AnyFilter` asks of it.

use super::Fuse;
use crate::filter::Kind;
use crate::filter::each::{MergeWith, STATIC, create_static, read_by_name, unsupported_changes};
use crate::filter::every_kind::debug_of;
use crate::filter::hash_batch;
use crate::filter::trait_impls::contains;
use crate::format::fields::{array, header_spec, layout, single_array, target_of, u32_param};
use crate::format::{Codec, FileLayout, FormatError, Header};
use crate::scheme::Native;

impl<B: AsRef<[u8]>> Codec<B> for Fuse<B> {
    fn layout(&self) -> FileLayout<'_> {
        let array = array([self.shards(), self.width().into()], self.as_bytes());
        layout(Kind::Fuse, target_of(self.spec()), self.scheme(), self.keys(), array)
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let ([shards, width], section) = single_array(header, arrays)?;
        let (spec, small_width) = (header_spec(header, scheme)?, u32_param("width", width)?);
        Fuse::from_bytes(spec, header.keys, shards, small_width, section).ok_or_else(|| {
            let got = format!("{shards} shards of {width} bits");
            FormatError::field("shape", got, "as its directory says, 1 to 32 bits wide")
        })
    }
}

read_by_name!([B: AsRef<[u8]>] Fuse<B>, filter => scheme: filter.scheme(),
    target: target_of(filter.spec()), bytes: filter.as_bytes().len() as u64);
create_static!(Fuse);
unsupported_changes!(Fuse, STATIC);
impl<C> MergeWith<Fuse<C>> for Fuse {}

debug_of!(Fuse);
hash_batch!(Fuse<B>);
contains! {
    [B: AsRef<[u8]>] Fuse<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
impl<B, C> crate::filter::each::LikeWith<Fuse<C>> for Fuse<B> {}
