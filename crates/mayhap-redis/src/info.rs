//! Statistics of a filter over all of its keys.

use crate::filters::{shown, text};
use crate::{FilterError, ServerModule, Sharded};
use redis::Value;
use std::collections::BTreeMap;

/// Statistics of a filter.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Its kind, as the server names it.
    pub kind: String,
    /// Items counted in.
    pub items: u64,
    /// Its capacity, including growth.
    pub capacity: u64,
    /// Bytes of memory on the servers.
    pub bytes: u64,
    /// Layers of a shard, at most.
    pub layers: u64,
    /// Whether it is hashed with a secret; `None` where the server does not say.
    pub keyed: Option<bool>,
    /// The target false-positive rate, where the server says it.
    pub fpr: Option<f64>,
    /// The current false-positive rate, where the server says it.
    pub fpr_now: Option<f64>,
    /// The share of set bits, where the server says it.
    pub fill: Option<f64>,
    /// The fullest shard: its key, its items and its capacity.
    pub fullest: (String, u64, u64),
    /// Shards on each node.
    pub nodes: BTreeMap<String, u32>,
}

impl Sharded {
    /// Its statistics. The Mayhap module reads every bit for them.
    pub fn info(&self) -> Result<Info, FilterError> {
        let full: &[&str] =
            if self.filters().server_module() == ServerModule::Mayhap { &["FULL"] } else { &[] };
        let shards: Vec<Fields> = self.each("INFO", full)?.into_iter().map(Fields::of).collect();
        let sum = |name: &str| {
            shards.iter().filter_map(|shard| shard.number(name)).fold(0, u64::saturating_add)
        };
        // An absent key is looked up in one shard, each equally likely.
        let mean = |name: &str| {
            let all: Option<Vec<f64>> = shards.iter().map(|shard| shard.decimal(name)).collect();
            all.map(|all| all.iter().sum::<f64>() / all.len().max(1) as f64)
        };
        let load = |shard: &Fields| {
            let number = |name| shard.number(name).unwrap_or(0);
            (number(ITEMS).saturating_sub(self.witnesses()), number(CAPACITY))
        };
        let share = |(items, capacity): (u64, u64)| items as f64 / capacity.max(1) as f64;
        let loads = self.keys().zip(shards.iter().map(load));
        let fullest = loads.max_by(|(_, a), (_, b)| share(*a).total_cmp(&share(*b)));
        let (key, (items, capacity)) = fullest.unwrap_or((b"", (0, 0)));
        let mut nodes = BTreeMap::new();
        for node in self.filters().router.node_names(&self.slots())? {
            *nodes.entry(node).or_default() += 1;
        }
        let first = shards.first();
        Ok(Info {
            kind: first.and_then(|first| first.word("Kind")).unwrap_or_else(|| "bloom".to_owned()),
            items: sum(ITEMS).saturating_sub(self.witnesses() * shards.len() as u64),
            capacity: self.about().map_or_else(|| sum(CAPACITY), |about| about.spec().capacity()),
            bytes: sum("Size"),
            layers: shards.iter().filter_map(|s| s.number("Number of filters")).max().unwrap_or(0),
            keyed: first.and_then(|first| first.number("Keyed")).map(|keyed| keyed != 0),
            fpr: self.about().map(|about| about.spec().fpr()).or_else(|| mean("Error rate")),
            fpr_now: mean("Error rate now"),
            fill: mean("Fill"),
            fullest: (shown(key), items, capacity),
            nodes,
        })
    }
}

const ITEMS: &str = "Number of items inserted";
const CAPACITY: &str = "Capacity";

/// Names and values, in pairs or as a map.
struct Fields(Vec<(String, Value)>);

impl Fields {
    fn of(value: Value) -> Fields {
        Fields(match value {
            Value::Map(pairs) => {
                pairs.into_iter().map(|(name, value)| (text(&name), value)).collect()
            }
            Value::Array(flat) => {
                let pair = |pair: &[Value]| match pair {
                    [name, value] => Some((text(name), value.clone())),
                    _ => None,
                };
                flat.chunks(2).filter_map(pair).collect()
            }
            _ => vec![],
        })
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        match self.get(name)? {
            Value::Int(number) => u64::try_from(*number).ok(),
            Value::Boolean(yes) => Some((*yes).into()),
            _ => None,
        }
    }

    fn decimal(&self, name: &str) -> Option<f64> {
        match self.get(name)? {
            Value::Double(number) => Some(*number),
            other => text(other).parse().ok(),
        }
    }

    fn word(&self, name: &str) -> Option<String> {
        self.get(name).map(text)
    }
}
