use crate::vectors::{Case, cases, check, key_type, rebuild};
use mayhap_foreign::KeyType;
use mayhap_foreign::orc::{self, Column, Stream};

fn column(case: &Case) -> Column {
    match key_type(case) {
        KeyType::I64 => Column::Long,
        _ => Column::Bytes,
    }
}

#[test]
fn members_and_probes_and_bytes() {
    for case in cases("orc") {
        check(&case, &orc::decode(&case.file, column(&case)).unwrap(), key_type(&case));
    }
}

#[test]
fn filters_made_here_are_those_made_there() {
    for case in cases("orc") {
        let (n, p) = (case.params["n"].as_u64().unwrap(), case.params["fpp"].as_f64().unwrap());
        let stream = orc::decode(&case.file, column(&case)).unwrap().frame().stream;
        let empty = orc::create(n, p, column(&case)).unwrap();
        if stream == Stream::Utf8 {
            rebuild(&case, empty, key_type(&case));
        } else {
            let mut emptied = orc::decode(&case.file, column(&case)).unwrap();
            assert_eq!(emptied.shape(), empty.shape());
            emptied.clear();
            rebuild(&case, emptied, key_type(&case));
        }
    }
}

#[test]
fn other_messages_are_refused() {
    for bytes in [
        &[][..],
        &[0x08],
        &[0x08, 3],
        &[0x08, 0, 0x1a, 8, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x08, 3, 0x1a, 8, 0, 0, 0],
        &[0x08, 3, 0x1a, 0],
        &[0x08, 3, 0x1a, 7, 0, 0, 0, 0, 0, 0, 0],
        &[0x08, 3, 0x1a, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x08, 0x83, 0x00, 0x1a, 8, 0, 0, 0, 0, 0, 0, 0, 0],
        &[0x08, 3, 0x11, 0, 0, 0, 0, 0, 0, 0],
        &[0x08, 3, 0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0x12],
        &[0x08, 3, 0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        &[0x10, 3, 0x1a, 8, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        assert!(orc::decode(bytes, Column::Bytes).is_err(), "{bytes:02x?}");
    }
}
