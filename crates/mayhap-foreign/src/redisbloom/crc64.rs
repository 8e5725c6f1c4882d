//! CRC-64 as Redis ends its dumps: the polynomial of David T. Jones, reflected, starting at 0.

const POLYNOMIAL: u64 = 0x95ac_9329_ac4b_c9b5;

/// Eight bytes at a time: table `i` moves a byte over `i` further zero bytes.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut i = 1;
    while i < 8 {
        let mut byte = 0;
        while byte < 256 {
            let crc = tables[i - 1][byte];
            tables[i][byte] = crc >> 8 ^ tables[0][(crc & 0xff) as usize];
            byte += 1;
        }
        i += 1;
    }
    tables
}

/// The checksum of what `crc` is the checksum of, and these bytes behind it.
pub fn crc64(mut crc: u64, bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let mixed = (crc ^ u64::from_le_bytes(*word)).to_le_bytes();
        crc = (0..8).fold(0, |crc, i| crc ^ TABLES[7 - i][mixed[i] as usize]);
    }
    rest.iter().fold(crc, |crc, byte| crc >> 8 ^ TABLES[0][(crc as u8 ^ byte) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(crc64(0, b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        assert_eq!(crc64(0, b""), 0);
        let text: Vec<u8> = (0..100).collect();
        for at in 0..100 {
            let (front, back) = text.split_at(at);
            assert_eq!(crc64(crc64(0, front), back), crc64(0, &text), "split at {at}");
        }
    }
}
