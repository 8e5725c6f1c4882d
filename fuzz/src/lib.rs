//! What every foreign decoder must withstand, said once.

use mayhap::format::Metadata;
use mayhap_foreign::{Bytes, Format, KeyType, Options, open, wrap};

/// Any bytes as a file of this format: nothing panics, and what is let in answers, comes out as it went
/// in, and is the same again out of our own file.
pub fn foreign(format: Format, bytes: &[u8]) {
    // The last byte also stands for what a file does not say, so that golden files are seeds as they are.
    let Some(told) = bytes.last() else { return };
    let integers = matches!(format, Format::Orc | Format::Guava | Format::Spark) && told & 1 == 1;
    let key_type = if integers { KeyType::I64 } else { KeyType::Bytes };
    let options = Options::new().with_probes((told >> 1).into()).with_key_type(key_type);
    let Ok(mut filter) = open(format, &Bytes::new(bytes.to_vec()), &options) else { return };
    let answer = filter.contains(b"8 bytes!");
    let rate = filter.summary().fpr_now;
    assert!((0.0..=1.0).contains(&rate), "{rate}");
    let mut file = Vec::new();
    // Tables, and formats that are only read, are not written; what is written is what was read.
    if filter.write_as(format, &mut file).is_err() {
        return;
    }
    // JSON and gzip have several encodings of one filter, some formats are written in their newest version
    // whatever was read, and a RocksDB filter may have been in a table.
    let has_encodings = bytes.starts_with(b"{") || bytes.starts_with(&[0x1f, 0x8b]);
    let newest =
        [Format::BloomfilterJs, Format::BloomfilterJsOld, Format::RedisbloomDump, Format::Rocksdb];
    if !has_encodings && !newest.contains(&format) {
        assert!(file == bytes, "{format} is written otherwise than it was read");
    }
    let mut ours = Vec::new();
    if wrap::write(filter.as_ref(), key_type, &Metadata::new(), &mut ours).is_ok() {
        let back = wrap::open(&Bytes::new(ours)).expect("our own file");
        assert_eq!(back.filter.contains(b"8 bytes!"), answer);
    }
    // A filter may be full and made not to grow.
    if filter.insert_batch(&[b"8 bytes!"], &mut Vec::new()).is_ok() {
        assert!(filter.contains(b"8 bytes!"));
    }
}
