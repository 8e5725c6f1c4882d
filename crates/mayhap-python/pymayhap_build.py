"""The build backend: one wheel with the extension and the `mayhap` command.

maturin builds either an extension or programs. So the command is built first and laid where maturin looks for
what a wheel installs beside its package.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "crates" / "mayhap-python" / "pymayhap.data" / "scripts"


def _command():
    """Build the command as packages have it, and lay it down."""
    subprocess.run(
        ["cargo", "build", "--profile", "dist", "-p", "mayhap-cli"]
        + ["--features", "mayhap-cli/parquet-values,mayhap-cli/tls"],
        cwd=ROOT,
        check=True,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    SCRIPTS.mkdir(parents=True, exist_ok=True)
    shutil.copy2(ROOT / target / "dist" / "mayhap", SCRIPTS / "mayhap")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _command()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _command()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    return maturin.build_sdist(sdist_directory, config_settings)


get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_editable = maturin.get_requires_for_build_editable
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
prepare_metadata_for_build_wheel = maturin.prepare_metadata_for_build_wheel
