//! Every verb and every error, as documents: `cmd/*.md` are read by people and run by this test.
//! After a change that is meant, `TRYCMD=overwrite` writes the new outputs; put `[..]` back where
//! a time was.

#[test]
fn the_documents_tell_the_truth() {
    trycmd::TestCases::new().env("NO_COLOR", "1").env("COLUMNS", "100").case("tests/cmd/*.md");
}
