//! Sorting of uniformly distributed numbers: most of the order follows from their highest bits.

use crate::hash::Hash;

/// Hashes in a bin of the first pass, about: few enough to stay in the first-level cache.
const PER_BIN: usize = 256;

/// Sort the hashes of a shard into `sorted`, equal ones once. `spread` maps them onto all of 64
/// bits without changing their order.
pub(super) fn sort_distinct(hashes: &[Hash], spread: impl Fn(Hash) -> u64, sorted: &mut Vec<Hash>) {
    sorted.clear();
    if hashes.len() < 2 * PER_BIN {
        sorted.extend_from_slice(hashes);
        sorted.sort_unstable();
        sorted.dedup();
        return;
    }
    let bits = (hashes.len() / PER_BIN).ilog2().min(12);
    let bin = |hash: Hash| (spread(hash) >> (64 - bits)) as usize;
    let mut ends = vec![0; 1 << bits];
    for hash in hashes {
        ends[bin(*hash)] += 1;
    }
    let mut end = 0;
    for count in &mut ends {
        end += std::mem::replace(count, end);
    }
    sorted.resize(hashes.len(), Hash::default());
    for hash in hashes {
        let next = &mut ends[bin(*hash)];
        sorted[*next] = *hash;
        *next += 1;
    }
    let mut rest = &mut sorted[..];
    let mut start = 0;
    let mut scratch = Vec::with_capacity(2 * PER_BIN);
    for end in ends {
        let (bin, others) = rest.split_at_mut(end - start);
        sort_bin(bin, |hash| (spread(hash) << bits >> (64 - SUB_BITS)) as usize, &mut scratch);
        (rest, start) = (others, end);
    }
    sorted.dedup();
}

const SUB_BITS: u32 = 7;

/// Sort one bin: scattered once more by its next bits, then nearly sorted already.
fn sort_bin(bin: &mut [Hash], sub: impl Fn(Hash) -> usize, scratch: &mut Vec<Hash>) {
    // Contrived hashes may all be in one bin.
    if bin.len() > 8 * PER_BIN {
        return bin.sort_unstable();
    }
    let mut next = [0u16; 1 << SUB_BITS];
    for hash in &*bin {
        next[sub(*hash)] += 1;
    }
    let mut end = 0;
    for count in &mut next {
        end += std::mem::replace(count, end);
    }
    scratch.clear();
    scratch.extend_from_slice(bin);
    for hash in &*scratch {
        let next = &mut next[sub(*hash)];
        bin[usize::from(*next)] = *hash;
        *next += 1;
    }
    for sorted in 1..bin.len() {
        let hash = bin[sorted];
        let mut at = sorted;
        while at > 0 && bin[at - 1] > hash {
            bin[at] = bin[at - 1];
            at -= 1;
        }
        bin[at] = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_whatever_comes() {
        let uniform: Vec<Hash> =
            (0..50_000u64).map(|n| Hash(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let close: Vec<Hash> = (0..50_000u64).rev().map(Hash).collect();
        let twice: Vec<Hash> = uniform.iter().chain(&uniform).copied().collect();
        let same = vec![Hash(7); 10_000];
        for hashes in [uniform, close, twice, same, vec![], vec![Hash(1)]] {
            let mut want = hashes.clone();
            want.sort_unstable();
            want.dedup();
            let mut got = Vec::new();
            sort_distinct(&hashes, |hash| hash.0, &mut got);
            assert_eq!(got, want);
        }
    }
}
