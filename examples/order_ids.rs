//! Does this order exist? Two answers, and when each is right.
//!
//! Why it is built so: sequential order numbers are dense, and then an exact bitmap (`Bitmap`)
//! takes a bit or less for each and has no false positives; nothing beats it. Numbers drawn at
//! random from a wide range are sparse: the bitmap falls back to two bytes and more per id, while a
//! filter takes ten bits whatever the ids look like, at the false-positive rate chosen. So measure
//! the density first: below about one id in two hundred, take the filter.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example order_ids
//! ```

use mayhap::{Bitmap, Blocked, Spec, SpecError};

const FPR: f64 = 0.01;

/// Sequential ids, one in ten missing.
fn dense(count: u64) -> impl Iterator<Item = u64> + Clone {
    (1_000_000..).filter(|id| id % 10 != 7).take(count as usize)
}

/// Random ids.
fn sparse(count: u64) -> impl Iterator<Item = u64> + Clone {
    (1..=count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 8)
}

/// Bits per id, exact and approximate; and how many of `absent_keys` each takes for orders.
struct Measured {
    exact_bits: f64,
    filter_bits: f64,
    wrong: [u64; 2],
}

fn measure(
    ids: impl Iterator<Item = u64> + Clone,
    absent_keys: impl Iterator<Item = u64>,
) -> Result<Measured, SpecError> {
    let count = ids.clone().count() as u64;
    let mut exact: Bitmap = ids.clone().collect();
    exact.compact();
    let mut filter = Blocked::new(Spec::new(count, FPR)?)?;
    ids.clone().for_each(|id| _ = filter.insert(id));
    assert!(ids.clone().all(|id| exact.contains(id) && filter.contains(id)));
    let mut wrong = [0, 0];
    for id in absent_keys {
        wrong[0] += u64::from(exact.contains(id));
        wrong[1] += u64::from(filter.contains(id));
    }
    let bits = |bytes: u64| bytes as f64 * 8.0 / count as f64;
    let filter_bits = bits(filter.as_bytes().len() as u64);
    Ok(Measured { exact_bits: bits(exact.bytes()), filter_bits, wrong })
}

fn show(name: &str, measured: &Measured) {
    let Measured { exact_bits, filter_bits, wrong: [exact, filter] } = measured;
    println!(
        "{name}: Bitmap {exact_bits:.2} bits per id, {exact} wrong; Blocked {filter_bits:.2}, {filter} wrong"
    );
}

fn main() -> Result<(), SpecError> {
    let count = 1_000_000;
    show("dense", &measure(dense(count), (0..100_000).map(|i| i * 10 + 7))?);
    show("sparse", &measure(sparse(count), sparse(2 * count).skip(count as usize))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_ids_belong_in_a_bitmap() -> Result<(), SpecError> {
        let Measured { exact_bits, filter_bits, wrong } =
            measure(dense(200_000), (0..50_000).map(|i| 1_000_000 + i * 10 + 7))?;
        assert!(exact_bits < 1.5 && filter_bits > 9.0, "{exact_bits} and {filter_bits}");
        assert_eq!(wrong[0], 0);
        assert!((300..700).contains(&wrong[1]), "{} of 500 expected", wrong[1]);
        Ok(())
    }

    #[test]
    fn sparse_ids_belong_in_a_filter() -> Result<(), SpecError> {
        let Measured { exact_bits, filter_bits, wrong } =
            measure(sparse(200_000), sparse(400_000).skip(200_000))?;
        assert!(exact_bits > 3.0 * filter_bits, "{exact_bits} and {filter_bits}");
        assert_eq!(wrong[0], 0);
        assert!((1_700..2_300).contains(&wrong[1]), "{} of 2000 expected", wrong[1]);
        Ok(())
    }
}
