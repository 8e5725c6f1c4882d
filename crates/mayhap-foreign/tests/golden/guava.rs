use crate::vectors::{Case, cases, check_edges};
use mayhap_foreign::guava::{self, Release, Strategy};
use mayhap_foreign::{Format, KeyType};

fn key_type(case: &Case) -> KeyType {
    match (case.params["funnel"].as_str().unwrap(), case.key_type.as_str()) {
        ("Funnels.unencodedCharsFunnel()", _) => KeyType::Utf16,
        (_, "i64") => KeyType::I64,
        (_, "i32") => KeyType::I32,
        _ => KeyType::Bytes,
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("guava") {
        let filter = guava::decode(&case.file).unwrap();
        let key = |text: &Vec<u8>| key_type(&case).key(Format::Guava, text).unwrap().into_owned();
        assert!(case.members.iter().all(|text| filter.contains(key(text))), "{}", case.name);
        let answers: Vec<bool> =
            case.probes.iter().map(|text| filter.contains(key(text))).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        assert_eq!(filter.encode().unwrap(), case.file, "{}", case.name);

        assert_eq!(filter.estimate(), case.params["approximate_element_count"]);
        let fpp = case.params["expected_fpp"].as_f64().unwrap();
        assert!((filter.fpr_now() - fpp).abs() < 1e-12, "{}", case.name);
        assert_eq!(filter.shape().bits, case.params["bit_size"]);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    let mut made = 0;
    for case in cases("guava") {
        if case.params["strategy_ordinal"] != 1 {
            continue; // no release that can still be had makes the other strategy
        }
        let release =
            if case.name == "k_rule_old_n3" { Release::Before33_4 } else { Release::Since33_4 };
        let n = case.params["expected_insertions"].as_u64().unwrap();
        let fpp = case.params["fpp"].as_f64().unwrap();
        let mut filter = guava::create(n, fpp, release).unwrap();
        for text in &case.members {
            filter.insert(key_type(&case).key(Format::Guava, text).unwrap().into_owned());
        }
        assert_eq!(filter.encode().unwrap(), case.file, "{}", case.name);
        made += 1;
    }
    assert_eq!(made, 10);
}

#[test]
fn the_old_strategy_builds_too() {
    for case in cases("guava").iter().filter(|case| case.params["strategy_ordinal"] == 0) {
        let mut filter = guava::decode(&case.file).unwrap();
        assert_eq!(filter.frame().0, Strategy::Mitz32);
        filter.clear();
        for text in &case.members {
            filter.insert(key_type(case).key(Format::Guava, text).unwrap().into_owned());
        }
        assert_eq!(filter.encode().unwrap(), case.file, "{}", case.name);
    }
}

#[test]
fn malformed_files_are_refused() {
    check_edges("guava", |bytes| match guava::decode(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
}
