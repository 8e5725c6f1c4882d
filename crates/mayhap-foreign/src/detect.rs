//! What the bytes say they are.

use crate::{
    Format, bits_and_blooms, bloomfilter_js, dcso, guava, leveldb, num_base64, orc, parquet, poppy,
    redisbloom, rocksdb, spark, valkey_bloom,
};

/// What bytes can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Detection {
    /// They say so.
    Certain(Format),
    /// One of these, or none: nothing in the bytes tells.
    OneOf(Vec<Format>),
}

/// Look at a file. Some formats have a magic number or lengths that fit nothing else; others are bare
/// bits, and any bytes could be one.
///
/// ```
/// use mayhap_foreign::{Detection, Format, detect};
/// let guava = [1, 5, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
/// assert_eq!(detect(&guava), Detection::Certain(Format::Guava));
/// let Detection::OneOf(candidates) = detect(b"[1,2,3]") else { panic!() };
/// assert_eq!(candidates, [Format::BloomfilterJs, Format::BloomfilterJsOld]);
/// ```
pub fn detect(bytes: &[u8]) -> Detection {
    // Ours are asked about most often, and are large: nothing else of them is to be touched.
    if says(Format::Mayhap, bytes) {
        return Detection::Certain(Format::Mayhap);
    }
    let certain: Vec<Format> =
        Format::ALL.into_iter().filter(|format| says(*format, bytes)).collect();
    match certain[..] {
        [only] => Detection::Certain(only),
        [] => Detection::OneOf(
            Format::ALL.into_iter().filter(|format| fits(*format, bytes)).collect(),
        ),
        _ => Detection::OneOf(certain),
    }
}

/// Whether the bytes are of this format by magic, or by fields and lengths that agree.
fn says(format: Format, bytes: &[u8]) -> bool {
    match format {
        Format::Mayhap => bytes.starts_with(b"\x89MAY\r\n\x1a\n"),
        Format::Guava => guava::read(bytes).is_ok(),
        Format::BitsAndBlooms => bits_and_blooms::says(bytes),
        Format::Spark => spark::read(bytes).is_ok(),
        Format::Dcso => dcso::says(bytes),
        Format::Poppy => poppy::says(bytes),
        Format::NumBase64 => num_base64::says(bytes),
        Format::Parquet => parquet::is_parquet(bytes),
        Format::Rocksdb => rocksdb::is_sst(bytes),
        Format::Redisbloom => redisbloom::Chain::open(bytes).is_ok(),
        Format::RedisbloomDump => redisbloom::dump::is_dump(bytes),
        Format::ValkeyBloom => valkey_bloom::Chain::open(bytes).is_ok(),
        Format::Orc => orc::read(bytes, orc::Column::Bytes).is_ok(),
        _ => false,
    }
}

/// Whether the bytes could be of this format, which has nothing to be known by.
fn fits(format: Format, bytes: &[u8]) -> bool {
    if matches!(format, Format::BloomfilterJs | Format::BloomfilterJsOld) {
        return bloomfilter_js::says(bytes);
    }
    // Bare bits can look like anything, but hardly like a list of words.
    if is_text(bytes) {
        return false;
    }
    match format {
        Format::Leveldb | Format::LeveldbOld | Format::Goleveldb | Format::Badger => {
            leveldb::read(bytes, leveldb::Program::Leveldb).is_ok()
        }
        Format::Rocksdb => rocksdb::Filter::open(bytes).is_ok(),
        Format::ParquetBitset => !bytes.is_empty() && bytes.len().is_multiple_of(32),
        Format::Kevburnsjr => !bytes.is_empty() && bytes.len().is_multiple_of(4),
        _ => false,
    }
}

/// Whether bytes start as text does: no control characters but those that end lines and columns.
fn is_text(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1024)];
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\r\n".contains(byte);
    let is_utf8 = match str::from_utf8(start) {
        Ok(_) => true,
        // Cut off in the middle of a character.
        Err(error) => error.error_len().is_none(),
    };
    is_utf8 && !start.iter().any(is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_words_is_no_filter() {
        for text in ["ada\nbob\neve\n", "héhé\n", "x", &"日".repeat(400)] {
            assert_eq!(detect(text.as_bytes()), Detection::OneOf(vec![]), "{text}");
        }
        assert_ne!(detect(&[0x80, 0x81, 0x82, 3]), Detection::OneOf(vec![]));
        assert_ne!(detect(&[0, 1, 2, 3]), Detection::OneOf(vec![]));
    }
}
