//! `mayhap verify --column`: a Parquet file's filters against the values of their column.
#![cfg(feature = "parquet-values")]

use assert_cmd::Command;
use std::path::PathBuf;

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign/parquet").join(name)
}

fn verify(column: &str, file: &std::path::Path) -> (Option<i32>, String, String) {
    let mut mayhap = Command::cargo_bin("mayhap").unwrap();
    let output = mayhap.args(["verify", "--column", column]).arg(file).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_whole_file_has_all_of_its_values() {
    let file = golden("file_pyarrow_str_1k.parquet");
    let (code, out, _) = verify("c", &file);
    assert_eq!(code, Some(0));
    assert!(out.ends_with(": c, row group 0: 1,000 values, all in\n"), "{out}");
}

#[test]
fn a_filter_that_lost_bits_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lost.parquet");
    let mut file = std::fs::read(golden("file_rs_i64.parquet")).unwrap();
    file[2440..2456].fill(0); // half of the first block behind the filter's header
    std::fs::write(&path, file).unwrap();
    let (code, out, _) = verify("c", &path);
    assert_eq!(code, Some(1));
    assert!(out.contains("MISSING"), "{out}");
}

#[test]
fn other_columns_and_other_files_are_trouble() {
    let (code, _, error) = verify("d", &golden("file_rs_i64.parquet"));
    assert_eq!(code, Some(2));
    assert!(error.contains("\"d\", not in the file; there are c"), "{error}");
    let (code, _, error) = verify("c", &golden("manifest.json"));
    assert_eq!(code, Some(2));
    assert!(error.contains("PAR1"), "{error}");
}
