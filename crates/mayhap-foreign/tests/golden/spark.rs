use crate::vectors::{cases, check, check_edges, key_type, rebuild};
use mayhap_foreign::spark::{self, Spark};

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("spark") {
        let filter = spark::decode(&case.file).unwrap();
        check(&case, &filter, key_type(&case));
        let fpp = case.params["expected_fpp"].as_f64().unwrap();
        assert!((filter.fpr_now() - fpp).abs() < 1e-12, "{}", case.name);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("spark") {
        let seed = case.params["seed"].as_i64().unwrap() as i32;
        let version = if case.params["version"] == 1 { Spark::V1 } else { Spark::V2 { seed } };
        let n = case.params["expected_items"].as_u64().unwrap();
        let empty = match case.params["num_bits_arg"].as_u64() {
            Some(bits) => {
                let probes = spark::decode(&case.file).unwrap().shape().probes;
                spark::with_bits(bits, probes, version, (n, 0.0))
            }
            None => {
                let fpr = case.params["num_bits_arg"].as_str().unwrap();
                let fpr = fpr.strip_prefix("p:").unwrap().parse().unwrap();
                spark::create(n, fpr, version)
            }
        };
        rebuild(&case, empty.unwrap(), key_type(&case));
    }
}

#[test]
fn malformed_files_are_refused() {
    check_edges("spark", |bytes| match spark::decode(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
}
