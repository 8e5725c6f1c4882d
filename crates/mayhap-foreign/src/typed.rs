//! Filters that are asked about typed values.

use crate::{Bytes, Foreign, ForeignError, Format, KeyType, Options, open, wrap};
use mayhap::key::{EncodedKey, KeyEncoding, KeyMismatch, KeyValue};

/// Another program's filter, asked about values of the type that its keys are: said once, when it
/// is opened. A value that does not fit is an error, never a "no".
///
/// ```
/// use mayhap_foreign::{Bytes, Format, KeyType, Options, TypedFilter};
/// # let options = Options::new().with_key_type(KeyType::I32);
/// # let mut made = mayhap_foreign::create(Format::Guava, 100, 0.01, &options)?;
/// # made.insert_batch(&[&7i32.to_le_bytes()], &mut Vec::new())?;
/// # let mut file = Vec::new();
/// # made.write_as(Format::Guava, &mut file)?;
/// let options = Options::new().with_key_type(KeyType::I32); // Java's integerFunnel
/// let filter = TypedFilter::open(Format::Guava, &Bytes::new(file), &options)?;
/// assert!(filter.contains(7)? && filter.contains(7u8)? && !filter.contains(8)?);
/// assert!(filter.contains("7").is_err() && filter.contains(1i64 << 40).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TypedFilter {
    filter: Box<dyn Foreign>,
    encoding: KeyEncoding,
}

impl TypedFilter {
    /// Open a file of this format. Where the file says what its keys are (Parquet does, and our own
    /// file around another's), the options may leave it out and must not say otherwise.
    pub fn open(
        format: Format,
        file: &Bytes,
        options: &Options,
    ) -> Result<TypedFilter, ForeignError> {
        let (filter, format, said) = if format == Format::Mayhap {
            let wrapped = wrap::open(file)?;
            (wrapped.filter, wrapped.format, Some(wrapped.key_type))
        } else {
            let filter = open(format, file, options)?;
            let said = filter.key_type();
            (filter, format, said)
        };
        let key_type = match (options.key_type, said) {
            (KeyType::Bytes, Some(said)) => said,
            (asked, Some(said)) if asked != said => {
                let (got, need) = (asked.name(), said.name().to_owned());
                return Err(ForeignError::KeyType { format, got, need });
            }
            (asked, _) => asked,
        };
        Ok(TypedFilter { filter, encoding: key_type.encoding(format)? })
    }

    /// How its keys become bytes.
    pub fn encoding(&self) -> KeyEncoding {
        self.encoding
    }

    /// Whether the key may be in; `false` is certain. An error where no key of this filter is like
    /// it.
    pub fn contains<'k>(&self, key: impl Into<KeyValue<'k>>) -> Result<bool, KeyMismatch> {
        Ok(self.filter.contains(self.encoding.encode(key)?.as_ref()))
    }

    /// Ask for all of them at once; an error at the first that no key of this filter is like.
    pub fn contains_all<'k, K: Into<KeyValue<'k>>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<bool>, KeyMismatch> {
        let encode = |key: K| self.encoding.encode(key);
        let keys = keys.into_iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        let mut answers = Vec::new();
        self.filter
            .contains_all(keys.iter().map(|key: &EncodedKey<'_>| key.as_ref()), &mut answers);
        Ok(answers)
    }

    /// The filter, to be asked about bytes.
    pub fn filter(&self) -> &dyn Foreign {
        self.filter.as_ref()
    }

    /// The filter itself.
    pub fn into_inner(self) -> Box<dyn Foreign> {
        self.filter
    }
}
