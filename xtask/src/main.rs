//! The project's chores: `cargo xtask <verb>`. One file per verb; this one is the list.

mod api;
mod bench;
mod cross;
mod dist;
mod live;
mod python;
mod sample;
mod smoke;
mod soak;
mod steps;
mod test;
mod tools;
mod wheel;

use std::process::ExitCode;

/// A verb: its name, its help text, and its function.
struct Verb {
    name: &'static str,
    about: &'static str,
    run: fn(&[String]) -> Result<ExitCode, Error>,
}

const VERBS: &[Verb] = &[
    Verb {
        name: "test",
        about: "everything a change must pass; with --live also other programs, installed for it",
        run: test::run,
    },
    Verb {
        name: "bench",
        about: "measure one thing, `bench engine` for example; then arguments for the program",
        run: bench::run,
    },
    Verb {
        name: "soak",
        about: "the long runs, or parts of them (docs/RELIABILITY.md names them); resumed, or --again",
        run: soak::run,
    },
    Verb {
        name: "dist",
        about: "packages for Debian and an archive, in target/dist, installed and tried",
        run: dist::run,
    },
    Verb {
        name: "python",
        about: "the tests of the Python package, in an environment made for them",
        run: python::run,
    },
    Verb {
        name: "wheel",
        about: "the wheel and the sdist of the Python package, in target/dist, installed and tried",
        run: wheel::run,
    },
    Verb {
        name: "cross",
        about: "the part of soak that emulates other machines, by itself",
        run: cross::run,
    },
    Verb {
        name: "api",
        about: "write the engine's public surface to crates/mayhap/public-api.txt again",
        run: api::run,
    },
    Verb { name: "sample", about: "write testdata/urls-sample.txt again", run: sample::run },
];

/// Why a verb could not start. Failures found by a verb are its exit code.
enum Error {
    /// Invalid arguments.
    Usage(String),
    /// Something outside of the project failed.
    Failed(String),
}

fn main() -> ExitCode {
    // Paths are relative to the project's root, wherever it is called from.
    if let Err(error) = std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")) {
        eprintln!("xtask: cannot go to the root of the project: {error}");
        return ExitCode::from(2);
    }
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(code) => code,
        Err(Error::Usage(what)) => {
            eprintln!("xtask: {what}\nhint: cargo xtask --help");
            ExitCode::from(2)
        }
        Err(Error::Failed(what)) => {
            eprintln!("xtask: {what}");
            ExitCode::from(2)
        }
    }
}

fn dispatch(args: &[String]) -> Result<ExitCode, Error> {
    let Some((name, rest)) = args.split_first() else {
        return Err(Error::Usage("which chore?".into()));
    };
    if args.iter().take(2).any(|arg| arg == "--help" || arg == "-h") || name == "help" {
        print!("{}", help());
        return Ok(ExitCode::SUCCESS);
    }
    match VERBS.iter().find(|verb| verb.name == name) {
        Some(verb) => (verb.run)(rest),
        None => Err(Error::Usage(format!("there is no chore called {name}"))),
    }
}

fn help() -> String {
    let mut text = "usage: cargo xtask <chore>\n\n".to_owned();
    for Verb { name, about, .. } in VERBS {
        text += &format!("  {name:8}{about}\n");
    }
    text + "\nExit: 0 success, 1 a check failed, 2 it could not start.\n\
           With CI=true in the environment a step that would be skipped fails instead.\n"
}

/// For verbs that take none.
fn no_arguments(verb: &str, args: &[String]) -> Result<(), Error> {
    match args.first() {
        Some(arg) => Err(Error::Usage(format!("{verb} takes no arguments, got {arg}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        match dispatch(&args) {
            Err(Error::Usage(what)) => what,
            _ => panic!("{args:?} was taken"),
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        assert_eq!(usage(&[]), "which chore?");
        assert_eq!(usage(&["tset"]), "there is no chore called tset");
        assert_eq!(usage(&["test", "fast"]), "test takes --live or nothing, got fast");
        assert!(usage(&["soak", "5"]).starts_with("no part or trial called 5: there are damage, "));
        assert!(usage(&["bench"]).starts_with("bench what? engine, "));
        assert!(usage(&["bench", "cil"]).starts_with("no bench called cil: there are engine, "));
    }

    #[test]
    fn help_names_every_verb() {
        assert!(VERBS.iter().all(|verb| help().contains(verb.name)));
    }
}
