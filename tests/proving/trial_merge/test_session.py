"""Finished items of real repositories are merged, tested and judged, and nothing of the
repository changes.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentos.errors import UsageError
from agentos.item import State
from agentos.proving.trial_merge.report import MergeResult, TrialMergeReport
from agentos.proving.trial_merge.session import TrialMergeRequest, run_trial_merge
from agentos.state.home import Home
from tests.proving.trial_merge.stage import (
    ROOMS_ARE_FEW,
    SHOP,
    Stage,
    make_stage,
    probe,
    room,
)
from tests.repository.git.ground import git, write_files

pytestmark = pytest.mark.slow

FEW = "tests/test_few.py::test_there_are_at_most_three_rooms"


@pytest.fixture
def stage(tmp_path: Path, home: Home) -> Stage:
    """A small shop."""
    return make_stage(tmp_path, home)


def run(
    stage: Stage, *ids: str, onto: str = "HEAD", most_runs: int = 60
) -> TrialMergeReport:
    """Rehearse on a stage."""
    said: list[str] = []
    return asyncio.run(
        run_trial_merge(
            TrialMergeRequest(stage.repository, ids, onto, most_runs),
            stage.home,
            said.append,
        )
    )


def standings(report: TrialMergeReport) -> dict[str, MergeResult]:
    """Return how each item did."""
    return {entry.item: entry.result for entry in report.entries}


def test_two_items_green_apart_and_red_together_are_named_with_the_test(
    stage: Stage,
) -> None:
    stage.finish(
        "3", {"shop/note.py": b"NOTE = 1\n", **probe("shop.note", "NOTE", "1")}
    )
    stage.finish("7", {"tests/test_few.py": ROOMS_ARE_FEW, **room("attic")})
    stage.finish("12", room("cellar"))
    for alone in ("3", "7", "12"):
        assert run(stage, alone).is_green
    report = run(stage)
    assert [entry.item for entry in report.entries] == ["3", "7", "12"]
    last = report.entries[-1]
    assert (last.result, last.others, list(last.failures)) == (
        MergeResult.BREAKS,
        ("7",),
        [FEW],
    )
    assert not report.is_green
    assert not report.unexplained
    lines = list(report.lines())
    assert lines[-2].startswith(f"IMPL-12  breaks with IMPL-7: {FEW} (AssertionError")
    assert (
        "2 items merged into HEAD, the suite is green; left out: 1 breaks" in lines[-1]
    )


def test_ten_items_with_overlaps_and_dependencies_merge_in_planned_order(
    stage: Stage,
) -> None:
    price = SHOP["shop/price.py"]
    for number in range(2, 6):
        stage.finish(
            str(number),
            {f"shop/n{number}.py": b"X = 1\n", **probe(f"shop.n{number}", "X", "1")},
        )
    stage.finish(
        "10",
        {"shop/price.py": price + b"\n\nTAX = 1\n", **probe("shop.price", "TAX", "1")},
    )
    stage.finish(
        "1", {"shop/price.py": price + b"\n\nTAX = 1\nFEE = 2\n"}, builds_on=["10"]
    )
    stage.finish(
        "6",
        {"shop/price.py": price + b"\n\nTAX = 1\nFEE = 2\nTIP = 3\n"},
        builds_on=["10", "1"],
    )
    stage.finish("7", {"shop/seven.py": b"X = 1\n"}, builds_on=["2", "3"])
    stage.finish("8", {"shop/eight.py": b"X = 1\n"}, builds_on=["7"])
    stage.finish("9", {"shop/nine.py": b"X = 1\n"}, builds_on=["6", "8"])
    report = run(stage)
    assert set(standings(report).values()) == {MergeResult.MERGED}
    order = [entry.item for entry in report.entries]
    assert order == ["2", "3", "4", "5", "7", "8", "10", "1", "6", "9"]
    assert report.is_green
    assert report.runs == 1


def test_a_textual_conflict_names_both_items_and_the_file_and_the_rest_goes_on(
    stage: Stage,
) -> None:
    stage.finish(
        "1",
        {"shop/price.py": SHOP["shop/price.py"].replace(b"UNIT = 10", b"UNIT = 5 + 5")},
    )
    stage.finish("2", room("attic"))
    stage.finish(
        "3",
        {"shop/price.py": SHOP["shop/price.py"].replace(b"UNIT = 10", b"UNIT = 2 * 5")},
    )
    stage.finish("4", {"shop/more.py": b"X = 1\n"}, builds_on=["3"])
    stage.finish("5", {"shop/five.py": b"X = 1\n"})
    report = run(stage)
    entries = {entry.item: entry for entry in report.entries}
    assert (entries["3"].result, entries["3"].others) == (
        MergeResult.CONFLICT,
        ("1",),
    )
    assert entries["3"].files == ("shop/price.py",)
    assert (entries["4"].result, entries["4"].others) == (
        MergeResult.LEFT_OUT,
        ("3",),
    )
    assert {
        item
        for item, result in standings(report).items()
        if result is MergeResult.MERGED
    } == {"1", "2", "5"}
    assert "IMPL-3  conflicts with IMPL-1 in shop/price.py" in list(report.lines())
    assert not report.is_green


def test_an_item_that_the_target_has_outgrown_is_named_as_red_alone(
    stage: Stage,
) -> None:
    stage.finish(
        "4",
        {
            "shop/double.py": b"from shop.price import UNIT\n\nTWO = UNIT * 2\n",
            **probe("shop.double", "TWO", "20"),
        },
    )
    stage.finish("5", room("attic"))
    write_files(
        stage.repository,
        {"shop/price.py": b"UNIT = 7\n\n\ndef price(count):\n    return 20\n"},
    )
    git(stage.repository, "commit", "-q", "-a", "-m", "Move on")
    report = run(stage)
    assert standings(report) == {"4": MergeResult.RED_ALONE, "5": MergeResult.MERGED}
    assert (
        "is red on HEAD by itself: tests/test_shop_double.py::test_shop_double"
        in "\n".join(report.lines())
    )


def test_an_item_that_conflicts_with_the_target_itself_says_so(stage: Stage) -> None:
    stage.finish("4", {"shop/price.py": SHOP["shop/price.py"].replace(b"10", b"5 + 5")})
    write_files(
        stage.repository,
        {"shop/price.py": SHOP["shop/price.py"].replace(b"10", b"2 * 5")},
    )
    git(stage.repository, "commit", "-q", "-a", "-m", "Move on")
    report = run(stage)
    assert standings(report) == {"4": MergeResult.CONFLICT}
    assert report.entries[0].describe("HEAD") == "conflicts with HEAD in shop/price.py"
    assert report.runs == 0


def test_what_fails_on_the_target_alone_is_held_against_nobody(
    tmp_path: Path, home: Home
) -> None:
    known = b"def test_known():\n    assert 1 == 2\n"
    stage = make_stage(
        tmp_path,
        home,
        {
            **SHOP,
            "tests/test_known.py": known,
            "tests/test_torn.py": b"import nowhere\n",
        },
    )
    stage.finish("1", room("attic"))
    stage.finish("2", {"shop/two.py": b"X = 1\n"})
    report = run(stage)
    assert report.is_green
    assert report.known == ("tests/test_known.py::test_known", "tests/test_torn.py")
    assert report.runs == 2
    stage.finish("3", {"tests/test_few.py": ROOMS_ARE_FEW, **room("cellar")})
    report = run(stage)
    assert (report.entries[-1].others, list(report.entries[-1].failures)) == (
        ("1",),
        [FEW],
    )


def test_several_breaks_are_all_named(stage: Stage) -> None:
    stage.finish("1", {"tests/test_few.py": ROOMS_ARE_FEW, **room("attic")})
    stage.finish("2", {"shop/deep.py": b"X = 1\n"})
    stage.finish("3", room("cellar"))
    is_lonely = b"from pathlib import Path\n\n\ndef test_lonely():\n    assert not Path('shop/deep.py').exists()\n"
    stage.finish("4", {"tests/test_lonely.py": is_lonely})
    stage.finish("5", {"shop/five.py": b"X = 1\n"}, builds_on=["4"])
    report = run(stage)
    entries = {entry.item: entry for entry in report.entries}
    assert (entries["3"].result, entries["3"].others) == (MergeResult.BREAKS, ("1",))
    assert (entries["4"].result, entries["4"].others) == (MergeResult.BREAKS, ("2",))
    assert list(entries["4"].failures) == ["tests/test_lonely.py::test_lonely"]
    assert entries["5"].result is MergeResult.LEFT_OUT
    assert not report.problem
    few = run(stage, most_runs=4)
    assert "given up after 4 runs" in few.problem
    assert not few.is_green


def test_a_break_that_takes_three_items_names_all_three(stage: Stage) -> None:
    for item, name in (("1", "attic"), ("3", "cellar")):
        stage.finish(item, room(name))
    stage.finish("2", {"shop/two.py": b"X = 1\n"})
    stage.finish("5", {"tests/test_few.py": ROOMS_ARE_FEW})
    entry = run(stage).entries[-1]
    assert (entry.item, entry.others) == ("5", ("1", "3"))


def test_merged_branches_are_left_out_and_said_also_when_squashed(stage: Stage) -> None:
    first = stage.finish("1", room("attic"))
    stage.finish("2", {"shop/two.py": b"X = 1\n"})
    stage.finish("3", {"shop/three.py": b"X = 1\n"})
    git(stage.repository, "merge", "-q", "--no-edit", first)
    git(stage.repository, "merge", "-q", "--squash", stage.branch("2"))
    git(stage.repository, "commit", "-q", "-m", "Squashed")
    report = run(stage)
    assert standings(report) == {
        "1": MergeResult.IN_TARGET,
        "2": MergeResult.IN_TARGET,
        "3": MergeResult.MERGED,
    }
    assert "IMPL-1  is in HEAD already" in list(report.lines())
    assert report.is_green
    assert set(standings(run(stage, onto="HEAD~2")).values()) == {MergeResult.MERGED}


def test_only_implemented_items_take_part_and_lost_commits_are_told(
    stage: Stage,
) -> None:
    stage.finish("1", room("attic"))
    stage.finish("2", room("cellar"))
    stage.record("2", State.FAILED)
    stage.record("9")
    report = run(stage)
    assert standings(report) == {"1": MergeResult.MERGED, "9": MergeResult.GONE}
    assert not report.is_green
    with pytest.raises(UsageError, match="2: is failed, only implemented items"):
        run(stage, "2")
    with pytest.raises(UsageError, match="77: was never built"):
        run(stage, "1", "77")
    with pytest.raises(UsageError, match="nowhere: is not a commit"):
        run(stage, onto="nowhere")


def test_commits_that_people_put_on_a_branch_are_merged_too(stage: Stage) -> None:
    stage.finish("1", room("attic"))
    stage.finish("2", {"tests/test_few.py": ROOMS_ARE_FEW})
    folder = stage.repository.parent / "by-hand"
    git(stage.repository, "worktree", "add", "-q", str(folder), "agentos/1-work")
    write_files(folder, {"shop/rooms/cellar.py": b"NAME = 'cellar'\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "By hand")
    report = run(stage)
    assert report.entries[-1].others == ("1",)
    assert report.notes == (
        "agentos/1-work is not as AgentOS left it; it is merged as it is now",
    )


def test_a_dirty_repository_is_left_exactly_as_it_is(stage: Stage) -> None:
    stage.finish("1", {"tests/test_few.py": ROOMS_ARE_FEW, **room("attic")})
    stage.finish("2", room("cellar"))
    write_files(
        stage.repository,
        {
            "shop/price.py": b"half a thought",
            "new.txt": b"untracked",
            "tests/x.py": b"1/0",
        },
    )
    git(stage.repository, "add", "new.txt")
    (stage.repository / "pyproject.toml").unlink()
    before = stage.state()
    assert standings(run(stage)) == {"1": MergeResult.MERGED, "2": MergeResult.BREAKS}
    assert stage.state() == before
    assert stage.leftovers == []


def test_hostile_tests_reach_neither_the_repository_nor_the_next_run(
    stage: Stage,
) -> None:
    vandal = (
        "import os, pathlib\n\n\ndef test_vandal():\n"
        f"    for place in ({str(stage.repository)!r}, {str(stage.home.root)!r}):\n"
        "        try:\n            pathlib.Path(place, 'stained').write_text('x')\n"
        "        except OSError:\n            pass\n"
        "    pathlib.Path('shop/price.py').write_text('UNIT = 0')\n"
        "    os.makedirs('closed/in'); os.chmod('closed', 0)\n"
    )
    stage.finish("1", {"tests/test_vandal.py": vandal.encode()})
    stage.finish("2", {"tests/test_few.py": ROOMS_ARE_FEW, **room("attic")})
    stage.finish("3", room("cellar"))
    before = stage.state()
    report = run(stage)
    assert standings(report) == {
        "1": MergeResult.MERGED,
        "2": MergeResult.MERGED,
        "3": MergeResult.BREAKS,
    }
    assert stage.state() == before
    assert not (stage.home.root / "stained").exists()
    assert stage.leftovers == []


def test_a_suite_that_cannot_run_at_all_is_a_problem_and_not_green(
    tmp_path: Path, home: Home
) -> None:
    stage = make_stage(tmp_path, home, {"shop.py": b"X = 1\n"})
    stage.finish("1", {"more.py": b"X = 1\n"})
    report = run(stage)
    assert "the suite gives no usable result, not even on HEAD" in report.problem
    assert not report.is_green
    stage.finish("2", {"tests/test_more.py": b"def test_it():\n    assert True\n"})
    assert run(stage).is_green


def test_items_whose_refs_were_cleaned_up_are_found_by_their_papers(
    stage: Stage,
) -> None:
    commit = stage.finish("1", room("attic"))
    paper = stage.repository / "docs/lineage/active/1-implementation/007-final.json"
    paper.parent.mkdir(parents=True)
    paper.write_text(f'{{"branch": "agentos/1-work", "commit": "{commit}"}}')
    git(stage.repository, "merge", "-q", "--no-edit", commit)
    for ref in git(
        stage.repository, "for-each-ref", "--format=%(refname)", "refs/agentos/1/"
    ).split():
        git(stage.repository, "update-ref", "-d", ref)
    assert standings(run(stage)) == {"1": MergeResult.IN_TARGET}
    paper.write_text('{"branch": "--hard", "commit": "HEAD"}')
    assert standings(run(stage)) == {"1": MergeResult.GONE}


def test_nothing_implemented_is_nothing_to_do(stage: Stage) -> None:
    report = run(stage)
    assert list(report.lines()) == ["Nothing to merge: no item is implemented."]
    assert report.is_green
    assert stage.leftovers == []
