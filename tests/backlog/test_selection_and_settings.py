"""Pure decisions: which items, which settings, when to halt, how long."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.backlog.estimate import estimate
from agentos.backlog.inbox.directory import DirectoryInbox
from agentos.backlog.selection import normalize_id
from agentos.errors import UsageError
from agentos.item import Item
from agentos.kinds import Kind
from agentos.settings import Halt, parse_halt, resolve
from agentos.state.home import Home, home_path, repository_key
from agentos.state.wording import count, describe_seconds


def inbox(tmp_path: Path, **files: str) -> DirectoryInbox:
    folder = tmp_path / "docs/issues"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return DirectoryInbox(tmp_path, Kind.LLD)


def test_ids_come_from_the_name_then_the_heading_then_the_stem(tmp_path: Path) -> None:
    found = inbox(
        tmp_path,
        **{
            "42.md": "x",
            "7-title.md": "x",
            "007b.md": "# 8 - By heading",
            "by-heading.md": "\n\n# Issue #31: Title\n",
            "dash.md": "# 12 - Title",
            "named.md": "# A title without a number",
            "year.md": "# 2024 was a good year",
            "README.md": "x",
            "_draft.md": "x",
            "notes.txt": "x",
        },
    ).collect()
    assert [item.id for item in found.items] == [
        "7",
        "8",
        "12",
        "31",
        "42",
        "named",
        "year",
    ]
    assert found.rejects == ()


def test_what_was_loaded_has_the_digest_that_is_told(tmp_path: Path) -> None:
    box = inbox(tmp_path, **{"1.md": "# One"})
    (item,) = box.collect().items
    assert box.load(item).digest == box.digest(item)
    (tmp_path / item.source).unlink()
    assert box.digest(item) == ""
    assert box.load(item).digest == ""
    assert "cannot be read" in box.load(item).problem


def test_a_number_is_written_without_leading_zeros() -> None:
    given = ("042", "42", "0", "a-b", "LLD-42", "lld-7")
    assert [normalize_id(text, Kind.LLD) for text in given] == [
        "42",
        "42",
        "0",
        "a-b",
        "42",
        "7",
    ]


def test_two_repositories_of_one_name_have_different_keys(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "repo", tmp_path / "b" / "repo"
    one.mkdir(parents=True)
    two.mkdir(parents=True)
    assert repository_key(one) != repository_key(two)
    item = Item(Kind.LLD, "42", "x")
    path = Home(tmp_path).item(repository_key(one), item).checkpoint
    assert path.name == "lld_workflow_42.db"
    assert path.parent.parent.name == "checkpoints"


def test_the_home_moves_with_the_environment() -> None:
    assert home_path({"HOME": "/u"}) == Path("/u/.agentos")
    assert home_path({"HOME": "/u", "AGENTOS_HOME": "/x"}) == Path("/x")
    assert home_path({"HOME": "/u", "AGENTOS_XDG": "1"}) == Path(
        "/u/.local/state/agentos"
    )
    assert home_path(
        {"HOME": "/u", "AGENTOS_XDG": "1", "XDG_STATE_HOME": "/s"}
    ) == Path("/s/agentos")


@pytest.mark.slow
@given(st.text(max_size=20))
def test_a_halt_rule_is_read_or_refused(text: str) -> None:
    try:
        rule = parse_halt(text)
    except ValueError:
        return
    assert rule is None or rule.limit > 0


def test_halt_counts_failures_or_their_share() -> None:
    assert parse_halt("never") is None
    assert parse_halt("soon,fail=2") == Halt(
        is_immediate=False, limit=2, is_percentage=False
    )
    by_share = parse_halt("now,fail=10%")
    assert by_share is not None
    assert not by_share.is_reached(0, 100)
    assert not by_share.is_reached(9, 100)
    assert by_share.is_reached(10, 100)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("parallel", "0"),
        ("parallel", "x"),
        ("timeout", "-1"),
        ("timeout", "nan"),
        ("color", "blue"),
        ("halt", "x"),
    ],
)
def test_a_bad_value_names_its_variable(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"AGENTOS_{name.upper()}"):
        resolve({}, {f"AGENTOS_{name.upper()}": text}, tmp_path, tmp_path / "none.toml")


def test_a_setting_of_the_wrong_type_in_a_file_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "agentos.toml").write_text("parallel = true\n")
    with pytest.raises(UsageError, match=r"agentos\.toml: parallel"):
        resolve({}, {}, tmp_path, tmp_path / "none.toml")


def test_an_estimate_spreads_the_items_over_the_workers() -> None:
    assert estimate(10, 3, [2.0, 4.0], True).seconds == 12.0
    assert estimate(0, 3, [], True).seconds == 0
    assert "none was run here yet" in estimate(1, 1, [], False).describe()


def test_amounts_read_as_a_person_would_say_them() -> None:
    assert [describe_seconds(s) for s in (0.04, 9.96, 59.6, 200, 7500)] == [
        "0.0 s",
        "10.0 s",
        "1 min 0 s",
        "3 min 20 s",
        "2 h 5 min",
    ]
    assert (count(1, "item"), count(0, "item")) == ("1 item", "0 items")
