//! What is acknowledged is everywhere: in replicas, in files, after a restart, on other servers.

use mayhap_module::table::{COMMANDS, CUCKOO};
use mayhap_testkit::{Client, Make, Server, Value, eventually, makes};
use std::collections::BTreeMap;

/// Every mutating command, on every kind.
const SCRIPT: &[&str] = &[
    "BF.RESERVE grows 0.001 50 EXPANSION 3",
    "BF.RESERVE fixed 0.01 50 NONSCALING EX 1000",
    "BF.RESERVE classic 0.01 500 KIND classic",
    "BF.RESERVE counting 0.01 500 KIND counting",
    "BF.RESERVE hour 0.01 100 WINDOW 3600 GENERATIONS 3",
    "BF.RESERVE tick 0.01 100 WINDOW 0.2 GENERATIONS 2",
    "BF.RESERVE last 0.01 20 LAST 20",
    "BF.RESERVE compat 0.01 20 COMPAT",
    "BF.RESERVE a 0.01 50 SECRET 000102030405060708090a0b0c0d0e0f",
    "BF.RESERVE b 0.01 50 SECRET 000102030405060708090a0b0c0d0e0f",
    "BF.INSERT made ERROR 0.1 CAPACITY 9 EX 500 ITEMS x y z",
    "BF.INSERT window WINDOW 60 CAPACITY 40 ITEMS x y z",
    "BF.ADD auto 1",
    "BF.MADD automany 1 2 3",
    "BF.UNSEEN seen 1 2 3 MARK",
    "BF.UNSEEN hour 1 2 3 MARK",
    "BF.MADD counting 1 2 3 3",
    "BF.DEL counting 3 9",
    "BF.MADD a 1 2",
    "BF.MADD b 2 3",
    "BF.MERGE a b",
    "BF.MERGE sum a b",
    "BF.MERGE sum compat grows LAYERS",
    "BF.MERGE compat compat",
    "BF.ADD sum new",
    "BF.CLEAR b",
    "BF.RESERVE shard 0.01 50 NONSCALING",
    "BF.SHARDID shard 00112233445566778899aabbccddeeff/1/3",
    "BF.SHARDMADD shard 00112233445566778899aabbccddeeff/1/3 1 2 3",
    "CF.RESERVE cf 50 ERROR 0.001 GROWTH 4 BUCKETSIZE 4",
    "CF.RESERVE cffixed 20 EXPANSION 0",
    "CF.ADD cfauto 1",
    "CF.ADDNX cfauto 2",
    "CF.INSERT cfmade CAPACITY 40 ITEMS a b c a a a a a",
    "CF.INSERTNX cfmade ITEMS a d",
    "CF.DEL cfmade a",
    "CF.RESERVE cfempty 10",
];

fn fill(client: &mut Client) {
    for line in SCRIPT {
        let got = client.say(line);
        assert_eq!(got.error(), "", "{line}");
    }
    for step in 0..30 {
        for name in
            ["grows", "classic", "counting", "hour", "tick", "last", "compat", "auto", "fixed"]
        {
            client.say(&format!("BF.MADD {name} {step} {} x{step}", step * 7));
            client.say(&format!("BF.ADD {name} y{step}"));
        }
    }
    for step in 0..100 {
        for name in ["cf", "cffixed", "cfauto", "cfmade"] {
            client.say(&format!("CF.INSERT {name} ITEMS {step} {} x{step} hot", step % 9));
            client.say(&format!("CF.INSERTNX {name} ITEMS {step} n{step}"));
            client.say(&format!("CF.ADD {name} y{step}"));
            client.say(&format!("CF.DEL {name} x{step}"));
        }
    }
    copy_by_chunks_of("CF", client, "cf", "cfloaded");
    // More than one chunk of a rewritten file, and of a dump.
    client.say("BF.RESERVE large 0.01 12000000");
    client.say("BF.MADD large 1 2 3");
    copy_by_chunks(client, "large", "loadedlarge");
    // A dump of each make, chunk by chunk, and one that is left in the middle.
    for (from, to) in [("grows", "loaded"), ("compat", "loadedcompat"), ("shard", "loadedshard")] {
        copy_by_chunks(client, from, to);
    }
    let head = client.say("BF.SCANDUMP grows 0").array().remove(1).bytes();
    client.call(&[&b"BF.LOADCHUNK"[..], b"half", b"1", &head[..]]);
    client.call(&[&b"BF.LOADCHUNK"[..], b"half", &b"5"[..], b"\x89MAY"]);
}

pub fn copy_by_chunks(client: &mut Client, from: &str, to: &str) {
    copy_by_chunks_of("BF", client, from, to);
}

fn copy_by_chunks_of(family: &str, client: &mut Client, from: &str, to: &str) {
    let mut iterator = "0".to_owned();
    loop {
        let mut chunk = client.say(&format!("{family}.SCANDUMP {from} {iterator}")).array();
        let (bytes, next) = (chunk.remove(1), chunk[0].int());
        if next == 0 {
            return;
        }
        let bytes = bytes.bytes();
        iterator = next.to_string();
        let command = format!("{family}.LOADCHUNK");
        let words = [command.as_bytes(), to.as_bytes(), iterator.as_bytes(), &bytes];
        assert_eq!(client.call(&words), Value::ok());
    }
}

fn dumps(client: &mut Client) -> BTreeMap<String, (Vec<u8>, i64)> {
    let names = client.say("KEYS *").array().into_iter().map(Value::text);
    names
        .collect::<Vec<_>>()
        .into_iter()
        .map(|name| {
            let dump = client.say(&format!("DUMP {name}")).bytes();
            let expires = client.say(&format!("PEXPIRETIME {name}")).int();
            (name, (dump, expires))
        })
        .collect()
}

fn assert_equal(
    what: &str,
    ours: &BTreeMap<String, (Vec<u8>, i64)>,
    theirs: &BTreeMap<String, (Vec<u8>, i64)>,
) {
    let names = |map: &BTreeMap<String, _>| map.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(ours), names(theirs), "{what}");
    for (name, ours) in ours {
        assert!(theirs[name].0 == ours.0, "{what}: {name} differs");
        assert_eq!(theirs[name].1, ours.1, "{what}: {name} expires at another time");
    }
}

#[test]
fn the_script_has_every_mutating_command() {
    let bloom = COMMANDS.iter().map(|command| ("BF", command));
    let all = bloom.chain(CUCKOO.iter().map(|command| ("CF", command)));
    for (family, command) in all.filter(|(_, command)| command.writes()) {
        let name = format!("{family}.{} ", command.name);
        let told = SCRIPT.iter().any(|line| line.starts_with(&name)) || command.name == "LOADCHUNK";
        assert!(told, "{name}");
    }
}

#[test]
fn replicas_and_restarts_are_equal() {
    for make in makes() {
        let mut primary = Server::start(make, &["--appendonly", "yes", "--appendfsync", "no"]);
        let early = replica_of(&primary, make);
        let mut client = primary.client();
        fill(&mut client);
        let ours = dumps(&mut client);
        assert_eq!(ours.len(), 29);
        assert!(ours["large"].0 == ours["loadedlarge"].0);
        for (name, (dump, _)) in &ours {
            assert_eq!(client.say(&format!("COPY {name} copy")), Value::Int(1), "{name}");
            assert!(client.say("DUMP copy").bytes() == *dump, "copy of {name}");
            client.say("DEL copy");
        }
        // One that heard every command, with other settings; one that gets a whole copy.
        wait_for(&mut client, &early);
        assert_equal("replica by commands", &ours, &dumps(&mut early.client()));
        let late = replica_of(&primary, make);
        assert_equal("replica by copy", &ours, &dumps(&mut late.client()));
        drop((early, late));

        client.say("DEBUG RELOAD");
        assert_equal("rdb reload", &ours, &dumps(&mut client));
        primary.restart();
        assert_equal("aof of commands", &ours, &dumps(&mut primary.client()));
        let mut client = primary.client();
        // Once as commands, once with a copy at its beginning.
        for preamble in ["no", "yes"] {
            client.say(&format!("CONFIG SET aof-use-rdb-preamble {preamble}"));
            client.say("BGREWRITEAOF");
            eventually("rewrite", || {
                let info = client.say("INFO persistence").text();
                info.contains("aof_rewrite_in_progress:0")
                    && info.contains("aof_rewrite_scheduled:0")
            });
            assert!(client.say("INFO persistence").text().contains("aof_last_bgrewrite_status:ok"));
            if preamble == "no" {
                assert_bounded(&primary);
            }
            primary.restart();
            client = primary.client();
            assert_equal(&format!("rewritten, preamble {preamble}"), &ours, &dumps(&mut client));
        }
        // And it goes on.
        assert_eq!(client.say("BF.EXISTS grows x29"), Value::Int(1));
        // No fewer than went in; its secret is random, so another item may count with it.
        assert!(client.say("CF.COUNT cfmade hot").int() >= 100);
        assert_eq!(client.say("CF.EXISTS cfloaded y99"), Value::Int(1));
        assert_eq!(client.say("CF.DEL cfauto y99"), Value::Int(1));
        assert_eq!(
            client.say("BF.EXISTS half x").error().split(':').next(),
            Some("ERR filter is still loading")
        );
    }
}

/// No argument in the rewritten file is longer than a chunk may be, and large filters have several.
fn assert_bounded(server: &Server) {
    const CHUNK: usize = 4 << 20;
    let dir = std::fs::read_dir(server.dir.join("appendonlydir")).unwrap();
    let base = dir.flatten().find(|file| file.file_name().to_string_lossy().contains(".base."));
    let bytes = std::fs::read(base.unwrap().path()).unwrap();
    let (mut at, mut chunks) = (0, 0);
    while let Some(end) = bytes[at..].iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&bytes[at..at + end]).unwrap().trim_end();
        at += end + 1;
        if let Some(count) = line.strip_prefix('$') {
            let count: usize = count.parse().unwrap();
            assert!(count <= CHUNK, "{count} bytes in one");
            chunks += usize::from(count == CHUNK);
            at += count + 2;
        }
    }
    assert!(chunks >= 8, "{chunks} whole chunks");
}

fn replica_of(primary: &Server, make: Make) -> Server {
    let module = ["INITIAL_SIZE", "7", "ERROR_RATE", "0.2", "MAX_FILTER_BYTES", "1000"];
    let at = format!("127.0.0.1 {}", primary.port);
    let replica = Server::with_module(make, &module, &["--replicaof", &at]);
    let mut client = replica.client();
    eventually("link", || client.say("INFO replication").text().contains("master_link_status:up"));
    replica
}

fn wait_for(client: &mut Client, replica: &Server) {
    let offset = |info: String, name: &str| {
        let line = info.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
        line.split(':').nth(1).map(|at| at.trim().parse::<i64>().unwrap()).unwrap_or(-1)
    };
    let mut theirs = replica.client();
    eventually("replication", || {
        let ours = offset(client.say("INFO replication").text(), "master_repl_offset");
        offset(theirs.say("INFO replication").text(), "slave_repl_offset") >= ours
    });
}

#[test]
fn dumps_go_from_server_to_server() {
    for from in makes() {
        let ours = Server::start(from, &[]);
        let mut client = ours.client();
        fill(&mut client);
        let dumps = dumps(&mut client);
        for to in makes() {
            let theirs = Server::start(to, &[]);
            let mut there = theirs.client();
            for (name, (dump, _)) in &dumps {
                let words: [&[u8]; 4] = [b"RESTORE", name.as_bytes(), b"0", dump];
                let got = there.call(&words);
                // Only from an older server to a newer one.
                let newer = from > to || matches!((from, to), (Make::Other(_), Make::Other(_)));
                if newer && got.error().contains("DUMP payload version") {
                    continue;
                }
                assert_eq!(got, Value::ok(), "{name} from {from:?} to {to:?}");
                if name != "half" {
                    assert_eq!(
                        there.say(&format!("BF.CARD {name}")),
                        client.say(&format!("BF.CARD {name}")),
                    );
                }
            }
        }
    }
}
