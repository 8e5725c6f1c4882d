//! Beside another module that has `BF.*` and RedisBloom's type, as Redis 8 brings one along.

use mayhap_testkit::{Server, Value, makes, module};

/// A second module: our own under another name, which the server treats like any other.
fn other(server: &Server) -> String {
    let mut bytes = std::fs::read(module()).unwrap();
    let (ours, theirs) = (b"mayhap", b"mishap");
    let mut at = 0;
    while let Some(next) = bytes[at..].windows(6).position(|word| word == ours) {
        bytes[at + next..at + next + 6].copy_from_slice(theirs);
        at += next + 6;
    }
    let path = server.dir.join("libmishap.so");
    std::fs::copy(module(), &path).unwrap(); // servers want a library to be executable
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn a_prefix_keeps_two_modules_apart() {
    for make in makes() {
        let mut server = Server::start(make, &["--enable-module-command", "yes"]);
        let mut client = server.client();
        let path = other(&server);
        // Without a prefix it says why not, and the server goes on.
        assert!(!client.say(&format!("MODULE LOAD {path}")).error().is_empty());
        let log = std::fs::read_to_string(server.dir.join("log")).unwrap();
        assert!(log.contains("belongs to another module: load this one with another prefix"));
        assert_eq!(client.say("BF.ADD k a"), Value::Int(1));
        // With one both work side by side, each with its own filters.
        assert_eq!(client.say(&format!("MODULE LOAD {path} PREFIX mh")), Value::ok());
        assert_eq!(client.say("MH.ADD m a"), Value::Int(1));
        assert_eq!(client.say("MH.RESERVE c 0.01 100 COMPAT"), Value::ok());
        assert_eq!(client.say("MH.MADD c a b"), Value::ints(&[1, 1]));
        assert!(client.say("MH.ADD k a").error().starts_with("WRONGTYPE"));
        assert!(client.say("BF.ADD m a").error().starts_with("WRONGTYPE"));
        // The type of RedisBloom's filters is the other module's; ours keep theirs in our own.
        client.say("DEBUG RELOAD");
        assert_eq!(client.say("MH.MEXISTS c a b x"), Value::ints(&[1, 1, 0]));
        assert_eq!(client.say("BF.MEXISTS k a x"), Value::ints(&[1, 0]));
        assert!(server.is_alive());
    }
}
