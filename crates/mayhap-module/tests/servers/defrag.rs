//! Servers that tidy their heap, where they can: filters move and answer as before.

use mayhap_testkit::{Client, Make, Server, Value, eventually, makes};

const KINDS: &[&str] =
    &["", "NONSCALING", "KIND classic", "KIND counting", "LAST 40 GENERATIONS 2", "COMPAT"];
const FILTERS: usize = 6000;

/// Whether the server can defragment. Most packages are built with an allocator that cannot say
/// what lies badly.
fn can_defragment(make: Make, client: &mut Client) -> bool {
    let answer = client.say("CONFIG SET activedefrag yes");
    client.say("CONFIG SET activedefrag no");
    if answer != Value::ok() {
        assert!(answer.error().contains("defragmentation"), "{answer:?}");
        eprintln!("{make:?} cannot defragment");
    }
    answer == Value::ok()
}

/// Holes that are left among small filters keep the server defragmenting forever, so all that a filter
/// owns must move: its box, the list of its layers, their arrays.
#[test]
fn small_filters_leave_no_holes() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        if !can_defragment(make, &mut client) {
            continue;
        }
        for kind in ["EXPANSION 4", "COMPAT", "LAST 40"] {
            client.say("FLUSHALL");
            let (name, value) = kind.split_once(' ').unwrap_or((kind, ""));
            let make_them = "for i = 1, 30000 do \
                 if ARGV[2] ~= '' then redis.call('BF.RESERVE', 'f'..i, '0.01', '40', ARGV[1], ARGV[2]) \
                 else redis.call('BF.RESERVE', 'f'..i, '0.01', '40', ARGV[1]) end \
                 redis.call('BF.ADD', 'f'..i, i) end \
                 for i = 1, 30000 do if i % 7 ~= 0 then redis.call('DEL', 'f'..i) end end";
            let made = client.call(&["EVAL", make_them, "0", name, value]);
            assert_eq!(made, Value::Null, "{made:?}");
            let holes = |client: &mut Client| -> u64 {
                let info = client.say("INFO memory").text();
                let line = info.lines().find_map(|line| line.strip_prefix("allocator_frag_bytes:"));
                line.unwrap().trim().parse().unwrap()
            };
            eventually("the allocator's numbers", || holes(&mut client) > 10 << 20);
            let before = holes(&mut client);
            for setting in [
                "active-defrag-ignore-bytes 1",
                "active-defrag-threshold-lower 1",
                "active-defrag-cycle-min 50",
                "active-defrag-cycle-max 75",
                "activedefrag yes",
            ] {
                assert_eq!(client.say(&format!("CONFIG SET {setting}")), Value::ok(), "{setting}");
            }
            eventually(kind, || holes(&mut client) < before / 4);
            client.say("CONFIG SET activedefrag no");
            for at in (7..30_000).step_by(7 * 11) {
                assert_eq!(client.say(&format!("BF.EXISTS f{at} {at}")), Value::Int(1), "{kind}");
            }
        }
    }
}

#[test]
fn filters_move_and_answer_as_before() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        if !can_defragment(make, &mut client) {
            continue;
        }
        for at in 0..FILTERS {
            let kind = KINDS[at % KINDS.len()];
            let line = format!("BF.RESERVE f{at} 0.01 40 {kind}");
            assert_eq!(client.say(line.trim_end()), Value::ok());
            client.say(&format!("BF.MADD f{at} a b {at}"));
        }
        // One that has grown, and one too large to be moved.
        client.say("BF.RESERVE f-grown 0.01 10");
        (0..300).for_each(|item| _ = client.say(&format!("BF.ADD f-grown {item}")));
        client.say("BF.RESERVE f-large 0.01 1000000");
        client.say("BF.ADD f-large x");
        // One in seven stays, so that what stays lies among holes.
        for at in (0..FILTERS).filter(|at| at % 7 != 0) {
            client.say(&format!("DEL f{at}"));
        }
        let names: Vec<String> =
            client.say("KEYS *").array().into_iter().map(Value::text).collect();
        let mut dumps = || -> Vec<Vec<u8>> {
            names.iter().map(|name| client.say(&format!("DUMP {name}")).bytes()).collect()
        };
        let before = dumps();
        let mut other = server.client();
        for setting in [
            "active-defrag-ignore-bytes 1",
            "active-defrag-threshold-lower 0",
            "active-defrag-cycle-min 50",
            "active-defrag-cycle-max 75",
            "activedefrag yes",
        ] {
            assert_eq!(other.say(&format!("CONFIG SET {setting}")), Value::ok(), "{setting}");
        }
        let hits = |info: &str| -> u64 {
            let line = info.lines().find_map(|line| line.strip_prefix("active_defrag_hits:"));
            line.map_or(0, |count| count.trim().parse().unwrap())
        };
        // Each has its box and its array to move, beside what the server itself holds of it.
        eventually("defragmentation", || {
            hits(&other.say("INFO stats").text()) > 2 * names.len() as u64
        });
        assert!(dumps() == before);
        for at in (0..FILTERS).step_by(7) {
            let found = other.say(&format!("BF.MEXISTS f{at} a b {at}"));
            assert_eq!(found, Value::ints(&[1, 1, 1]), "f{at}");
        }
        other.say("FLUSHALL");
        assert_eq!(other.say("BF.ADD again a"), Value::Int(1));
    }
}
