//! A plan on the terminal, and as JSON.

use crate::numbers::{bytes, duration_flag, percent, plural, rate_flag, rounded, size_flag};
use crate::print::{FAINT, GOOD, TITLE, bar, styled, table};
use mayhap::kind::Traits;
use mayhap::sizing::{
    MAX_SHARDS, Plan, Question, bitmap_bytes, bound_bytes, collision_rate, hash_set_bytes,
};
use mayhap::{Kind, KindSpec, SpecError};
use serde_json::{Value, json};
use std::time::Duration;

/// Everything there is to say.
pub struct PlanReport {
    pub ask: Question,
    pub chosen: Kind,
    /// The chosen kind's.
    pub plan: Plan,
    /// What every kind answers.
    pub answers: Vec<(KindSpec, Result<Plan, SpecError>)>,
    pub generations: u32,
    /// How long a windowed filter remembers; `None` where its keys are counted.
    pub window: Option<Duration>,
}

/// What a kind can do beside answering.
#[derive(Clone, Copy)]
struct Abilities {
    grows: bool,
    deletes: bool,
    merges: bool,
    exact: bool,
}

impl From<Kind> for Abilities {
    fn from(kind: Kind) -> Abilities {
        let Traits { grows, removes: deletes, merges, exact, .. } = kind.traits();
        Abilities { grows, deletes, merges, exact }
    }
}

impl Abilities {
    /// A quotient filter keeps its rate as far as it is expected to grow.
    fn of(kind: &KindSpec) -> Abilities {
        let expected = expected_growth(kind) > 1;
        let able = Abilities::from(kind.kind());
        Abilities { grows: able.grows || expected, ..able }
    }
}

/// How many times its keys a quotient filter is made to grow to; 1 for other kinds.
fn expected_growth(kind: &KindSpec) -> u64 {
    match kind {
        KindSpec::Quotient { expected_growth } => u64::from(*expected_growth).next_power_of_two(),
        _ => 1,
    }
}

/// One line of the table.
struct Row {
    name: String,
    keys: u64,
    fpr: f64,
    bytes: u64,
    cost: Option<(u32, u32)>,
    abilities: Option<Abilities>,
}

/// Loads the rate is drawn for, in quarters of the keys planned for.
const QUARTERS: [u64; 9] = [1, 2, 3, 4, 5, 6, 8, 12, 16];
const BAR_COLUMNS: usize = 40;
/// The largest capacity of one filter on a server, there as here.
const MOST_KEYS_OF_A_FILTER: u64 = 1 << 30;
/// Some ten megabytes: moving a slot stops its node for as long as that takes.
const KEYS_OF_A_SHARD: u64 = 1 << 25;
/// What the words mean, for whoever sees them first.
const LEGEND: &str = "\
probes: places looked at for a key; lines: cache lines among them, the cost of a lookup
at best: what no structure can do without; hash set: of 64-bit hashes; bitmap: of 32-bit ids
";

impl PlanReport {
    /// For people.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        text += &format!("\n{}\n{}", styled(TITLE, self.chart_title()), self.chart());
        text += &format!(
            "\n{}\n  {}\n",
            styled(TITLE, "Build it (keys on standard input, or name files)"),
            styled(GOOD, self.build_line())
        );
        text += &format!("{}\n  {}\n", styled(TITLE, "The same in Redis"), self.redis_line());
        text
    }

    /// The answer in a sentence and a table.
    pub fn summary(&self) -> String {
        let mut text = format!("{}\n\n{}", styled(TITLE, self.headline()), self.table());
        for (kind, plan) in &self.answers {
            if let Err(why) = plan {
                text += &styled(FAINT, format!("no {}: {why}\n", kind.kind()));
            }
        }
        text += &styled(FAINT, LEGEND);
        text + &self.growth_text() + &self.what_else()
    }

    /// How many times its keys the chosen kind is made to grow to.
    fn growth(&self) -> u64 {
        let chosen = self.answers.iter().find(|(kind, _)| kind.kind() == self.chosen);
        chosen.map_or(1, |(kind, _)| expected_growth(kind))
    }

    /// What growing costs, where it is expected.
    fn growth_text(&self) -> String {
        let (growth, plan) = (self.growth(), &self.plan);
        let without = match self.ask {
            Question::Memory { keys, fpr } => {
                Plan::for_fpr(KindSpec::of(Kind::Quotient), keys, fpr).ok()
            }
            _ => None,
        };
        let Some(without) = without.filter(|_| growth > 1) else { return String::new() };
        let grown = plan.keys().saturating_mul(growth);
        format!(
            "\ngrowing to {} keys at this rate costs {:.2} bits a key from the start: {} instead of {}\n",
            rounded(grown),
            plan.bits_per_key() - without.bits_per_key(),
            bytes(plan.bytes()),
            bytes(without.bytes()),
        )
    }

    /// The answer in a sentence.
    fn headline(&self) -> String {
        let plan = &self.plan;
        let kind = self.chosen.name();
        match self.ask {
            Question::Memory { keys, fpr } => {
                let (size, bits) = (bytes(plan.bytes()), plan.bits_per_key());
                format!(
                    "{} at {} {} {size}: {bits:.2} bits a key ({kind})",
                    plural(keys, "key"),
                    percent(fpr),
                    if keys == 1 { "takes" } else { "take" },
                )
            }
            Question::Rate { keys, bytes: room } => {
                let bits = room as f64 * 8.0 / keys as f64;
                let (_, bound, _) = self.ask.bound();
                let classic = Plan::for_memory(KindSpec::Classic, keys, room);
                let bloom = classic.map_or(1.0, |classic| classic.fpr());
                format!(
                    "{} in {} {} {bits:.3} bits a key: a rate of {} with a Bloom filter, {} at best with anything",
                    plural(keys, "key"),
                    bytes(room),
                    if keys == 1 { "is" } else { "are" },
                    percent(bloom),
                    percent(bound)
                )
            }
            Question::Keys { fpr, bytes: room } => {
                format!(
                    "{} at {} hold {} ({kind})",
                    bytes(room),
                    percent(fpr),
                    plural(plan.keys(), "key")
                )
            }
        }
    }

    fn rows(&self) -> Vec<Row> {
        let planned = self.answers.iter().filter_map(|(kind, plan)| {
            let plan = plan.ok()?;
            Some(Row {
                name: kind.kind().name().to_owned(),
                keys: plan.keys(),
                fpr: plan.fpr(),
                bytes: plan.bytes(),
                cost: Some((plan.probes(), plan.lines())),
                abilities: Some(Abilities::of(kind)),
            })
        });
        let mut rows: Vec<Row> = planned.collect();
        let (keys, fpr, bytes) = self.ask.bound();
        rows.push(Row { name: "at best".into(), keys, fpr, bytes, cost: None, abilities: None });
        // Beside filters stand sets, which have no rate to choose: they are sized for the keys.
        let keys = self.plan.keys();
        rows.push(Row {
            name: "hash set".into(),
            keys,
            fpr: collision_rate(keys),
            bytes: hash_set_bytes(keys),
            cost: Some((1, 2)),
            abilities: Some(Abilities { grows: true, deletes: true, merges: true, exact: false }),
        });
        rows.push(Row {
            name: "bitmap".into(),
            keys,
            fpr: 0.0,
            bytes: bitmap_bytes(keys),
            cost: Some((1, 2)),
            abilities: Some(Kind::Bitmap.into()),
        });
        rows
    }

    fn table(&self) -> String {
        let head = [
            "kind", "keys", "rate", "bits/key", "size", "probes", "lines", "grows", "deletes",
            "merges", "exact",
        ];
        let mut lines = vec![head.map(str::to_owned).to_vec()];
        for row in self.rows() {
            let able = |which: fn(&Abilities) -> bool| match &row.abilities {
                Some(abilities) if which(abilities) => "yes".to_owned(),
                Some(_) => "-".to_owned(),
                None => String::new(),
            };
            let (probes, touched) = match row.cost {
                Some((probes, lines)) => (probes.to_string(), lines.to_string()),
                None => Default::default(),
            };
            let chosen = row.name == self.chosen.name();
            lines.push(vec![
                if chosen { styled(GOOD, &row.name) } else { row.name.clone() },
                rounded(row.keys),
                percent(row.fpr),
                format!("{:.2}", row.bytes as f64 * 8.0 / row.keys.max(1) as f64),
                bytes(row.bytes),
                probes,
                touched,
                able(|abilities| abilities.grows),
                able(|abilities| abilities.deletes),
                able(|abilities| abilities.merges),
                able(|abilities| abilities.exact),
            ]);
        }
        table(&lines)
    }

    /// What the two numbers that were given would take to be had at 1%.
    fn what_else(&self) -> String {
        let rate = mayhap_store::DEFAULT_FPR;
        let (Question::Rate { keys, bytes: room }, true) = (self.ask, self.plan.fpr() > rate)
        else {
            return String::new();
        };
        let size = |kind| {
            Plan::for_fpr(kind, keys, rate).map_or("-".to_owned(), |plan| bytes(plan.bytes()))
        };
        let fits = |kind| {
            Plan::for_keys(kind, rate, room).map_or("no".to_owned(), |plan| rounded(plan.keys()))
        };
        let [classic, blocked, fuse] = [KindSpec::Classic, KindSpec::Blocked, KindSpec::Fuse];
        let (rate, room) = (percent(rate), bytes(room));
        format!(
            "\n{rate} for {} keys takes {} (classic), {} (blocked), {} (fuse); at best {}\n\
             {room} hold, at {rate}, {} keys (classic), {} (blocked), {} (fuse)\n",
            rounded(keys),
            size(classic),
            size(blocked),
            size(fuse),
            bytes(bound_bytes(keys, mayhap_store::DEFAULT_FPR)),
            fits(classic),
            fits(blocked),
            fits(fuse),
        )
    }

    fn loads(&self) -> impl Iterator<Item = (f64, u64, f64)> {
        let (plan, chosen) = (self.plan, self.chosen);
        QUARTERS.into_iter().map(move |quarters| {
            let keys = (u128::from(plan.keys()) * u128::from(quarters) / 4) as u64;
            // A window forgets what it has no room for, so past one it is as full as it gets.
            let held = if chosen == Kind::Windowed { keys.min(plan.keys()) } else { keys };
            (quarters as f64 / 4.0, keys, plan.fpr_at(held))
        })
    }

    fn chart_title(&self) -> String {
        format!("Rate by load ({})", self.chosen.name())
    }

    fn chart(&self) -> String {
        let mut text = String::new();
        for (load, keys, fpr) in self.loads() {
            let mark = if load == 1.0 { "<- as planned" } else { "" };
            let line = format!(
                "{:>5}x {:>7} keys  {:>8} {} {mark}",
                load,
                rounded(keys),
                percent(fpr),
                bar(fpr, BAR_COLUMNS)
            );
            text += line.trim_end();
            text.push('\n');
        }
        text
    }

    /// A command that makes what was planned.
    fn build_line(&self) -> String {
        let keys = self.plan.keys();
        let mut line = "mayhap build -o seen.mayhap".to_owned();
        // A window of keys is as many as it remembers.
        line += &match (self.chosen, self.window) {
            (Kind::Windowed, None) => {
                format!(" --window {keys} --generations {}", self.generations)
            }
            (Kind::Windowed, Some(time)) => {
                let time = duration_flag(time);
                format!(" -n {keys} --window {time} --generations {}", self.generations)
            }
            _ => format!(" -n {keys}"),
        };
        line += &match self.ask {
            Question::Memory { fpr, .. } | Question::Keys { fpr, .. } => {
                format!(" -p {}", rate_flag(fpr))
            }
            Question::Rate { bytes, .. } => format!(" --memory {}", size_flag(bytes)),
        };
        if self.chosen != Kind::Blocked {
            line += &format!(" --kind {}", self.chosen.name());
        }
        if self.growth() > 1 {
            line += &format!(" --growth {}", self.growth());
        }
        line + " -"
    }

    /// The same keys at the same rate, for RedisBloom and its like; windows, removal and filters
    /// larger than a key can be need Mayhap's module.
    fn redis_line(&self) -> String {
        let fpr = match self.ask {
            Question::Memory { fpr, .. } | Question::Keys { fpr, .. } => fpr,
            Question::Rate { .. } => (self.plan.fpr() * 1e6).ceil() / 1e6,
        };
        if self.chosen == Kind::Quotient {
            let keys = self.plan.keys();
            let growth = match self.growth() {
                1 => String::new(),
                times => format!(" GROWTH {times}"),
            };
            return format!("CF.RESERVE seen {keys} ERROR {}{growth}", rate_flag(fpr));
        }
        let (fpr, keys) = (rate_flag(fpr), self.plan.keys());
        if keys > MOST_KEYS_OF_A_FILTER {
            let shards = keys.div_ceil(KEYS_OF_A_SHARD).next_power_of_two();
            let shards = shards.clamp(64, MAX_SHARDS.into());
            return match self.chosen {
                Kind::Windowed => {
                    format!("more than the {MOST_KEYS_OF_A_FILTER} keys of one window")
                }
                _ => format!(
                    "mayhap redis add -n {keys} -p {fpr} --shards {shards} redis+cluster://HOST:PORT seen -"
                ),
            };
        }
        let how = match (self.chosen, self.window) {
            (Kind::Scalable, _) => "EXPANSION 4".to_owned(),
            (Kind::Windowed, Some(time)) => {
                format!("WINDOW {} GENERATIONS {}", time.as_secs_f64(), self.generations)
            }
            (Kind::Windowed, None) => format!("LAST {keys} GENERATIONS {}", self.generations),
            _ => "NONSCALING".to_owned(),
        };
        format!("BF.RESERVE seen {fpr} {keys} {how}")
    }

    /// For programs.
    pub fn json(&self) -> Value {
        let rows: Vec<Value> = self.rows().iter().map(row_json).collect();
        let refused = self.answers.iter().filter_map(|(kind, plan)| {
            let why = plan.err()?;
            Some(json!({"kind": kind.kind().name(), "why": why.to_string()}))
        });
        let loads =
            self.loads().map(|(load, keys, fpr)| json!({"load": load, "keys": keys, "rate": fpr}));
        let plan = &self.plan;
        json!({
            "solved": self.ask.missing(),
            "kind": self.chosen.name(),
            "keys": plan.keys(),
            "rate": plan.fpr(),
            "bytes": plan.bytes(),
            "bits_per_key": plan.bits_per_key(),
            "choices": rows,
            "refused": refused.collect::<Vec<_>>(),
            "loads": loads.collect::<Vec<_>>(),
            "build": self.build_line(),
            "redis": self.redis_line(),
        })
    }
}

fn row_json(row: &Row) -> Value {
    let mut value = json!({
        "kind": row.name,
        "keys": row.keys,
        "rate": row.fpr,
        "bytes": row.bytes,
        "bits_per_key": row.bytes as f64 * 8.0 / row.keys.max(1) as f64,
    });
    if let Some((probes, lines)) = row.cost {
        value["probes"] = probes.into();
        value["cache_lines"] = lines.into();
    }
    if let Some(abilities) = row.abilities {
        value["grows"] = abilities.grows.into();
        value["deletes"] = abilities.deletes.into();
        value["merges"] = abilities.merges.into();
        value["exact"] = abilities.exact.into();
    }
    value
}
