//! A storage engine that skips the disk: rusty-leveldb with our filter policy.
//!
//! LevelDB asks its filter policy for a block of bits when it writes a table, and again before it reads
//! one. Twenty thousand pages are stored twice, with our policy and with none; then twenty thousand
//! absent keys from among them are looked up, and the reads that reach the disk are counted.
//!
//! ```text
//! $ cargo run --release --example leveldb_policy
//! 20000 absent keys without a filter: 19998 reads of the disk
//! 20000 absent keys with our policy:    247 reads of the disk
//! ```

use mayhap_foreign::leveldb::{Policy, Program};
use rusty_leveldb::env::{Env, FileLock, Logger, RandomAccess};
use rusty_leveldb::{DB, FilterPolicy, Options, PosixDiskEnv, Result};
use std::cell::Cell;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// All it takes: the engine hands over keys behind one another, and where each starts.
struct Ours(Policy);

impl FilterPolicy for Ours {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn create_filter(&self, keys: &[u8], starts: &[usize]) -> Vec<u8> {
        let ends = starts.iter().skip(1).copied().chain([keys.len()]);
        self.0.create_filter(starts.iter().zip(ends).map(|(start, end)| &keys[*start..end]))
    }

    fn key_may_match(&self, key: &[u8], block: &[u8]) -> bool {
        self.0.key_may_match(key, block)
    }
}

/// Everything may be everywhere.
struct NoPolicy;

impl FilterPolicy for NoPolicy {
    fn name(&self) -> &'static str {
        "none"
    }

    fn create_filter(&self, _: &[u8], _: &[usize]) -> Vec<u8> {
        vec![0] // it wants something
    }

    fn key_may_match(&self, _: &[u8], _: &[u8]) -> bool {
        true
    }
}

const PAGES: u32 = 20_000;

fn page(i: u32) -> String {
    format!("https://example.org/page/{i:06}")
}

/// Store the pages, then count the reads that lookups of absent keys cost.
fn reads_for_absent_keys(folder: &Path, policy: Box<dyn FilterPolicy>) -> Result<u64> {
    let reads = Rc::new(Cell::new(0));
    let env = Counting { disk: PosixDiskEnv::new(), reads: Rc::clone(&reads) };
    let options = Options {
        env: Rc::new(Box::new(env)),
        filter_policy: Rc::new(policy),
        // A cache would hide the disk, and in a true database the data are larger than it.
        block_cache_capacity_bytes: 4096,
        write_buffer_size: 1 << 20,
        ..Options::default()
    };
    let mut db = DB::open(folder, options)?;
    for i in 0..PAGES {
        db.put(page(i).as_bytes(), &[i as u8; 100])?;
    }
    db.flush()?;
    db.compact_range(b"", b"~")?;
    for i in (0..PAGES).step_by(97) {
        assert!(db.get(page(i).as_bytes()).is_some(), "{} is lost", page(i));
    }
    let before = reads.get();
    for i in 0..PAGES {
        // Far from the one before: its block is in no cache.
        let key = format!("{}?page=2", page(i * 7919 % PAGES));
        assert!(db.get(key.as_bytes()).is_none());
    }
    Ok(reads.get() - before)
}

fn main() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("mayhap-leveldb-{}", std::process::id()));
    let without = reads_for_absent_keys(&folder.join("without"), Box::new(NoPolicy))?;
    let ours = Ours(Policy::new(Program::Leveldb, 10));
    let with = reads_for_absent_keys(&folder.join("with"), Box::new(ours))?;
    _ = std::fs::remove_dir_all(folder);
    println!("{PAGES} absent keys without a filter: {without:5} reads of the disk");
    println!("{PAGES} absent keys with our policy:  {with:5} reads of the disk");
    // With ten bits per key the false-positive rate is below 1%.
    let absent = u64::from(PAGES);
    assert!(without > absent * 9 / 10 && with < absent / 50);
    Ok(())
}

#[test]
fn absent_keys_skip_the_disk() {
    main().unwrap();
}

/// The disk, counting reads of tables.
struct Counting {
    disk: PosixDiskEnv,
    reads: Rc<Cell<u64>>,
}

struct CountingFile {
    file: Box<dyn RandomAccess>,
    reads: Rc<Cell<u64>>,
}

impl RandomAccess for CountingFile {
    fn read_at(&self, at: usize, to: &mut [u8]) -> Result<usize> {
        self.reads.set(self.reads.get() + 1);
        self.file.read_at(at, to)
    }
}

impl Env for Counting {
    fn open_random_access_file(&self, path: &Path) -> Result<Box<dyn RandomAccess>> {
        let file = self.disk.open_random_access_file(path)?;
        Ok(Box::new(CountingFile { file, reads: Rc::clone(&self.reads) }))
    }

    fn open_sequential_file(&self, path: &Path) -> Result<Box<dyn Read>> {
        self.disk.open_sequential_file(path)
    }

    fn open_writable_file(&self, path: &Path) -> Result<Box<dyn Write>> {
        self.disk.open_writable_file(path)
    }

    fn open_appendable_file(&self, path: &Path) -> Result<Box<dyn Write>> {
        self.disk.open_appendable_file(path)
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.disk.exists(path)
    }

    fn children(&self, path: &Path) -> Result<Vec<PathBuf>> {
        self.disk.children(path)
    }

    fn size_of(&self, path: &Path) -> Result<usize> {
        self.disk.size_of(path)
    }

    fn delete(&self, path: &Path) -> Result<()> {
        self.disk.delete(path)
    }

    fn mkdir(&self, path: &Path) -> Result<()> {
        self.disk.mkdir(path)
    }

    fn rmdir(&self, path: &Path) -> Result<()> {
        self.disk.rmdir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.disk.rename(from, to)
    }

    fn lock(&self, path: &Path) -> Result<FileLock> {
        self.disk.lock(path)
    }

    fn unlock(&self, lock: FileLock) -> Result<()> {
        self.disk.unlock(lock)
    }

    fn new_logger(&self, path: &Path) -> Result<Logger> {
        self.disk.new_logger(path)
    }

    fn micros(&self) -> u64 {
        self.disk.micros()
    }

    fn sleep_for(&self, micros: u32) {
        self.disk.sleep_for(micros);
    }
}
