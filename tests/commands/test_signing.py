"""People sign documents and waive findings, and an approval belongs to the text that was
approved.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentos.documents.findings import Tier
from agentos.documents.judged_text import is_edited, stamped_hash, without_log
from agentos.documents.ledger import read_ledger_file
from agentos.documents.verdict import Decision
from tests.commands.asking import command, key, status_of, write_keys
from tests.commands.test_review_loop import TEXTS, drafts_of, revise, verdict
from tests.commands.test_skeletons import commit
from tests.scenario import serve
from tests.support import World

CODER = ("--drafter", "openai:gpt-6-luna", "--price", "openai:*=1/1")
APPROVAL = verdict(Decision.APPROVED)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A repository with one issue."""
    return make_world(issues=1)


def run(
    world: World, reviews: Sequence[str] = (), drafts: Sequence[str] = (), *more: str
) -> tuple[dict[str, int], str]:
    """Run the item; return how often each model was asked, and what was said."""
    answers = [
        {"purpose": "lld.review", "texts": list(reviews) or ["unexpected"]},
        {"purpose": "lld.draft", "texts": list(drafts) or ["unexpected"]},
    ]
    with serve({"answer": answers}) as server:
        write_keys(world, key("openai", server.url), key("anthropic", server.url))
        ended = world.run(
            *command("openai", "anthropic", "--retries", "0", *more, parallel=1)
        )
        asked = Counter(call.purpose for call in server.ledger.admitted())
    return dict(asked), ended.text


def design_of(world: World) -> Path:
    return world.repo / "docs/lld/active/LLD-001.md"


def ledger_of(world: World) -> dict[str, str]:
    path = world.repo / "docs/lineage/active/1-lld/findings.json"
    entries = read_ledger_file(path.read_text("utf-8")).ledger.entries
    return {entry.id: str(entry.state) for entry in entries}


def test_a_person_signs_what_a_reviewer_did_not_approve(world: World) -> None:
    run(
        world,
        [verdict(Decision.REVISE, "ab", tier=Tier.BLOCKING)],
        drafts_of(world, 1),
        "--max-rounds",
        "1",
    )
    shown = world.run("agentos", "findings", "1")
    assert f"F1 open (blocking, quality): {TEXTS['a']}" in shown.stdout
    waived = world.run("agentos", "findings", "1", "--waive", "f1", "--because", "ok")
    assert waived.code == 0, waived.text
    assert ledger_of(world) == {"F1": "waived", "F2": "open"}
    signed = world.run("agentos", "approve", "1", "--because", "agreed on Tuesday")
    assert signed.code == 0, signed.text
    assert "waived: F2" in signed.stdout
    assert ledger_of(world) == {"F1": "waived", "F2": "waived"}
    text = design_of(world).read_text("utf-8")
    assert "* **Status:** APPROVED" in text
    assert "agreed on Tuesday" in text
    assert "APPROVED by a person" in text
    assert not is_edited(text)
    assert stamped_hash(text)
    assert status_of(world)["1"] == ("approved", None)
    assert run(world)[0] == {}
    commit(world)
    built = world.run("implement-workflow", "--all", "--dry-run", *CODER)
    assert built.code == 0, built.text
    assert "IMPL-1" in built.stdout


def test_a_draft_of_which_all_is_waived_is_approved_and_nobody_is_asked(
    world: World,
) -> None:
    run(world, [revise("ab")], drafts_of(world, 1), "--max-rounds", "1")
    assert status_of(world)["1"] == ("needs-revision", None)
    for id in ("F1", "F2"):
        waived = world.run("agentos", "findings", "1", "--waive", id)
        assert waived.code == 0, waived.text
    assert ledger_of(world) == {"F1": "waived", "F2": "waived"}
    assert status_of(world)["1"] == ("pending", None)
    asked, text = run(world)
    assert asked == {}, text
    assert "approved with what a person has waived: F1, F2" in text
    assert status_of(world)["1"] == ("approved", None)
    assert not is_edited(design_of(world).read_text("utf-8"))
    assert run(world)[0] == {}


def test_what_is_not_waived_is_revised_in_the_next_run(world: World) -> None:
    run(world, [revise("ab")], drafts_of(world, 1), "--max-rounds", "1")
    waived = world.run("agentos", "findings", "1", "--waive", "F1")
    assert "go on with: lld-workflow --ids 1" in waived.stdout
    approval = verdict(Decision.APPROVED, resolved="F2")
    asked, text = run(world, [approval], drafts_of(world, 2)[1:])
    assert asked == {"lld.draft": 1, "lld.review": 1}, text
    assert ledger_of(world) == {"F1": "waived", "F2": "resolved"}


def test_findings_can_be_read_by_programs(world: World) -> None:
    run(world, [revise("a")], drafts_of(world, 1), "--max-rounds", "1")
    shown = world.run("agentos", "findings", "LLD-1", "--json")
    (entry,) = json.loads(shown.stdout)["ledger"]["entries"]
    assert (entry["id"], entry["text"]) == ("F1", TEXTS["a"])


def test_an_edited_design_is_not_built_and_is_reviewed_as_it_stands(
    world: World,
) -> None:
    assert run(world, [APPROVAL], drafts_of(world, 1))[0] == {
        "lld.draft": 1,
        "lld.review": 1,
    }
    path = design_of(world)
    edited = path.read_text("utf-8").replace("Revision 0 of", "A person's edit of")
    path.write_text(edited, "utf-8")
    assert status_of(world)["1"] == ("pending", None)
    commit(world)
    refused = world.run("implement-workflow", "--ids", "1", "--dry-run", *CODER)
    assert "it was edited since its approval" in refused.text
    asked, text = run(world, [APPROVAL])
    assert asked == {"lld.review": 1}, text
    assert "it was edited since its approval; reviewing it as it is" in text
    assert "A person's edit of" in path.read_text("utf-8")
    assert status_of(world)["1"] == ("approved", None)
    assert run(world)[0] == {}


def test_an_edit_can_be_signed(world: World) -> None:
    run(world, [APPROVAL], drafts_of(world, 1))
    path = design_of(world)
    edited = path.read_text("utf-8").replace("Revision 0 of", "A person's edit of")
    path.write_text(edited, "utf-8")
    assert world.run("agentos", "approve", "1").code == 0
    assert "A person's edit of" in path.read_text("utf-8")
    assert run(world)[0] == {}


def test_an_unchanged_design_is_reviewed_once_in_three_runs(world: World) -> None:
    run(world, [APPROVAL], drafts_of(world, 1))
    assert run(world)[0] == {}
    # As in a colleague's clone, where only the repository is known.
    (record,) = (world.home / "items").glob("*/lld_1.json")
    record.unlink()
    assert run(world)[0] == {}


def test_a_design_written_by_hand_with_its_approval_is_accepted_once_and_stamped(
    world: World,
) -> None:
    (draft,) = drafts_of(world, 1)
    path = design_of(world)
    path.parent.mkdir(parents=True)
    path.write_text(draft.replace("**Status:** Draft", "**Status:** Approved"), "utf-8")
    asked, text = run(world)
    assert asked == {}, text
    assert "LLD-1: approved before approvals named their text; accepted" in text
    stamped = path.read_text("utf-8")
    assert (
        without_log(stamped).strip()
        == without_log(
            draft.replace("**Status:** Draft", "**Status:** Approved")
        ).strip()
    )
    asked, text = run(world)
    assert asked == {}
    assert "accepted" not in text
    path.write_text(stamped.replace("Revision 0", "Edit 1"), "utf-8")
    assert run(world, [APPROVAL])[0] == {"lld.review": 1}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("approve", "9"), "LLD-9: has no document and no draft"),
        (("findings", "9"), "LLD-9: has no document and no draft"),
        (("findings", "1", "--because", "x"), "--because goes with --waive"),
        (("findings", "1", "--waive", "F7"), "--waive F7: LLD-1 has no such finding"),
        (("approve", "../x"), ""),
    ],
)
def test_what_cannot_be_signed_is_said_in_one_line(
    world: World, arguments: tuple[str, ...], complaint: str
) -> None:
    run(world, [revise("a")], drafts_of(world, 1), "--max-rounds", "1")
    ended = world.run("agentos", *arguments)
    assert ended.code == 2
    assert complaint in ended.stderr
    assert len(ended.stderr.strip().split("\n")) <= 2
