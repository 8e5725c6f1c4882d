//! Who may do what: ACL rules about keys, and replicas.

use mayhap_testkit::{Client, Make, Server, Value, eventually, makes};

fn user(server: &Server, rules: &str) -> Client {
    let mut admin = server.client();
    admin.say("ACL DELUSER someone");
    let line = format!("ACL SETUSER someone on nopass {rules}");
    assert_eq!(admin.say(&line), Value::ok(), "{line}");
    let mut client = server.client();
    assert_eq!(client.say("AUTH someone any"), Value::ok());
    client
}

fn is_refused(value: &Value) -> bool {
    value.error().starts_with("NOPERM")
}

#[test]
fn reading_needs_the_right_to_read_and_no_more() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut admin = server.client();
        let secret = "SECRET 000102030405060708090a0b0c0d0e0f";
        for key in ["a", "b", "d", "mine"] {
            admin.say(&format!("BF.RESERVE {key} 0.01 100 {secret}"));
            admin.say(&format!("BF.ADD {key} {key}"));
        }
        let reads = [
            "BF.EXISTS a x",
            "BF.MEXISTS a x y",
            "BF.MEXISTSANY a b ITEMS x y",
            "BF.INFO a",
            "BF.INFO a FULL",
            "BF.CARD a",
            "BF.DEBUG a",
            "BF.SCANDUMP a 0",
            "BF.UNSEEN a x y",
            "BF.UNSEEN a MARK",
            "BF.UNSEEN_RO a x y MARK",
        ];
        let writes = [
            "BF.RESERVE new 0.01 100",
            "BF.ADD a x",
            "BF.MADD a x",
            "BF.INSERT a ITEMS x",
            "BF.LOADCHUNK new 1 x",
            "BF.DEL a x",
            "BF.CLEAR a",
            "BF.MERGE a b",
            "BF.UNSEEN a x MARK",
        ];
        // May read every key, and run every command.
        let mut reader = user(&server, "%R~* +@all");
        for line in reads {
            assert!(!is_refused(&reader.say(line)), "{make:?}: {line}");
        }
        for line in writes {
            assert!(is_refused(&reader.say(line)), "{make:?}: {line}");
        }
        // May write every key and read none.
        let mut writer = user(&server, "%W~* +@all");
        for line in reads.iter().filter(|line| !line.starts_with("BF.MERGE")) {
            assert!(is_refused(&writer.say(line)), "{make:?}: {line}");
        }
        assert_eq!(writer.say("BF.ADD a x"), Value::Int(1));
        assert!(is_refused(&writer.say("BF.MERGE a b")), "sources are read");
        assert!(is_refused(&writer.say("BF.UNSEEN a x MARK")), "what is in is answered");
        // Reads what others own, and writes only its own: the sources of a merge are read.
        let mut merger = user(&server, "~mine %R~* +@all");
        assert_eq!(merger.say("BF.MERGE mine a b"), Value::ok());
        assert_eq!(merger.say("BF.MERGE mine d LAYERS"), Value::ok(), "LAYERS is no key");
        assert_eq!(merger.say("BF.MEXISTS mine a b d"), Value::ints(&[1, 1, 1]));
        assert!(is_refused(&merger.say("BF.MERGE a mine")));
        // The same in selectors: each command must fit into one of them.
        let mut both = user(&server, "(%R~* +bf.mexistsany) (~mine +bf.merge +bf.add)");
        assert_eq!(both.say("BF.MEXISTSANY a b ITEMS a b z"), Value::ints(&[1, 1, 0]));
        assert_eq!(both.say("BF.ADD mine q"), Value::Int(1));
        assert!(is_refused(&both.say("BF.ADD a q")));
        // Only some keys, and a word that is none.
        let mut some = user(&server, "%R~a %R~b +@all");
        assert_eq!(some.say("BF.MEXISTSANY a b ITEMS a z"), Value::ints(&[1, 0]));
        assert!(is_refused(&some.say("BF.MEXISTSANY a d ITEMS a z")));
        // No command that may write. Redis 7.0 has no categories for modules.
        if make == Make::Redis {
            continue;
        }
        let mut read_only = user(&server, "~* +@read");
        for line in ["BF.EXISTS a x", "BF.MEXISTSANY a b ITEMS x", "BF.UNSEEN_RO a x", "BF.DEBUG a"]
        {
            assert!(!is_refused(&read_only.say(line)), "{make:?}: {line}");
        }
        assert!(is_refused(&read_only.say("BF.UNSEEN a x")));
        let refused = read_only.say("BF.ADD a x");
        assert!(is_refused(&refused) && refused.error().contains("'bf.add'"), "{refused:?}");
    }
}

/// Rules that were written for RedisBloom load, and allow no more than they did there.
#[test]
fn categories_hold_what_they_hold_with_redisbloom() {
    for make in makes().into_iter().filter(|make| *make != Make::Redis) {
        let server = Server::start(make, &[]);
        let mut admin = server.client();
        let mut names = |category: &str| {
            let all = admin.say(&format!("ACL CAT {category}")).array();
            let mut names: Vec<String> = all.into_iter().map(Value::text).collect();
            names.sort();
            names.join(" ")
        };
        assert_eq!(
            names("bloom"),
            "bf.add bf.card bf.debug bf.exists bf.info bf.insert bf.loadchunk bf.madd bf.mexists \
             bf.reserve bf.scandump"
        );
        assert_eq!(
            names("cuckoo"),
            "cf.add cf.addnx cf.compact cf.count cf.debug cf.del cf.exists cf.info cf.insert \
             cf.insertnx cf.loadchunk cf.mexists cf.reserve cf.scandump"
        );
        for none in ["cms", "topk", "tdigest"] {
            assert_eq!(names(none), "");
        }
        let ours = names("mayhap");
        assert!(ours.contains("bf.unseen") && !ours.contains("bf.add"), "{ours}");
        let all = names("read") + &names("write");
        assert!(ours.split(' ').all(|name| all.contains(name)), "{ours}");
        let mut someone = user(&server, "~* +@bloom -@cms");
        assert_eq!(someone.say("BF.ADD a x"), Value::Int(1));
        assert!(is_refused(&someone.say("BF.UNSEEN_RO a x")));
        let mut someone = user(&server, "~* +@bloom +@mayhap");
        assert!(!is_refused(&someone.say("BF.UNSEEN_RO a x")));
        assert!(is_refused(&someone.say("CF.ADD c x")));
    }
}

#[test]
fn a_dry_run_tells_the_same() {
    for make in makes() {
        let server = Server::start(make, &[]);
        user(&server, "%R~* +@all");
        let mut admin = server.client();
        assert_eq!(admin.say("ACL DRYRUN someone BF.MEXISTSANY a b ITEMS x"), Value::ok());
        assert_eq!(admin.say("ACL DRYRUN someone BF.UNSEEN a x"), Value::ok());
        assert_ne!(admin.say("ACL DRYRUN someone BF.UNSEEN a x MARK"), Value::ok());
        assert_ne!(admin.say("ACL DRYRUN someone BF.MERGE a b"), Value::ok());
        let flags = admin.say("COMMAND GETKEYSANDFLAGS BF.MERGE d a LAYERS").array();
        assert_eq!(flags.len(), 2);
        assert!(format!("{:?}", flags[0]).contains("RW"), "{make:?}: {flags:?}");
        let read = format!("{:?}", flags[1]);
        assert!(read.contains("RO") || read.contains(&format!("{:?}", b"RO")), "{read}");
    }
}

#[test]
fn replicas_answer_what_only_reads() {
    for make in makes() {
        let primary = Server::start(make, &[]);
        let replica = Server::start(make, &[]);
        let mut on_replica = replica.client();
        on_replica.say(&format!("REPLICAOF 127.0.0.1 {}", primary.port));
        eventually("replication", || {
            on_replica.say("INFO replication").text().contains("master_link_status:up")
        });
        let mut on_primary = primary.client();
        on_primary.say("BF.MADD k a b");
        assert_eq!(on_primary.say("WAIT 1 10000"), Value::Int(1));
        assert_eq!(on_replica.say("BF.MEXISTSANY k none ITEMS a z"), Value::ints(&[1, 0]));
        let z = Value::Array(vec![Value::Bytes(b"z".into())]);
        assert_eq!(on_replica.say("BF.UNSEEN_RO k a z"), z);
        assert_eq!(on_replica.say("BF.CARD k"), Value::Int(2));
        assert!(on_replica.say("BF.DEBUG k").error().is_empty());
        // Like BITFIELD, a command that may write is one to a replica, whatever it would do.
        assert!(on_replica.say("BF.UNSEEN k a z").error().starts_with("READONLY"));
        assert!(on_replica.say("BF.UNSEEN k a z MARK").error().starts_with("READONLY"));
        assert!(on_replica.say("BF.ADD k z").error().starts_with("READONLY"));
    }
}

#[test]
fn command_names_are_lowercase_in_acl() {
    for make in makes() {
        let server = Server::start(make, &[]);
        let mut client = server.client();
        let listed = client.say("COMMAND LIST FILTERBY MODULE mayhap").array();
        let names: Vec<String> = listed.into_iter().map(Value::text).collect();
        assert!(names.contains(&"bf.add".to_owned()), "{names:?}");
        assert!(names.iter().all(|name| *name == name.to_lowercase()), "{names:?}");
        client.say("ACL SETUSER someone +bf.add +BF.DEL");
        let rules = client.say("ACL LIST").array().into_iter().map(Value::text);
        let rules = rules.collect::<Vec<_>>().join("; ");
        assert!(
            rules.contains("+bf.add") && rules.contains("+bf.del") && !rules.contains("BF."),
            "{rules}"
        );
    }
}
