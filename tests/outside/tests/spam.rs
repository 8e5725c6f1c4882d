//! A block list that must never turn away a known sender.
#![cfg(feature = "std")]

use mayhap::cascade::{CascadeError, CascadeOptions, OnConflict};
use mayhap::{Cascade, Spec};

#[test]
fn known_senders_pass() -> Result<(), CascadeError> {
    let spammers: Vec<String> = (0..1_000).map(|i| format!("{i}@spam.example")).collect();
    let known: Vec<String> = (0..10_000).map(|i| format!("{i}@example.org")).collect();
    let gate = Cascade::from_keys(0.01, &spammers, &known)?;
    assert!(spammers.iter().all(|sender| gate.contains(sender)));
    assert!(!known.iter().any(|sender| gate.contains(sender)));
    Ok(())
}

#[test]
fn a_sender_on_both_lists_is_named() -> Result<(), CascadeError> {
    let error = Cascade::from_keys(0.01, ["eve", "ada"], ["ada"]).unwrap_err();
    assert!(error.to_string().contains("\"ada\""), "{error}");
    let options = CascadeOptions::default().with_on_conflict(OnConflict::Exclude);
    let gate = Cascade::with_options(Spec::new(0, 0.01)?, options, ["eve", "ada"], ["ada"])?;
    assert!(gate.contains("eve") && !gate.contains("ada"));
    Ok(())
}
