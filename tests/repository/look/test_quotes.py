"""Quoted lines are compared with the snapshot, white space aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentos.repository.look import Looker, record_snapshot
from tests.repository.look.repositories import TABLES, make_repository, write


@pytest.fixture(scope="module")
def looker(tmp_path_factory: pytest.TempPathFactory) -> Looker:
    folder = make_repository(tmp_path_factory.mktemp("shop"))
    write(folder, {"twice.py": "a = 1\nb = 2\nc = 3\na = 1\n"})
    found = Looker(folder, record_snapshot(folder))
    write(folder, {"shop/tables.py": "everything = 'changed'\n"})
    return found


@pytest.mark.parametrize(
    ("path", "line", "text", "expected"),
    [
        ("shop/tables.py", 5, "WIDTH = 80", 5),
        ("shop/tables.py", 900, "WIDTH=80", 5),
        ("shop/tables.py", 0, "  WIDTH  =  80  ", 5),
        ("./shop/tables.py", 5, "WIDTH = 80", 5),
        ("shop/tables.py", 17, "def align(text: str, width: int = WIDTH)", 17),
        ("shop/tables.py", 16, "@cache\ndef align(text: str,", 16),
        ("shop/tables.py", 16, "   16| @cache\n   17| def align(text: str,", 16),
        ("shop/tables.py", 16, "   16  @cache\n   17  def align(text: str,", 16),
        ("shop/tables.py", 16, "16|@cache", 16),
        ("shop/tables.py", 5, "5: WIDTH = 80", 5),
        ("shop/tables.py", 1, TABLES, 1),
        ("twice.py", 1, "a = 1", 1),
        ("twice.py", 4, "a = 1", 4),
        ("twice.py", 3, "a = 1", 4),
        ("shop/tables.py", 5, "WIDTH = 81", None),
        ("shop/tables.py", 5, "width = 80", None),
        ("shop/tables.py", 5, "", None),
        ("shop/tables.py", 5, " \n ", None),
        ("shop/tables.py", 1, "everything = 'changed'", None),
        ("shop/uses.py", 5, "WIDTH = 80", None),
        ("shop/nope.py", 5, "WIDTH = 80", None),
        ("../shop/tables.py", 5, "WIDTH = 80", None),
        ("shop", 5, "WIDTH = 80", None),
        ("", 5, "WIDTH = 80", None),
    ],
)
def test_a_quote_is_found_or_not(
    looker: Looker, path: str, line: int, text: str, expected: int | None
) -> None:
    assert looker.find_quote(path, line, text) == expected


def test_a_withheld_line_cannot_be_quoted(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "aB3dE5gH7jK9" * 6
    write(tmp_path, {"a.py": f'key = "{key}"\nlooks = 1\n'})
    looker = Looker(tmp_path, record_snapshot(tmp_path))
    assert looker.find_quote("a.py", 1, key) is None
    assert looker.find_quote("a.py", 1, "(withheld: looks like a credential)") is None
    assert looker.find_quote("a.py", 1, "looks") == 2
