"""What an issue names is shown, whatever the size of its file."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from tests.repository.context.trees import make_repository, select, write_tree

FILLER = "".join(
    f"def filler_{number}() -> int:\n    # Nothing that anybody asks for.\n"
    f"    return {number}\n\n\n"
    for number in range(800)
)
NAMED = '''\
RETRY_LIMIT = 5
COLORS = {
    "warning": 33,
    "failure": 31,
}


@cache
@traced
def retry_policy(error: Exception) -> int:
    """Decide how long to wait."""
    if isinstance(error, TimeoutError):
        raise RuntimeError(f"cannot wait for {error}: no time is left")
    return RETRY_LIMIT


class Pool:
    size = 3

    def lend(self) -> None:
        """Lend a key."""
        print("lent")

    def rest(self) -> None:
        print("resting")
'''
LARGE = f"{FILLER}{NAMED}{FILLER.replace('filler', 'more')}"
FIRST = FILLER.count("\n") + 1
README = """\
The Shop
========

Sells tables.

Quick start
-----------

Run `shop`.

Use
---

Nothing more.
"""


def show(folder: Path, files: dict[str, str], issue: str) -> str:
    """Return the context of an issue in a new repository."""
    return select(make_repository(folder, files), f"# 1 - Change it\n\n{issue}\n").text


def numbered(text: str) -> dict[str, list[int]]:
    """Return the numbers of the lines that are shown of each file."""
    shown: dict[str, list[int]] = {}
    here: list[int] = []
    for line in text.split("\n"):
        head = re.match(r"#### `(.+?)`", line)
        if head:
            assert head[1] not in shown, "a file is shown twice"
            here = shown.setdefault(head[1], [])
        number = re.match(r" *([0-9]+)[|] ", line)
        if number:
            here.append(int(number[1]))
    return shown


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        ("`retry_policy`", 8, 14),
        ("retry_policy()", 8, 14),
        ("`Pool.lend`", 20, 22),
        ("`pool.Pool.rest()`", 24, 25),
        ("`shop.pool.retry_policy`", 8, 14),
        ("`self.pool.lend`", 20, 22),
        ("`RETRY_LIMIT`", 1, 1),
        ('`COLORS["failure"]`', 4, 4),
        ("`COLORS`", 2, 5),
        ("```python\npolicy = retry_policy(error)\n```", 8, 14),
    ],
)
def test_a_symbol_of_a_large_file_is_shown_with_its_numbers(
    tmp_path: Path, name: str, first: int, last: int
) -> None:
    assert len(LARGE) > 60_000
    text = show(tmp_path, {"shop/pool.py": LARGE, "shop/__init__.py": ""}, name)
    wanted = list(range(FIRST + first - 1, FIRST + last))
    assert numbered(text) == {"shop/pool.py": wanted}
    total = LARGE.count("\n")
    place = f"{wanted[0]}-{wanted[-1]}" if last > first else str(wanted[0])
    assert f"Lines {place} of {total} lines:" in text


def test_lines_are_shown_once_and_ranges_are_merged(tmp_path: Path) -> None:
    issue = "`Pool`, `Pool.lend`, `Pool.rest` and `retry_policy` in shop/pool.py"
    text = show(tmp_path, {"shop/pool.py": LARGE}, issue)
    lines = numbered(text)["shop/pool.py"]
    assert len(lines) == len(set(lines))
    assert set(range(FIRST + 7, FIRST + 14)) <= set(lines)
    assert set(range(FIRST + 16, FIRST + 25)) <= set(lines)
    assert text.count("def retry_policy") == 1
    assert "Outline of " in text
    assert "def filler_3()" in text
    assert len(text) < 20_000


def test_a_named_large_file_shows_where_it_has_what_the_issue_quotes(
    tmp_path: Path,
) -> None:
    options = 'parser.add_argument("--wait-for")\n'
    large = f"{FILLER}{options}{FILLER}"
    issue = "`shop/options.py` should know --wait-for with a default."
    text = show(tmp_path, {"shop/options.py": large}, issue)
    assert f"{FIRST:5}| {options}" in text


def test_the_place_of_a_message_is_found_in_a_file_that_nobody_named(
    tmp_path: Path,
) -> None:
    issue = 'It says "cannot wait for ReadTimeout(3): no time is left".'
    text = show(tmp_path, {"shop/pool.py": LARGE, "shop/other.py": FILLER}, issue)
    assert numbered(text) == {"shop/pool.py": list(range(FIRST + 7, FIRST + 14))}


TRACEBACK = """\
Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 3, in run
    exec(code)
  File "/home/someone/venv/lib/python3.11/site-packages/shop/pool.py", line {line}, in {name}
    raise RuntimeError
RuntimeError: no time
"""


@pytest.mark.parametrize("fence", ["", "```\n"])
def test_a_traceback_gives_the_function_of_its_frame(
    tmp_path: Path, fence: str
) -> None:
    printed = TRACEBACK.format(line=FIRST + 11, name="retry_policy")
    files = {"src/shop/pool.py": LARGE, "runpy.py": "def run(): ...\n"}
    text = show(tmp_path, files, f"{fence}{printed}{fence}")
    assert numbered(text) == {"src/shop/pool.py": list(range(FIRST + 7, FIRST + 14))}
    assert "#### `src/shop/pool.py` (in the traceback)" in text


def test_a_frame_of_the_module_gives_the_lines_around_it(tmp_path: Path) -> None:
    printed = TRACEBACK.format(line=500, name="<module>")
    text = show(tmp_path, {"shop/pool.py": LARGE}, printed)
    assert set(range(488, 513)) <= set(numbered(text)["shop/pool.py"])


def test_a_link_to_a_line_gives_the_lines_around_it(tmp_path: Path) -> None:
    link = "https://github.com/some/shop/blob/main/shop/pool.py#L500-L510"
    text = show(tmp_path, {"shop/pool.py": LARGE}, f"See {link}")
    assert 500 in numbered(text)["shop/pool.py"]


def test_a_heading_that_is_underlined(tmp_path: Path) -> None:
    long = README + "More words.\n" * 700
    files = {"README.md": long, "guide.rst": long}
    text = show(tmp_path, files, 'Add to "Quick start" of README.md and guide.rst.')
    shown = numbered(text)
    assert {6, 7, 8, 9} <= set(shown["README.md"])
    assert {6, 7, 8, 9} <= set(shown["guide.rst"])
    assert "Sells tables." not in text


def test_a_module_is_named_without_its_ending(tmp_path: Path) -> None:
    files = {"shop/rates.py": "X = 1\n", "other/rates.md": "Nothing.\n"}
    repository = make_repository(tmp_path, files)
    for name in ("`rates`", "`shop.rates`", "shop/rates.py:1"):
        text = select(repository, f"# 1 - Pay\n\n{name} is slow\n").text
        assert numbered(text) == {"shop/rates.py": [1]}
    called = select(repository, "# 1 - Pay\n\nrates() is slow\n").text
    assert numbered(called) == {"shop/rates.py": []}, "only its outline"


def test_a_short_name_counts_in_code_only(tmp_path: Path) -> None:
    files = {"shop/pool.py": f"{LARGE}\n\ndef go() -> None: ...\n"}
    assert "def go()" in show(tmp_path / "one", files, "`go` is slow")
    assert "def go()" not in show(tmp_path / "two", files, "I go there")


def test_a_common_word_counts_where_it_is_defined_once(tmp_path: Path) -> None:
    one = {"a.py": f"{FILLER}\ndef text(): return 1\n"}
    two = {**one, "b.py": f"{FILLER}\ndef text(): return 2\n"}
    assert "def text()" in show(tmp_path / "one", one, "`text` is slow")
    assert "def text()" not in show(tmp_path / "two", two, "`text` is slow")


def test_a_name_with_many_definitions_is_counted(tmp_path: Path) -> None:
    files = {f"part{number}.py": "def start_all(): ...\n" for number in range(9)}
    text = show(tmp_path, files, "`start_all` fails")
    assert "`start_all` (9 definitions)" in text
    text = show(tmp_path / "named", files, "`start_all` of `part3.py` fails")
    assert numbered(text) == {"part3.py": [1]}


def test_of_a_long_class_the_beginning_and_an_outline_are_shown(tmp_path: Path) -> None:
    methods = "".join(
        f"    def step_{number}(self) -> None:\n        return None\n\n"
        for number in range(200)
    )
    text = show(tmp_path, {"a.py": f"class Long:\n{methods}"}, "`Long` is too long")
    assert numbered(text) == {"a.py": list(range(1, 61))}
    assert "  def step_50(self) -> None:" in text


@pytest.mark.slow
def test_a_large_repository_takes_seconds_at_most(tmp_path: Path) -> None:
    for folder in range(20):
        files = {}
        for number in range(1_000):
            files[f"pack{folder}/part_{number}.py"] = f"def part_{number}(): ...\n"
        write_tree(tmp_path, files)
    write_tree(tmp_path, {"huge.py": "x = retry_policy(1)\n" * 500_000})
    repository = make_repository(tmp_path, {"pack0/pool.py": LARGE})
    begun = time.monotonic()
    text = select(repository, "# 1 - Wait\n\n`retry_policy` and `part_7`\n").text
    assert time.monotonic() - begun < 60
    assert "def retry_policy" in text
    assert len(text) < 20_000


def test_the_tests_of_a_file_that_the_issue_quotes_are_shown(tmp_path: Path) -> None:
    files = {
        "shop/cli.py": 'parser.add_argument("--wait-for", type=bool)\n',
        "tests/test_cli.py": "import subprocess\n\n\ndef test_cli(): ...\n",
        "tests/test_all.py": "import shop\n\n\ndef test_all(): ...\n" * 50,
    }
    text = show(tmp_path, files, "`--wait-for no` waits.")
    assert "#### `tests/test_cli.py` (how the nearest tests begin" in text
    assert "- `tests/test_cli.py` (tests of `shop/cli.py`)" in text


def test_what_makes_an_object_is_shown_with_a_method_that_is_named(
    tmp_path: Path,
) -> None:
    source = (
        "class Job:\n    def __init__(self) -> None:\n        self.tags = set()\n\n"
        f"{indented(FILLER)}"
        "    def __repr__(self) -> str:\n        return str(self.tags)\n\n"
        "    def do(self, function) -> None:\n        self.function = function\n"
    )
    files = {"shop/job.py": source, "shop/other.py": FILLER}
    text = show(tmp_path, files, "`repr(job)` fails after `every(10).hours.do(task)`.")
    assert "def __repr__" in text
    assert "self.function = function" in text
    assert "self.tags = set()" in text
    assert "(2 definitions)" not in text


def test_what_makes_an_object_is_shown_with_the_method_of_a_traceback(
    tmp_path: Path,
) -> None:
    source = (
        "class Job:\n    def __init__(self) -> None:\n        self.tags = set()\n\n"
        f"{indented(FILLER)}"
        "    def describe(self) -> str:\n        return str(self.tags)\n"
    )
    line = source.count("\n")
    printed = TRACEBACK.format(line=line, name="describe").replace("pool.py", "job.py")
    text = show(tmp_path, {"shop/job.py": source}, printed)
    assert {1, 2, 3, line - 1, line} <= set(numbered(text)["shop/job.py"])


def indented(source: str) -> str:
    return "".join(f"    {line}\n" for line in source.splitlines())
