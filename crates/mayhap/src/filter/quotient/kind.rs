//! `Quotient` among the kinds: its file, and what `AnyFilter` asks of it.

use super::table::{Counts, Table};
use super::{Quotient, QuotientError, stream};
use crate::filter::each::{Create, change_by_name, merge_by_name, read_by_name};
use crate::filter::every_kind::{is_compatible, with_rate};
use crate::filter::trait_impls::{change, contains, extend};
use crate::filter::{Kind, KindSpec};
use crate::format::fields::{header_spec, layout, params, target_of, u32_param};
use crate::format::parts::check_keys;
use crate::format::{Array, Codec, FileLayout, FormatError, Header};
use crate::hash::Hash;
use crate::scheme::Native;
use crate::sizing::{QuotientShape, doublings};
use crate::spec::{Spec, SpecError};
use std::alloc::{Layout, handle_alloc_error};
use std::borrow::Cow;

impl<B: AsRef<[u8]>> Codec<B> for Quotient<B> {
    fn layout(&self) -> FileLayout<'_> {
        if !self.is_growing() {
            return self.layout_of(&self.table, self.as_bytes().into());
        }
        // As if everything had been moved. Where memory is out this ends as every vector does.
        let bytes = self.as_bytes().len();
        let whole = stream::collect(self.shape(), self.fingerprints()).unwrap_or_else(|_| {
            handle_alloc_error(Layout::array::<u8>(bytes).unwrap_or(Layout::new::<u8>()))
        });
        let lines = whole.bytes.as_ref().to_vec();
        self.layout_of(&whole, lines.into())
    }

    fn read(header: &Header, scheme: Native, arrays: Vec<B>) -> Result<Self, FormatError> {
        let [keys, distinct, in_lines, grows] = params(&header.params)?;
        let counts = Counts { keys, distinct, in_lines };
        let spec = header_spec(header, scheme)?;
        let count = arrays.len();
        let mut arrays = arrays.into_iter();
        let (Some(lines), side, None) = (arrays.next(), arrays.next(), arrays.next()) else {
            return Err(FormatError::field("leaves", count, "lines, and a side table or none"));
        };
        let empty = side.as_ref().is_some_and(|side| side.as_ref().is_empty());
        let unlike = header.arrays.get(1).is_some_and(|entry| !entry.params.is_empty());
        if empty || unlike {
            let need = "left out where it is empty, without parameters";
            return Err(FormatError::field("side table", "not as it is written", need));
        }
        let [range, remainder_bits] = match header.arrays.first() {
            Some(entry) => params(&entry.params)?,
            None => return Err(FormatError::field("leaves", count, "lines at least")),
        };
        let remainder_bits = u32_param("remainder bits", remainder_bits)?;
        let table = Quotient::unread(QuotientShape { range, remainder_bits }, lines, side);
        let mut table = table.map_err(refused)?;
        let slots = table.shape.lines() * table.layout.slots as u64;
        if in_lines > keys || in_lines > slots || distinct > keys || distinct > range {
            let got = format!("{keys} keys, {in_lines} in lines, {distinct} distinct");
            return Err(FormatError::field("counts", got, "no more in lines or distinct than fit"));
        }
        if grows > 1 {
            return Err(FormatError::field("growth", grows, "0 or 1"));
        }
        check_keys(header, keys)?;
        table.counts = counts;
        let mut filter = Quotient::over(spec, table);
        filter.set_growing(grows == 1);
        filter.checked = false;
        Ok(filter)
    }

    fn check_body(&self) -> Result<(), FormatError> {
        self.check_lines().map_err(refused)
    }
}

impl<B> Quotient<B> {
    fn layout_of<'a, C: AsRef<[u8]>>(
        &self,
        table: &Table<C>,
        lines: Cow<'a, [u8]>,
    ) -> FileLayout<'a> {
        let QuotientShape { range, remainder_bits } = table.shape;
        let Counts { keys, distinct, in_lines } = table.counts;
        let lines = Array { params: vec![range, remainder_bits.into()], bytes: lines };
        let spec = self.spec;
        let mut layout = layout(Kind::Quotient, target_of(spec), spec.scheme(), keys, lines);
        layout.params = vec![keys, distinct, in_lines, self.grows.into()];
        if table.side.entries() > 0 {
            layout.arrays.push(Array { params: Vec::new(), bytes: table.side.to_bytes().into() });
        }
        layout
    }
}

impl<B: AsRef<[u8]>> Quotient<B> {
    /// The keys it was made for, or has grown to at the rate of its spec.
    fn made_for(&self) -> u64 {
        let made_for = self.spec.capacity();
        match self.keys() > made_for {
            true => made_for.max(self.capacity().min(self.keys_at_fpr())),
            false => made_for,
        }
    }
}

fn refused(QuotientError { what, at }: QuotientError) -> FormatError {
    FormatError::field("quotient filter", format!("unsound: {what} (number {at})"), "sound")
}

read_by_name!([B: AsRef<[u8]>] Quotient<B>, filter => scheme: filter.scheme(),
    target: (filter.made_for(), filter.spec().fpr()),
    bytes: filter.bytes();
    fn growth(&self) -> Option<u32> {
        self.auto_grow().then_some(2)
    }
);
impl Create for Quotient {
    fn create(kind: &KindSpec, spec: Spec, bits: Option<u64>) -> Result<Self, SpecError> {
        match bits {
            Some(bits) => {
                let shape = QuotientShape::for_bits(spec.capacity(), bits);
                let shape = shape.ok_or(SpecError::TooSmall { bytes: bits / 8 })?;
                Quotient::with_shape(spec, shape)
            }
            None => Quotient::with_growth(spec, doublings(kind)),
        }
    }

    fn from_hashes(kind: &KindSpec, spec: Spec, hashes: &mut [Hash]) -> Result<Self, SpecError> {
        let shape = QuotientShape::for_growth(spec.capacity(), spec.fpr(), doublings(kind));
        Quotient::from_hashes_in(spec, shape, hashes)
    }
}

change_by_name!(Quotient, filter, key => remove: Ok(filter.remove(key)));
merge_by_name!(Quotient, Quotient<C>);

with_rate!(Quotient);
is_compatible! {
    Quotient [], ours, theirs => ours.scheme() == theirs.scheme() && ours.shape().range == theirs.shape().range;
}
contains! {
    [B: AsRef<[u8]>] Quotient<B>, filter: filter.scheme(), hashes, answers => filter.contains_batch(hashes, answers), key => filter.contains(key);
}
change! {
    [] Insert try_insert_bytes try_insert Quotient, filter, key => Ok(filter.insert(key));
    [] Remove try_remove_bytes try_remove Quotient, filter, key => Ok(filter.remove(key));
}
extend! {
    [] Quotient, filter: filter.scheme();
}

impl<B: AsRef<[u8]>> std::fmt::Debug for Quotient<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (keys, bytes) = (self.keys(), self.as_bytes().len());
        let (capacity, fpr) = (self.capacity(), self.spec().fpr());
        write!(f, "Quotient {{ keys: {keys}, capacity: {capacity}, fpr: {fpr}, bytes: {bytes} }}")
    }
}
