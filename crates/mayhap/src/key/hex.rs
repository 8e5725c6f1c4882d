//! Hexadecimal digits → bytes: keys, secrets and ids as people type them.

/// Decode pairs of hexadecimal digits into as many bytes. `false` if there are more or fewer digits,
/// or something else; `bytes` then holds what came before it.
///
/// ```
/// use mayhap::key::decode_hex;
/// let mut bytes = [0; 2];
/// assert!(decode_hex(b"00fF", &mut bytes) && bytes == [0, 255]);
/// assert!(!decode_hex(b"00f", &mut bytes) && !decode_hex(b"00fg", &mut bytes));
/// ```
pub fn decode_hex(digits: &[u8], bytes: &mut [u8]) -> bool {
    let (pairs, odd) = digits.as_chunks::<2>();
    let digit = |digit: u8| char::from(digit).to_digit(16);
    for ([high, low], byte) in pairs.iter().zip(&mut *bytes) {
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return false };
        *byte = (high << 4 | low) as u8;
    }
    odd.is_empty() && pairs.len() == bytes.len()
}
