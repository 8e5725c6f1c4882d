use mayhap_outside::{Passed, pass};

#[test]
fn a_packet_goes_through_a_node_once() {
    let node = "192.0.2.7".parse().unwrap();
    let marked = pass(Passed::default().to_bytes(), node).unwrap().unwrap();
    assert_eq!(pass(marked, node), Ok(None));
    assert!(pass(marked, "192.0.2.8".parse().unwrap()).unwrap().is_some());
    assert!(pass([0xff; 32], node).is_err());
}

#[cfg(feature = "alloc")]
#[test]
fn names_are_keys_with_a_heap() {
    let header = Passed::default().to_bytes();
    assert_eq!(mayhap_outside::pass_named(header, ("node".into(), 80)), Ok(true));
}
