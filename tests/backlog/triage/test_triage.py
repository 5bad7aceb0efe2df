"""The rules of triage: what is wrong is named with its words, and what is right is left
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.backlog.inbox import Source
from agentos.backlog.triage import Class, Complaint
from agentos.backlog.triage.backlog import Backlog, Judgment, examine
from agentos.backlog.triage.weaknesses import judge
from agentos.item import Item
from agentos.kinds import DRAFTING, Kind
from tests.support import ISSUE

EXAMPLES = Path(__file__).resolve().parents[3] / "examples/backlog/docs"

PURPOSE = "The treasurer adds up all loans of a year in a spreadsheet, and copies them by hand from the screen today."


def complaints(text: str, workflow: Kind = Kind.LLD) -> tuple[Complaint, ...]:
    return judge(text, workflow)[1]


def issue(*criteria: str, title: str = "12 - Export loans", rest: str = "") -> str:
    listed = "\n".join(f"- [ ] {criterion}" for criterion in criteria)
    return f"# {title}\n\n## Objective\n{PURPOSE}\n\n{rest}\n\n## Acceptance Criteria\n{listed}\n"


def examine_texts(
    texts: Sequence[str], wanted: Sequence[int] | None = None
) -> dict[str, Judgment]:
    items = [
        Item(Kind.LLD, str(number), f"docs/issues/{number}.md")
        for number in range(1, len(texts) + 1)
    ]
    chosen = items if wanted is None else [items[number - 1] for number in wanted]
    backlog = Backlog(
        items=chosen,
        known=items,
        names=items,
        rejects=(),
        load=lambda item: Source(texts[int(item.id) - 1], "digest"),
        ours="",
        is_elsewhere=lambda id: id == "77",
    )
    return {judgement.item.id: judgement for judgement in examine(backlog)}


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (
            "A loan may hold at most 10 items",
            "A loan may hold up to 20 items",
            "10 items or 20 items",
        ),
        (
            "Search in 50,000 items answers within 500 ms",
            "Search in 50,000 items answers within 0.2 s",
            "500 ms or 0.2 s",
        ),
        (
            "A PIN has at least 8 digits",
            "A PIN has at most 6 digits",
            "8 digits or 6 digits",
        ),
        (
            "A reservation lasts 7 days",
            "A reservation lasts 14 days",
            "7 days or 14 days",
        ),
        (
            "A PIN has exactly 9 digits",
            "A PIN has at most 6 digits",
            "9 digits or 6 digits",
        ),
        (
            "`shelf export` ends within 5 s and takes at most 10 MB",
            "`shelf export` ends within 5 s and takes at most 20 MB",
            "10 MB or 20 MB",
        ),
    ],
)
def test_two_figures_for_the_same_thing_are_found(
    one: str, other: str, told: str
) -> None:
    (complaint,) = complaints(issue(one, "Something else is shown to all", other))
    assert (complaint.kind, complaint.is_serious) == (Class.CONTRADICTORY, True)
    assert complaint.lines == (9, 11)
    assert complaint.what.endswith(f": {told}")
    (turned,) = complaints(issue(other, one))
    assert turned.kind is Class.CONTRADICTORY


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "A read is retried at most 5 times before an error is shown",
            "A write is retried at most 9 times before an error is shown",
        ),
        ("A PIN has at least 4 digits", "A PIN has at most 8 digits"),
        ("A PIN has exactly 6 digits", "A PIN has at most 8 digits"),
        ("A PIN has exactly 6 digits", "A PIN has at least 4 digits"),
        (
            "100 items are exported within 5 seconds",
            "1,000 items are exported within 30 seconds",
        ),
        (
            "95% of searches answer within 200 ms",
            "99% of searches answer within 500 ms",
        ),
        (
            "A member is reminded 2 days before the due day",
            "A member is reminded 7 days before the due day",
        ),
        (
            "A member may hold at most 3 loans of a branch",
            "A branch may hold at most 5 loans of a member",
        ),
        ("Search answers within 200 ms", "Search answers within 0.2 seconds"),
        ("`GET /a` answers with status 200", "`GET /b` answers with status 404"),
        (
            "Level 1 of the menu is shown to all members",
            "Level 2 of the menu is shown to all members",
        ),
        (
            "A missing list ends with exit code 4",
            "A missing list ends with exit code 5",
        ),
        ("An existing file is replaced", "An existing file is not replaced"),
        ("A file of at most 5 MB is read", "A file of at most 5 pages is read"),
    ],
)
def test_what_is_no_proven_conflict_of_figures_is_left_alone(
    one: str, other: str
) -> None:
    assert complaints(issue(one, other)) == ()
    assert complaints(issue(other, one)) == ()


def test_vague_criteria_are_quoted_with_their_line() -> None:
    (complaint,) = complaints(
        issue("The export feels modern", "One row is written for each loan")
    )
    assert (complaint.kind, complaint.is_serious, complaint.lines) == (
        Class.VAGUE,
        True,
        (9,),
    )
    assert (
        complaint.what == "line 9 \"The export feels modern\": no measure for 'modern'"
    )


def test_criteria_that_only_say_that_it_works_are_vague() -> None:
    (complaint,) = complaints(issue("It works as expected", "Everything passes"))
    assert complaint.kind is Class.VAGUE


def test_an_issue_without_criteria_is_told_from_one_that_has_requirements() -> None:
    bare = f"# 1 - Export\n\n## Objective\n{PURPOSE}\n"
    (serious,) = complaints(bare)
    assert (serious.kind, serious.is_serious) == (Class.NO_CRITERIA, True)
    (note,) = complaints(
        f"{bare}\n## Requirements\n1. `shelf export` writes one row for each loan\n"
    )
    assert (note.kind, note.is_serious) == (Class.NO_CRITERIA, False)


def test_too_little_and_too_much_are_told() -> None:
    assert Class.VAGUE in {
        complaint.kind for complaint in complaints("# Search\n\nMake it faster.\n")
    }
    many = issue(
        *(f"Column {number} of the export holds field {number}" for number in range(41))
    )
    assert [complaint.kind for complaint in complaints(many)] == [Class.TOO_LARGE]
    long = issue("One row is written for each loan", rest="Words and words. " * 15_000)
    assert [complaint.kind for complaint in complaints(long)] == [Class.TOO_LARGE]


def test_an_open_question_is_a_note_and_an_answered_one_nothing() -> None:
    rest = (
        "## Open Questions\n- [ ] Which years?\n- [ ] Which currency? Default: euro\n"
    )
    (note,) = complaints(issue("One row is written for each loan", rest=rest))
    assert (note.kind, note.is_serious, "Which years?" in note.what) == (
        Class.OPEN_QUESTION,
        False,
        True,
    )


def test_a_text_of_a_few_words_is_vague_and_not_unusable() -> None:
    found = complaints("make it better\n")
    assert [complaint.kind for complaint in found] == [Class.VAGUE, Class.NO_CRITERIA]
    (vague,) = complaints("make it better\n", Kind.ISSUE)
    assert vague.kind is Class.VAGUE


def test_a_missing_title_is_a_note() -> None:
    log = "".join(f"2024-03-04 11:00:0{second} INFO up\n" for second in range(9))
    note, *_ = complaints(log)
    assert (note.kind, note.is_serious) == (Class.VAGUE, False)
    assert note.what.startswith("no title")


def test_criteria_under_another_heading_are_only_a_note() -> None:
    (note,) = complaints(
        f"# 1 - Export\n\n## Background\n{PURPOSE}\n\n## Deliverables\n"
        "- `shelf export` writes one row for each loan\n"
    )
    assert (note.kind, note.is_serious) == (Class.NO_CRITERIA, False)


def test_of_the_examples_only_the_known_ones_are_complained_about() -> None:
    serious = {}
    for path in sorted(EXAMPLES.rglob("*.md")):
        workflow = Kind.LLD if path.parent.name == "issues" else Kind.ISSUE
        found = {
            complaint.kind
            for complaint in complaints(path.read_text("utf-8"), workflow)
            if complaint.is_serious
        }
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
            issue(
                *CRITERIA[:2],
                "Rows are sorted by day, oldest first",
                title="3 - Add a CSV export of loans",
            ),
        ]
    )
    assert list(found) == ["3"]
    (complaint,) = found["3"].complaints
    assert (complaint.kind, complaint.is_serious) == (Class.DUPLICATE, True)
    assert "LLD-1 (Export loans to CSV)" in complaint.what


def test_a_double_is_told_also_when_the_original_is_not_asked_about() -> None:
    texts = [
        issue(*CRITERIA, title="1 - Export loans"),
        issue(*CRITERIA, title="2 - Loans for the treasurer"),
    ]
    assert list(examine_texts(texts, wanted=[2])) == ["2"]
    assert list(examine_texts(texts, wanted=[1])) == []


def test_another_figure_for_a_thing_that_an_earlier_item_names_is_a_note() -> None:
    found = examine_texts(
        [
            issue("`shelf export` ends within 5 seconds", title="1 - Export loans"),
            issue("`shelf export` ends within 5 s", title="2 - Print labels"),
            issue("`shelf export` ends within 1 minute", title="3 - Deposits"),
        ]
    )
    assert list(found) == ["3"]
    (note,) = found["3"].complaints
    assert (note.kind, note.is_serious) == (Class.CONTRADICTORY, False)
    assert note.lines == (9,)
    assert note.what == (
        'line 9 "`shelf export` ends within 1 minute": 1 minute, but 5 seconds in LLD-1'
    )


def test_the_same_words_about_nothing_named_are_not_compared_between_items() -> None:
    found = examine_texts(
        [
            issue("The export ends within 5 seconds", title="1 - Export loans"),
            issue("The export ends within 60 seconds", title="2 - Export members"),
        ]
    )
    assert found == {}


def test_items_of_one_mould_are_no_duplicates() -> None:
    assert (
        examine_texts(
            [ISSUE.format(number=number) for number in (1, 2, 10, 100, 1000, 10000)]
        )
        == {}
    )
    things = ("loans", "members", "archived loans", "tools", "deposits")
    texts = [
        issue(
            f"One row is written for each of the {thing}",
            *CRITERIA[1:],
            title=f"{number} - Export {thing} to CSV",
        )
        for number, thing in enumerate(things, 1)
    ]
    assert examine_texts(texts) == {}


def test_cycles_and_unknown_dependencies_are_told_with_their_lines() -> None:
    texts = [
        issue(
            "A label is printed for each item",
            title="1 - Labels",
            rest="Depends on: #2",
        ),
        issue(
            "A deposit is recorded with its amount",
            title="2 - Deposits",
            rest="Depends on: #1, #77",
        ),
        issue(
            "A reminder is sent 2 days before",
            title="3 - Reminders",
            rest="Depends on: #900",
        ),
    ]
    found = examine_texts(texts)
    assert (
        [c.kind for c in found["1"].complaints]
        == [c.kind for c in found["2"].complaints]
        == [Class.CYCLE]
    )
    assert "#1 -> #2 -> #1" in found["1"].complaints[0].what
    (note,) = found["3"].complaints
    assert (note.kind, note.is_serious, note.lines) == (
        Class.UNKNOWN_DEPENDENCY,
        False,
        (6,),
    )


TEXTS = st.lists(
    st.sampled_from(
        [
            "# 7 - T\n",
            "## Acceptance Criteria\n",
            "- [ ] ",
            "at most 10 ",
            "up to 20 items ",
            "`x` ",
            "within 3 s ",
            "exactly ",
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
def test_any_text_is_judged_without_an_error_and_always_alike(
    text: str, workflow: Kind
) -> None:
    found = complaints(text, workflow)
    assert found == complaints(text, workflow)
    last = text.count("\n") + 1
    for complaint in found:
        assert complaint.what
        assert complaint.advice
        assert all(1 <= line <= last for line in complaint.lines)
    examine_texts([text, text])
