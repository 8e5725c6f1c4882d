//! Three primaries, three replicas: a failover and a slot migration under load. What was
//! acknowledged by a replica (`WAIT 1`) is found afterwards.

use super::resp::{Client, Value};
use super::server::{Make, Server, eventually, makes};
use std::collections::HashMap;

const SLOTS: u16 = 16384;
/// Filters of the test, over all slots.
const FILTERS: u16 = 24;

/// The slot of a key without braces: CRC-16 of its bytes.
fn slot_of(key: &str) -> u16 {
    let crc = key.bytes().fold(0u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    crc % SLOTS
}

#[test]
fn slots_are_those_of_the_servers() {
    assert_eq!(slot_of("123456789"), 0x31c3); // the check value of CRC-16/XMODEM
}

struct Cluster {
    servers: Vec<Server>,
    clients: HashMap<u16, Client>,
    /// Where a key was last found.
    home: HashMap<String, u16>,
}

impl Cluster {
    fn start(make: Make) -> Cluster {
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
        Cluster { servers, clients: HashMap::new(), home: HashMap::new() }
    }

    /// Run a command for a key where the key is, trying again while nobody has it. With `wait` until
    /// a replica has it too.
    fn call(&mut self, key: &str, line: &str, wait: bool) -> Value {
        let mut answer = Value::Null;
        let mut asking = false;
        eventually(line, || {
            let first = self.servers[0].port;
            let port = *self.home.get(key).unwrap_or(&first);
            let Some(client) = self.client(port) else {
                self.home.remove(key);
                let next = self.servers.iter().map(|server| server.port).find(|p| *p != port);
                self.home.insert(key.to_owned(), next.unwrap_or(first));
                return false;
            };
            if asking {
                _ = client.try_call(&["ASKING"]);
                asking = false;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let Ok(got) = client.try_call(&words) else {
                self.clients.remove(&port);
                self.forget(key, port);
                return false;
            };
            let error = got.error().to_owned();
            if let Some(to) = error.strip_prefix("MOVED ").or(error.strip_prefix("ASK ")) {
                asking = error.starts_with("ASK");
                let to = to.rsplit(':').next().unwrap().parse().unwrap();
                self.home.insert(key.to_owned(), to);
                return false;
            }
            if ["CLUSTERDOWN", "TRYAGAIN", "LOADING", "READONLY", "MASTERDOWN"]
                .iter()
                .any(|e| error.starts_with(e))
            {
                self.forget(key, port);
                return false;
            }
            if wait && !matches!(client.try_call(&["WAIT", "1", "5000"]), Ok(Value::Int(1..))) {
                return false; // not acknowledged: it is added once more
            }
            answer = got;
            true
        });
        answer
    }

    /// Look for a key somewhere else.
    fn forget(&mut self, key: &str, port: u16) {
        let at = self.servers.iter().position(|server| server.port == port).unwrap_or(0);
        let next = self.servers[(at + 1) % self.servers.len()].port;
        self.home.insert(key.to_owned(), next);
    }

    fn client(&mut self, port: u16) -> Option<&mut Client> {
        if !self.clients.contains_key(&port) {
            self.clients.insert(port, Client::connect(port).ok()?);
        }
        self.clients.get_mut(&port)
    }
}

#[test]
fn acknowledged_items_survive_failover_and_migration() {
    // Both servers in the long run; the project's newest one always.
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    let all = makes();
    let chosen = if soak { &all[..] } else { &all[all.len().saturating_sub(1)..] };
    for make in chosen {
        let mut cluster = Cluster::start(*make);
        let keys: Vec<String> = (0..FILTERS).map(|at| format!("f{at}")).collect();
        let mut added = 0u32;
        let mut add = |cluster: &mut Cluster, rounds: u32| {
            for _ in 0..rounds {
                for key in &keys {
                    let got = cluster.call(key, &format!("BF.MADD {key} {added} x{added}"), true);
                    assert_eq!(got.error(), "");
                }
                added += 1;
            }
        };
        let rounds = if soak { 400 } else { 15 };
        add(&mut cluster, rounds);

        // A primary dies; its replica takes over.
        cluster.servers[0].kill();
        add(&mut cluster, rounds);

        // Slots with filters in them move from the second primary to the third, while items come.
        let (from, to) = (cluster.servers[1].port, cluster.servers[2].port);
        let [mut source, mut target] = [from, to].map(|port| Client::connect(port).unwrap());
        let [source_id, target_id] =
            [&mut source, &mut target].map(|client| client.say("CLUSTER MYID").text());
        let step = SLOTS / 3;
        let moving: Vec<&String> =
            keys.iter().filter(|key| (step..2 * step).contains(&slot_of(key))).take(4).collect();
        assert!(!moving.is_empty());
        for key in &moving {
            let slot = slot_of(key);
            target.say(&format!("CLUSTER SETSLOT {slot} IMPORTING {source_id}"));
            source.say(&format!("CLUSTER SETSLOT {slot} MIGRATING {target_id}"));
            add(&mut cluster, 1);
            let got = source.say(&format!("MIGRATE 127.0.0.1 {to} {key} 0 5000"));
            assert_eq!(got, Value::ok());
            add(&mut cluster, 1);
            for client in [&mut target, &mut source] {
                client.say(&format!("CLUSTER SETSLOT {slot} NODE {target_id}"));
            }
            add(&mut cluster, 1);
        }

        // Nothing that was acknowledged is missing.
        let mut missing = 0;
        for key in &keys {
            let mut line = format!("BF.MEXISTS {key}");
            (0..added).for_each(|item| line += &format!(" {item} x{item}"));
            let found = cluster.call(key, &line, false).array();
            assert_eq!(found.len() as u32, 2 * added);
            missing += found.iter().filter(|found| **found != Value::Int(1)).count();
        }
        assert_eq!(missing, 0);
        let moved = target.say(&format!("CLUSTER COUNTKEYSINSLOT {}", slot_of(moving[0])));
        assert_eq!(moved, Value::Int(1));
    }
}
