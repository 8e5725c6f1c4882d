//! What the pages show of a server is what it answers.

use mayhap_testkit::{Server, Value, makes};
use std::path::Path;

/// Pages with `text` blocks of commands after `> ` and their replies as `redis-cli` prints them.
const PAGES: [&str; 2] = ["README.md", "README.zh-CN.md"];

#[test]
fn the_pages_show_what_happens() {
    for make in makes() {
        for page in PAGES {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
            let text = std::fs::read_to_string(&path).unwrap();
            let server = Server::start(make, &[]);
            let mut client = server.client();
            let mut lines = blocks(&text).into_iter().peekable();
            let mut commands = 0;
            while let Some(line) = lines.next() {
                let command = line.strip_prefix("> ").unwrap_or_else(|| panic!("{page}: {line}"));
                let mut shown = String::new();
                while let Some(reply) = lines.next_if(|line| !line.starts_with("> ")) {
                    shown += &format!("{reply}\n");
                }
                assert_eq!(printed(&client.say(command)), shown, "{page}: {command}");
                commands += 1;
            }
            assert!(commands >= 4, "{page} shows nothing of a server");
        }
    }
}

/// The lines of all blocks that begin with a command.
fn blocks(page: &str) -> Vec<&str> {
    let blocks = page.split("```text\n").skip(1).filter(|block| block.starts_with("> "));
    blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines()).collect()
}

/// As `redis-cli` prints it.
fn printed(value: &Value) -> String {
    match value {
        Value::Simple(text) => format!("{text}\n"),
        Value::Int(int) => format!("(integer) {int}\n"),
        Value::Array(all) => all
            .iter()
            .enumerate()
            .map(|(at, one)| format!("{}) {}", at + 1, printed(one)))
            .collect(),
        other => panic!("no page shows {other:?} yet"),
    }
}
