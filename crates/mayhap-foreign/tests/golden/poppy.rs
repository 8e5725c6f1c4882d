use crate::vectors::{Case, cases};
use mayhap_foreign::poppy::{Optimisation, Poppy};

fn made_as(case: &Case) -> Poppy {
    let optimisation = match case.params["opt"].as_str().unwrap() {
        "none" => Optimisation::None,
        "speed" => Optimisation::Speed,
        other => panic!("no optimisation {other}"),
    };
    let capacity = case.params["capacity"].as_u64().unwrap();
    Poppy::create(capacity, case.params["fpp"].as_f64().unwrap(), optimisation).unwrap()
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("poppy") {
        let filter = Poppy::decode(&case.file).unwrap();
        assert!(case.members.iter().all(|key| filter.contains(key)), "{}", case.name);
        let answers: Vec<bool> = case.probes.iter().map(|key| filter.contains(key)).collect();
        assert_eq!(answers, case.answers, "{}", case.name);
        assert!(filter.encode().unwrap() == case.file, "{}: other bytes", case.name);
        assert_eq!(filter.cache().is_some(), case.params["opt"] == "speed");
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for mut case in cases("poppy") {
        let mut filter = made_as(&case);
        case.members.iter().for_each(|key| _ = filter.insert(key));
        let appended = case.params["appended_data"].as_str().unwrap().len();
        case.file.truncate(case.file.len() - appended);
        assert_eq!(filter.keys(), Poppy::decode(&case.file).unwrap().keys(), "{}", case.name);
        assert!(filter.encode().unwrap() == case.file, "{}: other bytes", case.name);
    }
}

#[test]
fn malformed_files_are_refused() {
    let case = cases("poppy").remove(0);
    let bad =
        [(0, 1), (0, 3), (1, 4), (2, 1), (23, 0x40), (24, 0), (39, 2), (40, 1), (48, 0), (48, 2)];
    for (at, value) in bad {
        let mut file = case.file.clone();
        file[at] = value;
        assert!(Poppy::decode(&file).is_err(), "byte {at} is {value}");
    }
    for length in [0, 1, 40, 55, 56, 4151] {
        assert!(Poppy::decode(&case.file[..length]).is_err(), "{length} bytes");
    }
}
