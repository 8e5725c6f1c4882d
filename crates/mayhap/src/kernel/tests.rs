//! Every kernel says what `scalar` says, bit for bit.

mod callers;
mod columns;

use super::*;
use crate::scheme::Native;
use proptest::collection::vec;
use proptest::prelude::*;

/// The kernels of this machine, by name.
type Contains = fn(&[Line], BlockedShape, &[Hash], &mut [bool]);
type Insert = fn(&mut [Line], BlockedShape, &[Hash], &mut Vec<bool>);

fn kernels() -> Vec<(&'static str, Contains, Insert)> {
    #[allow(unused_mut, reason = "only x86-64 has kernels that must be detected")]
    let mut kernels: Vec<(&'static str, Contains, Insert)> = vec![
        ("dispatched", contains_batch, |lines, shape, hashes, new| {
            insert_batch(lines, shape, hashes, |_, is_new| new.push(is_new));
        }),
        (
            "one at a time",
            |lines, shape, hashes, answers| {
                for (hash, answer) in hashes.iter().zip(answers) {
                    *answer = OneKeyKernel::new(shape, &Native::default()).contains(lines, *hash);
                }
            },
            |lines, shape, hashes, new| {
                let single = OneKeyKernel::new(shape, &Native::default());
                new.extend(hashes.iter().map(|hash| single.insert(lines, *hash)));
            },
        ),
        #[cfg(all(target_arch = "aarch64", target_endian = "little", not(miri)))]
        ("neon", neon::contains_batch, |lines, shape, hashes, new| {
            neon::insert_batch(lines, shape, hashes, |_, is_new| new.push(is_new));
        }),
    ];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx2() {
        kernels.push((
            "avx2",
            // SAFETY: AVX2 and BMI2 were detected above.
            |lines, shape, hashes, answers| unsafe {
                avx2::contains_batch(lines, shape, hashes, answers);
            },
            // SAFETY: AVX2 and BMI2 were detected above.
            |lines, shape, hashes, new| unsafe {
                avx2::insert_batch(lines, shape, hashes, |_, is_new| new.push(is_new));
            },
        ));
    }
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if has_avx512() {
        kernels.push((
            "one at a time as without avx512",
            |lines, shape, hashes, answers| {
                let single = without_avx512(shape);
                for (hash, answer) in hashes.iter().zip(answers) {
                    *answer = single.contains(lines, *hash);
                }
            },
            |lines, shape, hashes, new| {
                let single = without_avx512(shape);
                new.extend(hashes.iter().map(|hash| single.insert(lines, *hash)));
            },
        ));
        kernels.push((
            "avx512",
            // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected above.
            |lines, shape, hashes, answers| unsafe {
                avx512::contains_batch(lines, shape, hashes, answers);
            },
            // SAFETY: AVX-512 F, DQ and VL and BMI2 were detected above.
            |lines, shape, hashes, new| unsafe {
                avx512::insert_batch(lines, shape, hashes, |_, is_new| new.push(is_new));
            },
        ));
    }
    kernels
}

/// As a machine without AVX-512 would choose it.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn without_avx512(shape: BlockedShape) -> OneKeyKernel {
    let mut kernel = OneKeyKernel::new(shape, &Native::default());
    kernel.without_avx512();
    kernel
}

/// Three bits in four set, or there would be no hits to compare.
fn dense(words: [[u64; 8]; 2]) -> Line {
    let mut line = [0; 64];
    for (i, bytes) in line.as_chunks_mut().0.iter_mut().enumerate() {
        *bytes = (words[0][i] | words[1][i]).to_le_bytes();
    }
    line
}

proptest! {
    #[test]
    fn every_kernel_agrees_with_scalar(
        lines in vec(any::<[[u64; 8]; 2]>().prop_map(dense), 1..40),
        hashes in vec(any::<u64>().prop_map(Hash), 0..400),
        lines_per_key in 1u32..=4,
        probes_per_line in 1u32..=16,
    ) {
        let shape = BlockedShape::new(lines.len() as u64, lines_per_key, probes_per_line);
        let mut want = vec![false; hashes.len()];
        scalar::contains_batch(&lines, shape, &hashes, &mut want);
        let (mut want_lines, mut want_new) = (lines.clone(), Vec::new());
        scalar::insert_batch(&mut want_lines, shape, &hashes, |_, new| want_new.push(new));
        for (name, contains, insert) in kernels() {
            let mut got = vec![true; hashes.len()];
            contains(&lines, shape, &hashes, &mut got);
            prop_assert_eq!(&want, &got, "{} contains", name);
            let (mut got_lines, mut got_new) = (lines.clone(), Vec::new());
            insert(&mut got_lines, shape, &hashes, &mut got_new);
            prop_assert_eq!(&want_lines, &got_lines, "{} insert", name);
            prop_assert_eq!(&want_new, &got_new, "{} new", name);
        }
    }
}
