//! Other programs' files, and lists of what users have seen.
#![cfg(feature = "services")]

use mayhap_foreign::{Bytes, Format, KeyType, Options, TypedFilter};
use mayhap_seen::{Embedded, Seen};

#[test]
fn integers_of_a_java_program() -> Result<(), Box<dyn std::error::Error>> {
    let options = Options::new().with_key_type(KeyType::I32);
    let mut made = mayhap_foreign::create(Format::Guava, 100, 0.01, &options)?;
    made.insert_batch(&[&7i32.to_le_bytes()], &mut Vec::new())?;
    let mut file = Vec::new();
    made.write_as(Format::Guava, &mut file)?;
    let filter = TypedFilter::open(Format::Guava, &Bytes::new(file), &options)?;
    assert!(filter.contains(7)? && !filter.contains(8)?);
    assert!(filter.contains("7").is_err());
    Ok(())
}

#[test]
fn nothing_is_shown_twice() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join(format!("mayhap-outside-{}.redb", std::process::id()));
    _ = std::fs::remove_file(&path);
    let seen = Seen::new(Embedded::open(&path)?);
    let candidates = ["a1", "a2", "a3"];
    assert_eq!(seen.mark_unseen(b"user-1", &candidates)?.len(), 3);
    assert!(seen.unseen(b"user-1", &candidates)?.is_empty());
    drop(seen);
    std::fs::remove_file(&path)?;
    Ok(())
}
