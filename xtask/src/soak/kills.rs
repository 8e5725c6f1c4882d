//! kill -9 at any moment of a change of a filter, of dedup's state and of a seen store.

use super::command::{Mayhap, Subject};
use super::trial::Outcome;
use crate::sample::SplitMix;
use crate::steps::StepResult;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Kills of each of the three; `MAYHAP_KILLS` changes it.
const KILLS: usize = 667;
/// The latest so many members are asked for after each kill: as many as a seen list keeps for sure.
const ASKED: usize = 3000;
const KEYS: usize = 5;

pub fn cycles() -> Outcome {
    let kills = std::env::var("MAYHAP_KILLS").ok().and_then(|kills| kills.parse().ok());
    let mut saw = vec![];
    let result = all(kills.unwrap_or(KILLS), &mut saw);
    let result = result.map_or_else(StepResult::Failed, |()| StepResult::Passed);
    Outcome { result, saw }
}

fn all(kills: usize, saw: &mut Vec<String>) -> Result<(), String> {
    let folder = Path::new("target/soak/kills");
    _ = fs::remove_dir_all(folder);
    let mayhap = Mayhap::built(folder)?;
    for (subject, name) in [
        (Subject::Filter, "add to a filter"),
        (Subject::State, "dedup with a state"),
        (Subject::Store, "seen mark"),
    ] {
        saw.push(killed(&mayhap, subject, kills).map(|told| format!("{name}: {told}"))?);
    }
    saw.push(careless(&mayhap, kills / 10 + 5)?);
    fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Change it and kill the process at a random moment, again and again; nothing acknowledged may be missing.
fn killed(mayhap: &Mayhap, subject: Subject, kills: usize) -> Result<String, String> {
    subject.begin(mayhap)?;
    let keys = |round: usize| (0..KEYS).map(|n| format!("key-{round}-{n}")).collect::<Vec<_>>();
    let start = Instant::now();
    if !subject.start(mayhap, &keys(0))?.wait().is_ok_and(|status| status.success()) {
        return Err(format!("`{}` fails by itself", subject.change()));
    }
    // About as long as an undisturbed run takes; adapted, so that a third of them end before they are killed.
    let mut longest = start.elapsed().as_micros() as u64;
    let mut random = SplitMix(7);
    let mut acknowledged = keys(0);
    let (mut done, mut unfinished) = (1, 0);
    for round in 1..=kills {
        let keys = keys(round);
        let mut child = subject.start(mayhap, &keys)?;
        sleep(Duration::from_micros(random.below(longest) as u64));
        _ = child.kill();
        match child.wait() {
            Ok(status) if status.success() => {
                done += 1;
                acknowledged.extend(keys);
            }
            _ => unfinished += 1,
        }
        longest = if 3 * unfinished > 2 * round { longest * 26 / 25 } else { longest * 25 / 26 };
        let latest = &acknowledged[acknowledged.len().saturating_sub(ASKED)..];
        match subject.missing(mayhap, latest) {
            Ok(0) => {}
            Ok(lost) => return Err(format!("kill {round}: {lost} acknowledged keys are missing")),
            Err(why) => return Err(format!("kill {round}: {why}")),
        }
    }
    Ok(format!(
        "{kills} rounds, {unfinished} killed before they ended, {done} acknowledged; every file verified, 0 keys missing"
    ))
}

/// The control: the same kills of a program that writes over the file.
fn careless(mayhap: &Mayhap, kills: usize) -> Result<String, String> {
    Subject::Filter.begin(mayhap)?;
    fs::copy(mayhap.folder.join("filter"), mayhap.folder.join("good"))
        .map_err(|error| format!("good: {error}"))?;
    let mut random = SplitMix(11);
    let mut broken = 0;
    for _ in 0..kills {
        let mut dd = Command::new("dd");
        dd.args(["if=good", "of=filter", "bs=512"]).current_dir(&mayhap.folder);
        let mut child = dd.stderr(Stdio::null()).spawn().map_err(|error| format!("dd: {error}"))?;
        sleep(Duration::from_micros(random.below(20_000) as u64));
        _ = child.kill();
        _ = child.wait();
        broken += usize::from(!mayhap.works("verify filter"));
    }
    if broken == 0 {
        return Err("the control found nothing: no overwritten file was broken by a kill".into());
    }
    Ok(format!(
        "control: a program that overwrites the filter in place: {broken} of {kills} kills left a broken file"
    ))
}
