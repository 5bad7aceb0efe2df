"""What guides a change is shown: how it is noted, which Python, how tests are run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.repository.context.trees import git, make_repository, select

README = """\
`shop <https://example.org>`__
==============================

.. image:: https://example.org/badge.svg
        :target: https://example.org

[![Build](https://example.org/b.svg)](https://example.org)

The shop sells tables,
and nothing else.

Install
-------

Run `pip install shop`.

Contributing
------------

Fork it first.

Changes
-------

- 1.1 Sell chairs (thanks @someone)
- 1.0 Sell tables
"""
ISSUE = "# 1 - Sell\n\nFaster.\n"


def show(folder: Path, files: Mapping[str, str]) -> str:
    """Return the context of an issue that names nothing."""
    return select(make_repository(folder, files), ISSUE).text


def test_of_a_readme_comes_what_guides_a_change(tmp_path: Path) -> None:
    text = show(tmp_path, {"README.rst": README})
    assert "`README.rst` (what it is, and how to work on it; 26 lines)" in text
    assert "    9| The shop sells tables,\n   10| and nothing else.\n" in text
    assert "| Fork it first.\n" in text
    assert "- 1.1 Sell chairs (thanks @someone)" in text
    assert "badge" not in text
    assert "Build" not in text
    assert "pip install" not in text


@pytest.mark.parametrize(
    "path", ["CHANGELOG.md", "HISTORY.rst", "CHANGES", "docs/changelog.md", "NEWS.txt"]
)
def test_a_change_log_shows_its_first_lines(tmp_path: Path, path: str) -> None:
    log = "# Changes\n\n\n## 1.1\n\n- Sell chairs (#7)\n" + "- more\n" * 50
    text = show(tmp_path, {path: log, "README.md": "# Shop\n"})
    assert f"#### `{path}` (how changes are noted; 56 lines)" in text
    assert "    6| - Sell chairs (#7)\n" in text
    assert "   16| - more\n" in text
    assert "   17| " not in text


def test_changes_in_files_of_their_own(tmp_path: Path) -> None:
    text = show(tmp_path, {"newsfragments/7.bugfix": "x\n", "NEWS.rst": "Old\n"})
    assert "Changes are noted in files of their own, such as `newsfragments/7." in text


def test_a_missing_change_log_is_said_to_be_missing(tmp_path: Path) -> None:
    assert "No change log was found." in show(tmp_path, {"a.py": "x = 1\n"})


@pytest.mark.parametrize(
    ("files", "row"),
    [
        (
            {"pyproject.toml": '[project]\nrequires-python = ">= 3.9"\n'},
            ">= 3.9 (pyproject.toml)",
        ),
        (
            {"setup.py": "setup(\n    python_requires='>=3.8',\n)\n"},
            ">=3.8 (setup.py)",
        ),
        (
            {
                "pyproject.toml": "[project]\nname = 'a'\n",
                "setup.cfg": "[metadata]\nclassifiers =\n"
                "    Programming Language :: Python :: 3\n"
                "    Programming Language :: Python :: 3.10\n",
            },
            "not declared, there is no requires-python; classifiers say 3.10 (setup.cfg)",
        ),
    ],
)
def test_the_supported_versions_of_python(
    tmp_path: Path, files: Mapping[str, str], row: str
) -> None:
    assert f"- supported Python: {row}\n" in show(tmp_path, files) + "\n"


@pytest.mark.parametrize(
    ("files", "row"),
    [
        ({"test_a.py": "def test_a(): ...\n"}, "`pytest` (inferred from them"),
        (
            {"test_a.py": "class A(unittest.TestCase):\n    def test_a(self): ...\n"},
            "`python -m unittest` or `pytest` (inferred from them",
        ),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/a_test.py": ""},
            "`pytest`, which pyproject.toml configures",
        ),
    ],
)
def test_how_tests_are_run_is_inferred_where_no_file_says_it(
    tmp_path: Path, files: Mapping[str, str], row: str
) -> None:
    assert f"- tests are run by: {row}" in show(tmp_path / "one", files)
    said = {**files, "tox.ini": "[testenv]\ncommands = pytest {posargs}\n"}
    assert "tests are run by" not in show(tmp_path / "two", said)


def test_a_history_of_one_commit_is_said_to_tell_nothing(tmp_path: Path) -> None:
    repository = make_repository(tmp_path, {"a.py": "x = 1\n"})
    note = "Its whole history is one commit, so no look at it tells more."
    assert note in select(repository, ISSUE).text
    git(repository, "commit", "-q", "--allow-empty", "-m", "more")
    assert note not in select(repository, ISSUE).text
