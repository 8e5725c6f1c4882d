"""What the tests share: the package as it was just built, and the command built from the same tree."""

import os
import subprocess

import pytest


@pytest.fixture(scope="session")
def command():
    """The `mayhap` command: a function that runs it and returns what it printed."""
    program = os.environ["MAYHAP"]

    def run(*args, stdin="", code=0):
        done = subprocess.run(
            [program, *map(str, args)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
        )
        assert done.returncode == code, (args, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    return run
