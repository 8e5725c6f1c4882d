//! Little-endian words from anywhere in a slice, three at a time.

/// The words of `BYTES` bytes (1, 2, 4 or 8) that begin at three places; `None` where one does not
/// lie inside. One comparison a word, where slicing takes three.
#[inline(always)]
pub(crate) fn load_three<const BYTES: usize>(bytes: &[u8], at: [usize; 3]) -> Option<[u64; 3]> {
    const { assert!(matches!(BYTES, 1 | 2 | 4 | 8)) };
    // Words begin before this.
    let limit = bytes.len().saturating_sub(BYTES - 1);
    if at[0] >= limit || at[1] >= limit || at[2] >= limit {
        return None;
    }
    Some(at.map(|at| {
        let mut word = [0; 8];
        // SAFETY: at < len - (BYTES - 1), so the word ends inside; an array of bytes needs no
        // alignment.
        let found: [u8; BYTES] = unsafe { bytes.as_ptr().add(at).cast::<[u8; BYTES]>().read() };
        word[..BYTES].copy_from_slice(&found);
        u64::from_le_bytes(word)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_inside_or_not_at_all() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(load_three::<1>(&bytes, [0, 8, 4]), Some([1, 9, 5]));
        assert_eq!(load_three::<2>(&bytes, [0, 7, 4]), Some([0x0201, 0x0908, 0x0605]));
        assert_eq!(load_three::<8>(&bytes, [1; 3]), Some([0x0908_0706_0504_0302; 3]));
        for outside in [8, 9, usize::MAX] {
            assert_eq!(load_three::<2>(&bytes, [outside, 0, 0]), None);
            assert_eq!(load_three::<2>(&bytes, [0, outside, 0]), None);
            assert_eq!(load_three::<2>(&bytes, [0, 0, outside]), None);
        }
        assert_eq!(load_three::<8>(&bytes[..7], [0; 3]), None);
        assert_eq!(load_three::<1>(&[], [0; 3]), None);
    }
}
