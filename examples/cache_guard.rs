//! Keys that do not exist never reach the database.
//!
//! Why it is built so: a cache in front of a database keeps what was found, so lookups for keys
//! that do not exist (by mistake, or as an attack) get past it every time: cache penetration. A
//! filter of the keys stops all but one in a thousand in memory, before cache and database. It must
//! never deny an existing key: [`Guard`] adds a key before the write becomes visible, rebuilds
//! concurrently with traffic and swaps, and lets everything through where it has no filter. The
//! cache is a real Redis, the database a real file (`redb`), and both see only keys that may exist.
//! If Redis fails, the database is used.
//!
//! ```sh
//! cargo run --release -p mayhap-examples --example cache_guard    # needs redis-server
//! ```

use mayhap_examples::guard::{Guard, Store};
use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use redis::Commands;
use std::error::Error;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

type BoxError = Box<dyn Error + Send + Sync>;

const TABLE: TableDefinition<&[u8], &[u8]> = TableDefinition::new("values");

/// A database with a cache in front, counting reads of both.
struct Cached {
    database: Database,
    cache: Mutex<redis::Connection>,
    cache_reads: AtomicU64,
    database_reads: AtomicU64,
}

impl Cached {
    fn open(folder: &Path, port: u16) -> Result<Cached, BoxError> {
        let database = Database::create(folder.join("values.redb"))?;
        let writing = database.begin_write()?;
        writing.open_table(TABLE)?; // so that readers find one
        writing.commit()?;
        let cache = redis::Client::open(("127.0.0.1", port))?.get_connection()?;
        let [cache_reads, database_reads] = Default::default();
        Ok(Cached { database, cache: Mutex::new(cache), cache_reads, database_reads })
    }

    /// The cache; any error counts as a miss.
    fn cached<T>(
        &self,
        ask: impl FnOnce(&mut redis::Connection) -> redis::RedisResult<T>,
    ) -> Option<T> {
        ask(&mut *self.cache.lock().ok()?).ok()
    }
}

impl Store for Cached {
    type Error = BoxError;

    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, BoxError> {
        self.cache_reads.fetch_add(1, Ordering::Relaxed);
        if let Some(Some(value)) = self.cached(|cache| cache.get(key)) {
            return Ok(Some(value));
        }
        self.database_reads.fetch_add(1, Ordering::Relaxed);
        let table = self.database.begin_read()?.open_table(TABLE)?;
        let value = table.get(key)?.map(|value| value.value().to_vec());
        if let Some(value) = &value {
            self.cached(|cache| cache.set_ex::<_, _, ()>(key, value, 300));
        }
        Ok(value)
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<(), BoxError> {
        let writing = self.database.begin_write()?;
        writing.open_table(TABLE)?.insert(key, value)?;
        writing.commit()?;
        self.cached(|cache| cache.del::<_, ()>(key));
        Ok(())
    }

    fn remove(&self, key: &[u8]) -> Result<(), BoxError> {
        let writing = self.database.begin_write()?;
        writing.open_table(TABLE)?.remove(key)?;
        writing.commit()?;
        self.cached(|cache| cache.del::<_, ()>(key));
        Ok(())
    }

    fn keys(&self) -> Result<u64, BoxError> {
        Ok(self.database.begin_read()?.open_table(TABLE)?.len()?)
    }

    fn each_key(&self, each: &mut dyn FnMut(&[u8])) -> Result<(), BoxError> {
        for entry in self.database.begin_read()?.open_table(TABLE)?.iter()? {
            each(entry?.0.value());
        }
        Ok(())
    }
}

/// A Redis of our own on a free port of the loopback, stopped with us.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(folder: &Path) -> Result<Server, BoxError> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let child = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"])
            .arg(folder)
            .stdout(Stdio::null())
            .spawn()
            .map_err(|error| format!("redis-server: {error}; install it to run this example"))?;
        let server = Server { child, port };
        for _ in 0..200 {
            let client = redis::Client::open(("127.0.0.1", port))?;
            if client.get_connection().is_ok() {
                return Ok(server);
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        Err("redis-server does not answer".into())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Look up this many keys, every tenth of which exists; returns reads of cache and database.
fn ask(guard: &Guard<Cached>, keys: u64, round: u64) -> Result<[u64; 2], BoxError> {
    let counts = || {
        let Cached { cache_reads, database_reads, .. } = guard.store();
        [cache_reads, database_reads].map(|reads| reads.load(Ordering::Relaxed))
    };
    let before = counts();
    for i in 0..keys {
        let there = i % 10 == 0;
        let key = if there { format!("user:{}", i / 10) } else { format!("ghost:{round}:{i}") };
        if guard.get(key.as_bytes())?.is_some() != there {
            return Err(format!("{key}: a wrong answer").into());
        }
    }
    let after = counts();
    Ok([after[0] - before[0], after[1] - before[1]])
}

fn filled(folder: &Path, server: &Server, users: u64) -> Result<Guard<Cached>, BoxError> {
    let guard = Guard::new(Cached::open(folder, server.port)?, 0.001);
    for user in 0..users {
        guard.put(format!("user:{user}").as_bytes(), b"their data")?;
    }
    Ok(guard)
}

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let guard = filled(folder.path(), &server, 1_000)?;
    let [cache, database] = ask(&guard, 10_000, 1)?;
    println!("without: {cache} reads of the cache, {database} of the database");
    guard.rebuild()?;
    let [cache, database] = ask(&guard, 10_000, 2)?;
    println!("with:    {cache} reads of the cache, {database} of the database");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    /// In CI a missing server is a failure.
    fn server(folder: &Path) -> Option<Server> {
        match Server::start(folder) {
            Ok(server) => Some(server),
            Err(error) => {
                assert!(std::env::var("CI").as_deref() != Ok("true"), "{error}");
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    #[test]
    fn absent_keys_reach_nobody_and_a_missing_filter_opens() -> Result<(), BoxError> {
        let folder = tempfile::tempdir()?;
        let Some(server) = server(folder.path()) else { return Ok(()) };
        let guard = filled(folder.path(), &server, 100)?;
        let [cache, database] = ask(&guard, 1_000, 1)?;
        assert_eq!([cache, database], [1_000, 1_000], "no filter: everything goes through");
        guard.rebuild()?;
        let [cache, database] = ask(&guard, 1_000, 2)?;
        assert!((100..110).contains(&cache) && database < 10, "{cache} and {database}");
        guard.put(b"user:new", b"x")?;
        assert_eq!(guard.get(b"user:new")?.as_deref(), Some(&b"x"[..]));
        guard.remove(b"user:7")?;
        assert!(guard.get(b"user:7")?.is_none() && guard.may_have(b"user:7"));
        guard.rebuild()?;
        assert!(!guard.may_have(b"user:7") && guard.may_have(b"user:8") && !guard.is_full());
        guard.open();
        assert!(guard.may_have(b"user:7"));
        drop(server); // the cache is gone, the data is not
        assert_eq!(guard.get(b"user:8")?.as_deref(), Some(&b"their data"[..]));
        Ok(())
    }

    /// Concurrent writers and rebuilds: what was written is always found.
    #[test]
    fn nothing_written_is_ever_denied() -> Result<(), BoxError> {
        let folder = tempfile::tempdir()?;
        let Some(server) = server(folder.path()) else { return Ok(()) };
        let guard = filled(folder.path(), &server, 10)?;
        guard.rebuild()?;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let rebuilding = scope.spawn(|| {
                let mut rebuilt = 0;
                while !done.load(Ordering::Relaxed) {
                    guard.rebuild()?;
                    rebuilt += 1;
                }
                Ok::<u64, BoxError>(rebuilt)
            });
            let written = (0..400u32).try_for_each(|key| {
                guard.put(&key.to_le_bytes(), b"v")?;
                let found = (0..=key).all(|key| guard.may_have(&key.to_le_bytes()));
                if found { Ok(()) } else { Err(format!("{key} is denied")) }?;
                Ok::<(), BoxError>(())
            });
            done.store(true, Ordering::Relaxed);
            let rebuilt = rebuilding.join().map_err(|_| "rebuilding failed")??;
            written?;
            assert!(rebuilt > 1, "{rebuilt}");
            Ok(())
        })
    }
}
