"""A search shows whole words first, names tests, and repeats nothing."""

from __future__ import annotations

from pathlib import Path

from agentos.repository.look import Looker, Passages, record_snapshot
from tests.repository.look.repositories import write

SOURCE = """\
times = 3


def run(times):
    return times


# something else
timestamp = 5
sometimes = 6
"""
TESTS = """\
import shop


class TestShop:
    def test_runs(self):
        made = shop.run(2)
        assert made == shop.times
"""


def make(folder: Path) -> Looker:
    write(folder, {"shop.py": SOURCE, "tests/test_shop.py": TESTS})
    return Looker(folder, record_snapshot(folder))


def test_whole_words_come_before_parts_of_longer_ones(tmp_path: Path) -> None:
    text = make(tmp_path).answer(["search times"], 1).text
    whole, _, inside = text.partition("2 hits inside of longer words:\n")
    assert "    4| def run(times):" in whole
    assert inside.startswith("shop.py:9: timestamp = 5\nshop.py:10: sometimes = 6\n")


def test_without_a_whole_word_the_others_are_shown(tmp_path: Path) -> None:
    text = make(tmp_path).answer(["search timest"], 1).text
    assert "    9| timestamp = 5" in text
    assert "inside of longer" not in text


def test_a_hit_in_a_test_says_in_which(tmp_path: Path) -> None:
    text = make(tmp_path).answer(["search made"], 1).text
    assert "in tests/test_shop.py, test_runs:\n" in text


def test_a_line_that_was_shown_is_not_repeated(tmp_path: Path) -> None:
    looker = make(tmp_path)
    seen = Passages()
    first = looker.answer(["read shop.py", "search times shop.py"], 1, 0, seen).text
    assert first.count("return times") == 1
    assert "shop.py:1, 4-5, 9-10: shown above in look 1" in first
    later = looker.answer(["read shop.py 1-2", "search made"], 2, 0, seen).text
    assert "1-2: shown in turn 1, look 1" in later
    again = looker.answer(["search shop.run"], 3, 0, seen).text
    assert "tests/test_shop.py:6: shown in turn 2, look 2" in again
    assert again == looker.answer(["search shop.run"], 3, 0, seen).text
