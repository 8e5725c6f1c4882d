//! No input of 4 KiB allocates more than 16 MiB, whatever its headers claim.

use mayhap::format::Metadata;
use mayhap_foreign::parquet::{self, File};
use mayhap_foreign::redisbloom::{Chain, Scaling, dump};
use mayhap_foreign::{Bytes, Format, KeyType, Options, detect, open, rocksdb, valkey_bloom, wrap};
use peak_alloc::PeakAlloc;
use std::io::Write;

#[global_allocator]
static PEAK: PeakAlloc = PeakAlloc;

/// The most memory that was in use at once while `work` ran, in bytes.
fn peak(work: impl FnOnce()) -> usize {
    PEAK.reset_peak_usage();
    let before = PEAK.current_usage();
    work();
    PEAK.peak_usage().saturating_sub(before)
}

const MOST: usize = 16 << 20;

fn read_as_all(bytes: &[u8]) {
    _ = rocksdb::Filter::decode(bytes);
    _ = rocksdb::filter_in_sst(bytes);
    _ = Chain::decode(bytes);
    _ = Chain::load_header(bytes, 8 << 20);
    _ = dump::decode(bytes);
    _ = valkey_bloom::Chain::decode(bytes);
    _ = parquet::decode(bytes);
    _ = File::read(bytes);
    // And by name, as files are opened; written and kept, too.
    for format in Format::ALL {
        let (file, options) = (Bytes::new(bytes.to_vec()), Options::new().with_probes(3));
        if let Ok(mut filter) = open(format, &file, &options) {
            _ = filter.summary();
            _ = filter.insert_batch(&[b"ada"], &mut Vec::new());
            _ = wrap::write(filter.as_ref(), KeyType::Bytes, &Metadata::new(), &mut Vec::new());
        }
    }
    _ = detect(bytes);
}

/// One test: the peak is the whole program's.
#[test]
fn four_kilobytes_cost_sixteen_megabytes_at_most() {
    // The measure itself: a megabyte is seen as one.
    let seen = peak(|| drop(std::hint::black_box(vec![1u8; 1 << 20])));
    assert!((1 << 20..1 << 21).contains(&seen), "{seen}");

    for (name, bytes) in promises() {
        assert!(bytes.len() <= 4096, "{name}: {}", bytes.len());
        let cost = peak(|| read_as_all(&bytes));
        assert!(cost <= MOST, "{name}: {cost} bytes");
    }
}

/// Bytes that claim large sizes, and some that have them.
fn promises() -> Vec<(&'static str, Vec<u8>)> {
    let mut all = vec![("zeros", vec![0; 4096]), ("ones", vec![0xff; 4096])];
    // A chain of 100 GB, as header and with a few bytes of its bits.
    let mut header = Chain::reserve(1000, 0.01, Scaling::By(2)).unwrap().header();
    for link in &mut header.links {
        (link.bytes, link.bits) = (100 << 30, 800 << 30);
    }
    all.push(("header of 100 GB", header.encode()));
    header.links = vec![header.links[0]; 76];
    all.push(("header of 7 TB", header.encode()));
    // As many links as 4 KiB hold.
    let small = Chain::reserve(1, 0.9, Scaling::By(2)).unwrap().header().links[0];
    header.links = vec![small; 60];
    let mut links = header.encode();
    links.resize(links.len() + 8 * 60, 0);
    all.push(("many links", links));
    // Zeros compress best: the most that a payload can unfold to.
    let large = Chain::reserve(280_000, 0.5, Scaling::Fixed).unwrap();
    let payload = dump::encode(&large, dump::Options::default());
    assert!(payload.len() > 500 && dump::decode(&payload).is_ok());
    all.push(("zeros compressed", payload));
    // A compressed string that claims a gigabyte.
    let mut value = dump::encode(&large, dump::Options::default());
    value.truncate(value.len() - 10);
    let at = value.windows(2).position(|pair| pair == [5, 0xc3]).unwrap();
    value.splice(at + 4..at + 4, [0x80, 0x40, 0, 0, 0]);
    value.extend(dump::footer(&value, 8));
    all.push(("a gigabyte claimed", value));
    // Lists of lists and of structs, where each byte is an element.
    let mut lists = b"PAR1".to_vec();
    lists.extend([0x49, 0xfc, 0xff, 0x1f]);
    lists.extend([0x19, 0xfc, 0xff, 0x1f]);
    lists.resize(4080, 0);
    lists.extend(4000u32.to_le_bytes());
    lists.extend(b"PAR1");
    all.push(("lists of structs", lists));
    // Guava's seven bytes that cost 17 GB elsewhere, and their like.
    all.push(("longs", vec![1, 5, 0x7f, 0xff, 0xff, 0xff, 0]));
    all.push(("words", vec![0, 0, 0, 1, 0, 0, 0, 5, 0x7f, 0xff, 0xff, 0xff]));
    let fields = |fields: &[u64]| fields.iter().flat_map(|f| f.to_be_bytes()).collect::<Vec<u8>>();
    all.push(("a bitset", fields(&[1 << 50, 3, 1 << 50])));
    all.push(("a bitset past 2^64", fields(&[u64::MAX, 3, u64::MAX, 0])));
    let text = |length: &str| format!(r#"{{"m":{},"k":3,"b":"{length}AAAAAAAA"}}"#, 1u64 << 50);
    all.push(("a bitset in JSON", text("AAQAAAAAAAA").into_bytes()));
    all.push(("buckets in JSON", format!("[{}0]", "0,".repeat(2000)).into_bytes()));
    all.push(("an ORC length", vec![8, 3, 0x1a, 0xff, 0xff, 0xff, 0xff, 0x7f]));
    // A filter of a terabyte and of four megabytes, as zeros that were gzipped.
    let dcso = |m: u64, zeros: usize| {
        let mut head: Vec<u8> = [1, 10, 0.1f64.to_bits(), 3, m, 0].map(u64::to_le_bytes).concat();
        head.resize(head.len() + zeros, 0);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gzip.write_all(&head).unwrap();
        gzip.finish().unwrap()
    };
    all.push(("gzip of a terabyte", dcso(8 << 40, 3 << 20)));
    all.push(("gzip of its megabytes", dcso(24 << 20, 3 << 20)));
    all.push(("gzip of much appended", dcso(64, 3 << 20)));
    all
}
