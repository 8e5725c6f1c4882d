use crate::vectors::{Case, cases, check, rebuild};
use mayhap_foreign::KeyType;
use mayhap_foreign::bloomfilter_js::{self, Generation};

fn generation(case: &Case) -> Generation {
    match case.params["npm_version"].as_str().unwrap() {
        "0.0.18" => Generation::UpTo18,
        "0.0.21" => Generation::Since19,
        other => panic!("no release {other}"),
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("bloomfilter-js") {
        let probes = case.params["k"].as_u64().unwrap() as u32;
        let filter = bloomfilter_js::decode(&case.file, generation(&case), probes).unwrap();
        check(&case, &filter, KeyType::Bytes);
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("bloomfilter-js") {
        let number = |name: &str| case.params[name].as_u64().unwrap();
        let (bits, probes) = (number("m_arg"), number("k") as u32);
        let empty = bloomfilter_js::with_shape(generation(&case), bits, probes, (0, 0.0));
        rebuild(&case, empty.unwrap(), KeyType::Utf16);
    }
}

#[test]
fn other_json_is_refused() {
    for text in ["", "[]", "[1", "[1.5]", "[2147483648]", "[\"1\"]", "{}", "[1] [2]", "null"] {
        let decoded = bloomfilter_js::decode(text.as_bytes(), Generation::Since19, 4);
        assert!(decoded.is_err(), "{text}");
    }
}
