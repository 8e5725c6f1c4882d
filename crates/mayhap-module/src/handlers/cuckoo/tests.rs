use crate::Reply;
use crate::keyspace::memory::Memory;

fn refused(keys: &mut Memory, line: &str) -> String {
    keys.say(line).unwrap_err().to_string()
}

fn field(reply: &Reply<'static>, name: &str) -> Reply<'static> {
    let Reply::Fields(fields) = reply else { panic!("{reply:?}") };
    fields.iter().find(|(field, _)| *field == name).unwrap().1.clone()
}

fn int(reply: &Reply<'static>, name: &str) -> i64 {
    let Reply::Int(number) = field(reply, name) else { panic!("{name}") };
    number
}

/// All chunks of a dump with their iterators.
fn dump(keys: &mut Memory, name: &str) -> Vec<(u64, Vec<u8>)> {
    let (mut chunks, mut position) = (vec![], 0);
    loop {
        match keys.say(&format!("cf.scandump {name} {position}")).unwrap() {
            Reply::Chunk(next, bytes) => {
                position = next;
                chunks.push((next, bytes));
            }
            Reply::LastChunk => return chunks,
            other => panic!("{other:?}"),
        }
    }
}

fn load(keys: &mut Memory, name: &str, (position, bytes): &(u64, Vec<u8>)) -> Result<(), String> {
    let position = position.to_string();
    let words: [&[u8]; 4] = [b"cf.loadchunk", name.as_bytes(), position.as_bytes(), bytes];
    let words = words.map(|word| &*word.to_vec().leak());
    keys.run(&words).map(drop).map_err(|error| error.to_string())
}

#[test]
fn items_are_added_counted_and_deleted() {
    let mut keys = Memory::default();
    assert_eq!(keys.say("cf.exists k a"), Ok(Reply::Bool(false)));
    assert_eq!(keys.say("cf.count k a"), Ok(Reply::Int(0)));
    assert_eq!(keys.say("cf.add k a"), Ok(Reply::Bool(true)));
    assert_eq!(keys.say("cf.add k a"), Ok(Reply::Bool(true)));
    assert_eq!(keys.say("cf.addnx k a"), Ok(Reply::Bool(false)));
    assert_eq!(keys.say("cf.addnx k b"), Ok(Reply::Bool(true)));
    assert_eq!(keys.say("cf.count k a"), Ok(Reply::Int(2)));
    assert_eq!(keys.say("cf.insert k items a c"), Ok(Reply::Taken(vec![true; 2])));
    assert_eq!(keys.say("cf.insertnx k ITEMS a d d"), Ok(Reply::Ints(vec![0, 1, 0])));
    assert_eq!(keys.say("cf.mexists k a x d"), Ok(Reply::Bools(vec![true, false, true])));
    for left in [2, 1, 0] {
        assert_eq!(keys.say("cf.del k a"), Ok(Reply::Bool(true)));
        assert_eq!(keys.say("cf.count k a"), Ok(Reply::Int(left)));
    }
    assert_eq!(keys.say("cf.del k a"), Ok(Reply::Bool(false)));
    let info = keys.say("cf.info k").unwrap();
    assert_eq!(int(&info, "Number of items inserted"), 3);
    assert_eq!(int(&info, "Number of items deleted"), 3);
    let line = "bktsize:2 buckets:512 items:3 deletes:3 filters:1 max_iterations:20 expansion:1";
    assert_eq!(keys.say("cf.debug k"), Ok(Reply::Line(line.to_owned())));
    assert_eq!(keys.say("cf.compact k"), Ok(Reply::Ok));
}

#[test]
fn what_is_reserved_is_read_back() {
    let mut keys = Memory::default();
    let line = "cf.reserve k 67108 BUCKETSIZE 255 MAXITERATIONS 65535 EXPANSION 32768 ERROR 0.001";
    assert_eq!(keys.say(line), Ok(Reply::Ok));
    let info = keys.say("cf.info k full").unwrap();
    for (name, number) in [
        ("Bucket size", 255),
        ("Max iterations", 65535),
        ("Expansion rate", 32768),
        ("Number of filters", 1),
        ("Number of buckets", 512),
        ("Number of items inserted", 0),
    ] {
        assert_eq!(int(&info, name), number, "{name}");
    }
    assert_eq!(field(&info, "Error rate"), Reply::Double(0.001));
    assert!(int(&info, "Capacity") >= 67108);
    let Reply::Fields(fields) = keys.say("cf.info k").unwrap() else { panic!() };
    assert_eq!(fields.len(), 8, "some clients refuse others");
}

#[test]
fn errors_are_those_of_redisbloom() {
    let mut keys = Memory::default();
    keys.say("cf.reserve k 100").unwrap();
    keys.say("bf.reserve bloom 0.01 100").unwrap();
    let wrong_type = "WRONGTYPE Operation against a key holding the wrong kind of value";
    for (line, text) in [
        ("cf.reserve n x", "Bad capacity"),
        ("cf.reserve n 3", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
        ("cf.reserve n 1073741825", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
        ("cf.reserve n 10 BUCKETSIZE x", "Couldn't parse BUCKETSIZE"),
        ("cf.reserve n 10 BUCKETSIZE 256", "BUCKETSIZE: value must be in the range [1, 255]"),
        ("cf.reserve n 10 MAXITERATIONS x", "Couldn't parse MAXITERATIONS"),
        ("cf.reserve n 10 MAXITERATIONS 0", "MAXITERATIONS: value must be in the range [1, 65535]"),
        ("cf.reserve n 10 EXPANSION x", "Couldn't parse EXPANSION"),
        ("cf.reserve n 10 EXPANSION -1", "EXPANSION: value must be in the range [0, 32768]"),
        ("cf.reserve n 10 ERROR x", "Couldn't parse ERROR"),
        ("cf.reserve n 10 GROWTH 0", "GROWTH: value must be in the range [1, 1073741824]"),
        ("cf.reserve n 10 NONSENSE 1", "Unknown argument received"),
        ("cf.reserve n 10 EXPANSION", "ERR wrong number of arguments"),
        ("cf.reserve k 100", "ERR item exists"),
        ("cf.reserve bloom 100", wrong_type),
        ("cf.add bloom x", wrong_type),
        ("cf.insert bloom ITEMS x", wrong_type),
        ("cf.info bloom", wrong_type),
        ("bf.add k x", wrong_type),
        ("bf.exists k x", wrong_type),
        ("bf.merge bloom k", wrong_type),
        ("cf.insert n NOCREATE ITEMS x", "ERR not found"),
        ("cf.insert n CAPACITY x ITEMS x", "Bad capacity"),
        (
            "cf.insert n CAPACITY 3 ITEMS x",
            "Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
        ),
        ("cf.insert n WHAT x", "Unknown argument received"),
        ("cf.insert n NOCREATE ITEMS", "ERR wrong number of arguments"),
        ("cf.insert n CAPACITY CAPACITY 7", "Bad capacity"),
        ("cf.info n", "ERR not found"),
        ("cf.debug n", "ERR not found"),
        ("cf.info k what", "Invalid information value"),
        ("cf.del n x", "Not found"),
        ("cf.del bloom x", "Not found"),
        ("cf.compact n", "Cuckoo filter was not found"),
        ("cf.scandump k x", "Invalid position"),
        ("cf.scandump k -1", "Invalid position"),
        ("cf.scandump n 0", "ERR not found"),
        ("cf.loadchunk n 0 x", "Invalid position"),
        ("cf.loadchunk n x x", "Invalid position"),
        ("cf.loadchunk n 1 x", "Invalid header"),
        ("cf.loadchunk k 1 x", "ERR item exists"),
        ("cf.loadchunk n 7 x", "ERR not found"),
        ("cf.loadchunk k 7 x", "Couldn't load chunk!"),
        ("cf.loadchunk k -9223372036854775808 1", "Couldn't load chunk!"),
    ] {
        assert_eq!(refused(&mut keys, line), text, "{line}");
    }
    assert_eq!(keys.filters.len(), 2, "nothing was made");
    // As there, what is of another type holds no items.
    for line in ["cf.exists bloom x", "cf.exists n x"] {
        assert_eq!(keys.say(line), Ok(Reply::Bool(false)));
    }
    assert_eq!(keys.say("cf.mexists bloom x y"), Ok(Reply::Bools(vec![false; 2])));
    assert_eq!(keys.say("cf.count bloom x"), Ok(Reply::Int(0)));
}

#[test]
fn a_filter_that_must_not_grow_is_full_in_the_end() {
    let mut keys = Memory::default();
    keys.say("cf.reserve k 4 EXPANSION 0").unwrap();
    for item in 1..=3 {
        assert_eq!(keys.say(&format!("cf.add k {item}")), Ok(Reply::Bool(true)));
    }
    let told = keys.replicated.len();
    assert_eq!(keys.say("cf.insert k ITEMS 4 5"), Ok(Reply::Taken(vec![true, false])));
    assert_eq!(keys.replicated[told].join(&b' '), b"CF.INSERT k NOCREATE ITEMS 4");
    assert_eq!(keys.say("cf.insert k ITEMS 5 6"), Ok(Reply::Taken(vec![false; 2])));
    assert_eq!(keys.say("cf.insertnx k ITEMS 6 4"), Ok(Reply::Ints(vec![-1, 0])));
    assert_eq!(refused(&mut keys, "cf.add k 5"), "Filter is full");
    assert_eq!(keys.say("cf.addnx k 4"), Ok(Reply::Bool(false)), "it is there");
    assert_eq!(keys.replicated.len(), told + 1, "nothing else has changed");
    keys.say("cf.del k 4").unwrap();
    assert_eq!(keys.say("cf.add k 5"), Ok(Reply::Bool(true)));
}

/// RedisBloom holds each copy in a slot of its own (its issue 533), and refuses to grow after 32
/// times (599).
#[test]
fn copies_cost_a_counter_and_growth_has_no_end() {
    let mut keys = Memory::default();
    keys.say("cf.add k once").unwrap();
    let bytes = keys.filters[&b"k"[..]].bytes();
    let many = " hot".repeat(1000);
    (0..140).for_each(|_| _ = keys.say(&format!("cf.insert k ITEMS{many}")).unwrap());
    assert_eq!(keys.say("cf.count k hot"), Ok(Reply::Int(140_000)));
    assert_eq!(keys.filters[&b"k"[..]].bytes(), bytes + 16);
    keys.say("cf.reserve grows 4").unwrap();
    for step in 0..200 {
        let items: String = (0..500).map(|item| format!(" {}", 500 * step + item)).collect();
        let all = keys.say(&format!("cf.insert grows ITEMS{items}")).unwrap();
        assert_eq!(all, Reply::Taken(vec![true; 500]));
    }
    for item in 0..100_000 {
        assert_eq!(keys.say(&format!("cf.exists grows {item}")), Ok(Reply::Bool(true)));
    }
}

/// Grown from nothing, as `CF.ADD` makes it, it keeps its rate for a thousand times the items.
#[test]
fn a_filter_that_nobody_reserved_keeps_its_rate() {
    let mut keys = Memory::default();
    for step in 0..500 {
        let items: String = (0..1000).map(|item| format!(" {}", 1000 * step + item)).collect();
        keys.say(&format!("cf.insert k ITEMS{items}")).unwrap();
    }
    let info = keys.say("cf.info k full").unwrap();
    let Reply::Double(rate) = field(&info, "Error rate now") else { panic!() };
    assert!(rate <= 0.01, "{rate}");
    let bits = 8.0 * int(&info, "Size") as f64 / 500_000.0;
    assert!(bits < 20.0, "{bits}");
    // One that was reserved is as small as it can be, and its rate rises with what it was not made for.
    keys.say("cf.reserve tight 500000").unwrap();
    let bits = 8.0 * int(&keys.say("cf.info tight").unwrap(), "Size") as f64 / 500_000.0;
    assert!(bits < 9.6, "{bits}");
}

#[test]
fn memory_is_asked_for_before_it_is_taken() {
    let mut keys = Memory { room: Some(3000), ..Memory::default() };
    let error = refused(&mut keys, "cf.reserve k 10000");
    assert!(error.contains("Insufficient memory to create filter k: it takes"), "{error}");
    keys.say("cf.reserve k 1000").unwrap();
    let items: String = (0..2000).map(|item| format!(" {item}")).collect();
    let Ok(Reply::Taken(taken)) = keys.say(&format!("cf.insert k ITEMS{items}")) else { panic!() };
    let count = taken.iter().filter(|taken| **taken).count();
    assert!((1000..1100).contains(&count), "{count}");
    assert!(taken[..count].iter().all(|taken| *taken), "the first ones");
    let error = refused(&mut keys, "cf.add k more");
    assert!(error.contains("problem inserting into filter k"), "{error}");
    let told = keys.replicated.last().unwrap();
    assert_eq!(told.len(), 4 + count, "a replica takes no more");
}

#[test]
fn a_replica_and_a_dump_are_equal() {
    let mut keys = Memory::default();
    for line in [
        "cf.reserve tight 50 ERROR 0.0001 GROWTH 20",
        "cf.reserve fixed 9 EXPANSION 0 BUCKETSIZE 1",
        "cf.add auto 1",
        "cf.insert made CAPACITY 100 ITEMS a b c a",
        "cf.insertnx made ITEMS a d",
        "cf.del made a",
        "cf.addnx made e",
    ] {
        keys.say(line).unwrap();
    }
    for item in 0..3000 {
        for name in ["tight", "auto", "made"] {
            keys.say(&format!("cf.insert {name} ITEMS {item} {} hot", item % 77)).unwrap();
            if item % 3 == 0 {
                keys.say(&format!("cf.del {name} {item}")).unwrap();
            }
        }
        _ = keys.say(&format!("cf.add fixed {item}"));
    }
    let mut replica = Memory::default();
    replica.settings.error_rate = 0.2;
    for words in &keys.replicated {
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        replica.run(&words).unwrap();
    }
    for name in ["tight", "fixed", "auto", "made"] {
        let chunks = dump(&mut keys, name);
        assert!(dump(&mut replica, name) == chunks, "{name} differs");
        let copy = format!("{name}-copy");
        chunks.iter().for_each(|chunk| load(&mut keys, &copy, chunk).unwrap());
        assert!(dump(&mut keys, &copy) == chunks, "{name} differs");
        assert_eq!(keys.say(&format!("cf.debug {copy}")), keys.say(&format!("cf.debug {name}")));
    }
    assert_eq!(keys.say("cf.count made-copy hot"), Ok(Reply::Int(3000)));
    assert_eq!(keys.say("cf.exists made-copy e"), Ok(Reply::Bool(true)));
    keys.say("cf.reserve empty 10").unwrap();
    assert_eq!(keys.say("cf.scandump empty 0"), Ok(Reply::LastChunk));
}

#[test]
fn dumps_that_are_none_are_refused_whole() {
    let mut keys = Memory::default();
    keys.say("cf.insert k CAPACITY 40 ITEMS a b c d a a a a a").unwrap();
    keys.say("bf.insert bloom KIND quotient ITEMS a").unwrap();
    let chunks = dump(&mut keys, "k");
    assert_eq!(chunks.len(), 2);
    // Half of it answers nothing.
    load(&mut keys, "half", &chunks[0]).unwrap();
    assert!(refused(&mut keys, "cf.exists half a").contains("still loading"));
    assert!(refused(&mut keys, "cf.add half a").contains("still loading"));
    assert_eq!(refused(&mut keys, "bf.exists half a"), refused(&mut keys, "bf.exists k a"));
    let (position, body) = &chunks[1];
    for at in (0..body.len()).step_by(7) {
        let mut changed = body.clone();
        changed[at] ^= 1;
        let error = load(&mut keys, "half", &(*position, changed)).unwrap_err();
        assert_eq!(error, "Couldn't load chunk!");
    }
    load(&mut keys, "half", &chunks[1]).unwrap();
    assert_eq!(keys.say("cf.count half a"), Ok(Reply::Int(6)));
    for at in 0..chunks[0].1.len() {
        let mut head = chunks[0].1.clone();
        head[at] ^= 1;
        let error = load(&mut keys, "n", &(1, head)).unwrap_err();
        assert_eq!(error, "Couldn't create filter!", "{at}");
    }
    // RedisBloom's own header, and dumps of the other family.
    let error = load(&mut keys, "n", &(1, vec![0; 38])).unwrap_err();
    assert!(error.contains("insert the items with CF.INSERT"), "{error}");
    let Ok(Reply::Chunk(_, head)) = keys.say("bf.scandump bloom 0") else { panic!() };
    assert_eq!(load(&mut keys, "n", &(1, head)), Err("Invalid header".to_owned()));
    let words: [&[u8]; 4] = [b"bf.loadchunk", b"n", b"1", chunks[0].1.clone().leak()];
    assert_eq!(keys.run(&words).unwrap_err().to_string(), "ERR received bad data");
    assert!(!keys.filters.contains_key(&b"n"[..]));
}

/// A full filter takes memory and moves a line with every item: a dump half way is whole.
#[test]
fn growing_in_steps_is_not_seen_from_outside() {
    let mut keys = Memory::default();
    keys.say("cf.reserve k 5000").unwrap();
    let (mut count, mut half_way) = (0, 0);
    while half_way < 40 {
        keys.say(&format!("cf.add k {count}")).unwrap();
        count += 1;
        if !keys.filters[&b"k"[..]].quotient().unwrap().is_growing() {
            assert_eq!(half_way, 0, "it grew in one step");
            continue;
        }
        half_way += 1;
        if half_way % 13 != 1 {
            continue;
        }
        let (chunks, copy) = (dump(&mut keys, "k"), format!("copy{half_way}"));
        chunks.iter().for_each(|chunk| load(&mut keys, &copy, chunk).unwrap());
        for item in 0..count {
            assert_eq!(keys.say(&format!("cf.exists {copy} {item}")), Ok(Reply::Bool(true)));
            assert_eq!(keys.say(&format!("cf.exists k {item}")), Ok(Reply::Bool(true)));
        }
        let (k, copy) = (&keys.filters[&b"k"[..]], &keys.filters[copy.as_bytes()]);
        assert!(k.bytes() > copy.bytes(), "both sizes are there");
        assert_eq!(k.quotient().unwrap().keys(), copy.quotient().unwrap().keys());
    }
    for item in 0..count {
        assert_eq!(keys.say(&format!("cf.del k {item}")), Ok(Reply::Bool(true)));
    }
    assert_eq!(keys.filters[&b"k"[..]].quotient().unwrap().keys(), 0);
}

/// RedisBloom moves the items of all its sub-filters in one command (its issue 517). Here no command moves more
/// than a line: growing takes as many of them as there are lines, and `CF.COMPACT` and deletes move none.
#[test]
fn no_command_makes_the_others_wait() {
    let mut keys = Memory::default();
    keys.say("cf.reserve k 20000").unwrap();
    let lines = keys.filters[&b"k"[..]].quotient().unwrap().shape().lines();
    let (mut count, mut steps) = (0, 0);
    loop {
        keys.say(&format!("cf.add k {count}")).unwrap();
        count += 1;
        let quotient = keys.filters[&b"k"[..]].quotient().unwrap();
        match quotient.is_growing() {
            true => steps += 1,
            false if steps > 0 => break,
            false => continue,
        }
        let before = quotient.as_bytes().to_vec();
        assert_eq!(keys.say("cf.compact k"), Ok(Reply::Ok));
        let quotient = keys.filters[&b"k"[..]].quotient().unwrap();
        assert!(quotient.is_growing() && quotient.as_bytes() == before);
        assert_eq!(keys.say(&format!("cf.del k {}", count - 1)), Ok(Reply::Bool(true)));
    }
    assert!((lines - 12..=lines).contains(&steps), "{steps} steps for {lines} lines");
}
