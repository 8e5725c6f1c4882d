//! Any bytes at all, as what tells of the shards of a filter on a cluster.
//!
//! Nothing may panic, hang or ask for memory the bytes do not pay for; what is let in is the same
//! when it is written again. Checksums are mended first: a forger would do that too.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mayhap_redis::Descriptor;

const HEAD_BYTES: usize = 42;

fuzz_target!(|bytes: &[u8]| {
    judge(bytes);
    let mut ours = [&b"\x89MHDUMP\n"[..], bytes].concat();
    mend(&mut ours);
    judge(&ours);
});

fn judge(bytes: &[u8]) {
    if let Ok(about) = Descriptor::decode(bytes) {
        assert_eq!(Descriptor::decode(&about.encode()).as_ref(), Ok(&about));
    }
}

/// The sums of the head, and of the header and the footer of the file behind it.
fn mend(bytes: &mut [u8]) {
    let Some((head, file)) = bytes.split_at_mut_checked(HEAD_BYTES) else { return };
    head[30..38].copy_from_slice(&(file.len() as u64).to_le_bytes());
    let (front, sum) = head.split_at_mut(HEAD_BYTES - 4);
    sum.copy_from_slice(&crc32c::crc32c(front).to_le_bytes());
    // A header, one checksum for it, a footer.
    let Some(header) = file.len().checked_sub(28).filter(|header| *header >= 80) else { return };
    let (front, rest) = file.split_at_mut(header - 4);
    let sum = crc32c::crc32c(front).to_le_bytes();
    rest[..4].copy_from_slice(&sum);
    let table = crc32c::crc32c(&file[..header]).to_le_bytes();
    let length = (file.len() as u64).to_le_bytes();
    let footer = &mut file[header..];
    footer[..4].copy_from_slice(&table);
    footer[4..12].copy_from_slice(&length);
    footer[12..16].copy_from_slice(&sum);
    footer[16..20].copy_from_slice(&crc32c::crc32c(&table).to_le_bytes());
    let own = crc32c::crc32c(&footer[4..20]).to_le_bytes();
    footer[20..24].copy_from_slice(&own);
    footer[24..].copy_from_slice(b"YAM\x89");
}
