//! Measurements.
mod corpus;
mod mersenne;
mod mix;
mod urls;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    corpus::write(std::path::Path::new(&a[2]), a[3].parse().unwrap(), urls::SEED).unwrap();
}
