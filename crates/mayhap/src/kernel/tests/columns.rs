//! Columns: every kernel says what `scalar` says, over all layouts and every way in.

use super::super::columns::{self, ONE_LINE, TWO_HALVES, TWO_LINES};
use super::super::{Line, OneKeyKernel, each_line, fill_partition};
use super::dense;
use crate::hash::Hash;
use crate::scheme::{Native, Scheme};
use crate::sizing::{BlockedShape, Columns};
use proptest::collection::vec;
use proptest::prelude::*;

/// One kernel, with the layout known at run time.
struct Kernel {
    name: &'static str,
    contains: fn(&[Line], Columns, Hash) -> bool,
    insert: fn(&mut [Line], Columns, Hash) -> bool,
    contains_batch: fn(&[Line], Columns, &[Hash], &mut [bool]),
    insert_batch: fn(&mut [Line], Columns, &[Hash], &mut Vec<bool>),
}

macro_rules! kernel {
    ($name:literal, $module:path) => {{
        use $module as kernel;
        Kernel {
            name: $name,
            // SAFETY: whoever asks for the kernel has found out that the machine has it, and the tests
            // give as many lines as the layout needs: so for the others.
            contains: |lines, columns, hash| unsafe { kernel::contains_hash(lines, columns, hash) },
            // SAFETY: as above.
            insert: |lines, columns, hash| unsafe { kernel::insert_hash(lines, columns, hash) },
            // SAFETY: as above.
            contains_batch: |lines, columns, hashes, answers| unsafe {
                match columns {
                    Columns::OneLine => kernel::contains_batch::<ONE_LINE>(lines, hashes, answers),
                    Columns::TwoHalves => {
                        kernel::contains_batch::<TWO_HALVES>(lines, hashes, answers);
                    }
                    Columns::TwoLines => {
                        kernel::contains_batch::<TWO_LINES>(lines, hashes, answers);
                    }
                }
            },
            // SAFETY: as above.
            insert_batch: |lines, columns, hashes, new| unsafe {
                let report = |_, is_new| new.push(is_new);
                match columns {
                    Columns::OneLine => kernel::insert_batch::<ONE_LINE>(lines, hashes, report),
                    Columns::TwoHalves => kernel::insert_batch::<TWO_HALVES>(lines, hashes, report),
                    Columns::TwoLines => kernel::insert_batch::<TWO_LINES>(lines, hashes, report),
                }
            },
        }
    }};
}

fn scalar() -> Kernel {
    kernel!("scalar", super::super::columns::scalar)
}

/// Those of this machine.
fn kernels() -> Vec<Kernel> {
    let mut kernels = vec![
        scalar(),
        Kernel {
            name: "dispatched",
            contains: columns::contains,
            insert: columns::insert,
            contains_batch: columns::contains_batch,
            insert_batch: |lines, columns, hashes, new| {
                columns::insert_batch(lines, columns, hashes, |_, is_new| new.push(is_new));
            },
        },
    ];
    #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
    kernels.push(kernel!("neon", super::super::columns::neon));
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::has_avx2() {
        kernels.push(kernel!("avx2", super::super::columns::avx2));
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if super::has_avx512() {
        kernels.push(kernel!("avx512", super::super::columns::avx512));
    }
    kernels
}

/// As many lines as the layout can have, of these.
fn cut(lines: &mut Vec<Line>, columns: Columns) -> BlockedShape {
    let (lines_per_key, each) = match columns {
        Columns::OneLine => (1, 8),
        Columns::TwoHalves => (2, 4),
        Columns::TwoLines => (2, 8),
    };
    let unit = if columns == Columns::TwoLines { 2 } else { 1 };
    let odd = (lines.len() / unit - 1) | 1;
    lines.resize(odd * unit, [0; 64]);
    BlockedShape::with_columns(lines.len() as u64, lines_per_key, each)
}

/// The rule of `docs/FORMAT.md`, bit by bit and in numbers of 128 bits.
fn bits_of(columns: Columns, hash: Hash, lines: u64) -> Vec<u64> {
    let bytes = u128::from(lines) * 64;
    let low = |x: u128| x & u128::from(u64::MAX);
    let first = u128::from(hash.to_u64()) * bytes;
    let second = low(first) * bytes;
    let bit = |line: u128, column: u64, fraction: u128| {
        let slice = (fraction >> (16 + 6 * column)) as u64 & 63;
        line as u64 * 512 + 64 * column + 63 - slice
    };
    let (one, other) = (first >> 64, second >> 64);
    match columns {
        Columns::OneLine => (0..8).map(|c| bit(one / 64, c, low(first))).collect(),
        Columns::TwoHalves => {
            (0..8).map(|c| bit(if c < 4 { one / 64 } else { other / 64 }, c, low(second))).collect()
        }
        Columns::TwoLines => (0..16)
            .map(|c| {
                let line = if c < 8 { one / 128 * 2 } else { other / 128 * 2 + 1 };
                bit(line, c % 8, low(second))
            })
            .collect(),
    }
}

fn is_set(lines: &[Line], bit: u64) -> bool {
    lines.as_flattened()[(bit / 8) as usize] >> (bit % 8) & 1 == 1
}

proptest! {
    #[test]
    fn every_kernel_agrees_with_scalar(
        lines in vec(any::<[[u64; 8]; 2]>().prop_map(dense), 2..40),
        hashes in vec(any::<u64>().prop_map(Hash), 0..400),
        large in any::<bool>(),
    ) {
        for columns in Columns::ALL {
            let mut lines = lines.clone();
            if large {
                // Past what stays in the cache, where prefetches run ahead.
                lines = lines.iter().copied().cycle().take(5000).collect();
            }
            let shape = cut(&mut lines, columns);
            let context = format!("{columns:?} of {} lines", lines.len());
            let mut want = vec![false; hashes.len()];
            (scalar().contains_batch)(&lines, columns, &hashes, &mut want);
            let (mut want_lines, mut want_new) = (lines.clone(), Vec::new());
            (scalar().insert_batch)(&mut want_lines, columns, &hashes, &mut want_new);
            for Kernel { name, contains, insert, contains_batch, insert_batch } in kernels() {
                let mut got = vec![true; hashes.len()];
                contains_batch(&lines, columns, &hashes, &mut got);
                prop_assert_eq!(&want, &got, "{} contains_batch, {}", name, context);
                let got: Vec<_> = hashes.iter().map(|h| contains(&lines, columns, *h)).collect();
                prop_assert_eq!(&want, &got, "{} contains, {}", name, context);
                let (mut got_lines, mut got_new) = (lines.clone(), Vec::new());
                insert_batch(&mut got_lines, columns, &hashes, &mut got_new);
                prop_assert!(want_lines == got_lines, "{} insert_batch, {}", name, context);
                prop_assert_eq!(&want_new, &got_new, "{} insert_batch new, {}", name, context);
                let mut got_lines = lines.clone();
                let new = hashes.iter().map(|h| insert(&mut got_lines, columns, *h));
                prop_assert_eq!(&want_new, &new.collect::<Vec<_>>(), "{} insert, {}", name, context);
                prop_assert!(want_lines == got_lines, "{} insert, {}", name, context);
            }
            // Sorted by line, and in two runs.
            let mut got_lines = lines.clone();
            let half = lines.len() / 2;
            let mut sorted: [[Vec<Hash>; 2]; 2] = Default::default();
            for hash in &hashes {
                each_line(shape, *hash, |nth, line, hash| {
                    sorted[usize::from(line >= half)][nth].push(hash);
                });
            }
            let (low, high) = got_lines.split_at_mut(half);
            for (run, first, sorted) in [(low, 0, &sorted[0]), (high, half as u64, &sorted[1])] {
                for (nth, hashes) in sorted.iter().enumerate() {
                    fill_partition(run, first, shape, nth, hashes);
                }
            }
            prop_assert!(want_lines == got_lines, "fill_partition, {}", context);
        }
    }

    #[test]
    fn keys_are_hashed_and_looked_up_as_by_two_calls(
        lines in vec(any::<[[u64; 8]; 2]>().prop_map(dense), 2..40),
        integers in vec(any::<u64>(), 0..100),
        texts in vec(".{0,40}", 0..40),
        seed in any::<u64>(),
    ) {
        for columns in Columns::ALL {
            let mut lines = lines.clone();
            let shape = cut(&mut lines, columns);
            let scheme = Native::columns(seed);
            let mut kernels = vec![("best", OneKeyKernel::new(shape, &scheme))];
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            {
                let mut kernel = OneKeyKernel::new(shape, &scheme);
                kernel.without_avx512();
                kernels.push(("without avx512", kernel));
            }
            let want = |key: &[u8]| (scalar().contains)(&lines, columns, scheme.hash(key));
            for (name, kernel) in kernels {
                for key in &integers {
                    let got = kernel.contains_key(&lines, &scheme, *key);
                    prop_assert_eq!(got, want(&key.to_le_bytes()), "{} {:?}", name, columns);
                }
                for key in &texts {
                    let got = kernel.contains_key(&lines, &scheme, key.as_str());
                    prop_assert_eq!(got, want(key.as_bytes()), "{} {:?}", name, columns);
                }
                let (mut got, mut expected) = (lines.clone(), lines.clone());
                for key in &integers {
                    let new = (scalar().insert)(&mut expected, columns, scheme.hash(*key));
                    prop_assert_eq!(kernel.insert_key(&mut got, &scheme, *key), new);
                }
                for key in &texts {
                    let new = (scalar().insert)(&mut expected, columns, scheme.hash(key.as_str()));
                    prop_assert_eq!(kernel.insert_key(&mut got, &scheme, key.as_str()), new);
                }
                prop_assert!(got == expected, "{} {:?}", name, columns);
            }
        }
    }

    #[test]
    fn the_definition_is_that_of_the_format(hashes in vec(any::<u64>().prop_map(Hash), 1..50)) {
        for columns in Columns::ALL {
            let mut lines = vec![[0; 64]; 37];
            let shape = cut(&mut lines, columns);
            let mut want = Vec::new();
            for hash in &hashes {
                let bits = bits_of(columns, *hash, shape.lines);
                let new = bits.iter().any(|bit| !is_set(&lines, *bit));
                prop_assert_eq!(!new, (scalar().contains)(&lines, columns, *hash));
                prop_assert_eq!(new, (scalar().insert)(&mut lines, columns, *hash));
                want.extend(bits);
            }
            let all = (0..shape.bits()).filter(|bit| is_set(&lines, *bit));
            want.sort_unstable();
            want.dedup();
            prop_assert_eq!(all.collect::<Vec<_>>(), want);
        }
    }
}

/// Why lines are odd: the fraction of a product with a power of two has lost that many bits, and columns
/// that are left with the same bits for every key of a line fill as one.
#[test]
fn an_even_number_of_lines_would_exceed_the_rate() {
    let rate = |lines: usize| {
        let mut filter = vec![[0u8; 64]; lines];
        let hash = |i: u64| Native::columns(0).hash(i);
        let keys = (lines * 512 / 10) as u64; // 1%
        let columns = Columns::OneLine;
        (0..keys).for_each(|key| _ = columns::insert(&mut filter, columns, hash(key)));
        let absent = 1 << 40..(1 << 40) + 400_000u64;
        absent.filter(|key| columns::contains(&filter, columns, hash(*key))).count() as f64 / 4e5
    };
    let (even, odd) = (rate(1 << 18), rate((1 << 18) - 1));
    assert!(odd < 0.0115, "{odd}");
    assert!(even > 1.5 * odd, "{even} against {odd}: why are lines odd?");
}
