//! The README's examples, compiled and run as doc tests.

#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
