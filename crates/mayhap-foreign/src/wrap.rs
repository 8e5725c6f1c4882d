//! Other programs' filters in our own file: checked, and still theirs.
//!
//! The bits go over as they lie, so that answers stay the same and a mapped file is queried in place.
//! Scheme data is the format's name behind its length, one byte for the type of keys (0 bytes, 1 i64,
//! 2 i32, 3 utf16), and what the format keeps beside its bits.

use crate::open::from_parts;
use crate::{Bytes, Foreign, ForeignError, Format, KeyType, Leaf, Parts, Reader};
use mayhap::format::{Container, Header, Notes, Outline};
use mayhap::{Kind, SchemeId};
use std::io::Write;

/// A filter out of our own file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Wrapped {
    /// The filter, used in place.
    pub filter: Box<dyn Foreign>,
    /// Its format.
    pub format: Format,
    /// What its keys are.
    pub key_type: KeyType,
    /// What our file says of it.
    pub header: Header,
}

/// Write a foreign filter as our own file.
///
/// ```
/// use mayhap::format::Notes;
/// use mayhap_foreign::{Bytes, Format, KeyType, Options, wrap};
/// let mut filter = mayhap_foreign::create(Format::Guava, 100, 0.01, &Options::new())?;
/// filter.insert_batch(&[b"ada"], &mut Vec::new())?;
/// let mut file = Vec::new();
/// wrap::write(filter.as_ref(), KeyType::Bytes, &Notes::new(), &mut file)?;
/// mayhap::format::verify(&file).unwrap();
/// let wrapped = wrap::open(&Bytes::new(file))?;
/// assert_eq!(wrapped.format, Format::Guava);
/// assert!(wrapped.filter.contains(b"ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn write(
    filter: &dyn Foreign,
    key_type: KeyType,
    notes: &Notes,
    to: &mut dyn Write,
) -> Result<(), ForeignError> {
    let Parts { format, scheme, data, capacity, fpr, keys, arrays } = filter.parts();
    let name = format.name().as_bytes();
    let mut scheme_data = vec![name.len() as u8];
    scheme_data.extend(name);
    scheme_data.push(key_type as u8);
    scheme_data.extend(data);
    let outline = Outline {
        kind: Kind::Classic,
        scheme,
        fingerprint: 0,
        scheme_data: &scheme_data,
        capacity,
        fpr,
        keys,
        params: Vec::new(),
        arrays,
    };
    Ok(mayhap::format::write(to, &outline, notes)?)
}

/// Whether our file holds another program's filter.
pub fn is_foreign(header: &Header) -> bool {
    header.kind == Kind::Classic && header.scheme.0 >= SchemeId::FIRST_FOREIGN.0
}

/// Open our own file with a foreign filter in it, in place. Header, lengths and footer are checked and
/// the bits are not read; [`mayhap::format::verify`] reads everything.
pub fn open(file: &Bytes) -> Result<Wrapped, ForeignError> {
    let container = Container::open(file.as_ref())?;
    let header = container.header().clone();
    if !is_foreign(&header) {
        return Err(ForeignError::Refused {
            format: Format::Mayhap,
            what: "the file holds a filter of our own, not another program's",
        });
    }
    let mut data = Reader::new(&header.scheme_data);
    let length = data.u8("format's name")?;
    let name = data.take("format's name", length.into())?;
    let format = str::from_utf8(name).ok().and_then(|name| name.parse().ok());
    let format: Format = format.ok_or_else(|| {
        let got = String::from_utf8_lossy(name).into_owned();
        ForeignError::field("format", got, "one of this release; upgrade to open it")
    })?;
    let key_type = data.u8("type of keys")?;
    let key_type = KeyType::ALL.into_iter().find(|known| *known as u8 == key_type);
    let key_type = key_type.ok_or_else(|| {
        ForeignError::field("type of keys", "not known", "0 to 3; upgrade to open it")
    })?;
    let leaf = |leaf: &mayhap::format::Leaf| {
        let range = leaf.at as usize..(leaf.at + leaf.bytes) as usize;
        let bytes = file.slice(range).filter(|_| leaf.params.first() == Some(&(8 * leaf.bytes)));
        let bytes = bytes.ok_or_else(|| {
            ForeignError::field("bits", format!("{:?}", leaf.params), "eight a byte")
        })?;
        Ok(Leaf { params: leaf.params.clone(), bytes })
    };
    let leaves = header.leaves.iter().map(leaf).collect::<Result<Vec<_>, ForeignError>>()?;
    let made_for = (header.capacity, header.fpr, header.keys);
    let filter = from_parts(format, &mut data, leaves, made_for)?;
    data.end()?;
    // What the header promises is what other readers go by.
    let scheme = filter.parts().scheme;
    if scheme != header.scheme {
        return Err(ForeignError::field("scheme", header.scheme.0, "that of its format"));
    }
    Ok(Wrapped { filter, format, key_type, header })
}
