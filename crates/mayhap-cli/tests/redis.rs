//! `mayhap redis` against real servers, as a user would run it.

#[path = "redis/gate.rs"]
mod gate;
#[path = "redis/loads.rs"]
mod loads;

use assert_cmd::Command;
use mayhap_testkit::{Make, Server, makes, nodes};
use std::fs;
use std::path::Path;

fn make() -> Option<Make> {
    makes().last().copied()
}

/// Exit code, standard output, standard error.
type Ran = (i32, String, String);

fn run(dir: &Path, line: &str) -> Ran {
    run_with(dir, line, "")
}

fn run_with(dir: &Path, line: &str, stdin: &str) -> Ran {
    let output = Command::cargo_bin("mayhap")
        .unwrap()
        .args(line.split_whitespace())
        .current_dir(dir)
        .write_stdin(stdin)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn done(dir: &Path, line: &str) -> String {
    let (code, out, error) = run(dir, line);
    assert_eq!(code, 0, "{line}: {error}");
    out
}

/// What went wrong: the error and its hint.
fn wrong(dir: &Path, line: &str) -> String {
    let (code, out, error) = run(dir, line);
    assert_eq!((code, out.as_str()), (2, ""), "{line}: {error}");
    assert!(error.starts_with("error: "), "{error}");
    error
}

fn keys(range: std::ops::Range<u32>) -> String {
    range.map(|key| format!("https://example.org/{key}\n")).collect()
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("members"), keys(0..20_000)).unwrap();
    fs::write(folder.path().join("absent"), keys(20_000..60_000)).unwrap();
    folder
}

#[test]
fn a_list_built_in_shards_lives_in_a_cluster() {
    let Some(make) = make() else { return };
    let servers = nodes::start(make);
    let url = format!("redis+cluster://127.0.0.1:{}", servers[2].port);
    let folder = folder();
    let dir = folder.path();
    done(dir, "build --shards 16 --normalize url -o list.mh members");
    // The file is a filter like any other.
    assert_eq!(done(dir, "check -c list.mh members"), "20000\n");
    assert!(done(dir, "verify list.mh").contains("whole: sharded, 19,"));
    let info = done(dir, "info list.mh");
    assert!(info.contains("in 16 shards"), "{info}");
    let wrong_here: u32 = done(dir, "check -c list.mh absent").trim().parse().unwrap();
    assert!(wrong_here < 480, "{wrong_here} of 40000 at 1%");

    let (code, _, said) = run(dir, &format!("redis load --shards 16 {url} list list.mh"));
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("loaded list: 19,") && said.contains("in 16 shards"), "{said}");
    assert_eq!(done(dir, &format!("redis check -c {url} list members")), "20000\n");
    // The false positives there are those here.
    let there = done(dir, &format!("redis check {url} list absent"));
    assert_eq!(there, done(dir, "check list.mh absent"));
    let info = done(dir, &format!("redis info --json {url} list"));
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert_eq!((info["shards"].as_u64(), info["normaliser"].as_str()), (Some(16), Some("url")));
    let nodes = info["nodes"].as_object().unwrap();
    assert_eq!(nodes.len(), 3, "{nodes:?}");
    assert!(nodes.values().all(|count| (5..=6).contains(&count.as_u64().unwrap())), "{nodes:?}");
    // Saved, it is the file it was.
    done(dir, &format!("redis save {url} list back.mh"));
    assert!(fs::read(dir.join("back.mh")).unwrap() == fs::read(dir.join("list.mh")).unwrap());
    // The normaliser of the file holds for what is added, whichever way it is spelled.
    let (code, _, said) =
        run_with(dir, &format!("redis add {url} list"), "HTTPS://EXAMPLE.ORG/a/../new\n");
    assert_eq!(code, 0, "{said}");
    let (code, out, _) =
        run_with(dir, &format!("redis check {url} list"), "https://example.org/new\n");
    assert_eq!((code, out.as_str()), (0, "https://example.org/new\n"));
    let (_, _, said) = run(dir, &format!("redis delete {url} list"));
    assert_eq!(said, "deleted list: 17 keys\n");
    assert_eq!(
        wrong(dir, &format!("redis check {url} list members")),
        "error: list: no such filter\nhint: is the name right? `mayhap redis load` loads a filter, `redis add -n KEYS` makes one\n"
    );
    for server in &servers[..3] {
        assert_eq!(server.client().say("DBSIZE").int(), 0);
    }
}

#[test]
fn a_filter_is_made_filled_and_saved_on_a_server() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    for (name, flags) in [("shards", "--shards 4"), ("plain", "")] {
        let (code, _, said) = run(dir, &format!("redis add -n 20k {flags} {url} {name} members"));
        assert_eq!(code, 0, "{said}");
        assert!(said.starts_with(&format!("added to {name}: 20,000 lines, 19,")), "{said}");
        let again = done(dir, &format!("redis add --json {url} {name} members"));
        let again: serde_json::Value = serde_json::from_str(&again).unwrap();
        assert_eq!((again["lines"].as_u64(), again["new"].as_u64()), (Some(20_000), Some(0)));
        let check = |flags: &str, list: &str| {
            let (code, out, _) = run(dir, &format!("redis check {flags} {url} {name} {list}"));
            (code, out)
        };
        assert_eq!(check("-c", "members"), (0, "20000\n".to_owned()));
        assert_eq!(check("-v", "members"), (1, String::new()));
        assert_eq!(check("-q", "members"), (0, String::new()));
        assert_eq!(check("--except members", "members"), (1, String::new()));
        let (_, marked) = check("--mark -n", "members");
        assert!(marked.starts_with("+\t1:https://example.org/0\n"), "{}", &marked[..40]);
        let (_, wrong) = check("-c", "absent");
        assert!(wrong.trim().parse::<u32>().unwrap() < 480, "{wrong}");
        let info = done(dir, &format!("redis info {url} {name}"));
        assert!(info.contains("keyed       yes") && info.contains("asked for"), "{info}");
        // What is saved has its secret beside it and answers alike.
        done(dir, &format!("redis save {url} {name} {name}.mh"));
        assert!(dir.join(format!("{name}.mh.key")).exists());
        let there = done(dir, &format!("redis check {url} {name} absent"));
        assert_eq!(there, done(dir, &format!("check {name}.mh absent")));
        // And goes back under another name.
        done(dir, &format!("redis load {url} again-{name} {name}.mh"));
        assert_eq!(there, done(dir, &format!("redis check {url} again-{name} absent")));
        assert!(fs::read_dir(dir).unwrap().flatten().all(|e| !e.path().is_dir()), "left behind");
    }
}

#[test]
fn redisblooms_filters_are_loaded_and_saved() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    done(dir, "build --format redisbloom -n 20k -o theirs members");
    done(dir, &format!("redis load --format redisbloom {url} theirs theirs"));
    assert_eq!(server.client().say("TYPE theirs").text(), "MBbloom--");
    assert_eq!(done(dir, &format!("redis check -c {url} theirs members")), "20000\n");
    done(dir, &format!("redis save {url} theirs back"));
    assert!(fs::read(dir.join("back")).unwrap() == fs::read(dir.join("theirs")).unwrap());
    let error = wrong(dir, &format!("redis load --shards 4 --format redisbloom {url} x theirs"));
    assert!(error.contains("cannot be cut up"), "{error}");
}

#[test]
fn what_goes_wrong_is_told_with_the_way_out() {
    let Some(make) = make() else { return };
    let (server, bare) = (Server::start(make, &[]), Server::bare(make, &[]));
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    done(dir, "build --shards 3 -o shards.mh members");
    done(dir, "build -o one.mh members");
    let mut said = Vec::new();
    let mut refused = |line: String, error: &str, hint: &str| {
        let got = wrong(dir, &line);
        let (first, rest) = got.split_once('\n').unwrap();
        assert!(first.contains(error), "{line}: {got}");
        assert!(rest.starts_with("hint: ") && rest.contains(hint), "{line}: {got}");
        said.push(got);
    };
    let away = "redis://127.0.0.1:1";
    refused(format!("redis load {away} x one.mh"), away, "is the server there?");
    refused(
        format!("redis info redis://127.0.0.1:{} x", bare.port),
        "no module answers BF.*",
        "--loadmodule",
    );
    refused(format!("redis info {url}?prefix=MH x"), "no module answers MH.*", "prefix");
    refused(format!("redis info {url}?layout=list x"), "?layout=…", "?prefix=");
    let no_address = wrong(dir, "redis info http://h x");
    assert!(no_address.contains("not an address; try redis://"), "{no_address}");
    refused(format!("redis info {url} x"), "x: no such filter", "redis load");
    refused(format!("redis add {url} x members"), "x: no such filter", "-n");
    refused(
        format!("redis load --shards 64 {url} x shards.mh"),
        "in 3 shards, not 64",
        "--shards 64",
    );
    refused(
        format!("redis load --shards 64 {url} x one.mh"),
        "cannot be cut up",
        "build --shards 64",
    );
    refused(format!("redis load {url} a{{b}} shards.mh"), "braces", "without braces");
    done(dir, &format!("redis load {url} list shards.mh"));
    refused(format!("redis load {url} list shards.mh"), "already", "--force");
    refused(format!("redis load {url} list one.mh"), "already", "--force");
    refused(format!("redis check --shards 5 {url} list members"), "3 shards, not 5", "--shards");
    server.client().say("RPUSH rows a");
    refused(format!("redis check {url} rows members"), "not a filter but list", "another name");
    refused(format!("redis save {url} list members"), "not a filter", "--force");
    refused(format!("redis check -q -c {url} list members"), "-q", "leave out");
    refused(format!("redis add {url} list absent"), "full", "larger");
    // Over what is there, in other shards, as one, and back.
    done(dir, "build --shards 5 -o five.mh members");
    for file in ["five.mh", "one.mh", "shards.mh"] {
        done(dir, &format!("redis load --force {url} list {file}"));
        assert_eq!(done(dir, &format!("redis check -c {url} list members")), "20000\n");
    }
    // The list, its three shards and the rows: nothing was left behind.
    assert_eq!(server.client().say("DBSIZE").int(), 5);
    let key = server.client().say("KEYS list:*").array().remove(0).text();
    server.client().say(&format!("DEL {key}"));
    refused(format!("redis check {url} list members"), "this shard is gone", "load");
    assert!(said.iter().all(|text| text.lines().count() == 2), "{said:?}");
}
