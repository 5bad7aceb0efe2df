"""What a role may look at is bounded, and every answer says what is left."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentos.repository.look import Looker, LookLimits, record_snapshot
from tests.repository.look.repositories import write


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    lines = [f"line {number} {'x' * 60}\n" for number in range(2_000)]
    write(tmp_path, {"long.py": "".join(lines), "short.py": "x = 1\n"})
    return tmp_path


def make_looker(repository: Path, limits: LookLimits | None = None) -> Looker:
    return Looker(repository, record_snapshot(repository), limits)


def test_the_limits_are_those_of_the_design() -> None:
    limits = LookLimits()
    assert limits == LookLimits(
        turns=6, looks=12, look_characters=10_000, characters=64_000
    )


def test_a_long_look_is_cut_at_a_line_and_says_so(repository: Path) -> None:
    text = make_looker(repository).answer(["read long.py 1-500"], 1).text
    body = text.partition("\n\nLeft: ")[0]
    rows = body.split("\n")
    assert len(body) <= 10_000
    shown = len(rows) - 3
    assert rows[-1] == f"not shown: {shown + 1}-500"
    assert rows[-2].startswith(f"{shown:5}| line {shown - 1} xxx")


def test_ranges_share_the_room_and_what_is_missing_is_named(repository: Path) -> None:
    look = "read long.py 1-500,700-703,900-1500"
    text = make_looker(repository).answer([look], 1).text
    body = text.partition("\n\nLeft: ")[0]
    assert 9_000 < len(body) <= 10_000
    assert "  700| " in body
    assert "  703| " in body
    hidden = re.search(r"\nnot shown: (\d+)-500, (\d+)-1500\Z", body)
    assert hidden
    first, last = map(int, hidden.groups())
    assert f"\n{first - 1:5}| line" in body
    assert f"\n{last - 1:5}| line" in body
    assert abs(first - (last - 900)) <= 3


def test_no_line_is_shown_twice_in_a_turn(repository: Path) -> None:
    looks = ["read long.py 10-40", "read long.py 30-50,35-60", "read long.py 12-20"]
    text = make_looker(repository).answer(looks, 1).text
    numbers = re.findall(r"^ +(\d+)[|] ", text, re.MULTILINE)
    assert sorted(map(int, numbers)) == list(range(10, 61))
    assert "\n30-40: shown above in look 1\n" in text
    assert "\n12-20: shown above in look 1\n" in text


def test_a_line_that_was_cut_away_is_shown_when_it_is_asked_for_again(
    repository: Path,
) -> None:
    looks = ["read long.py 1-500", "read long.py 490-495"]
    text = make_looker(repository).answer(looks, 1).text
    assert "  490| line" in text
    assert "shown above" not in text


def test_an_answer_says_what_is_left(repository: Path) -> None:
    text = make_looker(repository).answer(["read short.py"], 2, spent=20_000).text
    last = text.split("\n")[-1]
    assert last == (
        "Left: about 42,948 of 64,000 characters, 4 turns with up to 12 looks each."
    )


@pytest.mark.parametrize("spent", [0, 1_000, 30_000, 60_000, 62_600, 62_800, 64_000])
def test_all_turns_together_have_a_limit(repository: Path, spent: int) -> None:
    looker = make_looker(repository)
    text = looker.answer(
        [f"read long.py {1 + n}-900" for n in range(12)], 1, spent
    ).text
    assert len(text) <= max(1_000, 64_000 - spent)
    assert "Not answered, because a turn has at most 12 looks, or no characters" in text
    assert text.endswith("Nothing is left to look with: answer now.")


def test_more_looks_than_a_turn_has_are_named(repository: Path) -> None:
    looker = make_looker(repository)
    answer = looker.answer([f"read short.py {n}" for n in range(1, 21)], 1)
    assert answer.text.count("look ") >= 12
    assert "look 13" not in answer.text
    assert "read short.py 13; read short.py 14" in answer.text
    assert "; and 3 more" in answer.text
    assert len(answer.summary) == 12


def test_the_last_turn_says_so_and_no_other_follows(repository: Path) -> None:
    looker = make_looker(repository)
    last = looker.answer(["read short.py"], 6).text
    assert "x = 1" in last
    assert last.endswith("Nothing is left to look with: answer now.")
    after = looker.answer(["read short.py"], 7)
    assert after.text == (
        "Not answered: all 6 turns are used. Answer with what you have seen."
    )
    assert after.summary == ()


def test_other_limits(repository: Path) -> None:
    limits = LookLimits(turns=2, looks=1, look_characters=500, characters=3_000)
    answer = make_looker(repository, limits).answer(["read long.py"] * 2, 1)
    assert len(answer.text) < 1_200
    assert "a turn has at most 1 look" in answer.text
    assert "of 3,000 characters, 1 turn with up to 1 look each." in answer.text


def test_nothing_asked(repository: Path) -> None:
    text = make_looker(repository).answer([], 1).text
    assert text.startswith("Nothing was asked: write one look on each line.")


def test_a_summary_has_one_line_for_each_look(repository: Path) -> None:
    answer = make_looker(repository).answer(["read short.py", "search zzz", "cat"], 1)
    assert answer.summary == (
        "read short.py: lines 1-1 of 1",
        "search zzz: 0 hits in 2 files",
        "cat: no such look; the looks are: outline PATH; read PATH 120-220,300-340;"
        " search TEXT [PATH]; symbol NAME; tests NAME; history PATH",
    )
