//! `cargo xtask api`: the engine's public surface as text, from its documentation. A change of it shows
//! up in review; `cargo xtask test` fails where the listing is not the surface.

use crate::steps::{StepResult, cargo, succeeds};
use crate::{Error, no_arguments};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

/// The listing.
const LISTING: &str = "crates/mayhap/public-api.txt";
/// Where rustdoc writes the engine's pages.
const PAGES: &str = "target/doc/mayhap";

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("api", args)?;
    let listing = surface().map_err(Error::Failed)?;
    fs::write(LISTING, listing).map_err(|error| Error::Failed(format!("{LISTING}: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the listing is the surface.
pub fn check() -> StepResult {
    let listed = fs::read_to_string(LISTING).unwrap_or_default();
    match surface() {
        Ok(surface) if surface == listed => StepResult::Passed,
        Ok(surface) => {
            let (old, new): (BTreeSet<&str>, BTreeSet<&str>) =
                (listed.lines().collect(), surface.lines().collect());
            old.difference(&new).for_each(|line| println!("- {line}"));
            new.difference(&old).for_each(|line| println!("+ {line}"));
            StepResult::Failed(format!(
                "the engine's public surface is not that of {LISTING}: `cargo xtask api` writes it anew"
            ))
        }
        Err(why) => StepResult::Failed(why),
    }
}

fn surface() -> Result<String, String> {
    // What is no more would stay there.
    _ = fs::remove_dir_all(PAGES);
    match succeeds(&mut cargo("doc -p mayhap --no-deps --all-features")) {
        StepResult::Passed => {}
        StepResult::Failed(why) => return Err(why),
        _ => return Err("no documentation".into()),
    }
    let mut lines = BTreeSet::new();
    pages(Path::new(PAGES), "mayhap", &mut lines).map_err(|error| format!("{PAGES}: {error}"))?;
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}

/// The items on all pages of a module.
fn pages(folder: &Path, module: &str, lines: &mut BTreeSet<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Private modules have pages that lead on, and no page of their own.
        if path.is_dir() && path.join("index.html").exists() {
            lines.insert(format!("{module}::{name} (module)"));
            pages(&path, &format!("{module}::{name}"), lines)?;
        } else if let Some((kind, item)) = item_of(&name) {
            let item = format!("{module}::{item}");
            lines.insert(format!("{item} ({kind})"));
            let page = fs::read_to_string(&path)?;
            members(&page).for_each(|member| _ = lines.insert(format!("{item}: {member}")));
        }
    }
    Ok(())
}

/// `struct.Blocked.html` is the page of a struct.
fn item_of(file: &str) -> Option<(&str, &str)> {
    let (kind, item) = file.strip_suffix(".html")?.split_once('.')?;
    let kinds = ["struct", "enum", "trait", "fn", "type", "constant", "macro", "static", "union"];
    kinds.contains(&kind).then_some((kind, item))
}

/// The signatures of a page: methods and fields of its own, and the traits it implements by hand or by
/// `derive`; not those that everything has.
fn members(page: &str) -> impl Iterator<Item = String> {
    let own = page.split("id=\"synthetic-implementations\"").next().unwrap_or_default();
    let own = own.split("id=\"blanket-implementations\"").next().unwrap_or_default();
    let own = own.split("id=\"implementors\"").next().unwrap_or_default();
    let (inherent, traits) = own.split_once("id=\"trait-implementations\"").unwrap_or((own, ""));
    let all = signatures(inherent, "h4").chain(fields(inherent));
    let all: Vec<String> = all.chain(signatures(traits, "h3")).collect();
    all.into_iter()
}

/// The texts of code headers of this level.
fn signatures<'a>(page: &'a str, level: &'a str) -> impl Iterator<Item = String> + 'a {
    let open = format!("<{level} class=\"code-header\">");
    let close = format!("</{level}>");
    let parts: Vec<&str> = page.split(open.as_str()).skip(1).collect();
    parts.into_iter().filter_map(move |part| part.split(close.as_str()).next().map(text))
}

/// Fields and variants.
fn fields(page: &str) -> impl Iterator<Item = String> + '_ {
    let with = |id: &str| {
        let parts: Vec<&str> = page.split(id).skip(1).collect();
        parts.into_iter().filter_map(|part| {
            let name = part.split('"').next()?;
            // A field of a variant has an id of its own.
            (!name.contains('.')).then(|| name.to_owned())
        })
    };
    let of_struct = with("<span id=\"structfield.").map(|name| format!("field {name}"));
    let of_enum = with("<section id=\"variant.").map(|name| format!("variant {name}"));
    of_struct.collect::<Vec<_>>().into_iter().chain(of_enum.collect::<Vec<_>>())
}

/// HTML as plain text.
fn text(html: &str) -> String {
    let mut text = String::new();
    let mut is_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => is_tag = true,
            '>' if is_tag => is_tag = false,
            _ if is_tag => {}
            letter => text.push(letter),
        }
    }
    for (entity, letter) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&amp;", "&"),
    ] {
        text = text.replace(entity, letter);
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_read_from_pages() {
        let page = r#"<span id="structfield.at" class="x"><section id="method.new"><h4 class="code-header">pub fn <a href="y">new</a>(a: &amp;str) -&gt; <b>Self</b></h4>
            <h2 id="trait-implementations"><h3 class="code-header">impl Clone for X</h3>
            <h4 class="code-header">fn clone(&amp;self)</h4><h2 id="blanket-implementations"><h3 class="code-header">impl Any</h3>"#;
        let members: Vec<String> = members(page).collect();
        assert_eq!(members, ["pub fn new(a: &str) -> Self", "field at", "impl Clone for X"]);
        assert_eq!(item_of("struct.Blocked.html"), Some(("struct", "Blocked")));
        assert_eq!(item_of("index.html"), None);
    }
}
