"""A definition that an issue is about is shown before any line that has its name."""

from __future__ import annotations

from pathlib import Path

from tests.repository.context.test_what_is_named import FILLER, numbered
from tests.repository.context.trees import make_repository, select

SOURCE = '''\
"""Read texts; search() gives a Result."""

import re


class Reader:
    def __init__(self, form):
        self.form = form

    def search(self, text):
        """Return a Result or None."""
        found = re.search(self.form, text)
        return self.evaluate(found)

    def evaluate(self, found):
        return Result(found)

    def never(self):
        return 0


class Result:
    """The result of a search."""

    def __init__(self, found):
        self.found = found


def search(form, text):
    """Search a text.

    Returns a Result.
    """
    reader = Reader(form)
    return reader.search(text)


default_reader = Reader("")


def evaluate_all(texts):
    return [default_reader.evaluate(text) for text in texts]
'''
STUB = """\
from typing import overload

class Result:
    found: object

@overload
def search(form: str, text: str) -> Result: ...
@overload
def search(form: bytes, text: bytes) -> Result: ...
@overload
def search(form: None, text: None) -> None: ...
@overload
def search(form: int, text: int) -> None: ...
"""
TESTS = """\
import pytest

from finder import Result


@pytest.fixture
def found():
    return Result(1)


def test_found(found):
    assert found.found == 1
"""
FILES = {
    "finder/__init__.py": SOURCE + FILLER,
    "finder/__init__.pyi": STUB,
    "setup.py": 'setup(name="finder", author_email="mail@example.org")\n',
    "README.rst": "A Result\n========\n\nsearch() gives a Result, or mail.\n",
    "tests/test_result.py": TESTS,
    "tests/test_search.py": "import finder\n\n\ndef test_it():\n    finder.search(1, 2)\n",
}


def lines_of(first: str, last: str) -> set[int]:
    """Return the numbers of the lines of the source from one to another."""
    lines = SOURCE.split("\n")
    return set(range(lines.index(first) + 1, lines.index(last) + 2))


RESULT = lines_of("class Result:", "        self.found = found")
FUNCTION = lines_of("def search(form, text):", "    return reader.search(text)")
METHOD = lines_of("    def search(self, text):", "        return self.evaluate(found)")


def show(folder: Path, issue: str, called: str = "issue") -> str:
    """Return the context of a text."""
    return select(make_repository(folder, FILES), issue, called=called).text


def test_a_class_in_the_title_is_shown_and_no_line_that_only_has_the_word(
    tmp_path: Path,
) -> None:
    text = show(tmp_path, "Make Result a mapping\n\nEverybody wants 'Result' to be.\n")
    shown = numbered(text)
    assert set(shown["finder/__init__.py"]) == RESULT
    assert "finder/__init__.pyi" not in shown
    assert "#### `finder/__init__.py` (defines `Result`)\n" in text
    assert "- `tests/test_result.py` (tests of `Result`): " in text
    assert "- `finder/__init__.pyi` (declares `Result`): " in text


def test_overloads_in_a_stub_make_no_name_ambiguous(tmp_path: Path) -> None:
    text = show(tmp_path, "# 1 - Why\n\n`search()` gives None\n")
    assert set(numbered(text)["finder/__init__.py"]) >= FUNCTION | METHOD
    assert "may mean several things" not in text


def test_what_a_thin_function_calls_is_shown(tmp_path: Path) -> None:
    text = show(tmp_path, "# 1 - Why\n\n`finder.search` gives None\n")
    lines = set(numbered(text)["finder/__init__.py"])
    assert lines >= FUNCTION | METHOD | RESULT
    assert "Shown because it is called there: `Reader`, " in text


def test_the_class_of_a_variable_of_the_module_is_known(tmp_path: Path) -> None:
    text = show(tmp_path, "# 1 - Why\n\n`evaluate_all` fails\n")
    wanted = lines_of("    def evaluate(self, found):", "        return Result(found)")
    assert wanted <= set(numbered(text)["finder/__init__.py"])
    assert "def never" not in text


def test_data_in_an_example_lists_no_file(tmp_path: Path) -> None:
    text = show(tmp_path, '# 1 - Why\n\n`search(tag="mail")` raises `KeyError`\n')
    assert "setup.py` (" not in text
    assert "KeyError" not in text


def test_a_brief_is_called_a_brief(tmp_path: Path) -> None:
    text = show(tmp_path, "# Results\n\nsetup.py is old\n", "brief")
    assert "### What the brief names\n\n#### `setup.py` (named in the brief)\n" in text
    assert "issue" not in text


def test_a_text_that_names_nothing_gets_outlines(tmp_path: Path) -> None:
    text = show(tmp_path / "one", "Be faster\n\nIt is slow.\n", "brief")
    title = "### The largest modules, because the brief names nothing\n"
    assert f"{title}\n#### `finder/__init__.py` (outline of " in text
    assert "    def evaluate(self, found):\n" in text


def test_the_nearest_tests_show_how_they_begin(tmp_path: Path) -> None:
    text = show(tmp_path, "Make Result a mapping\n")
    head = "#### `tests/test_result.py` (how the nearest tests begin; 12 lines)\n\n"
    assert f"{head}    1| import pytest\n" in text
    assert "    8|     return Result(1)\n\n" in text
    assert "def test_found" not in text
