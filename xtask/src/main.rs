//! The project's chores: `cargo xtask <verb>`. One file a verb; this one is the list.

mod bench;
mod cross;
mod sample;
mod smoke;
mod soak;
mod steps;
mod test;
mod tools;

use std::process::ExitCode;

/// What can be asked for: the name, what help says about it, and what does it.
struct Verb {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<ExitCode, Trouble>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        about: "everything a change must pass: format, lints, docs, tests, licences",
        run: test::run,
    },
    Verb {
        name: "bench",
        about: "measure: `bench engine`, `cli`, `cascade`, `scale` or `seen`, then arguments for the program",
        run: bench::run,
    },
    Verb {
        name: "soak",
        about: "the long runs: fuzzing, enlarged tests, other machines and compilers",
        run: soak::run,
    },
    Verb {
        name: "cross",
        about: "the part of soak that emulates other machines, by itself",
        run: cross::run,
    },
    Verb { name: "sample", about: "write testdata/urls-sample.txt again", run: sample::run },
];

/// Why a verb could not even begin. What a verb finds wrong is its exit code.
enum Trouble {
    /// The command line makes no sense.
    Usage(String),
    /// Something outside of the project failed us.
    Failed(String),
}

fn main() -> ExitCode {
    // Verbs speak of files from the root of the project, wherever they are called from.
    if let Err(error) = std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")) {
        eprintln!("xtask: cannot go to the root of the project: {error}");
        return ExitCode::from(2);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(Trouble::Usage(what)) => {
            eprintln!("xtask: {what}\nhint: cargo xtask --help");
            ExitCode::from(2)
        }
        Err(Trouble::Failed(what)) => {
            eprintln!("xtask: {what}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode, Trouble> {
    let Some((name, rest)) = args.split_first() else {
        return Err(Trouble::Usage("which chore?".into()));
    };
    if args.iter().take(2).any(|arg| arg == "--help" || arg == "-h") || name == "help" {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => Err(Trouble::Usage(format!("there is no chore called {name}"))),
    }
}

fn help() -> String {
    let mut text = "usage: cargo xtask <chore>\n\n".to_owned();
    for Verb { name, about, .. } in VERBS {
        text += &format!("  {name:8}{about}\n");
    }
    text + "\nExit: 0 all well, 1 something is wrong with the project, 2 trouble before that.\n\
           With CI=true in the environment a step that would be skipped fails instead.\n"
}

/// For verbs that take none.
fn no_arguments(verb: &str, args: &[String]) -> Result<(), Trouble> {
    match args.first() {
        Some(arg) => Err(Trouble::Usage(format!("{verb} takes no arguments, got {arg}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        match dispatch(&args) {
            Err(Trouble::Usage(what)) => what,
            _ => panic!("{args:?} was taken"),
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        assert_eq!(usage(&[]), "which chore?");
        assert_eq!(usage(&["tset"]), "there is no chore called tset");
        assert_eq!(usage(&["test", "fast"]), "test takes no arguments, got fast");
        assert_eq!(usage(&["soak", "5"]), "soak takes no arguments, got 5");
        assert_eq!(usage(&["bench"]), "bench what? engine or cli or cascade or scale or seen");
        assert_eq!(
            usage(&["bench", "cil"]),
            "no bench called cil: there are engine and cli and cascade and scale and seen"
        );
    }

    #[test]
    fn help_names_every_verb() {
        assert!(VERBS.iter().all(|verb| help().contains(verb.name)));
    }
}
