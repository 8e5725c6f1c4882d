//! What the README and the pages of docs/ show of the command, run line by line: what they show is what happens.

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

/// Pages whose `console` blocks are run, each in a folder of its own, and how many commands they show at least.
const PAGES: [(&str, usize); 7] = [
    ("README.md", 8),
    ("docs/HOW-TO.md", 18),
    ("docs/KEYED.md", 4),
    ("docs/SIZING.md", 2),
    ("docs/tutorials/block-list.md", 12),
    ("docs/tutorials/crawler.md", 12),
    ("docs/tutorials/recommender.md", 10),
];

fn shown(page: &str) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
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

/// Times and dates are other ones every time, and estimates change with the layout of filters.
fn timeless(output: &str) -> String {
    let line = |line: &str| match line.rsplit_once(", ") {
        Some((front, time)) if time.ends_with(" ms") || time.ends_with(" s") => {
            format!("{front}, TIME\n")
        }
        _ if line.starts_with("created ") => "created DATE\n".to_owned(),
        // How likely a mistake was depends on the layout of the filter.
        _ if line.ends_with(" expected at most") => {
            let (counts, _) = line.split_once(';').unwrap_or((line, ""));
            format!("{counts}; RATE\n")
        }
        _ => format!("{line}\n"),
    };
    output.lines().map(line).collect()
}

#[test]
#[cfg(unix)]
fn the_pages_show_what_happens() {
    for (page, commands) in PAGES {
        let text = fs::read_to_string(Path::new(ROOT).join(page)).unwrap();
        let shown = shown(&text);
        assert!(shown.len() >= commands, "{page} shows only {} commands", shown.len());
        as_shown(page, shown);
    }
}

#[cfg(unix)]
fn as_shown(page: &str, shown: Vec<Shown>) {
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
        assert_eq!(timeless(&happened), timeless(&output), "{page}: $ {command}");
    }
}

/// Links from page to page lead somewhere.
#[test]
fn links_between_pages_lead_somewhere() {
    let root = Path::new(ROOT);
    let mut pages =
        vec![root.join("README.md"), root.join("README.zh-CN.md"), root.join("CONTRIBUTING.md")];
    for folder in ["docs", "docs/tutorials", "docs/zh-CN"] {
        for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            pages.extend(
                entry.path().extension().is_some_and(|end| end == "md").then(|| entry.path()),
            );
        }
    }
    let mut links = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap_or_default();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(char::is_whitespace) {
                continue;
            }
            links += 1;
            assert!(
                page.with_file_name(file).exists(),
                "{}: {target} does not exist",
                page.display()
            );
        }
    }
    assert!(links > 50, "only {links} links found");
}

/// Every command, program and number of a Chinese page is one of the English page.
#[test]
fn the_chinese_pages_show_the_same() {
    let root = Path::new(ROOT);
    let mut pages = vec![(root.join("README.zh-CN.md"), root.join("README.md"))];
    for entry in fs::read_dir(root.join("docs/zh-CN")).unwrap() {
        let chinese = entry.unwrap().path();
        let english = root.join("docs").join(chinese.file_name().unwrap());
        pages.push((chinese, english));
    }
    assert!(pages.len() >= 4);
    for (chinese, english) in pages {
        let (ours, theirs) =
            (fs::read_to_string(&chinese).unwrap(), fs::read_to_string(&english).unwrap());
        let (known, name) = (blocks(&theirs), chinese.display());
        for block in blocks(&ours) {
            // Drawings are translated.
            let is_drawing = block.contains('├');
            assert!(is_drawing || known.contains(&block), "{name} alone shows\n{block}");
        }
        let numbers_known = numbers(&theirs);
        for number in numbers(&ours) {
            assert!(numbers_known.contains(&number), "{name} alone says {number}");
        }
    }
    let of = |page: &str| fs::read_to_string(root.join(page)).unwrap();
    assert_eq!(blocks(&of("README.zh-CN.md")), blocks(&of("README.md")), "README.zh-CN.md");
}

/// What stands between fences, with the word behind the first.
fn blocks(page: &str) -> Vec<&str> {
    page.split("```").skip(1).step_by(2).collect()
}

fn numbers(page: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let parts = page.split(|c: char| !is_part(c)).map(|part| part.trim_matches(['.', ',']));
    parts.filter(|part| !part.is_empty()).collect()
}
