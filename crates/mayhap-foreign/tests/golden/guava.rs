use crate::vectors::{self, Case, cases, check, check_edges, rebuild};
use mayhap_foreign::KeyType;
use mayhap_foreign::guava::{self, Release, Strategy};

fn key_type(case: &Case) -> KeyType {
    match case.params["funnel"].as_str().unwrap() {
        "Funnels.unencodedCharsFunnel()" => KeyType::Utf16,
        _ => vectors::key_type(case),
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("guava") {
        let filter = guava::decode(&case.file).unwrap();
        check(&case, &filter, key_type(&case));
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
        if case.params["strategy_ordinal"] == 0 {
            // No release that can still be had makes the old strategy, but it can be emptied.
            let mut filter = guava::decode(&case.file).unwrap();
            assert_eq!(filter.frame().0, Strategy::Mitz32);
            filter.clear();
            rebuild(&case, filter, key_type(&case));
            continue;
        }
        let old = case.name == "k_rule_old_n3";
        let release = if old { Release::Before33_4 } else { Release::Since33_4 };
        let n = case.params["expected_insertions"].as_u64().unwrap();
        let fpp = case.params["fpp"].as_f64().unwrap();
        rebuild(&case, guava::create(n, fpp, release).unwrap(), key_type(&case));
        made += 1;
    }
    assert_eq!(made, 10);
}

#[test]
fn malformed_files_are_refused() {
    check_edges("guava", |bytes| match guava::decode(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
}
