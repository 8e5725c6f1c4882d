use crate::vectors::{cases, check, check_edges, rebuild};
use flate2::read::GzDecoder;
use mayhap_foreign::KeyType;
use mayhap_foreign::dcso;
use std::io::Read;

fn inflated(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut plain).unwrap();
    plain
}

#[test]
fn members_and_probes_and_bytes() {
    for mut case in cases("dcso") {
        let filter = dcso::decode(&case.file).unwrap();
        let appended = case.params["appended_data"].as_str().unwrap();
        assert_eq!(filter.frame().appended(), appended.as_bytes(), "{}", case.name);
        if case.name.ends_with("_gz") {
            // Compressors differ; what they compress does not.
            case.file = inflated(&case.file);
            assert_eq!(inflated(&filter.encode().unwrap()), case.file);
            check(&case, &dcso::decode(&case.file).unwrap(), KeyType::Bytes);
            assert!(case.members.iter().all(|key| filter.contains(key)));
        } else {
            check(&case, &filter, KeyType::Bytes);
        }
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for mut case in cases("dcso") {
        if case.name.ends_with("_gz") {
            case.file = inflated(&case.file);
        }
        // Appended data is not part of the filter.
        let appended = case.params["appended_data"].as_str().unwrap().len();
        case.file.truncate(case.file.len() - appended);
        let n = case.params["n"].as_u64().or(case.params["capacity"].as_u64()).unwrap();
        let fpr = case.params["p"].as_f64().or(case.params["fpp"].as_f64()).unwrap();
        let filter = rebuild(&case, dcso::create(n, fpr, false).unwrap(), KeyType::Bytes);
        if let Some(keys) = case.params["N"].as_u64() {
            assert_eq!(filter.keys(), keys, "{}", case.name);
        }
    }
}

#[test]
fn malformed_files_are_refused() {
    check_edges("dcso", |bytes| match dcso::decode(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
}
