"""What a design declares to change is shown before all else that it names."""

from __future__ import annotations

from pathlib import Path

from tests.repository.context.test_what_is_named import numbered
from tests.repository.context.trees import make_repository, select

BODY = "".join(f"        step({number})  # {'x' * 60}\n" for number in range(50))
METHODS = [
    "first_other",
    "second_other",
    "third_other",
    "fourth_other",
    "fifth_other",
    "changed_one",
]
SOURCE = (
    "class Store:\n    def __init__(self):\n        self.kept = []\n\n"
    + "\n".join(f"    def {name}(self):\n{BODY}" for name in METHODS)
)
TESTS = (
    "import shop\n\n\ndef make_store():\n    return shop.Store()\n\n\n"
    + "".join(
        f"def test_unrelated_{number}():\n    assert make_store().first_other() is None\n\n\n"
        for number in range(200)
    )
    + "def test_changed_one_returns():\n    assert make_store().changed_one() is None\n\n\n"
    + "".join(
        f"def test_more_{number}():\n    assert make_store() is not None\n\n\n"
        for number in range(200)
    )
    + "def test_at_the_end():\n    assert 1 + 1 == 2\n"
)
HISTORY = "History\n=======\n\n" + "".join(
    f"1.{number}\n---\n\n- changed_one is faster ({number})\n\n"
    for number in range(400, 0, -1)
)
DESIGN = """\
# 7 - Change one

## 1. Context & Goal
`first_other`, `second_other`, `third_other`, `fourth_other` and `fifth_other` call
`changed_one`. The version in `setup.py` stays.

## 2. Proposed Changes
### 2.1 Files Changed

| File | Change Type | Description |
|------|-------------|-------------|
| `shop/store.py` | Modify | `Store.changed_one` |
| `tests/test_store.py` | Modify | Tests |
| `HISTORY.rst` | Modify | One line above 1.400 |

## 3. Requirements
1. It changes.
"""
FILES = {
    "shop/__init__.py": "",
    "shop/store.py": SOURCE,
    "tests/test_store.py": TESTS,
    "HISTORY.rst": HISTORY,
    "setup.py": "# changed_one\n" + "VERSION = 1\n" * 2_000,
}


def show(folder: Path, limit: int) -> str:
    repository = make_repository(folder, FILES)
    return select(repository, DESIGN, limit, called="design").text


def test_the_functions_that_a_design_changes_are_shown_whole(tmp_path: Path) -> None:
    text = show(tmp_path, 16_000)
    begin = SOURCE.splitlines().index("    def changed_one(self):") + 1
    shown = numbered(text)["shop/store.py"]
    assert set(range(begin, begin + 51)) <= set(shown)
    assert {2, 3} <= set(shown), "how a store is made"


def test_a_change_log_is_shown_from_its_beginning_only(tmp_path: Path) -> None:
    text = show(tmp_path, 16_000)
    assert numbered(text)["HISTORY.rst"] == list(range(1, 17))


def test_of_tests_come_what_they_share_the_nearest_ones_and_the_end(
    tmp_path: Path,
) -> None:
    text = show(tmp_path, 16_000)
    assert "def make_store():" in text
    assert "def test_changed_one_returns():" in text
    assert "def test_at_the_end():" in text
    assert "def test_unrelated_100" not in text
    assert "It has 402 tests." in text


def test_no_entry_says_only_what_is_not_shown(tmp_path: Path) -> None:
    for limit in range(6_000, 20_000, 1_000):
        text = show(tmp_path / str(limit), limit)
        assert "Not shown: " not in text
        for name, numbers in numbered(text).items():
            assert numbers, name
