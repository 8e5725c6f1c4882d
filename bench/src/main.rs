//! Measurements, side by side with the rivals.
fn main() {}
