//! The filter of the Go package, with its algorithm: both hashes one after the other, all
//! positions, and only then the bits. One multiplication stands for what the package writes as
//! shifts.

/// Probes per id.
const PROBES: usize = 10;
/// For a thousand ids at one in a thousand.
const BITS: usize = 14_400;

pub struct Filter(Vec<u32>);

impl Filter {
    pub fn new() -> Filter {
        Filter(vec![0; BITS / 32])
    }

    pub fn from_bytes(bytes: &[u8]) -> Filter {
        Filter(bytes.as_chunks::<4>().0.iter().map(|bucket| u32::from_be_bytes(*bucket)).collect())
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|bucket| bucket.to_be_bytes()).collect()
    }

    fn places(&self, id: &[u8]) -> [u32; PROBES] {
        let bits = self.0.len() as u32 * 32;
        let (a, b) = (hash(id, 0), hash(id, 1_576_284_489));
        let mut x = a % bits;
        std::array::from_fn(|_| {
            let place = x;
            x = x.wrapping_add(b) % bits;
            place
        })
    }

    pub fn contains(&self, id: &[u8]) -> bool {
        self.places(id).iter().all(|at| self.0[*at as usize / 32] >> (at % 32) & 1 == 1)
    }

    pub fn insert(&mut self, id: &[u8]) {
        for at in self.places(id) {
            self.0[at as usize / 32] |= 1 << (at % 32);
        }
    }
}

/// FNV-1a with a seed, and a final mix.
fn hash(id: &[u8], seed: u32) -> u32 {
    let start = 2_166_136_261 ^ seed;
    let mut a =
        id.iter().fold(start, |a: u32, byte| (a ^ u32::from(*byte)).wrapping_mul(16_777_619));
    a = a.wrapping_add(a << 13);
    a ^= a >> 7;
    a = a.wrapping_add(a << 3);
    a ^= a >> 17;
    a.wrapping_add(a << 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayhap_foreign::kevburnsjr;

    #[test]
    fn it_is_the_package_s_filter_to_the_bit() {
        let (mut ours, mut theirs) = (Filter::new(), kevburnsjr::create(1000, 0.001).unwrap());
        for n in 0..700 {
            let id = format!("key-{n}");
            assert_eq!(ours.contains(id.as_bytes()), theirs.contains(&id));
            ours.insert(id.as_bytes());
            theirs.insert(&id);
        }
        assert_eq!(ours.to_bytes(), theirs.as_bytes());
        assert!(Filter::from_bytes(theirs.as_bytes()).contains(b"key-3"));
    }
}
