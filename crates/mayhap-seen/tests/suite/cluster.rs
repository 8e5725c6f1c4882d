//! A cluster of three masters and their replicas, and one of them dying.

use crate::server::Make;
use mayhap_redis::redis::{Client, Connection, cmd};
use mayhap_seen::Seen;
use mayhap_seen::redis::Redis;
use mayhap_testkit::Server;
use std::time::{Duration, Instant};

pub struct Node {
    pub port: u16,
    server: Server,
    password: Option<String>,
}

impl Node {
    fn start(make: Make) -> Node {
        Node::start_with(make, None, &[])
    }

    /// With a password of its own, and more arguments.
    pub fn start_with(make: Make, password: Option<&str>, args: &[String]) -> Node {
        let cluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", "1000"];
        let replicas =
            ["--repl-diskless-sync-delay", "0", "--cluster-replica-validity-factor", "0"];
        let mut all: Vec<String> =
            cluster.iter().chain(&replicas).map(ToString::to_string).collect();
        all.extend(password.iter().flat_map(|word| ["--requirepass", word]).map(str::to_owned));
        all.extend_from_slice(args);
        let server = Server::spawn(make, &all).unwrap();
        let node = Node { port: server.port, server, password: password.map(str::to_owned) };
        wait("a node to answer", || node.try_connection().is_some());
        node
    }

    fn try_connection(&self) -> Option<Connection> {
        let client = Client::open(format!("redis://{}127.0.0.1:{}", self.login(), self.port));
        let client = client.unwrap();
        client.get_connection_with_timeout(Duration::from_secs(1)).ok()
    }

    fn login(&self) -> String {
        self.password.as_ref().map_or(String::new(), |password| format!(":{password}@"))
    }

    /// Host and port as in an address, with its login.
    pub fn host(&self) -> String {
        format!("{}127.0.0.1:{}", self.login(), self.port)
    }

    pub fn stop(&self) {
        self.server.signal("-STOP");
    }

    pub fn resume(&self) {
        self.server.signal("-CONT");
    }

    pub fn connection(&self) -> Connection {
        self.try_connection().unwrap()
    }

    fn knows(&self, what: &str) -> bool {
        let info: String = cmd("CLUSTER").arg("INFO").query(&mut self.connection()).unwrap();
        info.contains(what)
    }

    pub fn is_primary(&self) -> bool {
        let info: String = cmd("INFO").arg("replication").query(&mut self.connection()).unwrap();
        info.contains("role:master")
    }

    fn is_replicating(&self) -> bool {
        let info: String = cmd("INFO").arg("replication").query(&mut self.connection()).unwrap();
        info.contains("role:slave") && info.contains("master_link_status:up")
    }
}

pub fn wait(what: &str, mut until: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !until() {
        assert!(Instant::now() < patience, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Three primaries, then the replica of each.
pub fn replicated(make: Make) -> Vec<Node> {
    let nodes: Vec<Node> = (0..6).map(|_| Node::start(make)).collect();
    join(&nodes);
    for (master, replica) in nodes[..3].iter().zip(&nodes[3..]) {
        let id: String = cmd("CLUSTER").arg("MYID").query(&mut master.connection()).unwrap();
        let replicate = || cmd("CLUSTER").arg("REPLICATE").arg(&id).exec(&mut replica.connection());
        wait("a replica to know its master", || replicate().is_ok());
    }
    wait("the cluster to stand", || nodes.iter().all(|node| node.knows("cluster_state:ok")));
    wait("the replicas to follow", || nodes[3..].iter().all(Node::is_replicating));
    nodes
}

/// The first three have the slots; all know each other.
pub fn join(nodes: &[Node]) {
    for node in &nodes[1..] {
        let mut first = nodes[0].connection();
        cmd("CLUSTER").arg("MEET").arg("127.0.0.1").arg(node.port).exec(&mut first).unwrap();
    }
    let slots = match nodes.len() {
        1 => vec![(0, 16_383)],
        _ => vec![(0, 5460), (5461, 10_922), (10_923, 16_383)],
    };
    for (node, (first, last)) in nodes.iter().zip(slots) {
        let mut connection = node.connection();
        cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(first).arg(last).exec(&mut connection).unwrap();
    }
    let known = format!("cluster_known_nodes:{}\r", nodes.len());
    wait("all to know each other", || nodes.iter().all(|node| node.knows(&known)));
    wait("the cluster to stand", || nodes.iter().all(|node| node.knows("cluster_state:ok")));
}

/// Three primaries without replicas, who take long to notice that one is missing.
pub fn bare(make: Make) -> Vec<Node> {
    let args = ["--cluster-node-timeout", "60000"].map(str::to_owned);
    let nodes: Vec<Node> = (0..3).map(|_| Node::start_with(make, None, &args)).collect();
    join(&nodes);
    nodes
}

#[test]
fn a_cluster_that_loses_a_master_works_on() {
    for make in [Make::Redis, Make::Valkey9] {
        if make.program_or_skip().is_none() {
            continue;
        }
        loses_a_master(replicated(make));
    }
}

fn loses_a_master(mut nodes: Vec<Node>) {
    let url = |layout: &str| {
        let hosts: Vec<String> = nodes.iter().map(|n| format!("127.0.0.1:{}", n.port)).collect();
        format!("redis+cluster://{}?layout={layout}&prefix={layout}:", hosts.join(","))
    };
    let stores = ["compact", "list"].map(|layout| Seen::new(Redis::open(&url(layout)).unwrap()));
    let owners: Vec<String> = (0..120).map(|n| format!("user-{n}")).collect();
    for seen in &stores {
        let ids = ["a", "b"];
        let shown: Vec<(&[u8], &[&str])> =
            owners.iter().map(|o| (o.as_bytes(), &ids[..])).collect();
        assert_eq!(seen.mark_many(&shown).unwrap(), vec![2; owners.len()]);
        assert_eq!(seen.offer(b"user-7", &["c"], 1000).unwrap(), [&"c"]);
        assert_eq!(seen.stats().unwrap().owners, 120);
    }
    // Every master got some: replicas have them before the master goes.
    for node in &nodes[..3] {
        let keys: u64 = cmd("DBSIZE").query(&mut node.connection()).unwrap();
        assert!(keys > 20, "{keys} keys on one node");
        // `WAIT` would speak of its own connection's writes only.
        wait("the replica to have all", || {
            let info: String =
                cmd("INFO").arg("replication").query(&mut node.connection()).unwrap();
            let number = |text: &str| -> Option<u64> {
                let digits = &info[info.find(text)? + text.len()..];
                digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            };
            number(",offset=").is_some() && number(",offset=") == number("master_repl_offset:")
        });
    }
    drop(nodes.remove(0));
    wait("the replica to take over", || {
        nodes[2].is_primary() && nodes.iter().all(|node| node.knows("cluster_state:ok"))
    });
    for seen in &stores {
        for owner in &owners {
            assert!(seen.unseen(owner.as_bytes(), &["a", "b"]).unwrap().is_empty(), "{owner}");
            assert_eq!(seen.mark(owner.as_bytes(), &["d"]).unwrap(), 1, "{owner}");
        }
        let asked: Vec<(&[u8], &[&str])> =
            owners.iter().map(|o| (o.as_bytes(), &["d", "e"][..])).collect();
        assert_eq!(seen.unseen_many(&asked).unwrap(), vec![vec![&"e"]; owners.len()]);
    }
}
