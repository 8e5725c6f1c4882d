mod damage;
mod pieces;

use super::*;
#[cfg(feature = "bitmap")]
use crate::Bitmap;
use crate::cascade::CascadeOptions;
use crate::scheme::Scheme;
use crate::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Kind, Quotient, Ribbon, Scalable, Secret,
    Sharded, Spec, Window, Windowed,
};
use proptest::prelude::*;
use std::sync::Arc;

const SECRET: Secret = Secret::from_bytes(*b"an open secret..");

/// A small filter of every kind, with keys 0 to 99 in it; the secret where it is keyed.
fn samples() -> Vec<(AnyFilter, Option<Secret>)> {
    let spec = Spec::new(100, 0.01).unwrap().with_seed(7);
    let keyed = spec.with_secret(SECRET);
    let few = Spec::new(30, 0.01).unwrap(); // so that it grows
    let mut filters: Vec<(AnyFilter, _)> = vec![
        (Classic::new(spec).unwrap().into(), None),
        (Classic::new(keyed).unwrap().into(), Some(SECRET)),
        (Blocked::new(spec).unwrap().into(), None),
        (Blocked::new(keyed).unwrap().into(), Some(SECRET)),
        (Counting::new(spec).unwrap().into(), None),
        (Scalable::new(few).unwrap().into(), None),
        (Windowed::new(spec, Window::last_keys(2)).unwrap().into(), None),
        (Windowed::new(keyed, Window::span(3600, 1)).unwrap().into(), Some(SECRET)),
        (Scalable::new(few.with_secret(SECRET)).unwrap().into(), Some(SECRET)),
        (Sharded::new(spec, 3).unwrap().into(), None),
        (Sharded::new(keyed, 2).unwrap().into(), Some(SECRET)),
        #[cfg(feature = "bitmap")]
        (Bitmap::new().into(), None),
    ];
    for (filter, _) in &mut filters {
        (0..100u64).for_each(|key| _ = filter.insert_at(key, 10_000).unwrap());
    }
    // A burst, so that a generation has several layers.
    let mut burst = Windowed::new(spec, Window::span(3600, 3)).unwrap();
    (0..100u64).for_each(|key| _ = burst.insert(key, 10_000));
    assert_eq!(burst.most_layers(), 3);
    filters.push((burst.into(), None));
    filters.push((Fuse::with_spec(spec, 0..100u64).unwrap().into(), None));
    filters.push((Ribbon::with_spec(spec, 0..100u64).unwrap().into(), None));
    filters.push((Quotient::from_keys(spec, 0..100u64).unwrap().into(), None));
    // Grown, keyed, with copies in a side table; and one that must not grow.
    let mut grown = Quotient::with_growth(few.with_secret(SECRET), 2).unwrap();
    (0..100u64).chain([7; 9]).chain([8; 5]).for_each(|key| _ = grown.insert(key));
    assert_eq!((grown.side_entries(), grown.keys()), (2, 114));
    filters.push((grown.into(), Some(SECRET)));
    let mut fixed = Quotient::new(spec).unwrap();
    fixed.set_auto_grow(false);
    (0..100u64).for_each(|key| _ = fixed.insert(key));
    filters.push((fixed.into(), None));
    // The first layer of either kind or none, a stash or none.
    let others = || 100..2000u64;
    let mut stashed = Cascade::from_keys(spec.fpr(), 0..99u64, others()).unwrap();
    stashed.stash_add(99u64);
    (200..203u64).for_each(|key| _ = stashed.stash_remove(key));
    filters.push((stashed.into(), None));
    let loose = Spec::new(100, 0.9).unwrap();
    filters.push((Cascade::from_keys(loose.fpr(), 0..100u64, 100..110u64).unwrap().into(), None));
    let hashes = |keys: std::ops::Range<u64>| keys.map(|key| keyed.scheme().hash(key)).collect();
    let options = CascadeOptions::default().with_blocked();
    let lines = Cascade::from_hashes(keyed, options, hashes(0..100), hashes(others())).unwrap();
    filters.push((lines.into(), Some(SECRET)));
    filters
}

#[test]
fn there_is_a_sample_of_every_kind() {
    let kinds: Vec<Kind> = samples().iter().map(|(filter, _)| filter.kind()).collect();
    let is_there = |kind: &&Kind| cfg!(feature = "bitmap") || **kind != Kind::Bitmap;
    assert!(Kind::ALL.iter().filter(is_there).all(|kind| kinds.contains(kind)), "{kinds:?}");
}

fn metadata() -> Metadata {
    let metadata = Metadata::new().with_created(1_760_000_000).with_normalizer("url").unwrap();
    metadata.with("source", "crawl 7").unwrap().with("ümlaut", "").unwrap()
}

/// Make every checksum right again, and the footer's length.
fn reseal(file: &mut [u8]) {
    let Some(header) = file.get(12..16).map(|b| u32::from_le_bytes(b.try_into().unwrap())) else {
        return;
    };
    let header = header as usize;
    if !(80..=file.len().saturating_sub(FOOTER)).contains(&header) {
        return;
    }
    let sum = crc32c::crc32c(&file[..header - 4]).to_le_bytes();
    file[header - 4..header].copy_from_slice(&sum);
    // The table's entries are as many as fit behind what they cover.
    let blocks = (file.len() - FOOTER).div_ceil(BLOCK as usize + 4);
    let table_at = file.len() - FOOTER - 4 * blocks;
    let (covered, rest) = file.split_at_mut(table_at);
    let (table, footer) = rest.split_at_mut(4 * blocks);
    for (block, entry) in covered.chunks(BLOCK as usize).zip(table.chunks_mut(4)) {
        entry.copy_from_slice(&crc32c::crc32c(block).to_le_bytes());
    }
    footer[..8].copy_from_slice(&((table_at + 4 * blocks + FOOTER) as u64).to_le_bytes());
    footer[8..12].copy_from_slice(&sum);
    footer[12..16].copy_from_slice(&crc32c::crc32c(table).to_le_bytes());
    let own = crc32c::crc32c(&footer[..16]).to_le_bytes();
    footer[16..20].copy_from_slice(&own);
    footer[20..].copy_from_slice(&END_MAGIC);
}

/// The most bytes that a filter of a few kilobytes may grow to when a few keys are added.
const FEW: u64 = 64 << 20;

/// Whatever the bytes: no panic, what is accepted is written again as it was, and it can be used
/// like any other filter, in little memory.
fn survives(file: &[u8], secret: Option<Secret>) {
    let verified = verify(file);
    if let Ok(filter) = AnyFilter::open(file, secret) {
        use_it(&filter);
        // Merged without having been read: as good as nothing, or refused.
        if let AnyFilter::Quotient(opened) = &filter
            && opened.shape().bits() < FEW
        {
            let mut own = Quotient::with_shape(opened.spec(), opened.shape()).unwrap();
            let _ = (own.union(opened), own.intersect(opened));
        }
    }
    let decoded = AnyFilter::decode(file, secret);
    if let Ok(mut filter) = decoded {
        let metadata = verified.expect("what decodes verifies").metadata;
        assert!(filter.encode(&metadata) == file, "another spelling of {filter}");
        use_it(&filter);
        let mut copy = filter.clone();
        let _ = (filter.insert(1u64), filter.insert_at(2u64, 5), filter.insert_at(3u64, u64::MAX));
        use_it(&filter);
        let hashes: Vec<_> = (1000..1060u64).flat_map(|key| filter.hash(key)).collect();
        let _ = (filter.insert_batch_at(&hashes, 10_000), filter.remove(1u64));
        let _ = (copy.union(&filter), copy.intersect(&filter), filter.union(&copy));
        if let Ok(opened) = AnyFilter::open(file, secret) {
            let _ = (copy.union(&opened), copy.intersect(&opened));
        }
        use_it(&copy);
        let bytes = filter.bytes().max(copy.bytes());
        assert!(bytes < FEW, "{filter}: {bytes} bytes after a file of {}", file.len());
        let _ = filter.clear();
        use_it(&filter);
    }
}

fn use_it<B: AsRef<[u8]>>(filter: &AnyFilter<B>) {
    let hashes: Vec<_> = (0..20u64).flat_map(|key| filter.hash(key)).collect();
    let _ = filter.contains_batch(&hashes, &mut Vec::new());
    let _ = (filter.contains_at(1u64, 20_000), filter.contains_at(1u64, u64::MAX));
    let _ = (filter.contains("ada"), filter.contains(""), filter.keys(), filter.bytes());
    let _ = (filter.fill(), filter.estimate(), filter.fpr_now(), filter.to_string());
}

#[test]
fn what_is_written_is_read_and_written_again_the_same() {
    for (filter, secret) in samples() {
        let file = filter.encode(&metadata());
        let mut streamed = Vec::new();
        filter.write_to(&mut streamed, &metadata()).unwrap();
        assert_eq!(streamed, file);

        let header = verify(&file).unwrap();
        assert_eq!(header, read_header(&file[..header.header_bytes as usize]).unwrap());
        assert_eq!((header.kind, header.keys), (filter.kind(), filter.keys()));
        assert_eq!(header.metadata, metadata());
        assert_eq!(header.is_keyed(), secret.is_some());

        let opened = AnyFilter::open(&file, secret).unwrap();
        let decoded = AnyFilter::decode(&file, secret).unwrap();
        for key in 0..3000u64 {
            let answer = filter.contains(key);
            assert_eq!([opened.contains(key), decoded.contains(key)], [answer; 2]);
            assert!(answer || key >= 100);
        }
        assert_eq!([opened.to_string(), decoded.to_string()], [0; 2].map(|_| filter.to_string()));
        assert!(opened.encode(&metadata()) == file && decoded.encode(&metadata()) == file);
    }
}

/// As a file and as a stream that gives what it has in drops, with more behind it.
#[test]
fn what_is_written_is_read_from_a_stream_and_not_a_byte_more() {
    struct Drops<'a>(&'a [u8], usize);
    impl std::io::Read for Drops<'_> {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            let count = to.len().min(self.0.len()).min(self.1);
            to[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    for (filter, secret) in samples() {
        let mut file = filter.encode(&metadata());
        let length = file.len();
        file.extend(b"and more");
        for drop in [1000, usize::MAX] {
            let mut source = Drops(&file, drop);
            let read = AnyFilter::read_from(&mut source, secret).unwrap();
            assert_eq!(read, filter);
            assert_eq!(source.0, b"and more");
        }
        for at in [0, 9, 20, 100, length / 2, length - 30, length - 20, length - 1] {
            file[at] ^= 1;
            let error = AnyFilter::read_from(file.as_slice(), secret);
            assert!(error.is_err(), "{filter:?}: byte {at} of {length}");
            file[at] ^= 1;
        }
        for short in [0, 10, 100, length / 2, length - 1] {
            let error = AnyFilter::read_from(&file[..short], secret).unwrap_err();
            assert!(error.to_string().starts_with("cut off"), "{error}");
            assert!(std::error::Error::source(&error).is_some());
        }
    }
    let file = samples()[0].0.encode(&metadata());
    let error = Blocked::read_from(file.as_slice(), None).unwrap_err().to_string();
    assert!(error.starts_with("a classic filter, not a blocked one"), "{error}");
}

#[test]
fn filters_open_over_whatever_holds_their_bytes() {
    let mut seen = Blocked::with_rate(100, 0.01).unwrap();
    seen.insert("ada");
    let file = seen.encode(&Metadata::new());
    let fixed: &'static [u8] = Box::leak(file.clone().into_boxed_slice());
    let embedded: Opened<&'static [u8]> = AnyFilter::open(fixed, None).unwrap();
    let array: [u8; 5] = *b"short"; // as `include_bytes!` gives them
    assert!(AnyFilter::open(&array, None).is_err());
    let shared: Arc<[u8]> = file.clone().into();
    let owner = Arc::new(file.clone());
    assert!(embedded.contains("ada"));
    assert!(Blocked::open(shared, None).unwrap().contains("ada"));
    assert!(Blocked::open(ArcBytes::from(owner), None).unwrap().contains("ada"));
    #[cfg(feature = "bytes")]
    assert!(Blocked::open(bytes::Bytes::from(file), None).unwrap() == seen);
}

#[test]
fn secrets_are_asked_for_and_checked() {
    let spec = Spec::new(100, 0.01).unwrap();
    let open = Blocked::new(spec).unwrap().encode(&Metadata::new());
    let keyed = Blocked::new(spec.with_secret(SECRET)).unwrap().encode(&Metadata::new());
    let wrong = Secret::from_bytes([9; 16]);
    let decode = |file: &[u8], secret| Blocked::decode(file, secret).map(|_| ());
    assert_eq!(decode(&keyed, None), Err(FormatError::SecretNeeded));
    assert_eq!(decode(&keyed, Some(wrong)), Err(FormatError::WrongSecret));
    assert_eq!(decode(&keyed, Some(SECRET)), Ok(()));
    assert_eq!(decode(&open, Some(SECRET)), Err(FormatError::NotKeyed));
    assert!(verify(&keyed).is_ok(), "verifying needs no secret");
    let secret = SECRET.to_bytes();
    assert!(!keyed.windows(16).any(|window| window == secret), "the secret is not in the file");
}

#[test]
fn errors_name_what_was_found() {
    let spec = Spec::new(100, 0.01).unwrap();
    let mut file = Blocked::new(spec).unwrap().encode(&Metadata::new());
    let error = Classic::open(&file, None).unwrap_err();
    assert_eq!(error, FormatError::WrongKind { got: Kind::Blocked, need: Kind::Classic });
    assert_eq!(
        error.to_string(),
        "a blocked filter, not a classic one: open it as what it is, or as any kind"
    );
    assert_eq!(
        verify(b"PK\x03\x04 a zip").unwrap_err().to_string(),
        "not a mayhap file: it starts with \"PK\\x03\\x04 a z\""
    );
    assert_eq!(verify(&[]), Err(FormatError::Truncated { need: 16, have: 0 }));

    for (at, value, want) in [
        (8, 3, FormatError::TooNew { version: 3, newest: 2 }),
        (16, 4, FormatError::UnknownFlags { got: 4 }),
        (10, 99, FormatError::UnknownKind { id: 99 }),
        (20, 9, FormatError::UnknownScheme { id: crate::scheme::SchemeId(9) }),
    ] {
        let was = std::mem::replace(&mut file[at], value);
        reseal(&mut file);
        assert_eq!(verify(&file), Err(want.clone()));
        assert_eq!(AnyFilter::open(&file, None).unwrap_err(), want);
        file[at] = was;
    }
}

#[test]
fn lines_that_no_rule_has_are_refused_by_name() {
    use crate::scheme::SchemeId;
    let opened = |scheme, params: [u64; 3], bytes: usize| {
        let layout = FileLayout {
            kind: Kind::Blocked,
            scheme,
            seed_or_key_check: 0,
            scheme_data: &[],
            capacity: 100,
            fpr: 0.01,
            keys: 0,
            params: vec![],
            arrays: vec![Array { params: params.to_vec(), bytes: vec![0; bytes].into() }],
        };
        let mut file = Vec::new();
        write(&mut file, &layout, &Metadata::new()).unwrap();
        assert_eq!(verify(&file).is_ok(), Blocked::decode(&file, None).is_ok());
        Blocked::decode(&file, None).map(|_| ()).map_err(|error| error.to_string())
    };
    let (first, second) = (SchemeId::XXH3, SchemeId::XXH3_V2);
    for shape in [[3, 1, 264], [3, 2, 260], [6, 2, 264], [4, 2, 5]] {
        assert_eq!(opened(second, shape, 64 * shape[0] as usize), Ok(()), "{shape:?}");
    }
    assert_eq!(opened(first, [4, 2, 5], 256), Ok(()));
    for (scheme, shape, bytes, said) in [
        (second, [4, 1, 264], 256, "lines is 4, it must be an odd number"),
        (second, [2, 2, 260], 128, "lines is 2, it must be an odd number"),
        (second, [4, 2, 264], 256, "lines is 4, it must be twice an odd number"),
        (second, [3, 2, 264], 192, "lines is 3, it must be twice an odd number"),
        (second, [3, 1, 264], 256, "lines is 3 in 256 bytes"),
        (second, [3, 1, 262], 192, "shape is 3 lines, 1 per key with 6 columns each"),
        (second, [3, 4, 260], 192, "shape is 3 lines, 4 per key with 4 columns each"),
        (second, [0, 1, 264], 0, "lines is 0, it must be an odd number"),
        (first, [3, 1, 264], 192, "shape is 3 lines, 1 a key, 264 probes"),
    ] {
        let error = opened(scheme, shape, bytes).unwrap_err();
        assert!(error.contains(said), "{shape:?}: {error}");
    }
}

#[test]
fn foreign_filters_live_in_our_file() {
    use crate::sizing::ClassicShape;
    let layout = FileLayout {
        kind: Kind::Classic,
        scheme: crate::scheme::SchemeId(300),
        seed_or_key_check: 5,
        scheme_data: b"strategy 2",
        capacity: 0,
        fpr: 0.0,
        keys: 12,
        params: vec![],
        arrays: vec![Array { params: vec![64, 3], bytes: vec![0xff; 8].into() }],
    };
    let mut file = Vec::new();
    write(&mut file, &layout, &Metadata::new()).unwrap();
    assert_eq!(verify(&file).unwrap().scheme_data, b"strategy 2");
    let error = FormatError::UnknownScheme { id: crate::scheme::SchemeId(300) };
    assert_eq!(AnyFilter::open(&file, None).unwrap_err(), error);
    let container = Container::open(file.as_slice()).unwrap();
    let shape = ClassicShape { bits: 64, probes: 3 };
    let theirs = crate::scheme::Native::seeded(container.header().seed_or_key_check); // stands in for theirs
    let filter = Classic::from_parts(theirs, shape, container.section(0).unwrap()).unwrap();
    assert!(filter.contains("anything"));
    assert!(container.section(1).is_none() && container.bytes(1).is_none());

    let with = |arrays: &[(u64, u64, usize)]| {
        let array = |(bits, probes, bytes): &(u64, u64, usize)| Array {
            params: vec![*bits, *probes, 7],
            bytes: vec![0; *bytes].into(),
        };
        let arrays = arrays.iter().map(array).collect();
        let mut file = Vec::new();
        write(&mut file, &FileLayout { arrays, ..layout.clone() }, &Metadata::new()).unwrap();
        verify(&file).is_ok()
    };
    assert!(with(&[(64, 3, 8), (800, 100, 100)])); // a chain, and more probes than ours have
    assert!(!with(&[]) && !with(&[(64, 0, 8)]) && !with(&[(0, 1, 0)]) && !with(&[(64, 3, 9)]));

    let refused = FileLayout { fpr: f64::NAN, ..layout.clone() };
    let error = write(Vec::new(), &refused, &Metadata::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    let refused = FileLayout { params: vec![0; 65], ..layout };
    assert!(write(Vec::new(), &refused, &Metadata::new()).is_err());
}

#[test]
fn odd_notes_are_kept_and_absurd_ones_refused() {
    let filter = Blocked::new(Spec::new(10, 0.1).unwrap()).unwrap();
    let odd = ["\0", "\u{1f980}", " ", "=", "\r\n", "ÿ"];
    let mut metadata = Metadata::new().with_created(u64::MAX);
    for name in odd {
        metadata = metadata.with(name, name.repeat(100)).unwrap();
    }
    metadata = metadata.with("empty", "").unwrap().with("long", "x".repeat(65_535)).unwrap();
    let file = filter.encode(&metadata);
    assert_eq!(verify(&file).unwrap().metadata, metadata);
    assert_eq!(
        read_header(&file[..4096]),
        Err(FormatError::Truncated { need: verify(&file).unwrap().header_bytes, have: 4096 })
    );

    assert!(matches!(metadata.clone().with("", "x"), Err(MetadataError::Name { got: 0 })));
    assert!(matches!(
        metadata.clone().with("x".repeat(256), ""),
        Err(MetadataError::Name { got: 256 })
    ));
    assert!(matches!(
        metadata.clone().with("x", "y".repeat(65_536)),
        Err(MetadataError::Value { .. })
    ));
    assert!(matches!(
        metadata.with_normalizer("x".repeat(256)),
        Err(MetadataError::Normalizer { .. })
    ));

    let many =
        (0..4096).try_fold(Metadata::new(), |metadata, i| metadata.with(format!("{i}"), "v"));
    let many = many.unwrap();
    assert!(matches!(many.clone().with("one more", ""), Err(MetadataError::Pairs { got: 4097 })));
    assert_eq!(verify(&filter.encode(&many)).unwrap().metadata, many);
    let full = (0..4)
        .try_fold(Metadata::new(), |metadata, i| metadata.with(format!("{i}"), "x".repeat(65_535)));
    assert!(matches!(full.unwrap().with("x", "yyyy"), Err(MetadataError::Bytes { .. })));
}

/// A writer that stops taking bytes, as a full disk does.
#[test]
fn a_full_disk_is_an_error() {
    let (filter, _) = &samples()[2];
    let file = filter.encode(&Metadata::new());
    for room in [0, 1, 100, 4096, file.len() - 1] {
        let mut disk = vec![0; room];
        assert!(filter.write_to(disk.as_mut_slice(), &Metadata::new()).is_err());
    }
    let mut disk = vec![0; file.len()];
    filter.write_to(disk.as_mut_slice(), &Metadata::new()).unwrap();
    assert!(disk == file);
}

#[test]
fn blocks_are_summed_one_by_one() {
    let mut filter = Classic::new(Spec::new(200_000, 0.01).unwrap()).unwrap();
    (0..1000u64).for_each(|key| _ = filter.insert(key));
    let mut file = filter.encode(&Metadata::new());
    let header = verify(&file).unwrap();
    assert!(file.len() > 3 * BLOCK as usize);
    for (at, want) in [
        (BLOCK as usize - 1, FormatError::BodyChecksum { block: 0 }),
        (BLOCK as usize, FormatError::BodyChecksum { block: 1 }),
        (header.table_at() as usize - 1, FormatError::BodyChecksum { block: 3 }),
        (header.table_at() as usize, FormatError::TableChecksum),
        (file.len() - 1, FormatError::Footer),
    ] {
        file[at] ^= 0x10;
        assert_eq!(verify(&file), Err(want));
        file[at] ^= 0x10;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn saving_and_opening_changes_nothing(
        keys in proptest::collection::vec(any::<u64>(), 0..300),
        capacity in 1..500u64,
        fpr in 0.0001..0.9,
        seed: u64,
        blocked: bool,
        created: u64,
        pairs in proptest::collection::btree_map("\\PC{1,20}", "\\PC{0,40}", 0..5),
    ) {
        let spec = Spec::new(capacity, fpr).unwrap().with_seed(seed);
        let mut filter: AnyFilter = match blocked {
            true => Blocked::new(spec).unwrap().into(),
            false => Classic::new(spec).unwrap().into(),
        };
        keys.iter().for_each(|key| _ = filter.insert(*key).unwrap());
        let metadata = pairs.into_iter().try_fold(Metadata::new(), |metadata, (name, value)| metadata.with(name, value));
        let metadata = metadata.unwrap().with_created(created);
        let file = filter.encode(&metadata);
        prop_assert_eq!(verify(&file).unwrap().metadata, metadata.clone());
        let opened = AnyFilter::open(Arc::<[u8]>::from(file.clone()), None).unwrap().encode(&metadata);
        let decoded = AnyFilter::decode(&file, None).unwrap();
        prop_assert!(opened == file && decoded.encode(&metadata) == file);
        prop_assert!(keys.iter().all(|key| decoded.contains(*key)));
        prop_assert_eq!(decoded.keys(), filter.keys());
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..300), magic: bool) {
        let bytes = if magic { [&MAGIC[..], &[1, 0, 2, 0, 126, 0, 0, 0], &bytes].concat() } else { bytes };
        survives(&bytes, None);
    }

    /// Arrays that no writer writes, under checksums that are right.
    #[test]
    fn any_resealed_array_is_survived(
        sample in 0..samples().len(),
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let (filter, secret) = &samples()[sample];
        let mut file = filter.encode(&metadata());
        let (start, end) = (4096, verify(&file).unwrap().table_at() as usize);
        for (at, value) in changes {
            file[start + at.index(end - start)] ^= value;
        }
        reseal(&mut file);
        survives(&file, *secret);
    }

    #[test]
    fn any_resealed_header_is_survived(
        sample in 0..samples().len(),
        changes in proptest::collection::vec((8..200usize, any::<u8>()), 1..6),
    ) {
        let (filter, secret) = &samples()[sample];
        let mut file = filter.encode(&metadata());
        for (at, value) in changes {
            file[at] = value;
        }
        reseal(&mut file);
        survives(&file, *secret);
    }
}
