//! As much of Thrift's compact protocol as it takes to walk a footer.
//!
//! A struct is fields until a zero byte. A field's byte has its type in the low half and, in the
//! high half, by how much its id is past the one before (0: the id follows). Numbers are varints,
//! signed ones zig-zag; strings have their length before them; lists have theirs with the type.
//! Source: `thrift-compact-protocol.md` of apache/thrift.

use crate::{ForeignError, Reader};

/// Structs, lists and maps may lie in one another so deep; Parquet needs about ten.
const MAX_DEPTH: u32 = 32;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    True,
    False,
    Byte,
    I16,
    I32,
    I64,
    Double,
    Binary,
    List,
    Map,
    Struct,
}

impl Kind {
    fn from_id(id: u8) -> Result<Kind, ForeignError> {
        Ok(match id {
            1 => Kind::True,
            2 => Kind::False,
            3 => Kind::Byte,
            4 => Kind::I16,
            5 => Kind::I32,
            6 => Kind::I64,
            7 => Kind::Double,
            8 => Kind::Binary,
            9 | 10 => Kind::List, // a set is spelled like a list
            11 => Kind::Map,
            12 => Kind::Struct,
            _ => return Err(ForeignError::field("type of a Thrift field", id, "1 to 12")),
        })
    }
}

/// A walk over Thrift's bytes.
pub(super) struct Cursor<'a> {
    pub reader: Reader<'a>,
    depth: u32,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { reader: Reader::new(bytes), depth: 0 }
    }

    /// One struct: `field` sees every field's id and kind, and says whether it took the value;
    /// what it did not take is stepped over.
    pub fn fields(
        &mut self,
        mut field: impl FnMut(&mut Cursor<'a>, i16, Kind) -> Result<bool, ForeignError>,
    ) -> Result<(), ForeignError> {
        self.descend()?;
        let mut id = 0i16;
        loop {
            let head = self.reader.u8("Thrift field")?;
            if head == 0 {
                self.depth -= 1;
                return Ok(());
            }
            let past = head >> 4;
            id = if past == 0 {
                let id = self.number()?;
                i16::try_from(id).map_err(|_| ForeignError::field("Thrift id", id, "16 bits"))?
            } else {
                id.wrapping_add(past.into())
            };
            let kind = Kind::from_id(head & 15)?;
            if !field(self, id, kind)? {
                self.skip(kind)?;
            }
        }
    }

    /// One list of structs (or of anything else): `element` takes each.
    pub fn list(
        &mut self,
        mut element: impl FnMut(&mut Cursor<'a>, Kind) -> Result<(), ForeignError>,
    ) -> Result<(), ForeignError> {
        self.descend()?;
        let head = self.reader.u8("Thrift list")?;
        let count = match head >> 4 {
            15 => self.reader.varint("length of a Thrift list")?,
            count => count.into(),
        };
        // Every element takes a byte at least, so a false count ends with the bytes.
        let kind = Kind::from_id(head & 15)?;
        for _ in 0..count {
            element(self, kind)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// An integer of any width.
    pub fn number(&mut self) -> Result<i64, ForeignError> {
        let zigzag = self.reader.varint("Thrift number")?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    /// A string.
    pub fn binary(&mut self) -> Result<&'a [u8], ForeignError> {
        let bytes = self.reader.varint("length of a Thrift string")?;
        self.reader.take("Thrift string", bytes)
    }

    /// Step over a field's value.
    pub fn skip(&mut self, kind: Kind) -> Result<(), ForeignError> {
        match kind {
            Kind::True | Kind::False => Ok(()), // the field's own byte says it all
            Kind::Byte => self.reader.u8("Thrift byte").map(drop),
            Kind::I16 | Kind::I32 | Kind::I64 => self.number().map(drop),
            Kind::Double => self.reader.take("Thrift double", 8).map(drop),
            Kind::Binary => self.binary().map(drop),
            Kind::List => self.list(Cursor::skip_element),
            Kind::Map => self.skip_map(),
            Kind::Struct => self.fields(|_, _, _| Ok(false)),
        }
    }

    /// The same inside of a list or map, where a boolean has a byte of its own.
    fn skip_element(&mut self, kind: Kind) -> Result<(), ForeignError> {
        match kind {
            Kind::True | Kind::False => self.reader.u8("Thrift boolean").map(drop),
            _ => self.skip(kind),
        }
    }

    fn skip_map(&mut self) -> Result<(), ForeignError> {
        let count = self.reader.varint("length of a Thrift map")?;
        if count == 0 {
            return Ok(());
        }
        self.descend()?;
        let kinds = self.reader.u8("types of a Thrift map")?;
        let (key, value) = (Kind::from_id(kinds >> 4)?, Kind::from_id(kinds & 15)?);
        for _ in 0..count {
            self.skip_element(key)?;
            self.skip_element(value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn descend(&mut self) -> Result<(), ForeignError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(ForeignError::field("depth of Thrift", self.depth, "at most 32"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_stepped_over() {
        // 1: true, 2: false, 3: byte, 4: i16, 5: i32, 6: i64, 7: double, 8: binary, 9: list of
        // booleans, 10: set of i32, 11: map of i32 to struct, 12: struct, then id 300 by itself.
        let bytes = [
            0x11, 0x12, 0x13, 7, 0x14, 1, 0x15, 2, 0x16, 3, 0x17, 0, 0, 0, 0, 0, 0, 0, 0, 0x18, 2,
            b'h', b'i', 0x19, 0x21, 1, 2, 0x1a, 0x15, 9, 0x1b, 1, 0x5c, 4, 0, 0x1c, 0x11, 0, 0x05,
            0xd8, 0x04, 10, 0,
        ];
        let (mut ids, mut last) = (Vec::new(), 0);
        let mut walk = Cursor::new(&bytes);
        walk.fields(|walk, id, kind| {
            ids.push(id);
            if id == 300 {
                assert_eq!(kind, Kind::I32);
                last = walk.number()?;
            }
            Ok(id == 300)
        })
        .unwrap();
        assert_eq!(ids, (1..=12).chain([300]).collect::<Vec<_>>());
        assert_eq!((last, walk.reader.left()), (5, 0));
    }

    #[test]
    fn depth_and_counts_are_bounded() {
        let deep = [0x1c; 100];
        assert!(Cursor::new(&deep).fields(|_, _, _| Ok(false)).is_err());
        // A list that says it has 2^60 booleans.
        let long = [0x19, 0xf1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x10];
        assert!(Cursor::new(&long).fields(|_, _, _| Ok(false)).is_err());
    }
}
