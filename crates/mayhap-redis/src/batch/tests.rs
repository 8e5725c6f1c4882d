use super::*;
use redis::cmd;

fn options(again: bool, is_patient: bool) -> RequestOptions {
    let within = Duration::from_secs(60);
    let (wait, until, is_fixed) = (None, None, false);
    RequestOptions { again, within, attempt: within, is_fixed, is_patient, wait, until }
}

fn error(what: &str) -> Value {
    redis::parse_redis_value(format!("-{what}\r\n").as_bytes()).unwrap()
}

fn address(url: &str) -> Address {
    Address::parse(url).unwrap().0
}

fn one_round(url: &str, again: bool, is_patient: bool, answer: Value) -> Step {
    let address = address(url);
    let requests = [Request::about(b"k", &cmd("GET"))];
    let mut batch = Batch::new(&address, &requests, options(again, is_patient));
    let topology = Topology::single(address.nodes().next().unwrap());
    let node_requests = batch.node_requests(&topology);
    batch.received(&node_requests[0], vec![answer]);
    batch.step().0
}

fn failure(step: Step) -> LinkError {
    match step {
        Step::Failed(error) => error,
        Step::Done(replies) => panic!("{replies:?}"),
        Step::Again(_) => panic!("tried again"),
    }
}

const PASSING: [&str; 8] = [
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    "CLUSTERDOWN Hash slot not served",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    "NOREPLICAS Not enough good replicas to write.",
    "NOREPLICAS Not enough good replicas to write. script: 5, on @user_script:5.",
    "ERR Error running script (call to f_5): @user_script:5: @user_script: 5: -NOREPLICAS Not enough good replicas to write.",
    "ERR max number of clients reached",
];

#[test]
fn what_is_of_the_moment_ends_a_hasty_call_and_not_a_patient_one() {
    for what in PASSING {
        for url in ["redis://h:1", "redis+cluster://h:1"] {
            let failed = failure(one_round(url, true, false, error(what)));
            assert!(matches!(failed, LinkError::Unready { .. }), "{failed:?}");
            assert!(failed.is_of_the_moment() && failed.to_string().contains("h:1"), "{failed}");
            let step = one_round(url, false, true, error(what));
            assert!(matches!(step, Step::Again(_)), "{what}");
        }
    }
    let step = one_round("redis+cluster://h:1", false, false, error("TRYAGAIN Multiple keys"));
    assert!(matches!(step, Step::Again(_)));
}

#[test]
fn what_somebody_must_mend_ends_every_call() {
    for patient in [false, true] {
        let fails = |url: &str, what: &str| failure(one_round(url, true, patient, error(what)));
        let replica = fails("redis://h:1", "READONLY You can't write against a read only replica.");
        assert!(matches!(replica, LinkError::Replica { .. }), "{replica:?}");
        let alone = fails("redis://h:1", "MOVED 3999 127.0.0.1:6381");
        assert!(matches!(alone, LinkError::NotACluster { .. }), "{alone:?}");
        for what in ["NOAUTH Authentication required.", "WRONGPASS invalid", "DENIED protected"] {
            let refused = fails("redis+cluster://h:1", what);
            assert!(matches!(refused, LinkError::Refused { .. }), "{refused:?}");
            assert!(!refused.is_of_the_moment());
            assert!(refused.to_string().starts_with("h:1: "), "{refused}");
        }
    }
}

#[test]
fn other_errors_are_answers() {
    for what in ["WRONGTYPE Operation", "ERR not found", "BUSYKEY Target key name already exists."]
    {
        match one_round("redis+cluster://h:1", true, false, error(what)) {
            Step::Done(replies) => assert_eq!(replies.replies, [Err(what.to_owned())]),
            _ => panic!("{what}"),
        }
    }
    match one_round("redis+cluster://h:1", true, false, error("OOM command not allowed")) {
        Step::Done(replies) => {
            assert_eq!(replies.replies, [Err("OOM command not allowed (node h:1)".to_owned())]);
        }
        _ => panic!("OOM"),
    }
}

#[test]
fn slots_that_move_are_followed() {
    let address = address("redis+cluster://h:1");
    let requests = [Request::about(b"k", &cmd("GET"))];
    let mut batch = Batch::new(&address, &requests, options(false, false));
    let topology = Topology::single(&Node { host: "h".to_owned(), port: 1 });
    for (what, node, asking, stale) in [
        ("ASK 1 i:2", "i:2", true, false),
        ("MOVED 1 :3", "i:3", false, true),
        ("MOVED 1 j:4", "j:4", false, true),
    ] {
        let node_requests = batch.node_requests(&topology);
        let mut values = vec![Value::Okay; node_requests[0].replies() - 1];
        values.push(error(what));
        batch.received(&node_requests[0], values);
        let (step, is_stale) = batch.step();
        assert!(matches!(step, Step::Again(backoff) if backoff.is_zero()), "{what}");
        assert_eq!(is_stale, stale);
        let node_requests = batch.node_requests(&topology);
        assert_eq!(node_requests[0].node.to_string(), node);
        assert_eq!(batch.write(&node_requests[0]).starts_with(b"*1\r\n$6\r\nASKING"), asking);
        // As if it had not been looked at.
        batch.items[0].moved_to = Some((node_requests[0].node.clone(), asking));
    }
}

/// After it was sent nobody knows whether it was done, so what is not repeatable is not repeated.
#[test]
fn only_what_may_be_done_twice_is_sent_twice() {
    let away = LinkError::Unreachable { address: "h:1".to_owned(), what: "cut".to_owned() };
    for url in ["redis://h:1", "redis+cluster://h:1"] {
        for (again, patient) in [(true, true), (true, false), (false, true), (false, false)] {
            let address = address(url);
            let requests = [Request::about(b"k", &cmd("GET"))];
            let mut batch = Batch::new(&address, &requests, options(again, patient));
            batch.lost(away.clone(), true);
            assert_eq!(matches!(batch.step().0, Step::Again(_)), again, "{url}");
            // Nothing was sent: a cluster may have another node by now.
            let mut batch = Batch::new(&address, &requests, options(again, patient));
            batch.unsent(away.clone(), true);
            let tried = matches!(batch.step().0, Step::Again(_));
            assert_eq!(tried, patient || address.is_cluster(), "{url}");
            // A hasty call has one more chance, a patient one the time it has.
            batch.unsent(away.clone(), true);
            assert_eq!(matches!(batch.step().0, Step::Again(_)), patient, "{url}");
        }
    }
}

#[test]
fn too_few_replicas_are_told_with_the_answer() {
    let address = address("redis://h:1");
    let requests = [Request::about(b"k", &cmd("INCR"))];
    let wait = Some(Wait { replicas: 2, within: Duration::from_secs(1) });
    for (got, is_told) in [(1, true), (2, false)] {
        let mut batch = Batch::new(&address, &requests, options(false, false).with_wait(wait));
        let topology = Topology::single(&Node { host: "h".to_owned(), port: 1 });
        let node_requests = batch.node_requests(&topology);
        assert_eq!(node_requests[0].replies(), 2);
        batch.received(&node_requests[0], vec![Value::Int(7), Value::Int(got)]);
        let Step::Done(replies) = batch.step().0 else { panic!("not done") };
        assert_eq!(replies.replies, [Ok(Value::Int(7))]);
        assert_eq!(replies.unacknowledged.is_some(), is_told);
    }
}
