//! The README's tour of the command, run line by line: what it shows is what happens.

use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// One command of a `console` block, and what is shown below it.
struct Shown {
    command: String,
    output: String,
}

fn shown(readme: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            line => match (line.strip_prefix("$ "), shown.last_mut()) {
                (Some(command), _) => {
                    shown.push(Shown { command: command.to_owned(), output: String::new() });
                }
                (None, Some(last)) => last.output += &format!("{line}\n"),
                (None, None) => panic!("output before any command: {line}"),
            },
        }
    }
    shown
}

/// Times and dates are other ones every time.
fn timeless(output: &str) -> String {
    let line = |line: &str| match line.rsplit_once(", ") {
        Some((front, time)) if time.ends_with(" ms") || time.ends_with(" s") => {
            format!("{front}, TIME\n")
        }
        _ if line.starts_with("created ") => "created DATE\n".to_owned(),
        _ => format!("{line}\n"),
    };
    output.lines().map(line).collect()
}

#[test]
#[cfg(unix)]
fn the_readme_shows_what_happens() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let shown = shown(&readme);
    assert!(shown.len() >= 8, "the tour is gone");
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("testdata")).unwrap();
    let sample = "testdata/urls-sample.txt";
    fs::copy(Path::new(ROOT).join(sample), folder.path().join(sample)).unwrap();
    let ours = Path::new(env!("CARGO_BIN_EXE_mayhap")).parent().unwrap();
    let path = format!("{}:{}", ours.display(), std::env::var("PATH").unwrap_or_default());
    for Shown { command, output } in shown {
        let ran = Command::new("sh")
            .args(["-c", &format!("( {command} ) 2>&1")])
            .current_dir(folder.path())
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .output()
            .unwrap();
        let happened = String::from_utf8_lossy(&ran.stdout).into_owned();
        assert_eq!(timeless(&happened), timeless(&output), "$ {command}");
    }
}
