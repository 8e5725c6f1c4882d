//! Files written long ago, `testdata/mayhap/v1/` and `v2/`: every release must open them, find every key
//! and write them again byte for byte. A round trip would notice neither a changed hash nor a
//! changed bit order; these do.

use mayhap::cascade::CascadeOptions;
use mayhap::format::{self, Metadata};
use mayhap::scheme::{Native, Scheme};
use mayhap::sizing::BlockedShape;
use mayhap::window::Moment;
use mayhap::{
    AnyFilter, Blocked, Cascade, Classic, Counting, Fuse, Hash, Kind, Optimize, Quotient, Ribbon,
    Scalable, Secret, Sharded, Spec, Window, Windowed,
};
use std::path::PathBuf;

/// The secret of the keyed files: the bytes 0 to 15.
fn secret() -> Secret {
    Secret::from_bytes(std::array::from_fn(|i| i as u8))
}

/// When keys begin to come in, in seconds since 1970.
const NOON: u64 = 1_767_225_600;

/// What every file holds: 1000 integers and some text.
fn members() -> (impl Iterator<Item = u64>, [&'static str; 4]) {
    (0..1000u64, ["", "ada", "naïve", "https://example.org/?q=1"])
}

fn metadata() -> Metadata {
    let metadata = Metadata::new().with_created(NOON).with_normalizer("lower").unwrap();
    metadata.with("made by", "tests/golden.rs").unwrap().with("règle", "é = 1").unwrap()
}

/// Every file by name, made anew.
fn made_now() -> Vec<(&'static str, AnyFilter, Option<Secret>)> {
    // As they were made before lines had columns: what is made now follows them.
    let scheme = Native::xxh3(42);
    let spec = Spec::new(1_000, 0.01).unwrap().with_scheme(scheme);
    let tight = Spec::new(1_000, 1e-4).unwrap().with_scheme(scheme);
    let few = Spec::new(100, 0.01).unwrap().with_scheme(scheme); // so that it grows
    let keyed = spec.with_scheme(Native::sip13(secret()));
    let mut files: Vec<(_, AnyFilter, _)> = vec![
        ("classic", Classic::new(spec).unwrap().into(), None),
        ("classic-keyed", Classic::new(keyed).unwrap().into(), Some(secret())),
        ("blocked", Blocked::new(spec).unwrap().into(), None),
        ("blocked-tight", Blocked::new(tight).unwrap().into(), None),
        ("blocked-keyed", Blocked::new(keyed).unwrap().into(), Some(secret())),
        ("counting", Counting::new(spec).unwrap().into(), None),
        ("scalable", Scalable::new(few).unwrap().into(), None),
        ("sharded", Sharded::new(spec, 7).unwrap().into(), None),
        ("sharded-keyed", Sharded::new(keyed, 3).unwrap().into(), Some(secret())),
        ("windowed-keys", Windowed::new(spec, Window::last_keys(4)).unwrap().into(), None),
        ("windowed-time", Windowed::new(spec, Window::span(3600, 4)).unwrap().into(), None),
        ("windowed-even", Windowed::new(spec, Window::span(800, 4)).unwrap().into(), None),
        ("windowed-burst", Windowed::new(spec, Window::span(3600, 4)).unwrap().into(), None),
    ];
    for (_, filter, _) in &mut files[..11] {
        let (integers, texts) = members();
        // A key each second: in a window of time they come to lie in two generations.
        integers.for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON + key)).unwrap());
        texts.iter().for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON + 1000)).unwrap());
    }
    // Of the time windows that grow: a key each second, of which the last 800 and some are kept, and
    // all at once.
    for (name, filter, _) in &mut files[11..] {
        let even = u64::from(*name == "windowed-even");
        let (integers, texts) = members();
        integers
            .for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON + even * key)).unwrap());
        texts
            .iter()
            .for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON + even * 1000)).unwrap());
    }
    let all = members().0.map(u64::to_le_bytes).map(Vec::from);
    let all: Vec<_> = all.chain(members().1.map(Vec::from)).collect();
    files.push(("fuse", Fuse::with_spec(spec, &all).unwrap().into(), None));
    files.push(("ribbon", Ribbon::with_spec(spec, &all).unwrap().into(), None));
    files.push(("ribbon-tight", Ribbon::with_spec(tight, &all).unwrap().into(), None));
    files.push(("ribbon-keyed", Ribbon::with_spec(keyed, &all).unwrap().into(), Some(secret())));
    // Large layers of two strips, and bumped keys.
    let many = (1_000..20_000u64).map(u64::to_le_bytes).map(Vec::from).chain(all.iter().cloned());
    files.push(("ribbon-many", Ribbon::with_spec(spec, many).unwrap().into(), None));
    files.push(("quotient", Quotient::from_keys(spec, &all).unwrap().into(), None));
    files.push(("quotient-tight", Quotient::from_keys(tight, &all).unwrap().into(), None));
    let of_keyed = Quotient::from_keys(keyed, &all).unwrap();
    files.push(("quotient-keyed", of_keyed.into(), Some(secret())));
    // Made for 100 keys and two doublings, grown further; copies in a side table.
    let mut grown = Quotient::with_growth(few, 2).unwrap();
    all.iter().for_each(|key| _ = grown.insert(key));
    (0..40u64).for_each(|key| (0..key).for_each(|_| _ = grown.insert(key)));
    files.push(("quotient-grown", grown.into(), None));
    // Past its capacity, so that lines spill far; changed since, and must not grow.
    let mut full = Quotient::new(Spec::new(930, 0.001).unwrap().with_scheme(scheme)).unwrap();
    full.set_auto_grow(false);
    (5000..5100u64).for_each(|key| _ = full.insert(key));
    all.iter().for_each(|key| _ = full.insert(key));
    assert!((5000..5100u64).all(|key| full.remove(key)));
    files.push(("quotient-full", full.into(), None));
    // All but ten integers are in the lists, those in the stash; and some of the excluded ones.
    let hashes = |keys: &[Vec<u8>]| -> Vec<Hash> {
        keys.iter().map(|key| spec.scheme().hash(key)).collect()
    };
    let excluded = || -> Vec<Hash> { (1000..5000u64).map(|key| spec.scheme().hash(key)).collect() };
    for (name, making) in [
        ("cascade", CascadeOptions::default()),
        ("cascade-ribbon", CascadeOptions::default()),
        ("cascade-blocked", CascadeOptions::default().with_blocked()),
    ] {
        let mut filter =
            Cascade::from_hashes(spec, making, hashes(&all[10..]), excluded()).unwrap();
        if name != "cascade-blocked" {
            (0..10u64).for_each(|key| _ = filter.stash_add(key));
            (1000..1005u64).for_each(|key| _ = filter.stash_remove(key));
        } else {
            filter = Cascade::from_hashes(spec, making, hashes(&all), excluded()).unwrap();
        }
        files.push((name, filter.into(), None));
    }
    // Nothing asked for other keys, so no first layer, and a second one that bumps keys.
    let half = Spec::new(21_004, 0.5).unwrap().with_seed(42);
    let integers = |range: std::ops::Range<u64>| range.map(|key| spec.scheme().hash(key));
    let included = hashes(&all).into_iter().chain(integers(10_000..30_000)).collect();
    let excluded = excluded().into_iter().chain(integers(30_000..60_000)).collect();
    let many = Cascade::from_hashes(half, CascadeOptions::default(), included, excluded).unwrap();
    files.push(("cascade-many", many.into(), None));
    files.extend(of_the_second_schemes());
    #[cfg(feature = "bitmap")]
    files.push(("bitmap", members().0.collect::<mayhap::Bitmap>().into(), None));
    files
}

/// Those whose lines have columns, and others that are hashed as those are.
fn of_the_second_schemes() -> Vec<(&'static str, AnyFilter, Option<Secret>)> {
    let spec = Spec::new(1_000, 0.01).unwrap().with_seed(42).with_columns();
    let keyed = spec.with_secret(secret()).with_columns();
    let few = Spec::new(100, 0.01).unwrap().with_seed(42).with_columns();
    let shaped = |lines, per_key, columns| {
        let shape = BlockedShape::with_columns(lines, per_key, columns);
        AnyFilter::from(Blocked::with_shape(spec, shape).unwrap())
    };
    let anywhere =
        Blocked::new(Spec::new(1_000, 0.1).unwrap().with_seed(42).with_columns()).unwrap();
    let small = few.with_optimize(Optimize::Memory);
    let window = |spec, window| AnyFilter::from(Windowed::new(spec, window).unwrap());
    let mut files: Vec<(_, AnyFilter, _)> = vec![
        ("columns-one-line", shaped(21, 1, 8), None),
        ("columns-two-halves", shaped(33, 2, 4), None),
        ("columns-two-lines", shaped(46, 2, 8), None),
        ("columns-keyed", Blocked::new(keyed).unwrap().into(), Some(secret())),
        ("columns-anywhere", anywhere.into(), None),
        ("columns-classic", Classic::new(spec).unwrap().into(), None),
        ("columns-counting", Counting::new(spec).unwrap().into(), None),
        ("columns-scalable", Scalable::new(few).unwrap().into(), None),
        ("columns-scalable-memory", Scalable::new(small).unwrap().into(), None),
        ("columns-sharded", Sharded::new(spec, 7).unwrap().into(), None),
        ("columns-windowed-keys", window(spec, Window::last_keys(4)), None),
        ("columns-windowed-burst", window(spec, Window::span(3600, 4)), None),
    ];
    for (_, filter, _) in &mut files {
        let (integers, texts) = members();
        integers.for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON)).unwrap());
        texts.iter().for_each(|key| _ = filter.insert_at(key, Moment::ticks(NOON)).unwrap());
    }
    let all = members().0.map(u64::to_le_bytes).map(Vec::from);
    let all: Vec<_> = all.chain(members().1.map(Vec::from)).collect();
    let hashes = all.iter().map(|key| spec.scheme().hash(key)).collect();
    let excluded = (1000..5000u64).map(|key| spec.scheme().hash(key)).collect();
    let options = CascadeOptions::default().with_blocked();
    let cascade = Cascade::from_hashes(spec, options, hashes, excluded).unwrap();
    files.push(("columns-cascade", cascade.into(), None));
    files.push(("columns-fuse", Fuse::with_spec(spec, &all).unwrap().into(), None));
    files
}

/// A window in which a burst of keys is remembered.
fn is_grown(name: &str) -> bool {
    name.ends_with("windowed-burst")
}

fn path(name: &str) -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/mayhap");
    let version = if is_grown(name) { "v2" } else { "v1" };
    PathBuf::from(root).join(version).join(name).with_extension("mh")
}

#[test]
fn old_files_open_for_ever() {
    for (name, made_now, secret) in made_now() {
        let file = std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let header = format::verify(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(header.metadata, metadata(), "{name}");
        let opened = AnyFilter::open(file.as_slice(), secret).unwrap();
        let decoded = AnyFilter::decode(&file, secret).unwrap();
        let forgotten = if name == "windowed-even" { 1000 - 800 } else { 0 };
        let (integers, texts) = members();
        let mut integers = integers.skip(forgotten);
        assert!(integers.all(|key| opened.contains(key) && decoded.contains(key)), "{name}");
        let texts = if header.kind == Kind::Bitmap { &[] } else { &texts[..] }; // integers only
        assert!(texts.iter().all(|key| opened.contains(key) && decoded.contains(key)), "{name}");
        let mut others = 1000..9000u64;
        assert!(others.all(|key| decoded.contains(key) == opened.contains(key)), "{name}");
        assert!(opened.encode(&header.metadata) == file, "{name} is written differently");
        assert!(decoded.encode(&header.metadata) == file, "{name} is written differently");
        if header.kind == Kind::Cascade {
            let mut excluded = 1000..5000u64;
            assert!(!excluded.any(|key| opened.contains(key) || decoded.contains(key)), "{name}");
        }
        assert_eq!(header.version, if is_grown(name) { 2 } else { 1 }, "{name}");
        // How fingerprints are placed may change, and did how large generations of time are: what
        // counts is how they are read.
        let placed = matches!(header.kind, Kind::Fuse | Kind::Ribbon | Kind::Cascade)
            || name == "windowed-time";
        let same = placed || made_now.encode(&metadata()) == file;
        assert!(same, "{name} is made differently");
    }
}

/// Writes the files. By hand, and only before a release that adds a kind: those that were ever
/// released do not change.
#[test]
#[ignore = "writes to testdata"]
fn write_the_files() {
    for (name, filter, _) in made_now() {
        if path(name).exists() {
            continue;
        }
        std::fs::create_dir_all(path(name).parent().unwrap()).unwrap();
        std::fs::write(path(name), filter.encode(&metadata())).unwrap();
    }
}
