use crate::vectors::cases;
use mayhap_foreign::num_base64::List;

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("num-base64-list") {
        let probes = case.params["k"].as_u64().unwrap() as u32;
        let list = List::decode(&case.file, probes).unwrap();
        assert_eq!(list.elements().len() as u64, case.params["list_length"]);
        assert!(case.members.iter().all(|key| list.contains(key)), "{}", case.name);
        let answers: Vec<bool> = case.probes.iter().map(|key| list.contains(key)).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        assert!(list.encode().unwrap() == case.file, "{}: other bytes", case.name);
    }
}

/// The Go program starts an element when a *batch* might not fit, so bytes agree batch by batch.
#[test]
fn elements_made_here_are_those_made_there() {
    let case = cases("num-base64-list").into_iter().find(|case| case.name == "list_1k").unwrap();
    let mut list = List::create(1_000, 0.001).unwrap();
    for key in &case.members {
        list.insert(key).unwrap();
    }
    assert!(list.encode().unwrap() == case.file);
}

#[test]
fn lists_grow_by_elements() {
    let mut list = List::create(100, 0.01).unwrap();
    for key in 0..1000 {
        list.insert(format!("key-{key}").as_bytes()).unwrap();
    }
    assert!((9..=11).contains(&list.elements().len()), "{}", list.elements().len());
    assert!((0..1000).all(|key| list.contains(format!("key-{key}").as_bytes())));
}

#[test]
fn other_text_is_refused() {
    for text in [
        "",
        "::",
        "1",
        "1:AAAA",
        "1::",
        "x::AAAAAA==",
        "-1::AAAAAA==",
        "1::AAAAA",
        "1::AAAAAA==A",
        "1::****AA==",
        "1::AAAAAAA=",
        "1::AAAA::AA==",
        "1::AAAAAA==\n\n",
        "+1::AAAAAA==",
        "007::AAAAAA==",
        "99999999999999999999::AAAAAA==",
    ] {
        assert!(List::decode(text.as_bytes(), 4).is_err(), "{text:?}");
    }
    assert!(!List::decode(b"0::AAAAAA==\n1::AAAAAA==", 4).unwrap().contains(b"a"));
}
