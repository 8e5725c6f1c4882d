//! `cargo xtask soak [PART…]`: the long runs before a release, in parts that can be resumed, each for one goal; or single trials by their names.
//!
//! What a trial shows is recorded in docs/reliability/, with the last commit that changed the code, and is not run again for that
//! commit: a soak that was interrupted continues where it was. `--again` runs it again. `page` only writes
//! docs/RELIABILITY.md, which every soak does in the end.

mod command;
mod fuzz;
mod goals;
mod kills;
mod memory_checks;
mod page;
mod platforms;
mod power;
mod record;
mod trial;

use crate::Error;
use crate::steps::{self, Step, StepResult};
use goals::GOALS;
use record::Record;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Instant;
use trial::Trial;

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    let again = args.iter().any(|arg| arg == "--again");
    let wanted: Vec<&str> =
        args.iter().map(String::as_str).filter(|arg| *arg != "--again").collect();
    if wanted == ["page"] {
        return page::write().map(|()| ExitCode::SUCCESS).map_err(Error::Failed);
    }
    let parts: Vec<&str> = GOALS.iter().map(|goal| goal.part).collect();
    let names: Vec<String> = GOALS.iter().flat_map(goals::Goal::names).collect();
    let is_known = |name: &str| parts.contains(&name) || names.iter().any(|one| one == name);
    if let Some(unknown) = wanted.iter().find(|name| !is_known(name)) {
        let known = parts.join(", ");
        return Err(Error::Usage(format!("no part or trial called {unknown}: there are {known}")));
    }
    let commit: Rc<str> = record::commit().map_err(Error::Failed)?.into();
    let trials = GOALS.iter().flat_map(|goal| {
        let whole = wanted.is_empty() || wanted.contains(&goal.part);
        let trials = (goal.trials)().into_iter();
        trials.filter(|trial| whole || wanted.contains(&trial.name.as_str())).collect::<Vec<_>>()
    });
    let steps: Vec<Step> = trials.map(|trial| recorded(trial, commit.clone(), again)).collect();
    let code = steps::run(&steps);
    page::write().map_err(Error::Failed)?;
    Ok(code)
}

/// The trial as a step: recorded, and not run where the record says that it has passed on this commit.
fn recorded(trial: Trial, commit: Rc<str>, again: bool) -> Step {
    Step::new(trial.name.clone(), move || {
        let before = Record::of(&trial.name);
        if !again && before.is_some_and(|record| record.passed() && record.commit == *commit) {
            println!("it has passed on this commit already");
            return StepResult::Passed;
        }
        let start = Instant::now();
        let outcome = (trial.run)();
        let record = Record::new(&trial.name, &commit, start.elapsed().as_secs(), &outcome);
        match record.write() {
            Ok(()) => outcome.result,
            Err(why) => StepResult::Failed(why),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::collections::HashSet;
    use trial::Outcome;

    #[test]
    fn a_trial_that_passed_runs_again_for_another_commit_only() {
        let name = format!("a test of soak {}", std::process::id());
        let runs = Rc::new(Cell::new(0));
        let step = |commit: &str, again| {
            let runs = runs.clone();
            let counted = move || {
                runs.set(runs.get() + 1);
                Outcome { result: StepResult::Passed, saw: vec![] }
            };
            (recorded(Trial::new(name.clone(), counted), commit.into(), again).run)();
        };
        step("one", false);
        step("one", false);
        assert_eq!(runs.get(), 1);
        step("one", true);
        step("two", false);
        assert_eq!(runs.get(), 3);
        Record::forget(&name);
    }

    #[test]
    fn every_trial_has_a_name_of_its_own() {
        let names: Vec<String> = GOALS.iter().flat_map(goals::Goal::names).collect();
        let distinct: HashSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
    }
}
