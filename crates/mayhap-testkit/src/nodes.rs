//! A cluster of three primaries and three replicas, and what happens to clusters.

use crate::make::Make;
use crate::resp::{Client, Value};
use crate::server::{Server, eventually};

/// Slots of a cluster.
pub const SLOTS: u16 = 16384;

/// Primaries first, then the replica of each.
pub fn start(make: Make) -> Vec<Server> {
    let args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1500"];
    let servers: Vec<Server> = (0..6).map(|_| Server::start(make, &args)).collect();
    let mut clients: Vec<Client> = servers.iter().map(Server::client).collect();
    let step = SLOTS / 3;
    for (at, client) in clients.iter_mut().enumerate().take(3) {
        let first = at as u16 * step;
        let last = if at == 2 { SLOTS - 1 } else { first + step - 1 };
        assert_eq!(client.say(&format!("CLUSTER ADDSLOTSRANGE {first} {last}")), Value::ok());
    }
    for server in &servers[1..] {
        clients[0].say(&format!("CLUSTER MEET 127.0.0.1 {}", server.port));
    }
    let known = |client: &mut Client| {
        let info = client.say("CLUSTER INFO").text();
        info.contains("cluster_known_nodes:6") && info.contains("cluster_state:ok")
    };
    eventually("meeting", || clients.iter_mut().all(known));
    for at in 3..6 {
        let primary = clients[at - 3].say("CLUSTER MYID").text();
        eventually("replicas", || {
            clients[at].say(&format!("CLUSTER REPLICATE {primary}")) == Value::ok()
        });
    }
    for client in &mut clients[3..] {
        let up = |client: &mut Client| {
            client.say("INFO replication").text().contains("master_link_status:up")
        };
        eventually("links", || up(client));
    }
    servers
}

/// The first shard's primary dies, its replica takes over, and the dead one comes back as a
/// replica.
pub fn fail_over(servers: &mut [Server]) {
    let role = |server: &Server| {
        server.client().say("INFO replication").text().lines().nth(1).unwrap_or_default().to_owned()
    };
    let (dies, follows) = if role(&servers[0]).contains("master") { (0, 3) } else { (3, 0) };
    servers[dies].kill();
    eventually("promotion", || role(&servers[follows]).contains("master"));
    servers[dies].revive();
    let mut client = servers[dies].client();
    eventually("return", || {
        client.say("INFO replication").text().contains("master_link_status:up")
    });
}

/// A slot with a key in it goes from one primary to another; `pass` lets some load come by.
pub fn move_slot(from: &Server, to: &Server, slot: u16, keys: &[&str], mut pass: impl FnMut()) {
    let (mut source, mut target) = (from.client(), to.client());
    let [source_id, target_id] =
        [&mut source, &mut target].map(|client| client.say("CLUSTER MYID").text());
    let ok = |got: Value| assert_eq!(got, Value::ok(), "slot {slot}");
    ok(target.say(&format!("CLUSTER SETSLOT {slot} IMPORTING {source_id}")));
    ok(source.say(&format!("CLUSTER SETSLOT {slot} MIGRATING {target_id}")));
    pass();
    for key in keys {
        ok(source.say(&format!("MIGRATE 127.0.0.1 {} {key} 0 5000", to.port)));
        pass();
    }
    ok(target.say(&format!("CLUSTER SETSLOT {slot} NODE {target_id}")));
    ok(source.say(&format!("CLUSTER SETSLOT {slot} NODE {target_id}")));
    pass();
    let moved = keys.len() as i64;
    assert_eq!(target.say(&format!("CLUSTER COUNTKEYSINSLOT {slot}")), Value::Int(moved));
}
