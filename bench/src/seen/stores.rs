//! Mayhap's stores: embedded, and both layouts on Redis.

use super::Store;
use super::server::{connection, used_memory};
use mayhap_redis::redis::Connection;
use mayhap_seen::embedded::{Durability, Embedded, Options};
use mayhap_seen::redis::Redis;
use mayhap_seen::{Backend, Seen};
use mayhap_testkit::Server;
use std::path::Path;
use std::time::Duration;

pub struct Ours {
    name: &'static str,
    seen: Seen<Box<dyn Backend>>,
    server: Option<Connection>,
}

impl Ours {
    /// Durable within a tenth of a second; a Redis that syncs every second is less.
    pub fn embedded(dir: &Path) -> Result<Ours, String> {
        let options = Options::default()
            .with_durability(Durability::Within(Duration::from_millis(100)))
            .with_cache_bytes(1 << 30);
        let backend = Embedded::open_with(dir.join("seen.redb"), options);
        let backend: Box<dyn Backend> = Box::new(backend.map_err(|error| error.to_string())?);
        Ok(Ours { name: "mayhap, embedded", seen: Seen::new(backend), server: None })
    }

    pub fn redis(
        name: &'static str,
        server: &Server,
        db: u32,
        layout: &str,
    ) -> Result<Ours, String> {
        let backend = Redis::open(&format!("{}?layout={layout}", server.url(db)));
        let backend: Box<dyn Backend> = Box::new(backend.map_err(|error| error.to_string())?);
        Ok(Ours { name, seen: Seen::new(backend), server: Some(connection(server, db)?) })
    }
}

impl Store for Ours {
    fn name(&self) -> &'static str {
        self.name
    }

    fn fill(&mut self, shown: &[(String, Vec<String>)]) {
        let shown: Vec<(&[u8], &[String])> =
            shown.iter().map(|(owner, ids)| (owner.as_bytes(), ids.as_slice())).collect();
        self.seen.mark_many(&shown).expect("the store is there");
    }

    fn unseen(&mut self, owner: &str, candidates: &[String]) -> usize {
        self.seen.unseen(owner.as_bytes(), candidates).expect("the store is there").len()
    }

    fn mark(&mut self, owner: &str, ids: &[String]) {
        self.seen.mark(owner.as_bytes(), ids).expect("the store is there");
    }

    fn bytes(&mut self) -> u64 {
        match &mut self.server {
            Some(server) => used_memory(server),
            None => self.seen.stats().expect("the store is there").bytes,
        }
    }
}
