//! The package's own tests, in Python: run with the extension that cargo has just built and the command
//! beside it, in the virtual environment that `cargo xtask python` makes.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The package as it will be installed: its sources and the extension, side by side.
fn package(built: &Path) -> std::io::Result<PathBuf> {
    let folder = built.join("python-package");
    let package = folder.join("pymayhap");
    _ = std::fs::remove_dir_all(&package);
    std::fs::create_dir_all(&package)?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/pymayhap");
    for source in std::fs::read_dir(sources)? {
        let source = source?;
        if source.file_type()?.is_file() {
            std::fs::copy(source.path(), package.join(source.file_name()))?;
        }
    }
    let library = [built.join("lib_pymayhap.so"), built.join("deps/lib_pymayhap.so")];
    let library = library.into_iter().find(|path| path.exists());
    let library = library.ok_or_else(|| std::io::Error::other("no lib_pymayhap.so was built"))?;
    std::fs::copy(library, package.join("_pymayhap.abi3.so"))?;
    Ok(folder)
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "its paths are those of Linux")]
fn tests_in_python() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let python = root.join("target/python/bin/python");
    if !python.exists() {
        println!("no environment to test in: `cargo xtask python` makes one");
        return Ok(());
    }
    // target/debug/deps/python-…: two levels up is where cargo leaves what it has built.
    let test = std::env::current_exe()?;
    let built = test.ancestors().nth(2).ok_or_else(|| std::io::Error::other("no build folder"))?;
    let command = built.join("mayhap");
    assert!(
        command.exists(),
        "no {}: build it with `cargo build -p mayhap-cli`",
        command.display()
    );
    let mut pytest = Command::new(python);
    pytest.args(["-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]);
    pytest.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"));
    pytest.env("PYTHONPATH", package(built)?).env("PYTHONDONTWRITEBYTECODE", "1");
    pytest.env("HYPOTHESIS_STORAGE_DIRECTORY", built.join("hypothesis"));
    pytest.env("MAYHAP", command).env("MAYHAP_ROOT", &root);
    pytest.env("MAYHAP_MODULE", built.join("libmayhap_module.so"));
    assert!(pytest.status()?.success(), "tests in Python failed");
    Ok(())
}
