//! Every kind and every format through the one door: built, saved, opened, asked, changed, merged.

use mayhap::scheme::Native;
use mayhap::{Kind, KindSpec, Secret};
use mayhap_foreign::{Bytes, Format, Options};
use mayhap_store::budget::Budget;
use mayhap_store::replace::Overwrite;
use mayhap_store::secret_file::SecretSource;
use mayhap_store::{
    BuildError, BuildSpec, Built, ChangeError, Edit, Filter, Merge, OpenError, OpenOptions, Query,
    Slice, Target, Verify,
};
use std::path::Path;
use std::time::Duration;

fn keys(range: std::ops::Range<u64>) -> Vec<u64> {
    range.collect()
}

/// What a filter says about these integers.
fn ask(filter: &Filter, keys: &[u64]) -> Vec<bool> {
    let bytes: Vec<[u8; 8]> = keys.iter().map(|key| key.to_le_bytes()).collect();
    let slices: Vec<&[u8]> = bytes.iter().map(<[u8; 8]>::as_slice).collect();
    let mut answers = Vec::new();
    filter.contains_all(&slices, &mut answers);
    answers
}

/// Every kind that is built from one list, and every format that can be made.
fn targets() -> Vec<Target> {
    let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::Cascade);
    let native = kinds.map(|kind| match kind {
        Kind::Sharded => Target::Native(KindSpec::Sharded { shards: 3 }),
        kind => Target::Native(KindSpec::of(*kind)),
    });
    let made = |format: &Format| !matches!(format, Format::Mayhap | Format::Parquet);
    let foreign = Format::ALL.into_iter().filter(made);
    native.chain(foreign.map(|format| Target::Foreign(format, Options::new()))).collect()
}

fn build(target: &Target, keys: &[u64]) -> Built {
    let spec = BuildSpec { target: target.clone(), ..BuildSpec::default() };
    Filter::build(&spec, &Slice(keys)).unwrap_or_else(|error| panic!("{target:?}: {error}"))
}

/// What a file of such a filter must be opened with.
fn options(target: &Target) -> OpenOptions {
    match target {
        Target::Foreign(format, _) => OpenOptions {
            format: Some(*format),
            hints: Options::new().with_probes(7),
            ..OpenOptions::default()
        },
        _ => OpenOptions::default(),
    }
}

#[test]
fn what_goes_in_is_found_in_every_kind_and_format() {
    let folder = tempfile::tempdir().unwrap();
    let members = keys(0..2_000);
    for target in targets() {
        let built = build(&target, &members);
        assert!(ask(&built.filter, &members).iter().all(|yes| *yes), "{target:?} as built");
        let path = folder.path().join("filter");
        built.filter.save(&path, Overwrite::Anything).unwrap();
        let opened = Filter::open(&path, &options(&target)).unwrap();
        assert!(ask(&opened, &members).iter().all(|yes| *yes), "{target:?} as opened");
        let others = ask(&opened, &keys(1_000_000..1_010_000));
        let positives = others.iter().filter(|yes| **yes).count();
        assert!(positives < 1_000, "{target:?}: {positives} of 10,000");
        assert_eq!(opened.name(), built.filter.name());
        let info = opened.info(0);
        assert_eq!(info.file_bytes, path.metadata().unwrap().len());
        assert_eq!(info.to_json()["file"], path.to_str().unwrap());
        let bytes = Bytes::new(std::fs::read(&path).unwrap());
        let again = Filter::from_bytes(Path::new("body"), bytes, &options(&target)).unwrap();
        assert_eq!(ask(&again, &members), ask(&opened, &members));
    }
}

#[test]
fn an_edit_is_committed_or_never_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    let (old, new) = (keys(0..500), keys(10_000..10_500));
    for target in targets() {
        build(&target, &old).filter.save(&path, Overwrite::Anything).unwrap();
        let before = std::fs::read(&path).unwrap();
        let open = || Edit::open(&path, Duration::from_secs(30), &options(&target));
        let mut dropped = open().unwrap();
        let filled = dropped.filter.fill(&Slice(&new), Budget::default());
        let is_static = matches!(target, Target::Native(KindSpec::Fuse | KindSpec::Ribbon));
        if is_static {
            assert!(matches!(filled, Err(ChangeError::Static { .. })), "{target:?}");
            continue;
        }
        // A filter that takes no more keys than it was made for may say so.
        if filled.is_err() {
            assert!(matches!(target, Target::Foreign(..)), "{target:?}: {filled:?}");
            continue;
        }
        drop(dropped);
        assert_eq!(std::fs::read(&path).unwrap(), before, "{target:?}");
        let mut edit = open().unwrap();
        edit.filter.fill(&Slice(&new), Budget::default()).unwrap();
        edit.commit().unwrap();
        drop(edit);
        let opened = Filter::open(&path, &options(&target)).unwrap();
        let kept = matches!(target, Target::Native(KindSpec::Windowed(_)));
        assert!(kept || ask(&opened, &old).iter().all(|yes| *yes), "{target:?}");
        assert!(ask(&opened, &new).iter().all(|yes| *yes), "{target:?}");
    }
}

#[test]
fn only_what_is_alike_is_merged() {
    let (these, those) = (keys(0..300), keys(1_000..1_300));
    for target in targets() {
        let spec =
            BuildSpec { target: target.clone(), capacity: Some(1_000), ..Default::default() };
        let spec = match target {
            Target::Native(KindSpec::Bitmap) => BuildSpec { capacity: None, ..spec },
            _ => spec,
        };
        let [mut this, that] =
            [&these, &those].map(|keys| Filter::build(&spec, &Slice(keys)).unwrap().filter);
        let merged = this.merge(&that, Merge::Union, Budget::default());
        match (&target, merged) {
            (Target::Native(KindSpec::Fuse | KindSpec::Ribbon), Err(error)) => {
                assert!(matches!(error, ChangeError::MergeStatic { .. }), "{error}");
            }
            (Target::Foreign(..), Err(ChangeError::Foreign(_))) => {}
            (_, merged) => {
                merged.unwrap_or_else(|error| panic!("{target:?}: {error}"));
                assert!(ask(&this, &these).iter().all(|yes| *yes), "{target:?}");
                assert!(ask(&this, &those).iter().all(|yes| *yes), "{target:?}");
            }
        }
    }
    let mut blocked = build(&Target::Auto, &these).filter;
    let guava = build(&Target::Foreign(Format::Guava, Options::new()), &these).filter;
    let error = blocked.merge(&guava, Merge::Union, Budget::default()).unwrap_err();
    assert!(matches!(error, ChangeError::Unlike { .. }), "{error}");
}

#[test]
fn the_secret_of_a_keyed_filter_opens_it_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyed");
    let secret = Secret::from_bytes([7; 16]);
    let spec = BuildSpec { scheme: Native::keyed(secret), ..BuildSpec::default() };
    let built = Filter::build(&spec, &Slice(&["ada"])).unwrap();
    built.filter.save(&path, Overwrite::Filters).unwrap();
    let with = |secret: SecretSource| OpenOptions { secret, ..OpenOptions::default() };
    assert!(matches!(Filter::open(&path, &OpenOptions::default()), Err(OpenError::Secret { .. })));
    assert!(Filter::open(&path, &with(SecretSource::Value(secret))).is_ok());
    let wrong = SecretSource::Value(Secret::from_bytes([8; 16]));
    assert!(matches!(Filter::open(&path, &with(wrong)), Err(OpenError::Format { .. })));
    // Without it the file can be described and verified all the same.
    let info = Filter::describe(&path, &OpenOptions::default(), None).unwrap();
    assert!(info.bits.is_none() && info.verified == Some(true) && info.keys == Some(1));
    assert!(Filter::verify(&path).is_ok());
    SecretSource::Beside.store(&path, secret).unwrap();
    assert!(Filter::describe(&path, &OpenOptions::default(), None).unwrap().bits.is_some());
}

#[test]
fn bytes_that_could_be_several_formats_are_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bits");
    std::fs::write(&path, [0x80; 64]).unwrap();
    let error = Filter::open(&path, &OpenOptions::default()).unwrap_err();
    assert!(matches!(&error, OpenError::Ambiguous { candidates, .. } if candidates.len() > 1));
    assert!(!error.to_string().contains("--"), "{error}");
    let named = OpenOptions { format: Some(Format::ParquetBitset), ..OpenOptions::default() };
    assert!(Filter::open(&path, &named).is_ok());
}

#[test]
fn other_programs_filters_are_wrapped_and_come_back_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let [raw, wrapped, back] = ["raw", "wrapped", "back"].map(|name| folder.path().join(name));
    let target = Target::Foreign(Format::Guava, Options::new());
    build(&target, &keys(0..100)).filter.save(&raw, Overwrite::Filters).unwrap();
    let mut filter = Filter::open(&raw, &OpenOptions::default()).unwrap();
    filter.convert(Format::Mayhap, None, None).unwrap();
    filter.save(&wrapped, Overwrite::Filters).unwrap();
    let mut filter = Filter::open(&wrapped, &OpenOptions::default()).unwrap();
    assert!(filter.is_wrapped() && filter.info(0).verified == Some(true));
    assert!(ask(&filter, &keys(0..100)).iter().all(|yes| *yes));
    filter.convert(Format::Guava, None, None).unwrap();
    filter.save(&back, Overwrite::Anything).unwrap();
    assert_eq!(std::fs::read(&raw).unwrap(), std::fs::read(&back).unwrap());
    assert!(filter.convert(Format::Spark, None, None).is_err());
    let mut ours = build(&Target::Auto, &[1]).filter;
    assert!(matches!(ours.convert(Format::Guava, None, None), Err(ChangeError::Native)));
}

#[test]
fn what_does_not_fit_is_told_before_it_is_built() {
    let spec = BuildSpec {
        capacity: Some(10_000_000),
        budget: Budget::of_bytes(1_000_000),
        ..BuildSpec::default()
    };
    let error = Filter::build(&spec, &Slice(&["ada"])).unwrap_err();
    assert!(
        matches!(error, BuildError::Change(ChangeError::Memory { keys: 10_000_000, .. })),
        "{error}"
    );
    let spec = BuildSpec { memory: Some(1), capacity: Some(1_000), ..BuildSpec::default() };
    let error = Filter::build(&spec, &Slice(&["ada"])).unwrap_err();
    assert!(matches!(error, BuildError::Fit { .. }), "{error}");
}

#[test]
fn many_filters_are_asked_at_once() {
    use mayhap_store::Lookup;
    use mayhap_store::text::Task;
    let targets = [
        Target::Auto,
        Target::Native(KindSpec::Bitmap),
        Target::Foreign(Format::Guava, Options::new()),
        Target::Native(KindSpec::Classic),
    ];
    let filters: Vec<Filter> = (0..)
        .zip(&targets)
        .map(|(i, target)| build(target, &keys(100 * i..100 * i + 50)).filter)
        .collect();
    let query = Query::new(filters.iter().map(|filter| filter as &dyn Lookup), None, 0);
    let mut out = Default::default();
    query.begin(&mut out);
    (0..400u64).for_each(|key| query.key(&mut out, &key.to_le_bytes()));
    query.end(&mut out);
    out.check().unwrap();
    for i in 0..400 {
        if i % 100 < 50 {
            assert!(out.any()[i] && out.which(i).any(|filter| filter == i / 100), "{i}");
        }
    }
    let wrong = (0..400).filter(|i| i % 100 >= 50 && out.any()[*i]).count();
    assert!(wrong < 30, "{wrong}");
}

#[test]
fn an_unverified_filter_opens_at_once_and_answers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("filter");
    build(&Target::Auto, &keys(0..100)).filter.save(&path, Overwrite::Filters).unwrap();
    let options = OpenOptions { verify: Verify::Header, ..OpenOptions::default() };
    let filter = Filter::open(&path, &options).unwrap();
    assert!(ask(&filter, &keys(0..100)).iter().all(|yes| *yes));
    assert_eq!(filter.info(0).verified, Some(false));
}
