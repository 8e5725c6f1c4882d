//! Filters of both probe rules side by side: old ones go on as they are, and the two do not mix.

use mayhap::format::Metadata;
use mayhap::scheme::{Native, Scheme};
use mayhap::sizing::{BlockedShape, ProbeRule};
use mayhap::window::Moment;
use mayhap::{
    AnyFilter, Blocked, Classic, Hash, Optimize, Scalable, Secret, Sharded, Spec, SpecError,
    Window, Windowed,
};

fn golden(name: &str) -> Vec<u8> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/mayhap/");
    std::fs::read(format!("{root}{name}.mh")).unwrap()
}

fn rules(layers: &[Blocked]) -> Vec<ProbeRule> {
    layers.iter().map(|layer| layer.shape().rule).collect()
}

#[test]
fn filters_of_unlike_rules_do_not_merge() -> Result<(), SpecError> {
    let mut old = Blocked::decode(&golden("v1/blocked"), None).unwrap();
    let spec = Spec::new(1_000, 0.01)?.with_seed(42).with_columns();
    let new = Blocked::new(spec)?;
    let error = old.union(&new).unwrap_err();
    assert_eq!(error.what(), "schemes");
    assert_eq!(
        error.to_string(),
        "unlike filters: this one has scheme 1 (xxh3-64), the other scheme 3 (xxh3-64-v2): they hash keys \
         or probe lines by different rules; build the older one anew from its keys"
    );
    // Its like is made by name, and merges.
    let mut like = Blocked::new(spec.with_scheme(Native::xxh3(42)))?;
    like.insert("somebody else");
    old.union(&like).unwrap();
    assert!(old.contains("somebody else") && old.contains("ada"));
    // Of one scheme, and laid out otherwise.
    let mut fast =
        Blocked::new(Spec::new(1_000, 0.001)?.with_columns().with_optimize(Optimize::Speed))?;
    let small =
        Blocked::new(Spec::new(1_000, 0.001)?.with_columns().with_optimize(Optimize::Memory))?;
    assert!(fast.union(&small).is_err());
    Ok(())
}

#[test]
fn old_filters_grow_as_they_were_made() {
    let mut old = Scalable::decode(&golden("v1/scalable"), None).unwrap();
    let before = old.layers().len();
    (5_000..300_000u64).for_each(|key| _ = old.insert(key));
    assert!(old.layers().len() > before);
    assert!(rules(old.layers()).iter().all(|rule| *rule == ProbeRule::Scattered));
    assert!((5_000..300_000u64).all(|key| old.contains(key)));
    let again = Scalable::decode(&old.encode(&Metadata::new()), None).unwrap();
    assert!(again == old);

    let mut window = Windowed::decode(&golden("v2/windowed-burst"), None).unwrap();
    let now = Moment::ticks(1_767_225_600 + 1_000);
    (5_000..9_000u64).for_each(|key| _ = window.insert(key, now));
    assert!((5_000..9_000u64).all(|key| window.contains(key, now)));
    assert!(window.generations().flat_map(rules).all(|rule| rule == ProbeRule::Scattered));
}

/// Layers that come after a filter was saved are those that would have come without.
#[test]
fn preferences_are_kept_in_files() -> Result<(), SpecError> {
    for optimize in Optimize::ALL {
        let spec = Spec::new(500, 0.001)?.with_columns().with_optimize(*optimize);
        let mut straight = Scalable::new(spec)?;
        let saved = straight.encode(&Metadata::new());
        let mut reopened = Scalable::decode(&saved, None).unwrap();
        assert_eq!(reopened.spec().optimize(), *optimize);
        for key in 0..20_000u64 {
            assert_eq!(straight.insert(key), reopened.insert(key));
        }
        assert!(straight.layers().len() > 2 && straight == reopened, "{optimize:?}");

        let mut straight = Windowed::new(spec, Window::span(1_000, 4))?;
        let mut reopened = Windowed::decode(&straight.encode(&Metadata::new()), None).unwrap();
        for key in 0..480u64 {
            straight.insert(key, Moment::ticks(5));
            reopened.insert(key, Moment::ticks(5));
        }
        assert!(straight.most_layers() > 1 && straight == reopened, "{optimize:?}");
    }
    Ok(())
}

/// Whatever partitions keys by their hash must leave the bits alone that choose lines: else a shard uses
/// some of its lines only.
#[test]
fn rates_hold_inside_shards_and_layers() -> Result<(), SpecError> {
    for fpr in [0.01, 1e-3] {
        let spec = Spec::new(400_000, fpr)?.with_columns();
        let mut sharded = Sharded::new(spec, 16)?;
        let mut grown = Scalable::new(Spec::new(1_000, fpr)?.with_columns())?;
        let hashes: Vec<Hash> = (0..400_000u64).map(|key| spec.scheme().hash(key)).collect();
        sharded.insert_batch(&hashes);
        grown.insert_batch(&hashes);
        let asked = (40_000.0 / fpr) as u64;
        let absent = || (0..asked).map(|key| spec.scheme().hash(key << 20 | 1 << 62));
        for shard in sharded.shards() {
            let expected = shard.shape().fpr_at(400_000 / 16);
            assert!((shard.fpr_now() / expected - 1.0).abs() < 0.1, "{}", shard.fpr_now());
        }
        for (name, rate) in [
            ("sharded", absent().filter(|hash| sharded.contains_hash(*hash)).count()),
            ("scalable", absent().filter(|hash| grown.contains_hash(*hash)).count()),
        ] {
            let rate = rate as f64 / asked as f64;
            assert!(rate < 1.03 * fpr, "{name}: {rate} instead of {fpr}");
        }
    }
    Ok(())
}

/// A nearly empty line: one key in a line of eight columns has a rate of 2^-48 there, and whole hashes
/// collide.
#[test]
fn the_rate_of_nearly_empty_filters_has_a_floor() -> Result<(), SpecError> {
    let spec = Spec::new(1_000, 0.01)?.with_columns();
    let mut columns = Blocked::with_shape(spec, BlockedShape::with_columns(21, 1, 8))?;
    columns.insert("ada");
    let expected = 2f64.powi(-48) / 21.0 + 2f64.powi(-64);
    assert!((columns.fpr_now() / expected - 1.0).abs() < 1e-9, "{}", columns.fpr_now());
    Ok(())
}

/// What a small filter of two lines per key tells of itself is what it does.
#[test]
fn rates_now_are_those_measured() -> Result<(), SpecError> {
    for shape in [
        BlockedShape::with_columns(21, 1, 8),
        BlockedShape::with_columns(33, 2, 4),
        BlockedShape::with_columns(22, 2, 8),
    ] {
        let mut filter = Blocked::with_shape(Spec::new(1_000, 0.01)?.with_columns(), shape)?;
        (0..1_000u64).for_each(|key| _ = filter.insert(key));
        let asked = 3_000_000u64;
        let hits = (1 << 40..(1 << 40) + asked).filter(|key| filter.contains(*key)).count() as f64;
        let told = filter.fpr_now() * asked as f64;
        assert!((hits - told).abs() < 5.0 * told.sqrt(), "{shape}: {hits} where {told} are told");
        assert!(filter.estimate().abs_diff(1_000) < 60, "{shape}: {}", filter.estimate());
    }
    Ok(())
}

#[test]
fn shapes_and_schemes_must_go_together() -> Result<(), SpecError> {
    let spec = Spec::new(1_000, 0.01)?.with_columns();
    let columns = |lines| BlockedShape::with_columns(lines, 1, 8);
    for (spec, shape) in [
        (spec.with_scheme(Native::xxh3(0)), columns(21)),
        (spec.with_scheme(Native::sip13(Secret::from_bytes([1; 16]))), columns(21)),
        (spec, columns(20)),
        (spec, BlockedShape::with_columns(21, 3, 8)),
    ] {
        let error = Blocked::with_shape(spec, shape).unwrap_err();
        assert_eq!(error, SpecError::Shape { shape });
    }
    // Integers and their eight bytes are one key, under every scheme.
    for scheme in
        [Native::columns(3), Native::xxh3(3), Native::columns_keyed(Secret::from_bytes([1; 16]))]
    {
        assert_eq!(scheme.hash(77u8), scheme.hash(77u64.to_le_bytes()));
        assert_eq!(scheme.hash(-1i16), scheme.hash([0xff; 8].as_slice()));
    }
    Ok(())
}

/// What is not made of lines is as it was, but for the hash.
#[test]
fn filters_without_lines_have_one_layout() -> Result<(), SpecError> {
    let spec = Spec::new(1_000, 0.01)?.with_columns();
    let plain = Classic::new(spec)?;
    let fast = Classic::new(spec.with_optimize(Optimize::Speed))?;
    assert_eq!(plain.shape(), fast.shape());
    assert!(AnyFilter::from(plain).union(&fast.into()).is_ok());
    Ok(())
}
