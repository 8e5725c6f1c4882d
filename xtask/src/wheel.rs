//! `cargo xtask wheel`: the wheel of the Python package (the extension and the command) and its sdist, in
//! `target/dist`; the wheel is installed into an empty environment and used.

use crate::steps::{self, Step, StepResult, succeeds};
use crate::{Error, no_arguments, tools};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const OUT: &str = "target/dist";
/// Where the builder is installed.
const BUILDER: &str = "target/wheel-builder";
const PACKAGES: [&str; 2] = ["maturin==1.16.0", "build==1.3.0"];
/// Where the wheel is installed: made anew every time.
const EMPTY: &str = "target/wheel-tried";

/// What somebody does first with an installed package.
const FIRST_USE: &str = "\
import subprocess, sys, pathlib
import pymayhap as mh
f = mh.build('words.may', ['ada', 'eve'], kind='ribbon')
assert 'ada' in f and f.contains_many(['eve', 'nobody']).tolist() == [True, False]
mayhap = pathlib.Path(sys.executable).with_name('mayhap')
out = subprocess.run([mayhap, 'check', 'words.may'], input=b'ada\\nbob\\n', capture_output=True, check=True)
assert out.stdout == b'ada\\n', out
out = subprocess.run([mayhap, 'dedup'], input=b'ada\\neve\\nada\\n', capture_output=True, check=True)
assert out.stdout == b'ada\\neve\\n', out
print('pymayhap', mh.__version__, 'and the mayhap command work')
";

pub fn run(args: &[String]) -> Result<ExitCode, Error> {
    no_arguments("wheel", args)?;
    fs::create_dir_all(OUT).map_err(|error| Error::Failed(format!("{OUT}: {error}")))?;
    if let Err(why) = tools::python(BUILDER, &PACKAGES) {
        return Err(Error::Failed(why));
    }
    let steps = [
        Step::new("the wheel and the sdist", build),
        Step::new("the wheel installs into an empty environment and works", try_it),
    ];
    Ok(steps::run(&steps))
}

fn build() -> StepResult {
    let mut build = Command::new(format!("{BUILDER}/bin/python"));
    // The builder's own environment: it has what the build needs.
    build.args(["-m", "build", "--no-isolation", "--wheel", "--sdist", "--outdir", OUT, "."]);
    let path = std::env::var("PATH").unwrap_or_default();
    let builder = std::env::current_dir().unwrap_or_default().join(BUILDER).join("bin");
    build.env("PATH", format!("{}:{path}", builder.display()));
    succeeds(&mut build)
}

/// The newest file in `OUT` with this end.
fn newest(end: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(OUT).map_err(|error| format!("{OUT}: {error}"))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let ours = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("pymayhap-") && name.ends_with(end)
    });
    ours.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok())
        .ok_or_else(|| format!("no {end} in {OUT}"))
}

fn try_it() -> StepResult {
    let tried = || -> Result<StepResult, String> {
        let (wheel, sdist) = (newest(".whl")?, newest(".tar.gz")?);
        println!("{}\n{}", wheel.display(), sdist.display());
        _ = fs::remove_dir_all(EMPTY);
        tools::fetched(Command::new("python3").args(["-m", "venv", EMPTY]))?;
        let python = std::env::current_dir().map_err(|error| error.to_string())?;
        let python = python.join(EMPTY).join("bin/python");
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install"]);
        tools::fetched(pip.arg(&wheel))?;
        Ok(succeeds(Command::new(&python).args(["-c", FIRST_USE]).current_dir(Path::new(EMPTY))))
    };
    tried().unwrap_or_else(StepResult::Failed)
}
