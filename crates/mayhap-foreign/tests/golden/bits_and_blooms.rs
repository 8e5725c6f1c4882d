use crate::vectors::{Case, cases, check, check_edges, rebuild};
use mayhap_foreign::KeyType;
use mayhap_foreign::bits_and_blooms::{self, FileEncoding};

fn encoding(case: &Case) -> FileEncoding {
    match case.params["encoding"].as_str().unwrap() {
        "json" => FileEncoding::Json,
        _ => FileEncoding::Binary,
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("bits-and-blooms") {
        let filter = bits_and_blooms::decode(&case.file).unwrap();
        assert_eq!(filter.frame().encoding(), encoding(&case));
        check(&case, &filter, KeyType::Bytes);
        assert_eq!(filter.estimate(), case.params["approximated_size"], "{}", case.name);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("bits-and-blooms") {
        let empty = match case.params["n"].as_u64() {
            Some(n) => {
                let fpr = case.params["fp"].as_f64().unwrap();
                bits_and_blooms::create(n, fpr, encoding(&case))
            }
            None => bits_and_blooms::with_shape(1000, 7, FileEncoding::Binary, (0, 0.0)),
        };
        rebuild(&case, empty.unwrap(), KeyType::Bytes);
    }
}

#[test]
fn both_alphabets_are_read_and_kept() {
    let case = cases("bits-and-blooms").into_iter().find(|case| case.name == "willf_json_100");
    let case = case.unwrap();
    let text = String::from_utf8(case.file.clone()).unwrap();
    let standard = text.replace('-', "+").replace('_', "/");
    assert_ne!(text, standard);
    let filter = bits_and_blooms::decode(standard.as_bytes()).unwrap();
    assert_eq!(filter.encode().unwrap(), standard.as_bytes());
    let answers: Vec<bool> = case.probes.iter().map(|key| filter.contains(key)).collect();
    assert_eq!(answers, case.answers);
}

#[test]
fn malformed_files_are_refused() {
    check_edges("bits-and-blooms", |bytes| match bits_and_blooms::decode(bytes) {
        Ok(filter) => Ok(filter.contains("a")),
        Err(error) => Err(error.to_string()),
    });
    for text in [
        "{}",
        r#"{"m":64,"k":3,"b":"AAAA"}"#,
        r#"{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA"}"#,
        r#"{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAA*A=="}"#,
        r#"{"m":-64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA=="}"#,
        r#"{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA==","x":1}"#,
        r#"{"m":64,"k":3,"b":7}"#,
        r#"{"m":18446744073709551615,"k":3,"b":"__________8AAAAAAAAAAA=="}"#,
    ] {
        assert!(bits_and_blooms::decode(text.as_bytes()).is_err(), "{text}");
    }
    let good = br#"{"m":64,"k":3,"b":"AAAAAAAAAEAAAAAAAAAAAA=="}"#;
    assert!(!bits_and_blooms::decode(good).unwrap().contains("a"));
}
