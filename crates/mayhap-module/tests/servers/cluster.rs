//! Three primaries, three replicas: a failover and a slot migration under load. What was
//! acknowledged by a replica (`WAIT 1`) is found afterwards.

use mayhap_testkit::nodes::{SLOTS, fail_over, move_slot, start};
use mayhap_testkit::{Client, Server, Value, eventually, makes};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

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

/// What a client for clusters does: finds keys, follows them, tries again.
struct Router {
    ports: Vec<u16>,
    clients: HashMap<u16, Client>,
    /// Where a key was last found.
    home: HashMap<String, u16>,
}

impl Router {
    fn new(servers: &[Server]) -> Router {
        let ports = servers.iter().map(|server| server.port).collect();
        Router { ports, clients: HashMap::new(), home: HashMap::new() }
    }

    /// Run a command for a key where the key is, trying again while nobody has it. With `wait` until
    /// a replica has it too.
    fn call(&mut self, key: &str, line: &str, wait: bool) -> Value {
        let (mut answer, mut asking) = (Value::Null, false);
        eventually(line, || {
            let port = *self.home.get(key).unwrap_or(&self.ports[0]);
            let Some(client) = self.client(port) else {
                self.forget(key, port);
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
        let at = self.ports.iter().position(|known| *known == port).unwrap_or(0);
        let next = self.ports[(at + 1) % self.ports.len()];
        self.home.insert(key.to_owned(), next);
    }

    fn client(&mut self, port: u16) -> Option<&mut Client> {
        match self.clients.entry(port) {
            Entry::Occupied(known) => Some(known.into_mut()),
            Entry::Vacant(unknown) => Some(unknown.insert(Client::connect(port).ok()?)),
        }
    }
}

#[test]
fn acknowledged_items_survive_failover_and_migration() {
    // Both servers in the long run; the project's newest one always.
    let soak = std::env::var_os("MAYHAP_SOAK").is_some();
    let all = makes();
    let chosen = if soak { &all[..] } else { &all[all.len().saturating_sub(1)..] };
    for make in chosen {
        let mut servers = start(*make);
        let keys: Vec<String> = (0..FILTERS).map(|at| format!("f{at}")).collect();
        let (stop, rounds) = (AtomicBool::new(false), AtomicU32::new(0));
        let mut router = Router::new(&servers);
        let (stop, rounds, keys) = (&stop, &rounds, &keys);
        std::thread::scope(|scope| {
            // Items come all the while; each round is counted when a replica has all of it.
            let load = scope.spawn(move || {
                while !stop.load(Relaxed) {
                    let item = rounds.load(Relaxed);
                    for key in keys {
                        let line = format!("BF.MADD {key} {item} x{item}");
                        assert_eq!(router.call(key, &line, true).error(), "");
                    }
                    rounds.fetch_add(1, Relaxed);
                }
            });
            let pass = |count: u32| {
                let until = rounds.load(Relaxed) + count;
                eventually("load", || rounds.load(Relaxed) >= until || load.is_finished());
            };
            pass(20);
            for _ in 0..if soak { 5 } else { 1 } {
                fail_over(&mut servers);
                pass(20);
            }
            move_slots(&servers, keys, || pass(2));
            stop.store(true, Relaxed);
        });
        // Nothing that was acknowledged is missing.
        let mut router = Router::new(&servers);
        let (added, mut missing) = (rounds.load(Relaxed), 0);
        assert!(added >= 40);
        for key in keys {
            let mut line = format!("BF.MEXISTS {key}");
            (0..added).for_each(|item| line += &format!(" {item} x{item}"));
            let found = router.call(key, &line, false).array();
            assert_eq!(found.len() as u32, 2 * added);
            missing += found.iter().filter(|found| **found != Value::Int(1)).count();
        }
        assert_eq!(missing, 0);
        println!("soak: {FILTERS} filters, {added} rounds acknowledged by a replica, none missing");
    }
}

/// Slots with filters in them go from the second primary to the third.
fn move_slots(servers: &[Server], keys: &[String], mut pass: impl FnMut()) {
    let step = SLOTS / 3;
    let moving: Vec<&String> =
        keys.iter().filter(|key| (step..2 * step).contains(&slot_of(key))).take(4).collect();
    assert!(!moving.is_empty());
    for key in moving {
        move_slot(&servers[1], &servers[2], slot_of(key), &[key], &mut pass);
    }
}
