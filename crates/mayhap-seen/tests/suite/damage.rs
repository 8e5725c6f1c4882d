//! Truncated and corrupted files: every call ends, with an error or an answer, never with a panic.

use crate::policy::ids;
use mayhap_seen::{Embedded, Seen, SeenError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The same numbers every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// What each call said, where it failed.
fn all_calls(path: &Path) -> Vec<SeenError> {
    let mut seen = match Embedded::open(path) {
        Ok(store) => Seen::new(store),
        Err(error) => return vec![error],
    };
    let said = [
        seen.unseen(b"user-1", &["id-1", "x"]).err(),
        seen.stats().err(),
        seen.mark(b"user-1", &["x"]).err(),
        seen.export_all(|_, _| Ok(())).err(),
        seen.set_policy(&"ids=2000".parse().unwrap()).err(),
        seen.forget(b"user-2").err(),
    ];
    said.into_iter().flatten().collect()
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole.redb");
    let seen = Seen::new(Embedded::open(&whole).unwrap());
    for owner in 0..40 {
        seen.mark(format!("user-{owner}").as_bytes(), &ids(0..50 + owner)).unwrap();
    }
    drop(seen);
    let good = std::fs::read(&whole).unwrap();
    let (mut dice, mut failed) = (Dice(7), 0);
    for round in 0..160 {
        let mut bytes = good.clone();
        if round % 4 == 3 {
            bytes.truncate(dice.below(good.len()));
        } else {
            for _ in 0..[1, 8, 400][dice.below(3)] {
                let at = dice.below(good.len());
                bytes[at] ^= 1 << dice.below(8);
            }
        }
        let path = dir.path().join(format!("bad-{round}.redb"));
        std::fs::write(&path, &bytes).unwrap();
        let said = catch_unwind(AssertUnwindSafe(|| all_calls(&path)));
        let said = said.unwrap_or_else(|_| panic!("a panic in round {round}"));
        failed += usize::from(!said.is_empty());
        for error in said {
            let error = error.to_string();
            assert!(!error.contains("has ended"), "round {round}: {error}");
            if error.contains("damaged:") {
                assert!(error.contains(&format!("bad-{round}.redb")), "{error}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }
    assert!(failed > 40, "{failed} of 160: the test is blind");
}
