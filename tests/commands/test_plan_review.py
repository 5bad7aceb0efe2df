"""A test plan that is sent back, through a real SDK and the installed commands: the
design is revised in its own ledger and lineage, and built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agentos.documents.findings import Tier
from agentos.documents.verdict import parse_verdict, verdict_json
from agentos.documents.verdict.model import KeptScenario
from agentos.item import Item as WorkItem
from agentos.kinds import Kind
from agentos.state import locks
from agentos.state.home import Home, repository_key
from tests.commands.asking import summary_of
from tests.designs import CODE, Item, fill
from tests.plans import (
    APPROVAL,
    APPROVED,
    DESIGN,
    DISCUSS,
    GAPS,
    LINEAGE,
    REVISE,
    Shop,
    verdict,
)
from tests.scenario.answers import recognise
from tests.support import World


@pytest.fixture
def shop(make_world: Callable[..., World]) -> Shop:
    """A repository with one approved design."""
    shop = Shop(make_world(issues=0))
    shop.design_it()
    return shop


def names(folder: Path) -> list[str]:
    """Return the names of the files of a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_plan_that_is_sent_back_has_the_design_revised_and_built(shop: Shop) -> None:
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), verdict(APPROVED)],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    assert "1 implemented" in ended.stdout, ended.text
    assert shop.counts == {
        "plan": 2,
        "draft": 1,
        "review": 1,
        "tests": 1,
        "code": 1,
        "diff": 1,
    }
    assert "revising the design, revision 1 of at most 2" in ended.text
    assert "beginning again with the revised design" in ended.text
    assert "Version 2 of this section." in shop.design
    assert "Test plan: As scripted." in shop.design
    assert [(one.id, str(one.state)) for one in shop.ledger.entries] == [
        ("F1", "resolved")
    ]
    assert names(shop.world.repo / LINEAGE) == [
        "001-issue.md",
        "002-draft.md",
        "003-verdict.md",
        "004-final.md",
        "005-plan-review.md",
        "006-draft.md",
        "007-verdict.md",
        "008-plan-review.md",
        "009-final.md",
        "findings.json",
    ]
    kept = shop.world.repo / "docs/lineage/superseded/1-lld-1/LLD-001.md"
    assert "Version 1 of this section." in kept.read_text("utf-8")
    assert shop.world.leftovers() == []
    for command in ("implement-workflow", "lld-workflow"):
        again = shop.run(command)
        assert "Nothing to do: 1 already complete" in again.text, again.text
        assert shop.counts == {}


def test_the_revision_is_asked_with_the_prompts_and_the_issue_of_the_design(
    shop: Shop,
) -> None:
    shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), APPROVAL],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    (prompt,) = shop.roles.prompts("draft")
    inputs = dict(recognise([prompt]).inputs)
    assert "Add one to a number." in inputs["issue"]
    assert "Version 1 of this section." in inputs["previous_draft"]
    assert "Review Log" not in inputs["previous_draft"]
    assert f"F1 (high, section 10.1): {GAPS['a']}" in inputs["findings"]
    assert "of the test plan (REVISE)" in inputs["findings"]


def test_a_new_gap_in_the_words_of_a_resolved_one_is_not_lost(shop: Shop) -> None:
    ended = shop.run(
        "implement-workflow",
        plans=[
            verdict(REVISE, "a"),
            verdict(REVISE, "d", resolved=["F1"]),
            verdict(APPROVED, resolved=["F2"]),
        ],
        drafts=[shop.draft(2), shop.draft(3)],
    )
    assert "1 implemented" in ended.stdout, ended.text
    *_, prompt = shop.roles.prompts("draft")
    findings = dict(recognise([prompt]).inputs)["findings"]
    assert f"F2 (high, section 10.1): {GAPS['d']}" in findings
    assert "F1 (high" not in findings


def test_a_revision_that_is_never_approved_leaves_the_design_and_says_what_to_do(
    shop: Shop,
) -> None:
    before = shop.design
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), verdict(REVISE, "b"), verdict(REVISE, "c")],
        drafts=[shop.draft(2), shop.draft(3)],
        reviews=[APPROVAL],
    )
    assert shop.status == "needs-revision", ended.text
    assert shop.counts == {
        "plan": 3,
        "draft": 2,
        "review": 2,
    }
    assert shop.design == before
    assert [(one.id, str(one.state)) for one in shop.ledger.entries] == [
        ("F1", "open"),
        ("F2", "open"),
        ("F3", "open"),
    ]
    assert "not approved after 2 revisions of the design: F1:" in ended.text
    assert "agentos approve LLD-1" in ended.text
    assert "Nothing to do" in shop.run("implement-workflow").text


def test_a_person_who_signs_the_design_overrules_the_plan_review(shop: Shop) -> None:
    shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a")],
        drafts=[shop.draft(2), shop.draft(3)],
        reviews=[verdict(REVISE, "b")],
    )
    assert shop.status == "needs-revision"
    signed = shop.world.run("agentos", "approve", "LLD-1", "--because", "Enough.")
    assert signed.code == 0, signed.text
    ended = shop.run("implement-workflow")
    assert "1 implemented" in ended.stdout, ended.text
    assert "a person has settled what it lacked" in ended.text
    assert "plan" not in shop.counts


def test_a_person_who_waives_what_was_found_overrules_the_plan_review(
    shop: Shop,
) -> None:
    shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a")],
        drafts=[shop.draft(2), shop.draft(2)],
    )
    assert shop.status == "needs-revision"
    waived = shop.world.run(
        "agentos", "findings", "LLD-1", "--waive", "F1", "--because", "It is clear."
    )
    assert waived.code == 0, waived.text
    ended = shop.run("implement-workflow", "--redo")
    assert "1 implemented" in ended.stdout, ended.text
    assert {"plan", "draft", "review"}.isdisjoint(shop.counts)


def test_what_the_writer_contests_is_decided_by_the_plan_reviewer(shop: Shop) -> None:
    note = "```notes\nF1: contested, calc/__init__.py:1 `` - it is said\n```\n"
    same = shop.draft(1) + "\n" + note
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), verdict(APPROVED, resolved=["F1"])],
        drafts=[same],
        reviews=[APPROVAL],
    )
    assert "1 implemented" in ended.stdout, ended.text
    assert shop.counts["plan"] == 2


def test_rules_revise_nothing(make_world: Callable[..., World]) -> None:
    world = fill(make_world(issues=0), Item(1))
    answer = world.repo / ".agentos/recorded/1/review-1.json"
    answer.write_text(verdict(REVISE, "a"), "utf-8")
    before = (world.repo / DESIGN).read_text("utf-8")
    ended = world.run("implement-workflow", "--all")
    assert "rules cannot revise it" in ended.text, ended.text
    assert (world.repo / DESIGN).read_text("utf-8") == before
    again = world.run("implement-workflow", "--all")
    assert "Nothing to do" in again.text, again.text


def test_recorded_answers_revise_a_design_that_was_written_by_hand(
    make_world: Callable[..., World],
) -> None:
    world = fill(make_world(issues=0), Item(1))
    revised = Shop(make_world(issues=0)).draft(2)
    recorded = world.repo / ".agentos/recorded/1"
    for name, text in {
        "review-1.json": verdict(REVISE, "a"),
        "review-2.json": APPROVAL,
        "lld-draft-1.md": revised,
        "lld-draft-2.md": revised,
        "lld-review-1.json": APPROVAL,
        "lld-review-2.json": verdict(APPROVED, resolved=["F1"]),
    }.items():
        (recorded / name).write_text(text, "utf-8")
    ended = world.run("implement-workflow", "--all")
    assert "1 implemented" in ended.stdout, ended.text
    text = (world.repo / DESIGN).read_text("utf-8")
    assert "**Status:** APPROVED (recorded)" in text


def test_a_question_of_the_plan_review_is_answered_and_the_answer_is_used(
    shop: Shop,
) -> None:
    ended = shop.run(
        "implement-workflow", plans=[verdict(DISCUSS, questions=["Which number?"])]
    )
    assert shop.status == "needs-discussion", ended.text
    assert "Which number?" in shop.world.run("agentos", "answer", "IMPL-1").stdout
    # The design itself waits for nobody.
    assert "Nothing to do" in shop.run("lld-workflow").text
    answered = shop.world.run("agentos", "answer", "IMPL-1", "--text", "The number 2.")
    assert answered.code == 0, answered.text
    ended = shop.run("implement-workflow", plans=[APPROVAL])
    assert "1 implemented" in ended.stdout, ended.text
    (plan,) = shop.roles.prompts("plan")
    assert "Which number? **Answer:** The number 2." in plan


def test_an_answer_reaches_the_revision_too(shop: Shop) -> None:
    shop.run(
        "implement-workflow", plans=[verdict(DISCUSS, questions=["Which number?"])]
    )
    shop.world.run("agentos", "answer", "IMPL-1", "--text", "The number 2.")
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), APPROVAL],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    assert "1 implemented" in ended.stdout, ended.text
    (prompt,) = shop.roles.prompts("draft")
    issue = dict(recognise([prompt]).inputs)["issue"]
    assert "Add one to a number." in issue
    assert "Which number? **Answer:** The number 2." in issue


def test_a_design_that_has_not_changed_is_plan_reviewed_once(shop: Shop) -> None:
    broken = CODE.format(number=1).replace("number + 1", "number - 1")
    ended = shop.run("implement-workflow", plans=[APPROVAL], code=[broken])
    assert "not-green" in ended.text, ended.text
    assert shop.counts["plan"] == 1
    again = shop.run("implement-workflow", "--redo", code=[broken])
    assert "test plan: unchanged since review 2 of the design (APPROVED)" in again.text
    assert "plan" not in shop.counts
    # A colleague has the repository, and nothing else.
    shop.commit()
    home = shop.world.home
    home.rename(home.with_name("home-of-somebody-else"))
    third = shop.run("implement-workflow")
    assert "1 implemented" in third.stdout, third.text
    assert "plan" not in shop.counts


def test_an_edited_design_is_plan_reviewed_again(shop: Shop) -> None:
    broken = CODE.format(number=1).replace("number + 1", "number - 1")
    shop.run("implement-workflow", plans=[APPROVAL], code=[broken])
    path = shop.world.repo / DESIGN
    text = path.read_text("utf-8").replace("Version 1 of", "Version 7 of")
    path.write_text(text, "utf-8")
    assert shop.world.run("agentos", "approve", "LLD-1").code == 0
    ended = shop.run("implement-workflow", plans=[APPROVAL])
    assert "1 implemented" in ended.stdout, ended.text
    assert shop.counts["plan"] == 1


def test_ids_are_never_given_twice_between_reviews_of_design_and_plan(
    make_world: Callable[..., World],
) -> None:
    shop = Shop(make_world(issues=0))
    shop.run(
        "lld-workflow",
        drafts=[shop.draft(1)],
        reviews=[verdict(APPROVED, "a", tier=Tier.SUGGESTION)],
    )
    shop.commit()
    shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "b"), verdict(APPROVED, "c", tier=Tier.SUGGESTION)],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F2"])],
    )
    found = [(one.id, one.text, str(one.state)) for one in shop.ledger.entries]
    assert found == [
        ("F1", GAPS["a"], "open"),
        ("F2", GAPS["b"], "resolved"),
        ("F3", GAPS["c"], "open"),
    ]
    assert [bool(review.plan) for review in shop.ledger.reviews] == [
        False,
        True,
        False,
        True,
    ]


def test_a_revision_must_pass_the_check_and_the_review_of_the_design(
    shop: Shop,
) -> None:
    cut = shop.draft(2)
    cut = cut[: cut.index("## 10.")] + cut[cut.index("## 11.") :]
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), APPROVAL],
        drafts=[cut, shop.draft(3)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    assert "1 implemented" in ended.stdout, ended.text
    assert "revision 1 is sent back" in ended.text
    assert shop.counts["draft"] == 2
    assert shop.counts["review"] == 1
    assert "Version 3 of this section." in shop.design
    assert "008-validation.md" not in names(shop.world.repo / LINEAGE)
    assert "007-validation.md" in names(shop.world.repo / LINEAGE)


def test_a_design_in_use_is_replaced_by_the_next_run_without_a_question(
    shop: Shop,
) -> None:
    home = Home(shop.world.home)
    paths = home.item(repository_key(shop.world.repo), WorkItem(Kind.LLD, "1", ""))
    lock = locks.acquire(paths.lock, "somebody")
    assert isinstance(lock, locks.ItemLock)
    before = shop.design
    ended = shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), APPROVAL],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    assert "LLD-1 is locked by pid" in ended.text, ended.text
    assert shop.design == before
    assert list(shop.world.repo.rglob("*.tmp")) == []
    lock.release()
    ended = shop.run("implement-workflow")
    assert "1 implemented" in ended.stdout, ended.text
    assert "draft" not in shop.counts
    assert "Version 2 of this section." in shop.design


def test_what_became_of_it_is_in_the_summary(shop: Shop) -> None:
    shop.run(
        "implement-workflow",
        plans=[verdict(REVISE, "a"), APPROVAL],
        drafts=[shop.draft(2)],
        reviews=[verdict(APPROVED, resolved=["F1"])],
    )
    (item,) = summary_of(shop.world.run_folders[-1])["items"]
    assert item["status"] == "implemented"


LOOK = '{"look": ["read calc/__init__.py 1-9"], "verdict": null}'


def test_the_reviewer_of_a_plan_looks_at_what_the_item_is_built_on(shop: Shop) -> None:
    ended = shop.run("implement-workflow", plans=[LOOK, APPROVAL])
    assert "1 implemented" in ended.stdout, ended.text
    assert "Looked: reviewer: read calc/__init__.py 1-9" in ended.text
    assert shop.counts["plan"] == 2


def test_the_reviewer_of_a_plan_is_asked_what_is_kept(shop: Shop) -> None:
    path = shop.world.repo / DESIGN
    text = path.read_text("utf-8")
    path.write_text(text.replace("Try 1", "Unchanged numbers"), "utf-8")
    assert shop.world.run("agentos", "approve", "LLD-1").code == 0
    new = KeptScenario("10", kept=False, reason="They are skipped.")
    decided = verdict_json(replace(parse_verdict(APPROVAL), kept=(new,)))
    ended = shop.run("implement-workflow", plans=[APPROVAL, decided])
    assert "1 implemented" in ended.stdout, ended.text
    first, second = shop.roles.prompts("plan")
    assert "- 010: Unchanged numbers\n" in first
    assert "`kept` does not say whether these scenarios" in second
    report = shop.world.repo / "docs/reports/1/test-report.md"
    assert "What must not change" not in report.read_text("utf-8")


def test_a_finding_without_the_line_that_it_quotes_sends_no_plan_back(
    shop: Shop,
) -> None:
    made_up = verdict(REVISE, "a").replace('"basis": "text"', '"basis": "code"')
    quote = '"quotes": [{"path": "calc/__init__.py", "line": 1, "text": "nowhere"}]'
    made_up = made_up.replace('"quotes": []', quote)
    ended = shop.run("implement-workflow", plans=[made_up, APPROVAL])
    assert "1 implemented" in ended.stdout, ended.text
    assert shop.counts["plan"] == 2
    assert "draft" not in shop.counts


def test_findings_that_changed_meanwhile_are_not_overwritten(shop: Shop) -> None:
    """A person waives a finding while the item is built."""
    shop.run(
        "implement-workflow",
        plans=[verdict(APPROVED, "a", tier=Tier.SUGGESTION)],
        code=["nothing"],
    )
    waived = shop.world.run(
        "agentos", "findings", "LLD-1", "--waive", "F1", "--because", "Fine."
    )
    assert waived.code == 0, waived.text
    shop.run("implement-workflow", "--redo")
    assert [str(one.state) for one in shop.ledger.entries] == ["waived"]
