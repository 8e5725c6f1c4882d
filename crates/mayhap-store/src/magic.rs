//! File types by their magic bytes: those that must not be read as a list of keys, nor be
//! overwritten by a filter.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes at the start of a file that decide its type.
pub(crate) const START: usize = 512;

/// Bytes at the end of a file that decide its type.
const END: usize = 8;

/// A type of file that is not text, as named in messages: "a Parquet file".
pub(crate) type Known = &'static str;

/// Where the magic bytes are, what they are, and of which type.
struct Magic(usize, &'static [u8], Known);

/// Files that hold more than one filter, and are never overwritten by one.
const DATA: &[Magic] = &[
    Magic(0, b"PAR1", "a Parquet file"),
    Magic(0, b"PARE", "an encrypted Parquet file"),
    Magic(0, b"ORC", "an ORC file"),
    Magic(0, b"Obj\x01", "an Avro file"),
    Magic(0, b"ARROW1", "an Arrow file"),
    Magic(0, b"\xff\xff\xff\xff\x78\x01\0\0", "an Arrow stream"),
    Magic(0, b"SQLite format 3\0", "an SQLite database"),
    Magic(0, b"REDIS0", "a Redis RDB file"),
    Magic(0, b"VALKEY", "a Valkey RDB file"),
    Magic(0, b"redb\x1a\n\xa9\r\n", "a redb database"),
    Magic(0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    Magic(0, b"PK\x03\x04", "a zip archive"),
    Magic(0, b"PK\x05\x06", "a zip archive"),
    Magic(0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    Magic(0, b"Rar!\x1a\x07", "a RAR archive"),
    Magic(257, b"ustar", "a tar archive"),
    Magic(0, b"\x7fELF", "an ELF program"),
    Magic(0, b"\xcf\xfa\xed\xfe", "a Mach-O program"),
    Magic(0, b"MZ\x90\0", "a Windows program"),
    Magic(0, b"\0asm", "a WebAssembly module"),
    Magic(0, b"\x89PNG\r\n\x1a\n", "a PNG image"),
    Magic(0, b"\xff\xd8\xff", "a JPEG image"),
    Magic(0, b"GIF8", "a GIF image"),
    Magic(0, b"%PDF-", "a PDF document"),
];

/// The last bytes of sorted tables, by their program: 64-bit numbers, little-endian.
const TABLES: &[(u64, Known)] = &[
    (0x88e2_41b7_85f4_cff7, "a RocksDB table"),
    (0x8242_2296_63bf_9564, "a RocksDB table"),
    (0x4f34_18eb_7a8f_13b8, "a RocksDB table"),
    (0x9267_89d0_c5f1_7873, "a RocksDB table"),
    (0xdb47_7524_8b80_fb57, "a LevelDB table"),
];

/// Files of ours, which lines must not overwrite.
const OURS: &[Magic] = &[
    Magic(0, b"\x89MAY\r\n\x1a\n", "a Mayhap filter"),
    Magic(0, b"\x89MAX\r\n\x1a\n", "a Mayhap exact state"),
];

/// Other starts that no list of keys has.
#[cfg(feature = "text")]
const NO_TEXT: &[Magic] = &[
    Magic(0, b"\x5d\0\0", "an .lzma file"),
    Magic(0, b"\x1f\x9d", "a .Z file"),
    Magic(0, b"\x89LZO\0\r\n\x1a\n", "an lzop file"),
    Magic(0, b"LZIP\x01", "an lzip file"),
    Magic(0, b"\xff\x06\0\0sNaPpY", "a snappy file"),
    Magic(0, b"MSCF\0\0\0\0", "a cabinet archive"),
];

impl Magic {
    /// Magic bytes that are a word could begin a list of words, which has no NUL.
    fn is_in(&self, start: &[u8]) -> bool {
        let found = start.get(self.0..).is_some_and(|rest| rest.starts_with(self.1));
        found && (!self.is_word() || start.contains(&0))
    }

    fn is_word(&self) -> bool {
        self.1.iter().all(u8::is_ascii_graphic)
    }
}

/// The type of a file with this start, if it is not a list of keys. The start may be shorter than
/// [`START`]; missing bytes do not decide.
#[cfg(feature = "text")]
pub(crate) fn of_start(start: &[u8]) -> Option<Known> {
    let found = DATA.iter().chain(OURS).chain(NO_TEXT).find(|magic| magic.is_in(start));
    found.map(|magic| magic.2).or_else(|| utf16(start))
}

/// Whether more bytes could still make it one: otherwise a live pipe is not waited for.
#[cfg(feature = "text")]
pub(crate) fn is_undecided(start: &[u8]) -> bool {
    let known = DATA.iter().chain(OURS).chain(NO_TEXT);
    let mut front = known.filter(|magic| magic.0 == 0 && !magic.is_word());
    front.any(|Magic(_, magic, _)| magic.len() > start.len() && magic.starts_with(start))
}

/// UTF-16 text, as Windows programs write it: its lines are not lines of bytes.
#[cfg(feature = "text")]
fn utf16(start: &[u8]) -> Option<Known> {
    match start {
        [0xff, 0xfe, _, 0, ..] | [0xfe, 0xff, 0, _, ..] => Some("UTF-16 text"),
        _ => None,
    }
}

/// Which of our files it is, if it is one.
pub(crate) fn of_our_file(path: &Path) -> io::Result<Option<Known>> {
    let mut start = Vec::new();
    File::open(path)?.take(START as u64).read_to_end(&mut start)?;
    Ok(OURS.iter().find(|magic| magic.is_in(&start)).map(|magic| magic.2))
}

/// The type of a file that a filter must not overwrite: a table, an archive, a database.
pub(crate) fn of_data_file(path: &Path) -> io::Result<Option<Known>> {
    let mut file = File::open(path)?;
    let mut start = Vec::new();
    file.by_ref().take(START as u64).read_to_end(&mut start)?;
    let mut end = [0; END];
    if file.seek(SeekFrom::End(0))? >= END as u64 {
        file.seek(SeekFrom::End(-(END as i64)))?;
        file.read_exact(&mut end)?;
    }
    let table = TABLES.iter().find(|(magic, _)| magic.to_le_bytes() == end);
    let table = table.map(|(_, known)| *known);
    Ok(table.or_else(|| DATA.iter().find(|magic| magic.is_in(&start)).map(|magic| magic.2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_taken_for_files() {
        let words: [&[u8]; 8] = [
            b"",
            b"ada\n",
            b"PAR1S\n",
            b"ORCHID\n",
            b"GIF89\n",
            b"7zip\n",
            b"REDIS01\n",
            b"\xff\xfeab",
        ];
        for text in words {
            assert_eq!(of_start(text), None, "{text:?}");
        }
        assert_eq!(of_start(b"PAR1\x15\0"), Some("a Parquet file"));
        assert_eq!(of_start(b"\xff\xfea\0"), Some("UTF-16 text"));
    }
}
