use super::*;

fn parsed(url: &str) -> Address {
    Address::parse(url).unwrap_or_else(|error| panic!("{error}")).0
}

#[test]
fn no_address_gives_a_password_away() {
    for url in [
        "redis://u:secret@h:1/0",
        "redis://u:secret@h:1:2/0",
        "redis://u:secret",
        "redis://:secret",
        "redis://u:secret@",
        "redis://u:sec?secret@h:1",
        "redis://u:sec&secret@h:1",
        "redis://u:sec?a&secret@h:1",
        "redis://u:sec/secret@h:1",
        "redis+cluster://u:secret@h:1,v:secret@h:2",
        "redis+cluster://u:secret@h:1,v:secret@h:x",
        "redis://u:secret@h:1?timeout=secret",
        "http://u:secret@h",
        "u:secret@h",
    ] {
        let message = match Address::parse(url) {
            Ok((address, _)) => format!("{address} {address:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!message.contains("secret"), "{message}");
        assert!(!redacted(url).contains("secret"), "{}", redacted(url));
    }
}

#[test]
fn what_is_no_address_is_refused() {
    for url in [
        "",
        "seen.redb",
        "http://h",
        "redis://",
        "redis://a:1,b:2",
        "redis://h:99999",
        "redis://h?timeout=0",
        "redis://h?cert=a&key=b",
    ] {
        assert!(matches!(Address::parse(url), Err(LinkError::Address { .. })), "{url}");
    }
}

#[test]
fn the_query_is_split_and_decoded() {
    let (address, rest) =
        Address::parse("redis://h:1?cluster=true&prefix=a%3Ab+%zz&layout").unwrap();
    assert!(address.is_cluster());
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(rest, [pair("prefix", "a:b %zz"), pair("layout", "true")]);
}

#[test]
fn each_node_has_its_own_login_and_others_the_first() {
    let logins = |url: &str| -> Vec<String> {
        let address = parsed(url);
        let other = Node { host: "elsewhere".to_owned(), port: 9 };
        let nodes = address.nodes().cloned().chain([other]);
        let login = |node: Node| {
            let Login { user, password } = address.login(&node);
            format!(
                "{node} {}:{}",
                user.clone().unwrap_or_default(),
                password.clone().unwrap_or_default()
            )
        };
        nodes.map(login).collect()
    };
    assert_eq!(
        logins("redis+cluster://a:b@h:1,c:d@i:2,j:3"),
        ["h:1 a:b", "i:2 c:d", "j:3 a:b", "elsewhere:9 a:b"]
    );
    // One login with a comma, an at sign, or one in percent.
    assert_eq!(
        logins("redis+cluster://a:b,b@h:1,i:2"),
        ["h:1 a:b,b", "i:2 a:b,b", "elsewhere:9 a:b,b"]
    );
    assert_eq!(
        logins("redis+cluster://a:b@b@h:1,i:2"),
        ["h:1 a:b@b", "i:2 a:b@b", "elsewhere:9 a:b@b"]
    );
    assert_eq!(logins("redis://:p%40w@h"), ["h:6379 :p@w", "elsewhere:9 :p@w"]);
    assert_eq!(logins("redis://h/3"), ["h:6379 :", "elsewhere:9 :"]);
}

#[test]
fn addresses_are_shown_as_they_were_written_without_logins() {
    for (url, shown) in [
        ("redis://u:p@h:1/2", "redis://h:1/2"),
        ("valkey://h", "valkey://h:6379"),
        ("redis+cluster://u:p@h:1,i:2", "redis+cluster://h:1,i:2"),
        ("redis://[::1]:7", "redis://[::1]:7"),
        ("redis+unix:///run/redis.sock", "redis+unix:///run/redis.sock"),
    ] {
        assert_eq!(parsed(url).to_string(), shown);
    }
}

#[test]
#[cfg(not(feature = "tls"))]
fn without_tls_we_say_so() {
    let message = Address::parse("rediss://h").unwrap_err().to_string();
    assert!(message.contains("no TLS"), "{message}");
}
