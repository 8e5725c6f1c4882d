//! Other programs' filters in our own file: checked, and still theirs.
//!
//! The bits go over as they lie, so that answers stay the same and a mapped file is queried in place.
//! Scheme data is the format's name behind its length, one byte for the type of keys (0 bytes, 1 i64,
//! 2 i32, 3 utf16), and what the format keeps beside its bits.

use crate::family::{BYTES, Choices, Family, FormatRow, never};
use crate::{Bytes, Foreign, ForeignError, Format, KeyType, Parts, Reader, StoredArray};
use mayhap::Kind;
use mayhap::format::{Container, FileLayout, Header, Metadata};
use mayhap::scheme::SchemeId;
use std::io::Write;

/// What the format is, and how code that learns the format when it runs comes by it.
pub(crate) const FAMILY: Family = Family {
    rows: &[FormatRow {
        format: Format::Mayhap,
        name: "mayhap",
        programs: "this one",
        file: "see [FORMAT.md](FORMAT.md)",
        detected: "yes",
        key_types: BYTES,
        needs_probes: false,
        choices: Choices::NONE,
    }],
    is_certain: |_, bytes| bytes.starts_with(b"\x89MAY\r\n\x1a\n"),
    is_possible: never,
    open: |_, file, _| Ok(open(file)?.filter),
    create: |format, _| {
        let what = "Mayhap's own filters are made by the engine";
        Err(ForeignError::Refused { format, what })
    },
    from_parts: |format, _, _, _| {
        Err(ForeignError::field("format", format, "that of a foreign filter"))
    },
};

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
/// use mayhap::format::Metadata;
/// use mayhap_foreign::{Bytes, Format, KeyType, Options, wrap};
/// let mut filter = mayhap_foreign::create(Format::Guava, 100, 0.01, &Options::new())?;
/// filter.insert_batch(&[b"ada"], &mut Vec::new())?;
/// let mut file = Vec::new();
/// wrap::write(filter.as_ref(), KeyType::Bytes, &Metadata::new(), &mut file)?;
/// mayhap::format::verify(&file).unwrap();
/// let wrapped = wrap::open(&Bytes::new(file))?;
/// assert_eq!(wrapped.format, Format::Guava);
/// assert!(wrapped.filter.contains(b"ada"));
/// # Ok::<(), mayhap_foreign::ForeignError>(())
/// ```
pub fn write(
    filter: &dyn Foreign,
    key_type: KeyType,
    metadata: &Metadata,
    to: &mut dyn Write,
) -> Result<(), ForeignError> {
    let Parts { format, scheme, data, capacity, fpr, keys, arrays } = filter.parts();
    let name = format.name().as_bytes();
    let mut scheme_data = vec![name.len() as u8];
    scheme_data.extend(name);
    scheme_data.push(key_type as u8);
    scheme_data.extend(data);
    let layout = FileLayout {
        kind: Kind::Classic,
        scheme,
        seed_or_key_check: 0,
        scheme_data: &scheme_data,
        capacity,
        fpr,
        keys,
        params: Vec::new(),
        arrays,
    };
    Ok(mayhap::format::write(to, &layout, metadata)?)
}

/// Whether our file holds another program's filter.
pub fn is_foreign(header: &Header) -> bool {
    header.kind == Kind::Classic && header.scheme.0 >= SchemeId::FIRST_FOREIGN.0
}

/// Open our own file with a foreign filter in it, in place. Header, lengths and footer are checked and
/// the bits are not read; [`mayhap::format::verify`] reads everything.
pub fn open(file: &Bytes) -> Result<Wrapped, ForeignError> {
    from_container(&Container::open(file.clone())?)
}

/// The same over a header that is parsed already.
pub fn from_container(container: &Container<Bytes>) -> Result<Wrapped, ForeignError> {
    let (header, file) = (container.header().clone(), container.store());
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
    let array = |array: &mayhap::format::ArrayHeader| {
        let range = array.at as usize..(array.at + array.bytes) as usize;
        let bytes = file.slice(range).filter(|_| array.params.first() == Some(&(8 * array.bytes)));
        let bytes = bytes.ok_or_else(|| {
            ForeignError::field("bits", format!("{:?}", array.params), "eight a byte")
        })?;
        Ok(StoredArray { params: array.params.clone(), bytes })
    };
    let arrays = header.arrays.iter().map(array).collect::<Result<Vec<_>, ForeignError>>()?;
    let target = (header.capacity, header.fpr, header.keys);
    let filter = (format.family().from_parts)(format, &mut data, arrays, target)?;
    data.end()?;
    // What the header promises is what other readers go by.
    let scheme = filter.parts().scheme;
    if scheme != header.scheme {
        return Err(ForeignError::field("scheme", header.scheme.0, "that of its format"));
    }
    Ok(Wrapped { filter, format, key_type, header })
}
