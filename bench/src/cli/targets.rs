//! The targets of the command, and what this run reached.

use super::jobs::Work;
use super::measure::Cost;
use super::{Findings, Run};
use crate::comparison::{median, ratio};
use crate::targets::Target;

const OURS: &str = "mayhap dedup";
const EXACT: &str = "mayhap dedup --exact";

/// A figure of a run.
type Figure = fn(&Cost) -> f64;
const CPU: Figure = |cost| cost.cpu_s;
const WALL: Figure = |cost| cost.wall_s;
const MEMORY: Figure = |cost| cost.peak_bytes as f64;

/// Every target, in the order of the work.
pub fn all(findings: &Findings) -> Vec<Target> {
    let over = |work, ours: &str, theirs: &str, figure: Figure| {
        let figures = |run: &Run| run.costs.iter().map(figure).collect::<Vec<_>>();
        let (ours, theirs) = (findings.run(work, ours)?, findings.run(work, theirs)?);
        ratio(&figures(ours), &figures(theirs))
    };
    let most = |what: &str, bar: f64, reached| Target::at_most(what, bar, reached);
    let (dedup, build, check) = (Work::Dedup, Work::Build, Work::Check);
    let mut targets = vec![
        most("dedup: CPU over runiq's", 0.2, over(dedup, OURS, "runiq", CPU)),
        most("dedup: CPU over sort -u's", 0.2, over(dedup, OURS, "sort -u", CPU)),
        most("dedup: memory over runiq's", 0.4, over(dedup, OURS, "runiq", MEMORY)),
        lost(findings),
        most("dedup --exact: CPU over runiq's", 0.4, over(dedup, EXACT, "runiq", CPU)),
        exact(findings),
        most("build: CPU over poppy's", 0.25, over(build, "mayhap build", "poppy", CPU)),
        most(
            "build: wall on 2 threads over 1",
            0.65,
            over(build, "mayhap build -j 2", "mayhap build -j 1", WALL),
        ),
        most("build: wall over wc -l's", 4.0, over(build, "mayhap build -j 2", "wc -l", WALL)),
        most("check: CPU over poppy's", 0.15, over(check, "mayhap check", "poppy", CPU)),
    ];
    targets.extend(checked(findings));
    targets.extend(one_key(findings));
    targets
}

/// No more lines lost than the false-positive rate allows, with a chance of one in a thousand.
fn lost(findings: &Findings) -> Target {
    let promised = 1e-6 * (findings.options.lines * 7 / 10) as f64;
    let most = promised + 3.0 * promised.sqrt() + 1.0;
    let run = findings.run(Work::Dedup, OURS);
    Target {
        what: "dedup: new lines lost".to_owned(),
        bar: format!("≤ {promised:.1} expected"),
        reached: run.map_or("not run".to_owned(), |run| run.errors.lost.to_string()),
        ok: run.map(|run| run.errors.lost as f64 <= most && run.errors.false_lines == 0),
    }
}

fn exact(findings: &Findings) -> Target {
    let run = findings.run(Work::Dedup, EXACT);
    let same = run.map(|run| run.errors.lost == 0 && run.errors.false_lines == 0);
    let reached = match same {
        Some(true) => "identical",
        Some(false) => "different",
        None => "not run",
    };
    Target {
        what: "dedup --exact: output beside awk's".to_owned(),
        bar: "identical".to_owned(),
        reached: reached.to_owned(),
        ok: same,
    }
}

fn checked(findings: &Findings) -> Vec<Target> {
    let Some(run) = findings.run(Work::Check, "mayhap check") else { return Vec::new() };
    let (rate, absent_keys) = (run.errors.rate(), run.errors.absent_keys as f64);
    // A measured rate is random: two standard errors are allowed.
    let error = (rate * (1.0 - rate) / absent_keys.max(1.0)).sqrt();
    vec![
        Target {
            what: "check: false positives at 1%".to_owned(),
            bar: "≤ 1.02%".to_owned(),
            reached: format!("{:.3}%", 100.0 * rate),
            ok: Some(rate - 2.0 * error <= 0.0102),
        },
        Target {
            what: "check: members missing".to_owned(),
            bar: "0".to_owned(),
            reached: run.errors.lost.to_string(),
            ok: Some(run.errors.lost == 0),
        },
    ]
}

fn one_key(findings: &Findings) -> Vec<Target> {
    let figure = |program: &str, figure: Figure| {
        let run = findings.run(Work::OneKey, program)?;
        median(run.costs.iter().map(figure))
    };
    let mib = figure("mayhap check one", MEMORY).map(|bytes| bytes / (1 << 20) as f64);
    let ms = figure("mayhap check --no-verify one", WALL).map(|seconds| 1e3 * seconds);
    let shown = |value: Option<f64>, unit: &str| {
        value.map_or("not run".to_owned(), |value| format!("{value:.1} {unit}"))
    };
    vec![
        Target {
            what: "one key in a large filter, all of it verified: memory".to_owned(),
            bar: "< 20 MiB".to_owned(),
            reached: shown(mib, "MiB"),
            ok: mib.map(|mib| mib < 20.0),
        },
        Target {
            what: "the same with --no-verify: wall".to_owned(),
            bar: "< 50 ms".to_owned(),
            reached: shown(ms, "ms"),
            ok: ms.map(|ms| ms < 50.0),
        },
    ]
}
