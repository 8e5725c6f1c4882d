"""The examples of the docstrings and of docs/PYTHON.md, run."""

import doctest
import os
from pathlib import Path

import pymayhap as mh
from pymayhap import _pymayhap


def test_docstrings():
    finder, runner = doctest.DocTestFinder(exclude_empty=True), doctest.DocTestRunner()
    examples = 0
    for module in [mh, _pymayhap]:
        found = finder.find(module, module=False, globs={"mh": mh})
        for name in dir(module):
            text = getattr(getattr(module, name), "__doc__", None) or ""
            parser = doctest.DocTestParser()
            found.append(parser.get_doctest(text, {"mh": mh}, name, None, 0))
        for test in found:
            examples += len(test.examples)
            runner.run(test)
    assert runner.failures == 0
    assert examples > 20


def test_every_public_name_is_documented_and_typed():
    stubs = Path(mh.__file__).with_name("__init__.pyi").read_text()
    for name in mh.__all__:
        thing = getattr(mh, name)
        assert thing.__doc__, name
        assert f"class {name}" in stubs or f"def {name}(" in stubs, name
        if isinstance(thing, type):
            for method in dir(thing):
                if not method.startswith("_"):
                    assert getattr(thing, method).__doc__, f"{name}.{method}"
                    assert f"def {method}(" in stubs, f"{name}.{method}"
    assert Path(mh.__file__).with_name("py.typed").exists()


def test_the_pages():
    for page, examples in [("docs/PYTHON.md", 10), ("docs/zh-CN/PYTHON.md", 10), ("README.md", 5)]:
        file = str(Path(os.environ["MAYHAP_ROOT"]) / page)
        failed, tried = doctest.testfile(
            file, module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
        )
        assert failed == 0 and tried >= examples, page
