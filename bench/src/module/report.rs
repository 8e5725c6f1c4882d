//! The section of the page.

use super::Options;
use super::measure::{self, Findings, Grown, Quartiles, Row, Who};
use crate::page::table;
use crate::targets::Target;

pub fn head(options: Options) -> String {
    let Options { commands, rounds, .. } = options;
    format!(
        "## Inside Redis and Valkey\n\n\
        Written by `cargo xtask bench module`. What a command costs is the time of the server's main\n\
        thread, from its `INFO cpu`, less what asking for it takes. It is set against `PING` at the same\n\
        pipeline length on the same server, before and after it in the same round. A round is {commands}\n\
        commands of each sort, a quarter of it where one has a hundred items; told are the medians of\n\
        {rounds} rounds, and in brackets what half of the rounds lie between. There is one connection.\n\
        The server sleeps once between two pipelines; the client does not, and the processors are kept\n\
        awake: to wake either costs now next to nothing and now more than the command. What a `PING`\n\
        costs is mostly that of the system's calls, and how much that is is the machine's affair. So\n\
        compare ratios within one run only; what a command costs *more* than a `PING` differs less.\n\n\
        All contestants take their turns in every round. RedisBloom runs in a server of its own where\n\
        `MAYHAP_REDISBLOOM` names its module. *Set* is the server's own `SISMEMBER`, `SADD` or\n\
        `SMISMEMBER` on a set of 1000 members: what as many words in and answers out cost without any\n\
        module.\n"
    )
}

pub fn section(findings: &Findings) -> String {
    let mut text = format!("\n### {:?} {}\n\n", findings.make, findings.version);
    let targets: Vec<Vec<String>> = targets(findings)
        .into_iter()
        .map(|(bar, competitor)| {
            let ok = bar.ok.map_or("not run", |ok| if ok { "ok" } else { "missed" });
            vec![bar.what, bar.bar, bar.reached, ok.to_owned(), competitor]
        })
        .collect();
    let head = ["bar, at pipeline 16", "at most", "reached", "", "RedisBloom in this run"];
    text += &table(&head, &targets);
    text.push('\n');
    let head = [
        "command",
        "pipeline",
        "PING µs",
        "× PING",
        "COMPAT × PING",
        "RedisBloom × PING",
        "Set × PING",
        "µs more than PING",
        "RedisBloom's",
    ];
    text += &table(&head, &findings.rows.iter().map(line).collect::<Vec<_>>());
    text
}

fn line(row: &Row) -> Vec<String> {
    let missing = |who| if who == Who::RedisBloom { "not run" } else { "" };
    let ratio = |who| row.cost(who).map_or(missing(who).to_owned(), |cost| shown(cost.ratio));
    let more =
        |who| row.cost(who).map_or(missing(who).to_owned(), |cost| format!("{:.2}", cost.more));
    vec![
        row.what.to_owned(),
        row.pipeline.to_string(),
        shown(row.ping),
        ratio(Who::Mayhap),
        ratio(Who::Compat),
        ratio(Who::RedisBloom),
        ratio(Who::Set),
        more(Who::Mayhap),
        more(Who::RedisBloom),
    ]
}

pub fn shown(Quartiles { median, quarter, three_quarters }: Quartiles) -> String {
    format!("{median:.2} ({quarter:.2}–{three_quarters:.2})")
}

/// The targets, and what RedisBloom reached in the same run.
fn targets(findings: &Findings) -> Vec<(Target, String)> {
    let not_run = || "not run".to_owned();
    let at = |what: String, bar: f64, ours: Option<Quartiles>, competitor: Option<Quartiles>| {
        let mut bar = Target::at_most(what, bar, ours.map(|ours| ours.median));
        bar.reached = ours.map_or_else(not_run, shown);
        (bar, competitor.map_or_else(not_run, shown))
    };
    let against_ping = |what: &str, bar| {
        let [ours, competitor] =
            [Who::Mayhap, Who::RedisBloom].map(|who| findings.ratio(what, who));
        at(format!("{what}, against PING"), bar, ours, competitor)
    };
    let Grown { over_reserved, bits_per_key } = findings.ours;
    let competitor = findings.competitor;
    vec![
        against_ping(measure::EXISTS, 1.3),
        against_ping(measure::MEXISTS, 11.0),
        against_ping(measure::MEXISTS_FAR, 22.0),
        against_ping(measure::MADD_FAR, 26.0),
        at(
            "MEXISTS of 100, grown from 1000, against reserved".to_owned(),
            1.5,
            Some(over_reserved),
            competitor.map(|competitor| competitor.over_reserved),
        ),
        (
            Target {
                what: "bits / key, grown from 1000".to_owned(),
                bar: "≤ 16".to_owned(),
                reached: format!("{bits_per_key:.2}"),
                ok: Some(bits_per_key <= 16.0),
            },
            competitor.map_or_else(not_run, |competitor| format!("{:.2}", competitor.bits_per_key)),
        ),
    ]
}
