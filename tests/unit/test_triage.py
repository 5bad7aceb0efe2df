"""The rules of triage: what is wrong is named with its words, and what is right is left alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.inbox import Source
from agentos.task import DRAFTING, Task, Workflow
from agentos.triage import Class, Complaint
from agentos.triage.backlog import Backlog, Judgement, examine
from agentos.triage.contradictions import contradicts_exclusion, find_contradictions
from agentos.triage.weaknesses import judge
from tests.support import ISSUE

EXAMPLES = Path(__file__).resolve().parents[2] / "examples/backlog/docs"

PURPOSE = "The treasurer adds up all loans of a year in a spreadsheet, and copies them by hand from the screen today."


def complaints(text: str, workflow: Workflow = Workflow.LLD) -> tuple[Complaint, ...]:
    return judge(text, workflow)[1]


def issue(*criteria: str, title: str = "12 - Export loans", rest: str = "") -> str:
    listed = "\n".join(f"- [ ] {criterion}" for criterion in criteria)
    return f"# {title}\n\n## Objective\n{PURPOSE}\n\n{rest}\n\n## Acceptance Criteria\n{listed}\n"


def examine_texts(texts: Sequence[str], wanted: Sequence[int] | None = None) -> dict[str, Judgement]:
    tasks = [Task(Workflow.LLD, str(number), f"docs/issues/{number}.md") for number in range(1, len(texts) + 1)]
    chosen = tasks if wanted is None else [tasks[number - 1] for number in wanted]
    backlog = Backlog(
        tasks=chosen,
        known=tasks,
        names=tasks,
        rejects=(),
        load=lambda task: Source(texts[int(task.item) - 1], "digest"),
        ours="",
        is_elsewhere=lambda item: item == "77",
    )
    return {judgement.task.item: judgement for judgement in examine(backlog)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A loan may hold at most 10 items", "A loan can hold up to 20 items"),
        ("Search in 50,000 items answers within 500 ms", "Search in 50,000 items answers within 0.2 s"),
        ("A missing list ends with exit code 4", "A missing list ends with exit code 5"),
        ("A PIN has at least 8 digits", "A PIN has at most 6 digits"),
        ("A reservation lasts 7 days", "A reservation lasts 14 days"),
        ("The number of workers defaults to `3`", "The number of workers defaults to `5`"),
        ("An existing file is replaced", "An existing file is not replaced"),
        ("When the file exists, the export replaces it", "When the file exists, the export never replaces it"),
        ("An empty name is accepted", "An empty name is refused with exit code 2"),
        ("The `--output` option is required", "The `--output` option is optional"),
        ("Rows are sorted by day, oldest first", "Rows are sorted by day, newest first"),
    ],
)
def test_two_demands_that_exclude_each_other_are_found(one: str, other: str) -> None:
    (clash,) = find_contradictions([one, "Something else is shown to the treasurer", other])
    assert {clash.one.replace("`", ""), clash.other.replace("`", "")} == {one.replace("`", ""), other.replace("`", "")}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "A read is retried at most 5 times before an error is shown",
            "A write is retried at most 9 times before an error is shown",
        ),
        ("A PIN has at least 4 digits", "A PIN has at most 8 digits"),
        ("100 items are exported within 5 seconds", "1,000 items are exported within 30 seconds"),
        ("95% of searches answer within 200 ms", "99% of searches answer within 500 ms"),
        ("A member is reminded 2 days before the due day", "A member is reminded 7 days before the due day"),
        ("A member may hold at most 3 loans of a branch", "A branch may hold at most 5 loans of a member"),
        ("A file is replaced with `--force`", "A file is not replaced without `--force`"),
        ("Users with a key see a message", "Users without a key see a message"),
        ("When the file does not exist, an error is shown", "When the file exists, an error is shown"),
        ("Enabled rules are listed by name", "Disabled rules are listed by name"),
        ("A right PIN is accepted", "A wrong PIN is refused"),
        ("Search answers within 200 ms", "Search answers within 0.2 seconds"),
        ("`GET /a` answers with status 200", "`GET /b` answers with status 404"),
        ("Level 1 of the menu is shown to all members", "Level 2 of the menu is shown to all members"),
    ],
)
def test_two_demands_that_can_both_be_met_are_left_alone(one: str, other: str) -> None:
    assert list(find_contradictions([one, other])) == []


def test_a_criterion_that_asks_for_what_is_out_of_scope_is_found() -> None:
    rest = "## Out of Scope\n- **Excel files** \u2014 CSV opens everywhere\n- Export of members, for now\n"
    found = complaints(issue("`shelf export` writes Excel files too", "One row is written for each loan", rest=rest))
    (complaint,) = found
    assert (complaint.kind, complaint.is_serious) == (Class.CONTRADICTORY, True)
    assert '"Excel files"' in complaint.what
    assert complaint.lines == (12, 7)


@pytest.mark.parametrize("criterion", ["No Excel files are written", "Excel files are not touched", "A file is Excel"])
def test_what_agrees_with_the_scope_is_left_alone(criterion: str) -> None:
    assert contradicts_exclusion(criterion, "**Excel files** \u2014 later") == ""


def test_vague_criteria_are_quoted_with_their_line() -> None:
    (complaint,) = complaints(issue("The export feels modern", "One row is written for each loan"))
    assert (complaint.kind, complaint.is_serious, complaint.lines) == (Class.VAGUE, True, (9,))
    assert complaint.what == "line 9 \"The export feels modern\": no measure for 'modern'"


def test_criteria_that_only_say_that_it_works_are_vague() -> None:
    (complaint,) = complaints(issue("It works as expected", "Everything passes"))
    assert complaint.kind is Class.VAGUE


def test_an_issue_without_criteria_is_told_from_one_that_has_requirements() -> None:
    bare = f"# 1 - Export\n\n## Objective\n{PURPOSE}\n"
    (serious,) = complaints(bare)
    assert (serious.kind, serious.is_serious) == (Class.NO_CRITERIA, True)
    (note,) = complaints(f"{bare}\n## Requirements\n1. `shelf export` writes one row for each loan\n")
    assert (note.kind, note.is_serious) == (Class.NO_CRITERIA, False)


def test_too_little_and_too_much_are_told() -> None:
    assert Class.VAGUE in {complaint.kind for complaint in complaints("# Search\n\nMake it faster.\n")}
    many = issue(*(f"Column {number} of the export holds field {number}" for number in range(41)))
    assert [complaint.kind for complaint in complaints(many)] == [Class.TOO_LARGE]
    long = issue("One row is written for each loan", rest="Words and words. " * 15_000)
    assert [complaint.kind for complaint in complaints(long)] == [Class.TOO_LARGE]


def test_an_open_question_is_a_note_and_an_answered_one_nothing() -> None:
    rest = "## Open Questions\n- [ ] Which years?\n- [ ] Which currency? Default: euro\n"
    (note,) = complaints(issue("One row is written for each loan", rest=rest))
    assert (note.kind, note.is_serious, "Which years?" in note.what) == (Class.OPEN_QUESTION, False, True)


def test_what_the_workflow_would_refuse_is_unusable() -> None:
    assert [complaint.kind for complaint in complaints("nothing\n")] == [Class.UNUSABLE]
    assert [complaint.kind for complaint in complaints("", Workflow.ISSUE)] == [Class.UNUSABLE]


def test_of_the_examples_only_the_known_ones_are_complained_about() -> None:
    serious = {}
    for path in sorted(EXAMPLES.rglob("*.md")):
        workflow = Workflow.LLD if path.parent.name == "issues" else Workflow.ISSUE
        found = {complaint.kind for complaint in complaints(path.read_text("utf-8"), workflow) if complaint.is_serious}
        if found:
            serious[path.name] = found
    assert serious == {
        "21-faster-search.md": {Class.CONTRADICTORY},
        "28-screen-readers.md": {Class.VAGUE},
        "44-better-catalogue.md": {Class.VAGUE},
    }


CRITERIA = (
    "One row is written for each loan of the year",
    "An existing file is left as it is and exit code 2 is returned",
    "Rows are sorted by the first day of the loan, oldest first",
)


def test_the_later_of_two_that_say_the_same_is_a_duplicate() -> None:
    found = examine_texts(
        [
            issue(*CRITERIA, title="1 - Export loans to CSV"),
            issue("A label is printed for each item", title="2 - Print labels"),
            issue(*CRITERIA[:2], "Rows are sorted by day, oldest first", title="3 - Add a CSV export of loans"),
        ]
    )
    assert list(found) == ["3"]
    (complaint,) = found["3"].complaints
    assert (complaint.kind, complaint.is_serious) == (Class.DUPLICATE, True)
    assert "LLD-1 (Export loans to CSV)" in complaint.what


def test_a_double_is_told_also_when_the_original_is_not_asked_about() -> None:
    texts = [issue(*CRITERIA, title="1 - Export loans"), issue(*CRITERIA, title="2 - Loans for the treasurer")]
    assert list(examine_texts(texts, wanted=[2])) == ["2"]
    assert list(examine_texts(texts, wanted=[1])) == []


def test_items_of_one_mould_are_no_duplicates() -> None:
    assert examine_texts([ISSUE.format(number=number) for number in (1, 2, 10, 100, 1000, 10000)]) == {}
    things = ("loans", "members", "archived loans", "tools", "deposits")
    texts = [
        issue(f"One row is written for each of the {thing}", *CRITERIA[1:], title=f"{number} - Export {thing} to CSV")
        for number, thing in enumerate(things, 1)
    ]
    assert examine_texts(texts) == {}


def test_cycles_and_unknown_dependencies_are_told_with_their_lines() -> None:
    texts = [
        issue("A label is printed for each item", title="1 - Labels", rest="Depends on: #2"),
        issue("A deposit is recorded with its amount", title="2 - Deposits", rest="Depends on: #1, #77"),
        issue("A reminder is sent 2 days before", title="3 - Reminders", rest="Depends on: #900"),
    ]
    found = examine_texts(texts)
    assert [c.kind for c in found["1"].complaints] == [c.kind for c in found["2"].complaints] == [Class.CYCLE]
    assert "#1 -> #2 -> #1" in found["1"].complaints[0].what
    (note,) = found["3"].complaints
    assert (note.kind, note.is_serious, note.lines) == (Class.UNKNOWN_DEPENDENCY, False, (6,))


TEXTS = st.lists(
    st.sampled_from(
        [
            "# 7 - T\n",
            "## Acceptance Criteria\n",
            "- [ ] ",
            "## Out of Scope\n",
            "at most 10 ",
            "up to 20 items ",
            "`x` ",
            "is not ",
            "accepted ",
            "refused ",
            "\n",
            "| a | b |\n|---|---|\n",
            "Depends on: #7\n",
            "when ",
            ", ",
            "0.5 s ",
        ]
    ),
    max_size=50,
).map("".join)


@given(st.one_of(st.text(max_size=400), TEXTS), st.sampled_from(list(DRAFTING)))
def test_any_text_is_judged_without_an_error_and_always_alike(text: str, workflow: Workflow) -> None:
    found = complaints(text, workflow)
    assert found == complaints(text, workflow)
    last = text.count("\n") + 1
    for complaint in found:
        assert complaint.what
        assert complaint.advice
        assert all(1 <= line <= last for line in complaint.lines)
    examine_texts([text, text])
