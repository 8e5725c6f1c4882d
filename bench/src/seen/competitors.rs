//! Common practice today: filters read, changed and written back; sorted sets; sets.

use super::Store;
use super::seed::Filter;
use super::server::{connection, used_memory};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mayhap_foreign::kevburnsjr;
use mayhap_redis::redis::{Connection, cmd, pipe};
use mayhap_testkit::Server;

const SLICES: usize = 5;
const IDS: u64 = 1000;
const PROBES: u32 = 10;
const FIVE_DAYS: u64 = 5 * 86_400;

/// Which code works on the filters.
#[derive(Clone, Copy)]
pub enum Codec {
    /// The package's algorithm, step by step.
    Package,
    /// Mayhap's, which does the same with less work.
    Ours,
}

/// Lists of `count::base64` filters, as Go programs handle them.
pub struct Seed(Connection, Codec);

impl Seed {
    pub fn new(server: &Server, db: u32, codec: Codec) -> Result<Seed, String> {
        Ok(Seed(connection(server, db)?, codec))
    }
}

/// The new newest element, and whether it goes before the old one.
fn exposed(newest: Option<&str>, ids: &[String]) -> (bool, String) {
    let known = newest.and_then(|text| text.split_once("::")).and_then(|(count, code)| {
        let count: u64 = count.parse().ok()?;
        let bytes = STANDARD.decode(code).ok()?;
        let fits = count + (ids.len() as u64) < IDS + 10;
        fits.then_some(())?;
        Some((count, Filter::from_bytes(&bytes)))
    });
    let is_new = known.is_none();
    let (mut count, mut filter) = known.unwrap_or_else(|| (0, Filter::new()));
    for id in ids {
        if !filter.contains(id.as_bytes()) {
            filter.insert(id.as_bytes());
            count += 1;
        }
    }
    (is_new, format!("{count}::{}", STANDARD.encode(filter.to_bytes())))
}

impl Store for Seed {
    fn name(&self) -> &'static str {
        "Go lists, read and written back"
    }

    /// Pipelined, which the programs themselves are not.
    fn fill(&mut self, shown: &[(String, Vec<String>)]) {
        let mut reads = pipe();
        for (owner, _) in shown {
            reads.cmd("LINDEX").arg(owner).arg(0);
        }
        let newest: Vec<Option<String>> = reads.query(&mut self.0).expect("the server is there");
        let mut writes = pipe();
        for ((owner, ids), newest) in shown.iter().zip(newest) {
            match exposed(newest.as_deref(), ids) {
                (true, element) => writes.cmd("LPUSH").arg(owner).arg(element).ignore(),
                (false, element) => writes.cmd("LSET").arg(owner).arg(0).arg(element).ignore(),
            };
            writes.cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).ignore();
        }
        writes.query::<()>(&mut self.0).expect("the server is there");
    }

    fn unseen(&mut self, owner: &str, candidates: &[String]) -> usize {
        let elements: Vec<String> =
            cmd("LRANGE").arg(owner).arg(0).arg(SLICES - 1).query(&mut self.0).expect("the server");
        let decoded = elements.iter().filter_map(|e| STANDARD.decode(e.split_once("::")?.1).ok());
        match self.1 {
            Codec::Package => {
                let filters: Vec<_> = decoded.map(|bytes| Filter::from_bytes(&bytes)).collect();
                let seen = |id: &str| filters.iter().any(|filter| filter.contains(id.as_bytes()));
                candidates.iter().filter(|id| !seen(id)).count()
            }
            Codec::Ours => {
                let filters: Vec<_> =
                    decoded.filter_map(|b| kevburnsjr::decode(&b, PROBES).ok()).collect();
                let seen = |id: &String| filters.iter().any(|filter| filter.contains(id));
                candidates.iter().filter(|id| !seen(id)).count()
            }
        }
    }

    fn mark(&mut self, owner: &str, ids: &[String]) {
        let server = &mut self.0;
        let newest: Option<String> =
            cmd("LINDEX").arg(owner).arg(0).query(server).expect("the server");
        match exposed(newest.as_deref(), ids) {
            (true, element) => cmd("LPUSH").arg(owner).arg(element).exec(server),
            (false, element) => cmd("LSET").arg(owner).arg(0).arg(element).exec(server),
        }
        .expect("the server");
        cmd("LTRIM").arg(owner).arg(0).arg(SLICES - 1).exec(server).expect("the server");
        cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).exec(server).expect("the server");
    }

    fn bytes(&mut self) -> u64 {
        used_memory(&mut self.0)
    }
}

/// How sorted sets are looked up.
pub enum Mode {
    /// `ZSCORE` for each candidate, in one pipeline.
    EachScore,
    /// `ZMSCORE` for all.
    AllScores,
}

/// A sorted set per owner: id → when it was shown.
pub struct Sorted(Connection, Mode);

impl Sorted {
    pub fn new(server: &Server, db: u32, way: Mode) -> Result<Sorted, String> {
        Ok(Sorted(connection(server, db)?, way))
    }
}

impl Store for Sorted {
    fn name(&self) -> &'static str {
        "Redis ZSET, ZSCORE pipelined"
    }

    fn fill(&mut self, shown: &[(String, Vec<String>)]) {
        let mut writes = pipe();
        for (at, (owner, ids)) in shown.iter().enumerate() {
            let add = writes.cmd("ZADD").arg(owner);
            ids.iter().for_each(|id| _ = add.arg(1_800_000_000 + at).arg(id));
            add.ignore();
            writes.cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).ignore();
        }
        writes.query::<()>(&mut self.0).expect("the server is there");
    }

    fn unseen(&mut self, owner: &str, candidates: &[String]) -> usize {
        let scores: Vec<Option<f64>> = match self.1 {
            Mode::EachScore => {
                let mut ask = pipe();
                candidates.iter().for_each(|id| _ = ask.cmd("ZSCORE").arg(owner).arg(id));
                ask.query(&mut self.0)
            }
            Mode::AllScores => cmd("ZMSCORE").arg(owner).arg(candidates).query(&mut self.0),
        }
        .expect("the server is there");
        scores.iter().filter(|score| score.is_none()).count()
    }

    fn mark(&mut self, owner: &str, ids: &[String]) {
        let mut write = pipe();
        let add = write.cmd("ZADD").arg(owner);
        ids.iter().for_each(|id| _ = add.arg(1_800_000_000).arg(id));
        add.ignore();
        write.cmd("ZREMRANGEBYRANK").arg(owner).arg(0).arg(-5001).ignore();
        write.cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).ignore();
        write.query::<()>(&mut self.0).expect("the server is there");
    }

    fn bytes(&mut self) -> u64 {
        used_memory(&mut self.0)
    }
}

/// A set per owner: nothing is ever dropped.
pub struct Plain(Connection);

impl Plain {
    pub fn new(server: &Server, db: u32) -> Result<Plain, String> {
        Ok(Plain(connection(server, db)?))
    }
}

impl Store for Plain {
    fn name(&self) -> &'static str {
        "Redis SET, SMISMEMBER"
    }

    fn fill(&mut self, shown: &[(String, Vec<String>)]) {
        let mut writes = pipe();
        for (owner, ids) in shown {
            writes.cmd("SADD").arg(owner).arg(ids).ignore();
            writes.cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).ignore();
        }
        writes.query::<()>(&mut self.0).expect("the server is there");
    }

    fn unseen(&mut self, owner: &str, candidates: &[String]) -> usize {
        let members: Vec<bool> =
            cmd("SMISMEMBER").arg(owner).arg(candidates).query(&mut self.0).expect("the server");
        members.iter().filter(|member| !**member).count()
    }

    fn mark(&mut self, owner: &str, ids: &[String]) {
        let mut write = pipe();
        write.cmd("SADD").arg(owner).arg(ids).ignore();
        write.cmd("EXPIRE").arg(owner).arg(FIVE_DAYS).ignore();
        write.query::<()>(&mut self.0).expect("the server is there");
    }

    fn bytes(&mut self) -> u64 {
        used_memory(&mut self.0)
    }
}
