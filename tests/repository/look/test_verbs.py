"""Each verb, on one small repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repository.look.repositories import (
    TABLES,
    commit,
    look_once,
    make_repository,
    write,
)

ONLY_MENTIONS = (
    "Only tests that mention it are found; ask for the tests of what uses it, too."
)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("shop"))


def test_an_outline_has_definitions_with_lines_and_decorators(shop: Path) -> None:
    rows = look_once(shop, "outline shop/tables.py")
    assert rows[0] == "definitions and headings: 8, in 34 lines"
    assert [row.strip() for row in rows[1:]] == [
        "5-5  WIDTH = 80",
        '6-6  LEFT, RIGHT = "l", "r"',
        "7-13  FORMATS = {",
        "16-24  def align(text: str, width: int = WIDTH) -> str:",
        "20-22    def pad() -> str:",
        "27-34  class Table:",
        '30-30    style = "grid"',
        "32-34    def head(self) -> str:",
    ]


def test_an_outline_has_headings_in_both_forms(shop: Path) -> None:
    rows = look_once(shop, "outline README.md")
    assert [row.split() for row in rows[1:]] == [
        ["1-16", "The", "Shop"],
        ["6-13", "Use"],
        ["14-16", "##", "Install"],
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.rst", "Title\n=====\n\nPart\n----\nx\n", ["1-6", "4-6"]),
        ("a.toml", "[one]\na = 1\n[two.three]\n", ["1-2", "3-3"]),
        ("a.js", "export function f() {\n}\nclass B {\n}\n", ["1-2", "3-4"]),
        ("bad.py", "def f(:\n    pass\n\nclass C:\n    pass\n", ["1-3", "4-5"]),
        ("a.go", "func (s *Server) Run() {\n}\n", ["1-2"]),
        ("empty.py", "", []),
    ],
)
def test_outlines_of_other_files(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    write(tmp_path, {name: text})
    rows = look_once(tmp_path, f"outline {name}")
    assert [row.split()[0] for row in rows[1:]] == expected


def test_reading_some_lines(shop: Path) -> None:
    rows = look_once(shop, "read shop/tables.py 5-6,16-17")
    assert rows == [
        "lines 5-6, 16-17 of 34:",
        "    5| WIDTH = 80",
        '    6| LEFT, RIGHT = "l", "r"',
        "  ...",
        "   16| @cache",
        "   17| def align(text: str, width: int = WIDTH) -> str:",
    ]


def test_reading_a_whole_file(shop: Path) -> None:
    rows = look_once(shop, "read shop/tables.py")
    assert rows[0] == "lines 1-34 of 34:"
    assert [row[7:] for row in rows[1:]] == TABLES.split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "first_row"),
    [
        ("read shop/tables.py 30-900", "lines 30-34 of 34:"),
        ("read shop/tables.py 99-120", "no such lines: it has 34 lines"),
        ("read shop/tables.py 9-3", "ends before it begins; write 3-9"),
        ("read shop/tables.py 0-3", "lines are counted from 1"),
        ("read shop/tables.py 3-5,4-8", "lines 3-8 of 34:"),
        ("read shop/__init__.py", "an empty file"),
        ("read ./shop//tables.py 1", "lines 1-1 of 34:"),
        ("read", "incomplete; write read PATH 120-220,300-340"),
        (
            "read shop/table.py",
            "no such file among the 5 files to look at, nearest is shop/tables.py",
        ),
        (
            "read TABLES.PY",
            "no such file among the 5 files to look at, nearest is shop/tables.py",
        ),
        (
            "read shop",
            "a folder with 3 files: __init__.py, tables.py, uses.py",
        ),
        ("read .", "a folder with 5 files: README.md, shop/, tests/"),
    ],
)
def test_what_cannot_be_read_is_explained(
    shop: Path, line: str, first_row: str
) -> None:
    assert look_once(shop, line)[0] == first_row


def test_a_search_minds_no_case_and_shows_three_lines_around(shop: Path) -> None:
    rows = look_once(shop, "search SELLS tables")
    assert rows == [
        "1 hit in 5 files",
        "in README.md:",
        "    1| The Shop",
        "    2| ========",
        "    3| ",
        "    4| Sells tables.",
        "    5| ",
        "    6| Use",
        "    7| ---",
    ]


def test_a_search_is_literal(shop: Path) -> None:
    assert look_once(shop, "search al.gn")[0] == "0 hits in 5 files"
    assert look_once(shop, "search align(self.style)")[0] == "1 hit in 5 files"


@pytest.mark.parametrize(
    ("line", "first_row"),
    [
        ("search align tests", "3 hits in 1 file"),
        ("search align shop/", "5 hits in 3 files"),
        ("search align shop/uses.py", "2 hits in 1 file"),
        ('search "import align" tests', "1 hit in 1 file"),
        ('search "import FORMATS, align" "shop"', "1 hit in 3 files"),
        ("search 'x' nowhere", "no such file among the 5 files to look at; links,"),
        ("search zzz", "0 hits in 5 files"),
        ("search align shop/nope.py", "0 hits in 5 files; shop/nope.py was searched"),
        ('search ""', "incomplete; write search TEXT [PATH]"),
        ("search .", "9 hits in 5 files"),
    ],
)
def test_where_to_search(shop: Path, line: str, first_row: str) -> None:
    assert look_once(shop, line)[0].startswith(first_row)


def test_a_search_also_names_paths(shop: Path) -> None:
    rows = look_once(shop, "search test_tables")
    assert rows == ["0 hits in 5 files", "1 path with it: tests/test_tables.py"]


def test_a_function_comes_with_decorators_and_uses(shop: Path) -> None:
    rows = look_once(shop, "symbol align")
    assert rows[:4] == [
        "1 definition of align in 5 files",
        "align in shop/tables.py, lines 16-24:",
        "   16| @cache",
        "   17| def align(text: str, width: int = WIDTH) -> str:",
    ]
    assert rows[11:] == [
        "used in 3 lines, and in 2 lines of tests:",
        "shop/tables.py:34: return align(self.style)",
        "shop/uses.py:1: from shop.tables import FORMATS, align, Table",
        'shop/uses.py:3: print(align("x"), FORMATS["grid"], Table().head)',
    ]


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("WIDTH", "WIDTH in shop/tables.py, lines 5-5:"),
        ("RIGHT", "RIGHT in shop/tables.py, lines 6-6:"),
        ("FORMATS", "FORMATS in shop/tables.py, lines 7-13:"),
        ('FORMATS["grid"]', "FORMATS.grid in shop/tables.py, lines 9-12:"),
        ("FORMATS.plain", "FORMATS.plain in shop/tables.py, lines 8-8:"),
        ("plain", "FORMATS.plain in shop/tables.py, lines 8-8:"),
        ("Table", "Table in shop/tables.py, lines 27-34:"),
        ("Table.head", "Table.head in shop/tables.py, lines 32-34:"),
        ("head()", "Table.head in shop/tables.py, lines 32-34:"),
        ("pad", "align.pad in shop/tables.py, lines 20-22:"),
    ],
)
def test_names_of_all_kinds_are_found(shop: Path, name: str, place: str) -> None:
    rows = look_once(shop, f"symbol {name}")
    assert rows[0].startswith("1 definition of ")
    assert rows[1] == place


def test_an_unknown_name(shop: Path) -> None:
    rows = look_once(shop, "symbol nothing_here")
    assert rows[0] == "0 definitions of nothing_here in 5 files"


def test_the_tests_of_a_name(shop: Path) -> None:
    assert look_once(shop, "tests align") == [
        "1 test with align in 1 file of tests",
        'tests/test_tables.py:4-5: test_align, line 5: assert align("a", 3)',
        ONLY_MENTIONS,
    ]
    assert look_once(shop, "tests Table.head") == [
        "1 test with Table.head in 1 file of tests",
        "tests/test_tables.py:9-10: TestTable.test_head, line 10: assert Table().head",
        ONLY_MENTIONS,
    ]


def test_the_tests_of_a_module(shop: Path) -> None:
    rows = look_once(shop, "tests shop/tables.py")
    assert rows[0] == "3 tests with shop/tables.py in 1 file of tests"


def test_a_name_that_only_a_helper_of_tests_has(tmp_path: Path) -> None:
    write(tmp_path, {"tests/conftest.py": "from shop import align\n"})
    assert look_once(tmp_path, "tests align") == [
        "0 tests with align in 1 file of tests",
        "1 line in files of tests where no test has it:",
        "tests/conftest.py:1: from shop import align",
        ONLY_MENTIONS,
    ]


def test_the_history_of_a_file(tmp_path: Path) -> None:
    make_repository(tmp_path)
    write(tmp_path, {"README.md": "# Shop\n"})
    commit(tmp_path, "Shorten the README")
    rows = look_once(tmp_path, "history README.md")
    assert rows[0] == "2 commits, newest first:"
    assert [row.split(" ", 1)[1] for row in rows[1:]] == [
        "2025-01-02 Shorten the README",
        "2025-01-02 Begin",
    ]
    only = look_once(tmp_path, "history shop")
    assert len(only) == 1
    assert re.fullmatch("1 commit: [0-9a-f]{10} 2025-01-02 Begin", only[0])
    write(tmp_path, {"new.py": "x = 1\n"})
    new = look_once(tmp_path, "history new.py")
    assert new == ["0 commits: git does not track it yet"]


def test_the_history_of_a_part_of_a_repository(tmp_path: Path) -> None:
    make_repository(tmp_path)
    part = tmp_path / "shop"
    only = look_once(part, "history tables.py")
    assert len(only) == 1
    assert only[0].endswith(" 2025-01-02 Begin; the repository has no other")
    assert look_once(part, "read .")[0] == (
        "a folder with 3 files: __init__.py, tables.py, uses.py"
    )


def test_a_long_history_is_cut(tmp_path: Path) -> None:
    make_repository(tmp_path, {"a.py": "0\n"})
    for number in range(21):
        write(tmp_path, {"a.py": f"{number + 1}\n"})
        commit(tmp_path, f"Change {number}")
    rows = look_once(tmp_path, "history a.py")
    assert rows[0] == "the last 20 commits:"
    assert len(rows) == 21


def test_a_name_may_begin_with_its_module(tmp_path: Path) -> None:
    folder = make_repository(tmp_path)
    whole = look_once(folder, "symbol shop.tables.Table.head")
    part = look_once(folder, "symbol Table.head")
    assert whole[1:] == part[1:]
    assert look_once(folder, "symbol other.tables.align")[0].startswith("0 definitions")


FLUENT = {
    "jobs/__init__.py": '''\
"""Run jobs: `Job.do(work)`."""


class Job:
    def do(self, work):
        """Call `job.do(work)` once."""
        return self

    def chain(self):
        # What .do returns.
        return self.do(print)


handlers = {"do": Job}
''',
    "jobs/__init__.pyi": """\
from typing import overload

class Job:
    @overload
    def do(self, work: None) -> None: ...
    @overload
    def do(self, work: object) -> Job: ...
""",
    "robots.py": "robot.do(1)\nrobot.do(2)\n",
    "README.md": "Call `job.do(work)`.\n",
    "tests/test_jobs.py": """\
from jobs import Job


def make():
    return Job()


def test_mentioned():
    assert make().do


def test_called():
    assert make().do(print)
""",
}


def test_code_that_calls_a_method_comes_first_and_the_doubtful_is_counted(
    tmp_path: Path,
) -> None:
    folder = make_repository(tmp_path, FLUENT)
    rows = look_once(folder, "symbol Job.do")
    assert rows[0] == "1 definition of Job.do in 5 files, and 2 in stubs"
    assert rows[-4:] == [
        "used in 2 lines, and in 2 lines of tests:",
        "jobs/__init__.py:11: return self.do(print)",
        'jobs/__init__.py:14: handlers = {"do": Job}',
        "only counted: 4 lines of documents, docstrings or comments, and 2 lines with .do"
        " in files that do not name Job",
    ]


def test_the_source_comes_before_the_stub_with_its_overloads(tmp_path: Path) -> None:
    rows = look_once(make_repository(tmp_path, FLUENT), "symbol do")
    heads = [row for row in rows if row.endswith(":") and " in jobs/" in row]
    assert heads == [
        "Job.do in jobs/__init__.py, lines 5-7:",
        "Job.do in jobs/__init__.pyi (a stub), lines 4-7:",
    ]


def test_nobody_is_told_that_a_test_is_not_used(tmp_path: Path) -> None:
    rows = look_once(make_repository(tmp_path, FLUENT), "symbol test_called")
    assert rows == [
        "1 definition of test_called in 5 files",
        "test_called in tests/test_jobs.py, lines 12-13:",
        "   12| def test_called():",
        "   13|     assert make().do(print)",
    ]


def test_tests_that_call_come_before_those_that_mention(tmp_path: Path) -> None:
    assert look_once(make_repository(tmp_path, FLUENT), "tests do") == [
        "2 tests with do in 1 file of tests",
        "tests/test_jobs.py:12-13: test_called, line 13: assert make().do(print)",
        "tests/test_jobs.py:8-9: test_mentioned, line 9: assert make().do",
        ONLY_MENTIONS,
    ]


def test_a_definition_that_is_too_long_leaves_room_for_its_uses(tmp_path: Path) -> None:
    body = "    x = 1  # and a wordy remark about nothing at all\n" * 400
    write(tmp_path, {"a.py": f"def long():\n{body}\n\nlong()\n"})
    rows = look_once(tmp_path, "symbol long")
    hidden = re.fullmatch("not shown: ([0-9]+)-401", rows[-3])
    assert hidden
    assert rows[-4].startswith(f"{int(hidden[1]) - 1:5}| ")
    assert rows[-2:] == ["used in 1 line, and in 0 lines of tests:", "a.py:404: long()"]


def test_many_hits_come_in_a_compact_form(tmp_path: Path) -> None:
    line = "x = wanted  # and a long remark about nothing at all\n\n\n\n\n\n\n\n"
    write(
        tmp_path,
        {
            "README.md": line * 30,
            "src/a.py": line * 40,
            "tests/test_a.py": line * 80,
        },
    )
    rows = look_once(tmp_path, "search WANTED")
    assert rows[:3] == ["150 hits in 3 files", "in src/a.py:", f"    1| {line[:-8]}"]
    middle = rows.index("the next hits without the lines around them:")
    assert sum("x = wanted" in row for row in rows[:middle]) == 8
    assert rows[middle + 1].startswith("src/a.py:65: x = wanted")
    shown = sum("x = wanted" in row for row in rows)
    last = rows[-1]
    assert last == f"not shown, {150 - shown} more hits: README.md {150 - shown}"
