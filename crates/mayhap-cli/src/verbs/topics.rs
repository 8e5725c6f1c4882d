//! `mayhap help kinds` and `mayhap help formats`: tables of the two lists, as topics beside the verbs.

use crate::exit::Exit;
use crate::print::{self, FAINT, styled};
use clap::Args;
use mayhap::Kind;
use mayhap::kind::BuildMode;
use mayhap_foreign::{Format, KeyType, Variant};

/// What each kind of filter can do
#[derive(Args)]
#[command(hide = true, override_help = kinds())]
pub struct Kinds {}

impl Kinds {
    pub fn run(self) -> anyhow::Result<Exit> {
        print::out(&kinds())?;
        Ok(Exit::Yes)
    }
}

/// Other programs' formats
#[derive(Args)]
#[command(hide = true, override_help = formats())]
pub struct Formats {}

impl Formats {
    pub fn run(self) -> anyhow::Result<Exit> {
        print::out(&formats())?;
        Ok(Exit::Yes)
    }
}

/// What each kind can do.
fn kinds() -> String {
    let head = ["kind", "built", "adds", "removes", "merges", "grows", "exact", "what it is for"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for kind in Kind::ALL {
        let traits = kind.traits();
        let built = match traits.build {
            BuildMode::AllHashes => "from all keys",
            BuildMode::TwoLists => "from two lists",
            BuildMode::Integers => "from integers",
            _ => "key by key",
        };
        let yes = |able: bool| if able { "yes" } else { "-" };
        let able = [traits.inserts, traits.removes, traits.merges, traits.grows, traits.exact];
        let cells = [kind.name(), built].into_iter().chain(able.map(yes)).chain([kind.about()]);
        rows.push(cells.map(str::to_owned).collect());
    }
    let legend = "`mayhap build --kind KIND` builds one, `--shards S` a sharded one; `mayhap plan` \
                  shows what each costs.\n";
    print::left_table(&rows) + "\n" + &styled(FAINT, legend)
}

/// Other programs' formats.
fn formats() -> String {
    let mut rows = vec![["format", "keys", "variants"].map(str::to_owned).to_vec()];
    for format in Format::ALL {
        let keys = KeyType::ALL.into_iter().filter(|key_type| key_type.check(format).is_ok());
        let keys: Vec<&str> = keys.map(KeyType::name).collect();
        let variants: Vec<&str> = Variant::of(format).iter().map(|form| form.name()).collect();
        rows.push(vec![format.name().to_owned(), keys.join(", "), variants.join(", ")]);
    }
    let legend = "`--format FORMAT` names one if the bytes of a file do not show it; `--key-type` and \
                  `--variant` choose among keys and variants, the first of which is the default.\n";
    print::left_table(&rows) + "\n" + &styled(FAINT, legend)
}
