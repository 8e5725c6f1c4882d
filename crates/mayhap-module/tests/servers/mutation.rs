//! Dumps with a byte changed or an end cut off, their checksum mended: refused, or a filter that
//! answers. A sample each time; all of them with `MAYHAP_SOAK`.

use mayhap_testkit::{Client, Server, makes};

/// CRC-64 of Redis: Jones, reflected.
fn crc64(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u64::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0x95ac_9329_ac4b_c9b5 } else { crc >> 1 }
        })
    })
}

/// The payload with its checksum made right.
fn mended(mut payload: Vec<u8>) -> Vec<u8> {
    let end = payload.len() - 8;
    let crc = crc64(&payload[..end]);
    payload[end..].copy_from_slice(&crc.to_le_bytes());
    payload
}

const SUBJECTS: &[&str] = &[
    "BF.RESERVE k 0.01 40",
    "BF.RESERVE k 0.01 40 NONSCALING",
    "BF.RESERVE k 0.01 40 NONSCALING;BF.SHARDID k 00112233445566778899aabbccddeeff/1/3",
    "BF.RESERVE k 0.01 40 KIND counting",
    "CF.RESERVE k 20 ERROR 0.001",
    "BF.RESERVE k 0.01 20 LAST 20 GENERATIONS 2",
    "BF.RESERVE k 0.01 20 COMPAT",
    "BF.RESERVE k 0.01 20 COMPAT NONSCALING",
    "BF.RESERVE k 0.01 20 KIND classic",
    "BF.RESERVE k 0.01 20 WINDOW 60 GENERATIONS 2",
    // Two parts: one of ours, and RedisBloom's beside it.
    "BF.RESERVE k 0.01 20;BF.RESERVE other 0.01 20 COMPAT;BF.ADD other x;BF.MERGE k other LAYERS",
];

/// Make the subject at `k`, with some items in it.
fn make(client: &mut Client, subject: &str) {
    client.say("FLUSHALL");
    for line in subject.split(';') {
        assert_eq!(client.say(line).error(), "", "{line}");
    }
    let family = family(subject);
    (0..20).for_each(|item| _ = client.say(&format!("{family}.ADD k {item}")));
    if family == "CF" {
        client.say("CF.INSERT k ITEMS hot hot hot hot hot");
    }
}

fn family(subject: &str) -> &str {
    &subject[..2]
}

fn poke(client: &mut Client, key: &str) {
    let lines = ["INFO KEY", "INFO KEY FULL", "ADD KEY new", "EXISTS KEY new", "SCANDUMP KEY 0"];
    let of_cuckoo = ["CF.COUNT KEY hot", "CF.DEL KEY hot", "CF.DEL KEY 3", "CF.DEBUG KEY"];
    let all = ["BF", "CF"].iter().flat_map(|family| lines.map(|line| format!("{family}.{line}")));
    for line in all.chain(of_cuckoo.map(str::to_owned)) {
        let line = line.replace("KEY", key);
        let got = client.try_call(&line.split(' ').collect::<Vec<_>>());
        assert!(got.is_ok(), "the server died at {line}");
    }
}

#[test]
fn mutated_dumps_do_no_harm() {
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    for make in makes() {
        let mut server = Server::start(make, &[]);
        let mut client = server.client();
        let (mut refused, mut taken) = (0, 0);
        for subject in SUBJECTS {
            self::make(&mut client, subject);
            let payload = client.say("DUMP k").bytes();
            let mut try_one = |bytes: Vec<u8>| {
                let words: [&[u8]; 5] = [b"RESTORE", b"m", b"0", &bytes, b"REPLACE"];
                let got = client.try_call(&words).unwrap_or_else(|_| panic!("dead: {subject}"));
                match got.error() {
                    "" => {
                        taken += 1;
                        poke(&mut client, "m");
                    }
                    _ => refused += 1,
                }
            };
            let step = if soak { 1 } else { (payload.len() / 60).max(1) };
            let end = payload.len() - 10;
            for at in (0..end.min(200)).chain((200..end).step_by(step)) {
                let values: &[u8] = if soak { &[0, 1, 0x7f, 0x80, 0xff] } else { &[0, 0xff] };
                for value in values {
                    let mut bad = payload.clone();
                    bad[at] = if bad[at] == *value { !*value } else { *value };
                    try_one(mended(bad));
                }
            }
            for cut in (0..end).step_by(step) {
                let mut bad = payload[..cut].to_vec();
                bad.extend(&payload[end..]);
                try_one(mended(bad));
            }
        }
        assert!(server.is_alive() && refused > 500, "{refused} refused, {taken} taken");
    }
}

#[test]
fn mutated_chunks_do_no_harm() {
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    for make in makes() {
        let mut server = Server::start(make, &[]);
        let mut client = server.client();
        for subject in SUBJECTS {
            self::make(&mut client, subject);
            let family = family(subject);
            let load = format!("{family}.LOADCHUNK");
            let head = client.say(&format!("{family}.SCANDUMP k 0")).array().remove(1).bytes();
            let mut rest = client.say(&format!("{family}.SCANDUMP k 1")).array();
            let (data, iterator) = (rest.remove(1).bytes(), rest[0].int().to_string());
            let mut try_one = |head: &[u8], data: &[u8], iterator: &str| {
                client.say("DEL m");
                client.call(&[load.as_bytes(), b"m", &b"1"[..], head]);
                let words = [load.as_bytes(), b"m", iterator.as_bytes(), data];
                client.try_call(&words).unwrap_or_else(|_| panic!("dead: {subject}"));
                poke(&mut client, "m");
            };
            for at in 0..head.len() {
                for bit in if soak { 0..8 } else { at % 8..at % 8 + 1 } {
                    let mut bad = head.clone();
                    bad[at] ^= 1 << bit;
                    try_one(&bad, &data, &iterator);
                    // The head of ours has its own checksum, which a forger would mend.
                    if bad.starts_with(b"\x89MHDUMP") && bad.len() > 4 {
                        let end = bad.len() - 4;
                        let crc = crc32c::crc32c(&bad[..end]);
                        bad[end..].copy_from_slice(&crc.to_le_bytes());
                        try_one(&bad, &data, &iterator);
                    }
                }
            }
            let step = if soak { 1 } else { (data.len() / 100).max(1) };
            for at in (0..data.len()).step_by(step) {
                let mut bad = data.clone();
                bad[at] ^= 1 << (at % 8);
                try_one(&head, &bad, &iterator);
                try_one(&head, &data[..at], &(at + 1).to_string());
                try_one(&head[..at.min(head.len())], &data, &iterator);
            }
            for bad in ["0", "2", "-1", "9223372036854775807", "17"] {
                try_one(&head, &data, bad);
            }
        }
        assert!(server.is_alive());
    }
}

/// Options, growth, entries and rate of RedisBloom's chains say how large the next link is: whatever
/// they say, a few hundred items more take what the chain explains or are refused.
#[test]
fn dumps_that_ask_for_much_get_little() {
    let items: Vec<String> = (0..300).map(|item| format!("another {item}")).collect();
    for make in makes() {
        let mut server = Server::start(make, &[]);
        let mut client = server.client();
        let mut taken = 0;
        for subject in ["BF.RESERVE k 0.01 8 COMPAT", "BF.RESERVE k 0.01 20 COMPAT"] {
            self::make(&mut client, subject);
            let payload = client.say("DUMP k").bytes();
            // The numbers of the chain and of its first link.
            for (at, value) in (10..50).flat_map(|at| (0..=255).map(move |value| (at, value))) {
                let mut bad = payload.clone();
                bad[at] = value;
                let bad = mended(bad);
                let words: [&[u8]; 5] = [b"RESTORE", b"m", b"0", &bad, b"REPLACE"];
                if client.try_call(&words).expect("alive").error() != "" {
                    continue;
                }
                taken += 1;
                let mut words = vec!["BF.MADD", "m"];
                words.extend(items.iter().map(String::as_str));
                client.try_call(&words).expect("alive after BF.MADD");
                client.try_call(&["BF.INFO", "m", "FULL"]).expect("alive after BF.INFO");
                let usage = client.say("MEMORY USAGE m").int();
                assert!(usage < 64 << 20, "{usage} bytes: byte {at} of {subject} is {value}");
            }
        }
        assert!(server.is_alive() && taken > 100, "{taken} taken");
    }
}

/// The header of a chain with one link, as `BF.LOADCHUNK` takes it. The link says that it is full.
fn header(options: u32, growth: u32, bytes: u64, entries: u64, error: f64) -> Vec<u8> {
    let bits_per_entry = error.ln().abs() / std::f64::consts::LN_2.powi(2);
    let hashes = (std::f64::consts::LN_2 * bits_per_entry).ceil() as u32;
    let mut header = Vec::new();
    header.extend(entries.to_le_bytes());
    [1, options, growth].iter().for_each(|number| header.extend(number.to_le_bytes()));
    [bytes, bytes * 8, entries].iter().for_each(|number| header.extend(number.to_le_bytes()));
    [error, bits_per_entry].iter().for_each(|number| header.extend(number.to_le_bytes()));
    header.extend(hashes.to_le_bytes());
    header.extend(entries.to_le_bytes());
    header.push(0);
    header
}

/// The same with all numbers chosen at once: what follows a full link of 8 bytes or of 8 KiB.
#[test]
fn headers_that_ask_for_much_get_little() {
    let items: Vec<String> = (0..300).map(|item| format!("another {item}")).collect();
    let mut add = vec!["BF.MADD", "m"];
    add.extend(items.iter().map(String::as_str));
    for make in makes() {
        let mut server = Server::start(make, &[]);
        let mut client = server.client();
        let (mut grown, mut largest) = (0, 0);
        for (bytes, entries) in [(8, 1), (8, 4), (8, 1 << 40), (8192, 4096), (8192, 1 << 40)] {
            for (options, growth) in [(5, 2), (5, 32_768), (4, 32_768), (6, 32_768), (0, 1024)] {
                for error in [1e-9, 0.01, 0.4, 0.999_999] {
                    client.say("DEL m");
                    let header = header(options, growth, bytes, entries, error);
                    let load: [&[u8]; 4] = [b"BF.LOADCHUNK", b"m", b"1", &header];
                    assert_eq!(client.call(&load).error(), "", "{header:?}");
                    client.try_call(&add).expect("alive after BF.MADD");
                    client.try_call(&["BF.INFO", "m", "FULL"]).expect("alive after BF.INFO");
                    let usage = client.say("MEMORY USAGE m").int();
                    grown += u32::from(usage > 64 << 10);
                    largest = largest.max(usage);
                    let all = (options, growth, bytes, entries, error);
                    assert!(usage < 80 << 20, "{usage} bytes: {all:?}");
                }
            }
        }
        assert!(server.is_alive() && grown > 10 && largest > 16 << 20, "{grown}, {largest}");
    }
}
