//! Filters in whatever serde writes: as the bytes of a file, every one of which is checked when they
//! are read.
//!
//! The file of a keyed filter can only be read with its secret, which serde has no place for and which
//! must not be written beside the bits: such filters refuse to be serialized.

use super::Metadata;
use crate::filter::{AnyFilter, for_each_kind};
use crate::scheme::Native;
use serde_core::de::{Error as _, SeqAccess, Visitor};
use serde_core::ser::Error as _;
use serde_core::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

const KEYED: &str = "a keyed filter is not serialized, since its secret must not be: save it with \
                     `write_to`, keep the secret elsewhere and open it with both";

macro_rules! serde_of {
    ([$($bound:tt)*] $Filter:ty, $Owned:ty, $decode:expr) => {
        /// As the bytes of a file, without metadata. A keyed filter refuses.
        impl $($bound)* Serialize for $Filter {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                if crate::filter::each::Read::scheme(self).is_some_and(|scheme| scheme.is_keyed()) {
                    return Err(S::Error::custom(KEYED));
                }
                to.serialize_bytes(&self.encode(&Metadata::new()))
            }
        }

        /// From the bytes of a file, every one of which is checked.
        impl<'de> Deserialize<'de> for $Owned {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let bytes = from.deserialize_byte_buf(File)?;
                $decode(&bytes).map_err(D::Error::custom)
            }
        }
    };
}

macro_rules! serde_of_kinds {
    (
        in_place { $($Kind:ident = $id:literal $name:literal [$($param:ty,)*] $Shape:ident, {$traits:expr} $about:literal;)* }
        copied { $($Copied:ident = $copied_id:literal $copied_name:literal $feature:literal, {$copied_traits:expr} $copied_about:literal;)* }
    ) => {
        $(serde_of!([<B: AsRef<[u8]>>] crate::filter::$Kind<$($param,)* B>, crate::filter::$Kind, |bytes: &[u8]| crate::filter::$Kind::decode(bytes, None));)*
        $(
            #[cfg(feature = $feature)]
            serde_of!([] crate::filter::$Copied, crate::filter::$Copied, |bytes: &[u8]| crate::filter::$Copied::decode(bytes));
        )*
    };
}

for_each_kind!(serde_of_kinds);

impl<B: AsRef<[u8]>> Serialize for AnyFilter<B> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.scheme().is_some_and(|scheme| scheme.is_keyed()) {
            return Err(S::Error::custom(KEYED));
        }
        to.serialize_bytes(&self.encode(&Metadata::new()))
    }
}

impl<'de> Deserialize<'de> for AnyFilter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bytes = from.deserialize_byte_buf(File)?;
        AnyFilter::decode(&bytes, None).map_err(D::Error::custom)
    }
}

/// Takes bytes, or a sequence of them where a format has none.
struct File;

impl<'de> Visitor<'de> for File {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a filter's file")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Vec<u8>, E> {
        Ok(bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Vec<u8>, A::Error> {
        // A length that is claimed is not believed before the bytes are here.
        let mut file = Vec::with_capacity(bytes.size_hint().unwrap_or(0).min(1 << 20));
        while let Some(byte) = bytes.next_element()? {
            file.push(byte);
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Blocked, Fuse, Secret, Spec};

    #[test]
    fn filters_come_back_as_they_went() {
        let mut seen = Blocked::with_rate(100, 0.01).unwrap();
        seen.insert("ada");
        let text = serde_json::to_string(&seen).unwrap();
        assert_eq!(serde_json::from_str::<Blocked>(&text).unwrap(), seen);
        assert_eq!(serde_json::from_str::<AnyFilter>(&text).unwrap(), AnyFilter::from(seen));
        let error = serde_json::from_str::<Fuse>(&text).unwrap_err().to_string();
        assert!(error.contains("a blocked filter, not a fuse one"), "{error}");
        let damaged = text.replacen("137,77", "137,78", 1);
        let error = serde_json::from_str::<Blocked>(&damaged).unwrap_err().to_string();
        assert!(error.contains("not a mayhap file"), "{error}");
        assert!(serde_json::from_str::<Blocked>("[1, 2, 300]").is_err());
    }

    #[test]
    fn secrets_are_not_written() {
        let spec = Spec::new(100, 0.01).unwrap().with_secret(Secret::from_bytes([7; 16]));
        let keyed = Blocked::new(spec).unwrap();
        let error = serde_json::to_string(&keyed).unwrap_err().to_string();
        assert!(error.contains("its secret must not be"), "{error}");
        assert!(serde_json::to_string(&AnyFilter::from(keyed)).is_err());
    }
}
