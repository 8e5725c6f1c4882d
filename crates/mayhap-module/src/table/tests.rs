use super::*;
use crate::Args;
use crate::keyspace::memory::Memory;

#[test]
fn every_row_is_whole() {
    for (table, (at, command)) in [COMMANDS, CUCKOO]
        .into_iter()
        .flat_map(|table| table.iter().enumerate().map(move |row| (table, row)))
    {
        let name = command.name;
        assert!(table[..at].iter().all(|other| other.name != name), "{name} twice");
        assert!(name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'), "{name}");
        assert!(matches!(command.args[0], Arg::Key(_) | Arg::Keys(_)), "{name}");
        assert_ne!(command.writes(), command.flags.contains(&Flag::ReadOnly), "{name}");
        assert!(command.about.ends_with('.') && !command.cost.is_empty(), "{name}");
        let least = command.arity().unsigned_abs() as usize;
        assert!(!command.takes(least - 1) && command.takes(least), "{name}");
        assert_eq!(command.takes(least + 1), command.arity() < 0, "{name}");
        assert_eq!(command.takes(1000), command.args.contains(&Arg::Items) || name == "MERGE");
    }
}

#[test]
fn every_command_survives_nonsense() {
    let words: [&[u8]; 13] = [
        b"",
        b"k",
        b"ITEMS",
        b"-1",
        b"nan",
        b"MARK",
        b"1",
        b"EXPANSION",
        b"99999999999",
        b"LAYERS",
        b"BUCKETSIZE",
        b"\xff\x00",
        b"0.01",
    ];
    let mut keys = Memory::default();
    // Every command with every tail of a few turns of the words above.
    for (command, is_cuckoo) in
        COMMANDS.iter().map(|row| (row, false)).chain(CUCKOO.iter().map(|row| (row, true)))
    {
        keys.cuckoo_runs = is_cuckoo;
        for turn in 0..words.len() {
            let mut turned = words.to_vec();
            turned.rotate_left(turn);
            for count in 0..turned.len() {
                let mut all: Vec<&[u8]> = vec![b"BF.X", b"k"];
                all.extend(&turned[..count]);
                if command.takes(all.len()) {
                    _ = (command.run)(&mut keys, &Args::new(&all));
                }
            }
        }
    }
}

#[test]
fn key_places_are_found_in_the_words() {
    let places = |name: &str, words: &str| {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
        command.key_places(&Args::new(&words))
    };
    assert_eq!(places("ADD", "bf.add k i"), 1..2);
    assert_eq!(places("MEXISTSANY", "bf.mexistsany a b ITEMS x y"), 1..3);
    assert_eq!(places("MEXISTSANY", "bf.mexistsany a b"), 1..1);
    assert_eq!(places("MERGE", "bf.merge d a b"), 1..4);
    assert_eq!(places("MERGE", "bf.merge d a LAYERS"), 1..3);
    assert_eq!(places("MERGE", "bf.merge d layers"), 1..3);
}

#[test]
fn every_key_has_its_access() {
    let access = |name: &str, words: &str| -> Vec<Access> {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        let args = Args::new(&words);
        let command = COMMANDS.iter().find(|command| command.name == name).unwrap();
        command.key_places(&args).map(|place| command.access_at(place, &args)).collect()
    };
    use Access::{Delete, Read, ReadWrite, Write};
    assert_eq!(access("MERGE", "bf.merge d a b LAYERS"), [Write, Read, Read]);
    assert_eq!(access("MEXISTSANY", "bf.mexistsany a b ITEMS x"), [Read, Read]);
    assert_eq!(access("UNSEEN", "bf.unseen k a b"), [Read]);
    assert_eq!(access("UNSEEN", "bf.unseen k MARK"), [Read], "an item that is spelled so");
    assert_eq!(access("UNSEEN", "bf.unseen k a mark"), [ReadWrite]);
    assert_eq!(access("UNSEEN_RO", "bf.unseen_ro k a MARK"), [Read]);
    assert_eq!(access("ADD", "bf.add k a"), [Write]);
    assert_eq!(access("DEL", "bf.del k a"), [Delete]);
    assert_eq!(access("EXISTS", "bf.exists k a"), [Read]);
    // A missing word must not panic when the server asks for keys.
    for command in COMMANDS {
        for words in [&[&b"x"[..]][..], &[b"x", b"k"]] {
            let args = Args::new(words);
            command.key_places(&args).for_each(|place| _ = command.access_at(place, &args));
        }
    }
}

#[test]
fn commands_page_is_the_one_in_docs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/COMMANDS.md");
    let page = commands_page();
    if std::env::var_os("MAYHAP_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let have = std::fs::read_to_string(path).unwrap_or_default();
    assert!(have == page, "docs/COMMANDS.md is stale: see its first lines for how to print it");
}
