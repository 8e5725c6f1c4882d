use crate::keyspace::memory::Memory;
use crate::{CommandError, Reply};
use std::collections::HashMap;

fn refused(keys: &mut Memory, line: &str) -> String {
    keys.say(line).unwrap_err().to_string()
}

fn field(reply: Reply<'static>, name: &str) -> Reply<'static> {
    let Reply::Fields(fields) = reply else { panic!("{reply:?}") };
    fields.into_iter().find(|(field, _)| *field == name).unwrap().1
}

/// What a replica makes of the commands it was told.
fn replica_of(keys: &Memory) -> Memory {
    // Other settings, another clock: what was replicated must not depend on them.
    let mut replica = Memory { now_ms: 77, ..Memory::default() };
    replica.settings.error_rate = 0.2;
    replica.settings.initial_size = 7;
    replica.settings.expansion = Some(2);
    for words in &keys.replicated {
        if words[0] == b"PEXPIREAT" {
            continue;
        }
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        replica.run(&words).unwrap();
    }
    replica
}

fn dumps(keys: &mut Memory) -> HashMap<Vec<u8>, Vec<u8>> {
    let names: Vec<Vec<u8>> = keys.filters.keys().cloned().collect();
    names.into_iter().map(|name| (name.clone(), dump(keys, &name).concat())).collect()
}

fn dump(keys: &mut Memory, name: &[u8]) -> Vec<Vec<u8>> {
    let (mut chunks, mut iterator) = (vec![], 0u64);
    loop {
        let words: [&[u8]; 3] =
            [b"bf.scandump", name, iterator.to_string().as_bytes()].map(|w| &*w.to_vec().leak());
        let Reply::Chunk(next, bytes) = keys.run(&words).unwrap() else { panic!() };
        if next == 0 {
            return chunks;
        }
        iterator = next;
        chunks.push(bytes);
    }
}

#[test]
fn adding_and_asking() {
    let mut keys = Memory::default();
    assert_eq!(keys.say("bf.exists k a"), Ok(Reply::Bool(false)));
    assert_eq!(keys.say("bf.add k a"), Ok(Reply::Bool(true)));
    assert_eq!(keys.say("bf.add k a"), Ok(Reply::Bool(false)));
    assert_eq!(keys.say("bf.madd k a b c"), Ok(Reply::Bools(vec![false, true, true])));
    assert_eq!(keys.say("bf.mexists k a x c"), Ok(Reply::Bools(vec![true, false, true])));
    assert_eq!(keys.say("bf.card k"), Ok(Reply::Int(3)));
    assert_eq!(keys.say("bf.card none"), Ok(Reply::Int(0)));
    let info = keys.say("bf.info k full").unwrap();
    assert_eq!(field(info.clone(), "Capacity"), Reply::Int(100));
    assert_eq!(field(info.clone(), "Keyed"), Reply::Bool(true));
    assert_eq!(field(info, "Kind"), Reply::Text("blocked"));
}

#[test]
fn only_what_changed_something_is_replicated() {
    let mut keys = Memory::default();
    keys.say("bf.add k a").unwrap();
    assert_eq!(keys.events, ["bf.reserve", "bf.add"]);
    keys.say("bf.add k a").unwrap();
    keys.say("bf.madd k a a").unwrap();
    keys.say("bf.exists k b").unwrap();
    keys.say("bf.unseen k a MARK").unwrap();
    assert_eq!(keys.events.len(), 2);
}

#[test]
fn a_replica_is_equal_after_every_kind_of_change() {
    let mut keys = Memory { now_ms: 1_000_000, ..Memory::default() };
    let secret = "SECRET 000102030405060708090a0b0c0d0e0f";
    for line in [
        "bf.reserve grows 0.001 10 EXPANSION 3".to_owned(),
        "bf.reserve fixed 0.01 5 NONSCALING EX 100".to_owned(),
        "bf.reserve classic 0.01 100 KIND classic".to_owned(),
        "bf.reserve counting 0.01 100 KIND counting".to_owned(),
        "bf.reserve hour 0.01 100 WINDOW 3600 GENERATIONS 3".to_owned(),
        "bf.reserve last 0.01 10 LAST 10".to_owned(),
        "bf.reserve compat 0.01 10 COMPAT".to_owned(),
        format!("bf.reserve a 0.01 50 {secret}"),
        format!("bf.reserve b 0.01 50 {secret}"),
        "bf.insert made ERROR 0.1 CAPACITY 9 ITEMS x y z".to_owned(),
        "bf.add auto 1".to_owned(),
        "bf.madd counting 1 2 3 3".to_owned(),
        "bf.del counting 3 9".to_owned(),
        "bf.madd a 1 2".to_owned(),
        "bf.madd b 2 3".to_owned(),
        "bf.merge a b".to_owned(),
        "bf.merge sum a b".to_owned(),
        "bf.merge sum compat grows LAYERS".to_owned(),
        "bf.add sum new".to_owned(),
        "bf.unseen seen 1 2 3 MARK".to_owned(),
        "bf.unseen hour 1 2 3 MARK".to_owned(),
    ] {
        keys.say(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    for step in 0..40 {
        keys.now_ms += 500_000;
        for name in ["grows", "classic", "counting", "hour", "last", "compat", "auto", "fixed"] {
            keys.say(&format!("bf.madd {name} {step} {} x{step}", step * 7)).unwrap();
        }
    }
    keys.say("bf.clear auto").unwrap();
    keys.say("bf.clear compat").unwrap();
    let mut replica = replica_of(&keys);
    let (ours, theirs) = (dumps(&mut keys), dumps(&mut replica));
    assert_eq!(ours.len(), theirs.len());
    for (name, dump) in ours {
        assert!(theirs[&name] == dump, "{} differs", String::from_utf8_lossy(&name));
    }
    assert_eq!(keys.expires_ms[&b"fixed"[..]], 1_100_000);
}

#[test]
fn texts_are_those_of_redisbloom() {
    let mut keys = Memory::default();
    keys.say("bf.reserve k 0.01 2 NONSCALING").unwrap();
    for (line, text) in [
        ("bf.reserve n x 10", "ERR bad error rate"),
        ("bf.reserve n 0 10", "ERR error rate must be in the range (0.000000, 1.000000)"),
        ("bf.reserve n nan 10", "ERR error rate must be in the range (0.000000, 1.000000)"),
        ("bf.reserve n 0.01 ten", "ERR bad capacity"),
        ("bf.reserve n 0.01 0", "ERR capacity must be in the range [1, 1073741824]"),
        ("bf.reserve n 0.01 10 EXPANSION", "ERR no expansion"),
        ("bf.reserve n 0.01 10 EXPANSION x", "ERR bad expansion"),
        ("bf.reserve n 0.01 10 EXPANSION 2 NONSCALING", "Nonscaling filters cannot expand"),
        (
            "bf.reserve n 0.01 10 EXPANSION 2 WINDOW 10",
            "ERR EXPANSION: a window does not grow beyond what it is made for",
        ),
        (
            "bf.reserve n 0.01 10 EXPANSION 2 KIND classic",
            "ERR EXPANSION: filters of this KIND do not grow: reserve a larger one, or KIND blocked",
        ),
        ("bf.reserve k 0.01 10", "ERR item exists"),
        ("bf.insert n NOCREATE ITEMS a", "ERR not found"),
        ("bf.insert n ERROR 2 ITEMS a", "Bad error rate"),
        ("bf.insert n CAPACITY 0 ITEMS a", "Bad capacity"),
        ("bf.insert n EXPANSION -1 ITEMS a", "Bad expansion"),
        ("bf.insert n NOSUCH ITEMS a", "Unknown argument received"),
        ("bf.insert n CAPACITY 5 CAPACITY 5 ITEMS a", "ERR CAPACITY was given twice"),
        ("bf.info n", "ERR not found"),
        ("bf.info k nosuch", "Invalid information value"),
        ("bf.scandump n 0", "ERR not found"),
        ("bf.scandump k x", "Second argument must be numeric"),
        ("bf.loadchunk n x d", "ERR Second argument must be numeric"),
        ("bf.loadchunk n 1 d", "ERR received bad data"),
        ("bf.loadchunk k 1 d", "ERR received bad data"),
        ("bf.del k a", "ERR a blocked filter cannot give keys up: choose quotient or a bitmap"),
        ("bf.clear n", "ERR not found"),
    ] {
        assert_eq!(refused(&mut keys, line), text, "{line}");
    }
    assert!(keys.filters.len() == 1);
    assert_eq!(keys.say("bf.add k"), Err(CommandError::Arity));
    assert_eq!(keys.say("bf.insert k ITEMS"), Err(CommandError::Arity));
    assert_eq!(keys.say("bf.info k items full"), Err(CommandError::Arity));
    assert_eq!(
        keys.say("bf.madd k a b c d"),
        Ok(Reply::BoolsUntil(vec![true, true], CommandError::FULL))
    );
    assert_eq!(refused(&mut keys, "bf.add k c"), "ERR non scaling filter is full");
    assert_eq!(keys.say("bf.add k a"), Ok(Reply::Bool(false)));
}

#[test]
fn grown_filters_keep_the_rate_and_cost_at_most_16_bits() {
    let mut keys = Memory::default();
    keys.say("bf.reserve k 0.01 1000").unwrap();
    for from in (0..1_000_000u32).step_by(10_000) {
        let items: Vec<String> = (from..from + 10_000).map(|item| item.to_string()).collect();
        let mut words: Vec<&[u8]> = vec![b"bf.madd", b"k"];
        words.extend(items.iter().map(String::as_bytes));
        keys.run(&words).unwrap();
    }
    let filter = &keys.filters[&b"k"[..]];
    let bits_per_item = filter.bytes() as f64 * 8.0 / 1e6;
    assert!(bits_per_item <= 16.0, "{bits_per_item}");
    assert!(filter.info(0).unwrap().rate_now <= 0.01);
    let absent_keys: Vec<String> = (0..100_000).map(|item| format!("x{item}")).collect();
    let absent_keys: Vec<&[u8]> = absent_keys.iter().map(String::as_bytes).collect();
    let wrong = filter.contains_many(&absent_keys, 0).unwrap().iter().filter(|yes| **yes).count();
    assert!(wrong <= 1_150, "{wrong} of 100000"); // five standard deviations above 1%
    for item in (0..1_000_000).step_by(997) {
        assert!(filter.contains(item.to_string().as_bytes(), 0).unwrap());
    }
}

#[test]
fn limits_refuse_before_anything_is_allocated() {
    let mut keys = Memory { room: Some(10_000), ..Memory::default() };
    let none = "ERR Insufficient memory to create filter";
    assert!(refused(&mut keys, "bf.reserve k 0.01 1000000000").starts_with(none));
    assert!(refused(&mut keys, "bf.reserve k 0.01 1000000000 COMPAT").starts_with(none));
    keys.say("bf.reserve k 0.01 2000 EXPANSION 8").unwrap();
    let items: Vec<String> = (0..3000).map(|item| item.to_string()).collect();
    let mut words: Vec<&[u8]> = vec![b"bf.madd", b"k"];
    words.extend(items.iter().map(String::as_bytes));
    let Ok(Reply::BoolsUntil(taken, error)) = keys.run(&words) else { panic!() };
    assert!(error.to_string().contains("filter k: its next layer") && taken.len() >= 2000);
    // The replica, which has room, took no more than we did.
    let (ours, mut replica) = (dumps(&mut keys), replica_of(&keys));
    assert_eq!(ours, dumps(&mut replica));
}

#[test]
fn windows_forget_and_counting_gives_up() {
    let mut keys = Memory { now_ms: 1_000_000_000, ..Memory::default() };
    keys.say("bf.reserve hour 0.001 100 WINDOW 3600").unwrap();
    keys.say("bf.add hour a").unwrap();
    keys.now_ms += 3_600_000;
    assert_eq!(keys.say("bf.exists hour a"), Ok(Reply::Bool(true)));
    keys.now_ms += 900_001;
    assert_eq!(keys.say("bf.exists hour a"), Ok(Reply::Bool(false)));
    assert_eq!(keys.say("bf.unseen hour a b MARK"), Ok(Reply::Words(vec![b"a", b"b"])));
    assert_eq!(keys.say("bf.unseen hour a b c"), Ok(Reply::Words(vec![b"c"])));
    let info = keys.say("bf.info hour full").unwrap();
    assert_eq!(field(info.clone(), "Window seconds"), Reply::Double(3600.0));
    assert_eq!(field(info, "Kind"), Reply::Text("windowed"));

    keys.say("bf.reserve c 0.001 100 KIND counting").unwrap();
    keys.say("bf.madd c a b").unwrap();
    assert_eq!(keys.say("bf.del c a x"), Ok(Reply::Bools(vec![true, false])));
    assert_eq!(keys.say("bf.mexists c a b"), Ok(Reply::Bools(vec![false, true])));
}

#[test]
fn windows_keep_their_rate_in_bursts_and_survive_wrong_clocks() {
    let mut keys = Memory { now_ms: 1_000_000_000, ..Memory::default() };
    let items = |range: std::ops::Range<u32>| {
        range.map(|item| item.to_string()).collect::<Vec<_>>().join(" ")
    };
    keys.say("bf.reserve hour 0.01 400 WINDOW 3600").unwrap();
    keys.say(&format!("bf.madd hour {}", items(0..300))).unwrap();
    (300..400).for_each(|item| _ = keys.say(&format!("bf.add hour {item}")).unwrap());
    let found = |keys: &mut Memory, range| {
        let reply = keys.say(&format!("bf.mexists hour {}", items(range))).unwrap();
        let Reply::Bools(found) = reply else { panic!("no answers") };
        found.iter().filter(|found| **found).count()
    };
    assert_eq!(found(&mut keys, 0..400), 400);
    assert!(found(&mut keys, 1000..3000) < 60); // 1% are 20; without growing a third
    let dump = dumps(&mut keys);
    assert!(!dump.is_empty());

    // A clock that is ten years ahead for one item.
    let ten_years = 10 * 365 * 86_400_000;
    keys.now_ms += ten_years;
    keys.say("bf.add hour eve").unwrap();
    keys.now_ms -= ten_years;
    keys.say("bf.add hour bob").unwrap();
    assert_eq!(keys.say("bf.mexists hour eve bob"), Ok(Reply::Bools(vec![true, true])));
    keys.now_ms += 3_600_000 + 900_001;
    assert_eq!(keys.say("bf.mexists hour eve bob"), Ok(Reply::Bools(vec![false, false])));
}

#[test]
fn merging_is_all_or_nothing() {
    let mut keys = Memory::default();
    keys.say("bf.madd a 1 2").unwrap();
    keys.say("bf.madd b 3").unwrap();
    let before = dumps(&mut keys);
    let why = refused(&mut keys, "bf.merge a b"); // each has its own secret
    assert!(why.contains("secrets"), "{why}");
    assert_eq!(refused(&mut keys, "bf.merge a none"), "ERR not found");
    assert_eq!(dumps(&mut keys), before);
    keys.say("bf.merge a b LAYERS").unwrap();
    assert_eq!(keys.say("bf.mexists a 1 2 3 4"), Ok(Reply::Bools(vec![true, true, true, false])));
    assert_eq!(keys.say("bf.add a 3"), Ok(Reply::Bool(false)));
    assert_eq!(
        keys.say("bf.mexistsany b none a ITEMS 3 1 9"),
        Ok(Reply::Bools(vec![true, true, false]))
    );
    keys.say("bf.merge copy a").unwrap();
    assert_eq!(keys.say("bf.card copy"), Ok(Reply::Int(3)));
}

#[test]
fn dumps_load_and_go_on() {
    let mut keys = Memory::default();
    keys.say("bf.reserve mine 0.01 100").unwrap();
    keys.say("bf.reserve theirs 0.01 100 COMPAT").unwrap();
    for name in ["mine", "theirs"] {
        (0..500).for_each(|item| _ = keys.say(&format!("bf.add {name} {item}")).unwrap());
        let chunks = dump(&mut keys, name.as_bytes());
        let mut iterator = 1;
        for (at, chunk) in chunks.iter().enumerate() {
            iterator += if at == 0 { 0 } else { chunk.len() };
            let words: [&[u8]; 4] =
                [b"bf.loadchunk", b"copy", iterator.to_string().leak().as_bytes(), chunk];
            assert_eq!(keys.run(&words), Ok(Reply::Ok));
        }
        assert_eq!(dump(&mut keys, b"copy"), chunks);
        assert_eq!(keys.say("bf.add copy 1"), Ok(Reply::Bool(false)));
        assert!(
            (500..1000)
                .any(|item| keys.say(&format!("bf.add copy {item}")) == Ok(Reply::Bool(true)))
        );
        keys.filters.remove(&b"copy"[..]);
    }
}

#[test]
fn a_half_loaded_filter_answers_nothing() {
    let mut keys = Memory::default();
    keys.say("bf.add k a").unwrap();
    let chunks = dump(&mut keys, b"k");
    keys.run(&[b"bf.loadchunk", b"half", b"1", &chunks[0]]).unwrap();
    for line in ["bf.exists half a", "bf.add half a", "bf.info half", "bf.scandump half 0"] {
        assert_eq!(keys.say(line), Err(CommandError::LOADING), "{line}");
    }
    let wrong = keys.run(&[b"bf.loadchunk", b"half", b"9", b"x"]).unwrap_err();
    assert_eq!(wrong.to_string(), "ERR invalid offset - no link found");
    let mut bad = chunks[1].clone();
    bad[4200] ^= 1;
    let end = (chunks[1].len() + 1).to_string();
    let why = keys.run(&[b"bf.loadchunk", b"half", end.as_bytes(), &bad]).unwrap_err();
    assert!(why.to_string().starts_with("ERR received bad data"), "{why}");
    assert_eq!(keys.run(&[b"bf.loadchunk", b"half", end.as_bytes(), &chunks[1]]), Ok(Reply::Ok));
    assert_eq!(keys.say("bf.exists half a"), Ok(Reply::Bool(true)));
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let mut keys = Memory::default();
    for options in [
        "KIND nosuch",
        "KIND",
        "WINDOW 0",
        "WINDOW 60 LAST 100",
        "WINDOW 60 KIND classic",
        "GENERATIONS 0",
        "GENERATIONS 5000",
        "LAST 7",
        "COMPAT KIND blocked",
        "COMPAT SECRET 000102030405060708090a0b0c0d0e0f",
        "SECRET 0011",
        "EX 0",
        "EX x",
        "NOCREATE",
        "ITEMS",
        "NX NX",
    ] {
        let line = format!("bf.reserve k 0.01 100 {options}");
        assert!(keys.say(&line).is_err(), "{line}");
    }
    assert!(keys.filters.is_empty());
    assert_eq!(keys.say("bf.reserve k 0.01 100 NX"), Ok(Reply::Ok));
    assert_eq!(keys.say("bf.reserve k 0.01 100 NX"), Ok(Reply::Null));
    // What valkey-bloom knows.
    let seed = "s".repeat(32);
    keys.say(&format!("bf.insert v TIGHTENING 0.5 SEED {seed} VALIDATESCALETO 1000 ITEMS a"))
        .unwrap();
    assert!(keys.say("bf.insert w NONSCALING VALIDATESCALETO 1000 ITEMS a").is_err());
    assert!(keys.say("bf.insert w VALIDATESCALETO 99999999999 ITEMS a").is_err());
}

#[test]
fn no_number_is_below_zero() {
    for made in ["", " COMPAT", " NONSCALING", " KIND counting", " WINDOW 10"] {
        let mut keys = Memory::default();
        keys.say(&format!("bf.reserve k 0.01 10{made}")).unwrap();
        let Ok(Reply::Fields(fields)) = keys.say("bf.info k FULL") else { panic!("no fields") };
        let numbers = fields.iter().filter_map(|(name, value)| match value {
            Reply::Double(number) => Some((name, number)),
            _ => None,
        });
        for (name, number) in numbers {
            assert!(number.is_sign_positive(), "{name}{made}: {number}");
        }
    }
}

/// The server looks its key up for every opening.
#[test]
fn adding_opens_the_key_once() {
    let mut keys = Memory::default();
    keys.say("bf.reserve k 0.01 100").unwrap();
    for line in ["bf.add k a", "bf.madd k b c"] {
        keys.opened = 0;
        keys.say(line).unwrap();
        assert_eq!(keys.opened, 1, "{line}");
    }
}
