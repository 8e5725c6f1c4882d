//! Loads that are killed, interrupted or crossed by others, and shards that are not what they were.

use super::gate::Gate;
use super::{done, folder, make, run, run_with, wrong};
use mayhap_testkit::{Server, eventually, nodes};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The middle of a filter of 3 MB in 8 shards.
const MIDDLE: u64 = 1_600_000;

fn list(dir: &Path) {
    done(dir, "build -n 2500k --shards 8 -o list.mh members");
}

fn start(dir: &Path, line: &str) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("mayhap"));
    command.args(line.split_whitespace()).current_dir(dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn signal(child: &Child, signal: &str) {
    let kill = Command::new("kill").arg(signal).arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
}

/// Half a minute passes for whoever looks at the claim on a name.
fn let_lapse(server: &Server, name: &str) {
    let mut client = server.client();
    let claim = client.say(&format!("KEYS *{name}*:loading")).array().remove(0).text();
    assert_eq!(client.say(&format!("EXPIRE {claim} 3500")).int(), 1);
}

fn filters_on(server: &Server) -> usize {
    let mut client = server.client();
    let keys = client.say("KEYS *").array();
    keys.into_iter()
        .filter(|key| client.call(&[b"TYPE", key.clone().bytes().as_slice()]).text() == "mayhap-bf")
        .count()
}

#[test]
fn a_killed_load_goes_on_where_it_was() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let folder = folder();
    let dir = folder.path();
    list(dir);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let gate = Gate::to(server.port, MIDDLE);
    let gated = format!("redis://127.0.0.1:{}", gate.port);
    let mut child = start(dir, &format!("redis load {gated} list list.mh"));
    gate.until_shut();
    // Whoever comes meanwhile is told, whether or not they want to replace it.
    for force in ["", "--force"] {
        let error = wrong(dir, &format!("redis load {force} {url} list list.mh"));
        assert!(error.contains("list: being loaded by somebody else"), "{error}");
        assert!(error.contains("\nhint: wait until it has ended"), "{error}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(filters_on(&server) > 0);
    let_lapse(&server, "list");
    let again = done(dir, &format!("redis load --json {url} list list.mh"));
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    let (sent, total) =
        (again["bytes"].as_u64().unwrap(), fs::metadata(dir.join("list.mh")).unwrap().len());
    assert!(sent < total - 500_000, "{sent} of {total} bytes were sent again");
    assert_eq!(done(dir, &format!("redis check -c {url} list members")), "20000\n");
    assert_eq!(server.client().say("DBSIZE").int(), 9);
    done(dir, &format!("redis save {url} list back.mh"));
    assert!(fs::read(dir.join("back.mh")).unwrap() == fs::read(dir.join("list.mh")).unwrap());
    // Killed again, and another file comes: it begins anew, and nothing is left of the first.
    let gate = Gate::to(server.port, MIDDLE);
    let gated = format!("redis://127.0.0.1:{}", gate.port);
    let mut child = start(dir, &format!("redis load {gated} other list.mh"));
    gate.until_shut();
    child.kill().unwrap();
    child.wait().unwrap();
    let_lapse(&server, "other");
    done(dir, "build -n 30k --shards 3 -o three.mh members");
    done(dir, &format!("redis load {url} other three.mh"));
    assert_eq!(done(dir, &format!("redis check -c {url} other members")), "20000\n");
    assert_eq!(server.client().say("DBSIZE").int(), 13);
}

#[test]
fn a_load_that_is_told_to_end_leaves_nothing() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let folder = folder();
    let dir = folder.path();
    list(dir);
    done(dir, "build -n 5M -o one.mh members");
    for (kind, file) in [("-INT", "list.mh"), ("-TERM", "list.mh"), ("-TERM", "one.mh")] {
        let gate = Gate::to(server.port, MIDDLE);
        let child = start(dir, &format!("redis load redis://127.0.0.1:{} list {file}", gate.port));
        gate.until_shut();
        eventually("a piece", || server.client().say("DBSIZE").int() > 0);
        signal(&child, kind);
        // It hears of it while it waits for the server.
        std::thread::sleep(std::time::Duration::from_millis(300));
        gate.open();
        let output = child.wait_with_output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(130), "{error}");
        assert!(error.contains("interrupted; what was sent is removed"), "{error}");
        assert_eq!(server.client().say("DBSIZE").int(), 0, "{kind} {file}");
    }
}

#[test]
fn orphans_are_found_and_deleted() {
    let Some(make) = make() else { return };
    let servers = nodes::start(make);
    let folder = folder();
    let dir = folder.path();
    list(dir);
    let url = format!("redis+cluster://127.0.0.1:{}", servers[1].port);
    let orphans = |flags: &str| -> Vec<String> {
        let out = done(dir, &format!("redis delete --orphans --dry-run {flags} {url}"));
        out.lines().map(str::to_owned).collect()
    };
    // A list that lost what tells of it, one that is whole, and filters of others.
    done(dir, &format!("redis load {url} lost list.mh"));
    done(dir, &format!("redis load {url} kept list.mh"));
    let at = |key: &str| {
        servers[..3]
            .iter()
            .find(|server| {
                !server.client().say(&format!("EXISTS {key}")).error().starts_with("MOVED")
            })
            .unwrap()
            .client()
    };
    assert_eq!(at("lost").say("DEL lost").int(), 1);
    for key in ["mine:{7}", "mine:{8.1}", "mine"] {
        at(key).say(&format!("BF.ADD {key} x"));
    }
    assert_eq!(orphans(""), [""; 0], "too young");
    let found = orphans("--older-than 0s");
    assert_eq!(found.len(), 8, "{found:?}");
    assert!(found.iter().all(|key| key.starts_with("lost:{")), "{found:?}");
    // A name that is taken by orphans: what to do about it is told, and works.
    let error = wrong(dir, &format!("redis add -n 1M --shards 8 {url} lost members"));
    assert!(error.contains("redis delete --orphans") && !error.contains("--force"), "{error}");
    let error = wrong(dir, &format!("redis load {url} lost list.mh"));
    assert!(error.contains("redis delete --orphans") && error.contains("--force"), "{error}");
    let (code, _, said) = run(dir, &format!("redis delete --orphans --older-than 0s {url}"));
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("deleted orphans: 8 keys, the oldest "), "{said}");
    assert_eq!(orphans("--older-than 0s"), [""; 0]);
    assert_eq!(done(dir, &format!("redis check -c {url} kept members")), "20000\n");
    done(dir, &format!("redis add -n 1M --shards 8 {url} lost members"));
    // Others' filters go by name only, and only if nothing has that name.
    let dry = |name: &str| {
        done(dir, &format!("redis delete --orphans --dry-run --older-than 0s {url} {name}"))
    };
    assert_eq!(dry("mine"), "");
    at("mine").say("DEL mine");
    assert_eq!(dry("mine").lines().count(), 2);
    // A load that was killed is one as soon as its claim has lapsed.
    let single = Server::start(make, &[]);
    let gate = Gate::to(single.port, MIDDLE);
    let mut child = start(dir, &format!("redis load redis://127.0.0.1:{} list list.mh", gate.port));
    gate.until_shut();
    eventually("pieces", || filters_on(&single) > 0);
    let delete =
        format!("redis delete --orphans --older-than 0s --json redis://127.0.0.1:{}", single.port);
    let deleted = |line: &str| {
        let out: serde_json::Value = serde_json::from_str(&done(dir, line)).unwrap();
        out["deleted"].as_u64().unwrap()
    };
    assert_eq!(deleted(&delete), 0, "it is under way");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(deleted(&delete), 0, "it may be under way");
    let_lapse(&single, "list");
    assert!(deleted(&delete) > 0);
    assert_eq!(filters_on(&single), 0);
}

#[test]
fn a_shard_that_is_not_the_one_is_an_error() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    done(dir, "build --shards 16 -o list.mh members");
    done(dir, &format!("redis load {url} list list.mh"));
    let mut client = server.client();
    let key = client.say("KEYS list:{3*").array().remove(0).text();
    let info = done(dir, &format!("redis info {url} list"));
    assert!(info.contains("identity    in every shard"), "{info}");
    for change in [format!("BF.CLEAR {key}"), format!("DEL {key}"), format!("BF.ADD {key} x")] {
        client.say(&change);
        for verb in ["check", "add", "info", "save"] {
            let input = match verb {
                "save" => "back.mh",
                "info" => "",
                _ => "members",
            };
            let error = wrong(dir, &format!("redis {verb} {url} list {input}"));
            let named = error.contains(&format!("{key} on {url}: "));
            assert!(
                named && error.contains("\nhint: load the filter again"),
                "{change} {verb}: {error}"
            );
        }
    }
    done(dir, &format!("redis load --force {url} list list.mh"));
    assert_eq!(done(dir, &format!("redis check -c {url} list members")), "20000\n");
}

#[test]
fn many_make_one_list_at_once() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    for (name, shards) in [("sharded", "--shards 16"), ("plain", "")] {
        let line = format!("redis add -n 20k {shards} {url} {name} members");
        let children: Vec<Child> = (0..4).map(|_| start(dir, &line)).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        assert_eq!(done(dir, &format!("redis check -c {url} {name} members")), "20000\n");
    }
    assert_eq!(server.client().say("DBSIZE").int(), 18);
}

/// One of them is there in the end, whole, and nothing of the other.
#[test]
fn two_loads_of_one_name_at_once_leave_one_of_them() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    done(dir, "build --shards 24 -o many.mh members");
    done(dir, "build --shards 5 -o few.mh members");
    for round in 0..6 {
        let load = |file: &str| start(dir, &format!("redis load --force {url} list {file}"));
        let ended = [load("many.mh"), load("few.mh")].map(|child| {
            let output = child.wait_with_output().unwrap();
            let error = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() || error.contains("somebody else"), "{error}");
            output.status.success()
        });
        assert!(ended.contains(&true));
        assert_eq!(done(dir, &format!("redis check -c {url} list members")), "20000\n");
        let keys = server.client().say("DBSIZE").int();
        assert!([25, 6].contains(&keys), "{keys} keys in round {round}");
    }
}

#[test]
fn errors_are_about_the_filter_and_replicas_can_be_saved() {
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let port = server.port.to_string();
    let replica = Server::start(make, &["--replicaof", "127.0.0.1", &port]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    list(dir);
    done(dir, "build -n 5M -o one.mh members");
    for file in ["list.mh", "one.mh"] {
        let name = file.trim_end_matches(".mh");
        done(dir, &format!("redis load {url} {name} {file}"));
        let mut client = server.client();
        client.say("SET mark 1");
        assert!(client.say("WAIT 1 60000").int() == 1);
        let there = format!("redis://127.0.0.1:{}", replica.port);
        done(dir, &format!("redis save {there} {name} back.mh"));
        done(dir, &format!("redis save {url} {name} primary.mh"));
        let [back, primary] =
            ["back.mh", "primary.mh"].map(|file| fs::read(dir.join(file)).unwrap());
        assert!(back == primary, "{file}");
        assert_eq!(done(dir, &format!("redis check -c {there} {name} members")), "20000\n");
    }
    let used = server.client().say("INFO memory").text();
    let used = used.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let limit = used.trim().parse::<u64>().unwrap() + 1_000_000;
    server.client().say(&format!("CONFIG SET maxmemory {limit}"));
    for file in ["list.mh", "one.mh"] {
        let error = wrong(dir, &format!("redis load {url} new {file}"));
        assert!(error.starts_with("error: new: ") && !error.contains("loading"), "{error}");
        assert!(error.contains("memory"), "{error}");
    }
    for verb in ["load", "save", "add", "check", "info", "delete"] {
        let output = Command::new(assert_cmd::cargo::cargo_bin("mayhap"))
            .args(["redis", verb, &url, ""])
            .args(if matches!(verb, "load" | "save") { &["one.mh"][..] } else { &[] })
            .current_dir(dir)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), error.as_str()),
            (Some(2), "error: KEY is empty\nhint: give the filter a name\n"),
            "{verb}"
        );
    }
}

/// What the first release made has no identity: it says so, and is renewed by loading it.
#[test]
fn a_list_of_an_earlier_version_is_told_of_and_renewed() {
    use mayhap::{Secret, Spec, format::Metadata};
    let Some(make) = make() else { return };
    let server = Server::start(make, &[]);
    let url = format!("redis://127.0.0.1:{}", server.port);
    let folder = folder();
    let dir = folder.path();
    let spec = Spec::new(30_000, 0.01).unwrap().with_secret(Secret::from_bytes([8; 16]));
    let about = mayhap_redis::Descriptor::new(spec, 3, Metadata::new()).unwrap();
    let mut client = server.client();
    for key in ["old:{0.1}", "old:{1}", "old:{2.4}"] {
        let (capacity, secret) = (about.shard_capacity(), "08".repeat(16));
        client.say(&format!(
            "BF.RESERVE {key} 0.01 {capacity} NONSCALING KIND blocked SECRET {secret}"
        ));
    }
    client.call(&[&b"SET"[..], b"old", &about.encode()]);
    let (code, _, said) = run_with(dir, &format!("redis add {url} old members"), "");
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("warning: old: made by an earlier version"), "{said}");
    done(dir, &format!("redis save {url} old old.mh"));
    done(dir, &format!("redis load --force {url} old old.mh"));
    let (code, out, said) = run(dir, &format!("redis check -c {url} old members"));
    assert_eq!((code, out.as_str(), said.as_str()), (0, "20000\n", ""));
}
