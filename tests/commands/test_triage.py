"""`agentos triage` and the dry run say what is wrong with items before anybody is paid
for them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT, World

MakeWorld = Callable[..., World]


@pytest.fixture
def backlog(make_world: MakeWorld) -> World:
    """The example backlog."""
    world = make_world(issues=0)
    shutil.rmtree(world.repo)
    shutil.copytree(ROOT / "examples/backlog", world.repo)
    return world


def serious(text: str) -> dict[str, set[str]]:
    """Return the classes of the serious complaints of each item."""
    found: dict[str, set[str]] = {}
    for item in json.loads(text)["items"]:
        classes = {
            complaint["class"]
            for complaint in item["complaints"]
            if complaint["serious"]
        }
        if classes:
            found[item["label"]] = classes
    return found


def test_the_example_backlog_has_its_known_troubles_and_no_others(
    backlog: World,
) -> None:
    ended = backlog.run("agentos", "triage")
    assert ended.code == 1
    assert 'LLD-21  contradictory: line 10 "Search' in ended.stdout
    assert "500 ms or 200 ms. Now: settle on one of the two" in ended.stdout
    assert "LLD-28  open-question (note): line 28" in ended.stdout
    assert "3 of 14 items not ready: 1 contradictory, 4 vague; 1 note" in ended.stdout
    as_json = backlog.run("agentos", "triage", "--json")
    assert as_json.code == 1
    assert serious(as_json.stdout) == {
        "ISSUE-44": {"vague"},
        "LLD-21": {"contradictory"},
        "LLD-28": {"vague"},
    }


def test_it_writes_nothing_and_needs_no_key(backlog: World) -> None:
    before = sorted(str(path) for path in backlog.repo.rglob("*"))
    backlog.run("agentos", "triage", "--all")
    assert not backlog.home.exists()
    assert sorted(str(path) for path in backlog.repo.rglob("*")) == before


def test_items_that_are_ready_end_with_zero(backlog: World) -> None:
    ended = backlog.run("agentos", "triage", "lld", "--ids", "12", "14,33")
    assert (ended.code, ended.stdout) == (0, "3 items, all ready\n")
    assert backlog.run("agentos", "triage", "issue", "--ids", "41").code == 0
    missing = backlog.run("agentos", "triage", "lld", "--ids", "999")
    assert (missing.code, "no such item" in missing.stderr) == (2, True)


def test_an_item_that_doubles_a_complete_one_is_named(world: World) -> None:
    assert world.run("lld-workflow", "--issue", "3").code == 0
    text = (world.repo / "docs/issues/3-export.md").read_text("utf-8")
    (world.repo / "docs/issues/2-copy.md").write_text(text, "utf-8")
    (world.repo / "docs/issues/2-export.md").unlink()
    ended = world.run("agentos", "triage")
    assert ended.code == 1
    assert "LLD-2  duplicate: says the same as LLD-3" in ended.stdout


def test_dependencies_and_files_that_cannot_be_used_are_told(world: World) -> None:
    for name, others in (("1", "#2"), ("2", "#1"), ("3", "#900")):
        path = world.repo / f"docs/issues/{name}-export.md"
        path.write_text(f"{path.read_text('utf-8')}\nBlocked by: {others}\n", "utf-8")
    (world.repo / "docs/issues/9.md").write_bytes(b"\0binary")
    ended = world.run("agentos", "triage", "lld")
    assert (
        "LLD-1  cycle: 1-export.md: depends on itself: #1 -> #2 -> #1" in ended.stdout
    )
    assert (
        'LLD-3  unknown-dependency (note): line 22 "Blocked by #900": #900 is not known here'
        in ended.stdout
    )
    assert "LLD-9  unusable: 9.md: is binary" in ended.stdout
    assert "3 of 4 items not ready: 2 cycle, 1 unusable; 1 note" in ended.stdout


def test_the_dry_run_shows_the_same_complaints(backlog: World) -> None:
    told = [
        line
        for line in backlog.run("agentos", "triage", "lld").stdout.splitlines()
        if line.startswith("LLD-")
    ]
    shown = backlog.run("lld-workflow", "--all", "--dry-run").stdout
    assert told
    assert all(f"  {line}\n" in shown for line in told)
    document = json.loads(
        backlog.run("lld-workflow", "--all", "--dry-run", "--json").stdout
    )
    assert [item["label"] for item in document["complaints"]] == ["LLD-21", "LLD-28"]
    assert document["complaints"][0]["complaints"][0]["lines"] == [10, 25]


def test_the_dry_run_of_many_troubles_shows_twenty(make_world: MakeWorld) -> None:
    world = make_world(issues=0)
    for number in range(1, 31):
        _write_vague(world.repo, number)
    shown = world.run("lld-workflow", "--all", "--dry-run").stdout
    assert shown.count("  vague: ") == 20
    assert "  and 10 more: agentos triage lld" in shown


def _write_vague(repo: Path, number: int) -> None:
    text = f"# {number} - Screen {number}\n\n## Objective\nPeople at desk {number} wait for the screen, every day anew.\n"
    criteria = f"\n## Acceptance Criteria\n- [ ] Screen {chr(96 + number % 26)} is nice\n- [ ] Key `F{number}` opens it\n"
    (repo / f"docs/issues/{number}.md").write_text(text + criteria, "utf-8")


def test_what_cannot_be_asked_is_refused(world: World) -> None:
    for arguments in (
        ("--nonsense",),
        ("neither",),
        ("--all", "--ids", "1"),
        ("--label", "x"),
        ("--repo", "nowhere"),
    ):
        assert world.run("agentos", "triage", *arguments).code == 2, arguments


def test_its_help_tells_classes_and_exit_codes(world: World) -> None:
    text = world.run("agentos", "triage", "--help").stdout
    assert "contradict" in text
    assert "1    at least one item has a serious complaint" in text
    assert "agentos triage" in world.run("agentos", "--help").stdout
