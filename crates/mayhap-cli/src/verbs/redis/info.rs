//! `mayhap redis info URL KEY`.

use super::server_args::{ServerKey, ShardsArg};
use crate::clock::date;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::{bytes, grouped, percent, plural};
use crate::print::{self, TITLE, bar, styled};
use clap::Args;
use mayhap_redis::{Descriptor, Info as ServerInfo, Sharded};
use mayhap_store::key_rules::{is_reserved, key_type_of};
use serde_json::{Map, Value, json};

/// Show the kind, parameters, fill and current false-positive rate of a filter on a server.
#[derive(Args)]
pub struct Info {
    #[command(flatten)]
    place: ServerKey,

    #[command(flatten)]
    shards: ShardsArg,
}

const BAR_COLUMNS: usize = 30;

impl Info {
    pub fn run(self, globals: &Globals) -> anyhow::Result<Exit> {
        let filters = self.place.connect()?;
        let list = self.place.open(&filters, &self.shards, globals)?;
        let facts = list.info()?;
        let make = filters.server_module().name();
        if globals.json {
            print::json(&self.json(&list, &facts, make))?;
        } else {
            print::out(&self.text(&list, &facts, make))?;
        }
        Ok(Exit::Yes)
    }

    /// For people: a name and its value a line.
    fn text(&self, list: &Sharded, facts: &ServerInfo, make: &str) -> String {
        let name = self.place.name();
        let head = format!("{name}: {} filter of {} on servers", facts.kind, bytes(facts.bytes));
        let mut text = styled(TITLE, head) + "\n";
        let mut line = |name: &str, value: String| text += &format!("{name:<11} {value}\n");
        line("keys", format!("{} counted", grouped(facts.items)));
        let share = facts.items as f64 / facts.capacity.max(1) as f64;
        line("capacity", format!("{}, {} used", grouped(facts.capacity), percent(share)));
        if list.about().is_some() {
            let (key, items, capacity) = &facts.fullest;
            let used = percent(*items as f64 / (*capacity).max(1) as f64);
            let count = list.keys().len();
            line(
                "shards",
                format!("{count}, the fullest is {key}: {}, {used} used", plural(*items, "key")),
            );
        }
        let nodes = facts.nodes.iter().map(|(node, count)| format!("{node} ({count})"));
        line("nodes", nodes.collect::<Vec<_>>().join(", "));
        if let Some(fill) = facts.fill {
            line("fill", format!("{:<BAR_COLUMNS$} {}", bar(fill, BAR_COLUMNS), percent(fill)));
        }
        let rates = [(facts.fpr, "asked for"), (facts.fpr_now, "now")];
        let rates = rates.into_iter().filter_map(|(rate, what)| Some((rate?, what)));
        let rates: Vec<String> =
            rates.map(|(rate, what)| format!("{} {what}", percent(rate))).collect();
        if !rates.is_empty() {
            line("rate", rates.join(", "));
        }
        if facts.layers > 1 {
            line("layers", facts.layers.to_string());
        }
        if let Some(keyed) = facts.keyed {
            line("keyed", if keyed { "yes" } else { "no" }.to_owned());
        }
        if let Some(about) = list.about() {
            let identity = if about.has_identity() { "in every shard" } else { "none" };
            line("identity", identity.to_owned());
        }
        if let Some(metadata) = list.about().map(Descriptor::metadata) {
            let normalizer =
                if metadata.normalizer().is_empty() { "none" } else { metadata.normalizer() };
            line("normaliser", normalizer.to_owned());
            line("key type", key_type_of(metadata).to_owned());
            if metadata.created() > 0 {
                line("created", date(metadata.created()));
            }
            for (name, value) in metadata.pairs().filter(|(name, _)| !is_reserved(name)) {
                line("meta", format!("{name}={value}"));
            }
        }
        line("module", make.to_owned());
        text
    }

    /// For programs.
    fn json(&self, list: &Sharded, facts: &ServerInfo, make: &str) -> Value {
        let (fullest, items, capacity) = &facts.fullest;
        let mut value = json!({
            "key": self.place.name(),
            "kind": facts.kind,
            "keys": facts.items,
            "capacity": facts.capacity,
            "bytes": facts.bytes,
            "shards": list.keys().len(),
            "sharded": list.about().is_some(),
            "identity": list.about().is_some_and(Descriptor::has_identity),
            "fullest": {"key": fullest, "keys": items, "capacity": capacity},
            "nodes": facts.nodes,
            "layers": facts.layers,
            "keyed": facts.keyed,
            "rate": facts.fpr,
            "rate_now": facts.fpr_now,
            "fill": facts.fill,
            "module": make,
        });
        if let Some(metadata) = list.about().map(Descriptor::metadata) {
            let meta: Map<String, Value> = metadata
                .pairs()
                .filter(|(name, _)| !is_reserved(name))
                .map(|(name, value)| (name.to_owned(), value.into()))
                .collect();
            value["normaliser"] =
                if metadata.normalizer().is_empty() { "none" } else { metadata.normalizer() }
                    .into();
            value["key_type"] = key_type_of(metadata).into();
            value["created"] = metadata.created().into();
            value["meta"] = meta.into();
        }
        value
    }
}
