//! When the command line itself cannot be understood.

use crate::Cli;
use crate::exit::Exit;
use crate::print;
use clap::CommandFactory;
use clap::error::{Error, ErrorKind};

/// Show help where it was asked for, or what is wrong with the flags, and how it ends.
pub fn report(error: &Error) -> Exit {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let text = error.render();
    if asked {
        let printed = print::out(&text.ansi().to_string());
        return printed.map_or_else(|error| crate::exit::report(&error), |()| Exit::Yes);
    }
    print::line(hints(&text.ansi().to_string()).trim_end());
    Exit::Error
}

/// Where a verb has nothing to read and nobody pipes: its help, as trouble.
pub fn help(verb: &str) -> Exit {
    let mut command = Cli::command();
    command.build();
    if let Some(verb) = command.find_subcommand_mut(verb) {
        print::line(verb.render_help().ansi().to_string().trim_end());
    }
    Exit::Error
}

/// The same of a verb's verb.
pub fn help_of(group: &str, verb: &str) -> Exit {
    let mut command = Cli::command();
    command.build();
    let group = command.find_subcommand_mut(group);
    if let Some(verb) = group.and_then(|group| group.find_subcommand_mut(verb)) {
        print::line(verb.render_help().ansi().to_string().trim_end());
    }
    Exit::Error
}

/// The parser calls the way out a tip; here it is a hint, everywhere.
fn hints(text: &str) -> String {
    let is_tip = |line: &str| {
        anstream::adapter::strip_str(line).to_string().trim_start().starts_with("tip:")
    };
    let lines = text.split_inclusive('\n');
    lines
        .map(|line| if is_tip(line) { line.replacen("tip:", "hint:", 1) } else { line.into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tips_are_hints_and_nothing_else_is_touched() {
        let text = "error: no tip: here\n\n  \u{1b}[32mtip:\u{1b}[0m try tip: that\n";
        assert_eq!(
            hints(text),
            "error: no tip: here\n\n  \u{1b}[32mhint:\u{1b}[0m try tip: that\n"
        );
    }
}
