"""Issues and briefs of every shape are read as a person reads them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.brief import parse_brief
from agentos.documents.issue import parse_issue
from agentos.documents.issue_title import title_of_file, with_title
from agentos.documents.shapes import is_blank
from tests.documents.issues import Shape, read_shapes

ISSUES = tuple(read_shapes("issues"))
BRIEFS = tuple(read_shapes("briefs"))


def flat(text: str) -> str:
    return " ".join(text.replace("*", "").split()).rstrip(".")


def flatten(texts: tuple[str, ...]) -> list[str]:
    return [flat(text) for text in texts]


def read(shape: Shape) -> str:
    text = shape.path.read_bytes().decode()
    return with_title(text, title_of_file(shape.path.stem))


def test_there_are_enough_shapes() -> None:
    assert len(ISSUES) + len(BRIEFS) >= 30


@pytest.mark.parametrize("shape", ISSUES, ids=str)
def test_an_issue_has_the_title_and_the_criteria_that_a_person_finds(
    shape: Shape,
) -> None:
    issue = parse_issue(read(shape))
    assert flat(issue.title) == flat(shape.title)
    assert flatten(issue.criteria) == flatten(shape.criteria)


@pytest.mark.parametrize("shape", BRIEFS, ids=str)
def test_a_brief_has_the_title_and_the_wishes_that_a_person_finds(
    shape: Shape,
) -> None:
    brief = parse_brief(read(shape))
    assert flat(brief.title) == flat(shape.title)
    assert flatten(brief.wishes) == flatten(shape.criteria)


@pytest.mark.parametrize(
    "heading",
    [
        "## Acceptance Criteria",
        "## Deliverables",
        "### Desired behavior",
        "### Expected behaviour",
        "## Requirements",
        "## Definition of done",
        "## Tasks",
        "## What should happen",
        "## Goals",
        "## Proposal",
        "## Proposed solution",
        "## To do",
        "### What did you expect to happen?",
        "### Describe the solution you'd like",
        "**Expected behavior**",
        "**Expected behavior:**",
        "Expected behavior:",
        "EXPECTED BEHAVIOR",
        "h3. Acceptance criteria",
        "Deliverables\n------------",
        "## Akzeptanzkriterien",
        "## Comportement attendu",
        "## Criterios de aceptación",
    ],
)
@pytest.mark.parametrize(
    "entries",
    [
        "- [ ] it rings\n- [x] it stops\n",
        "* it rings\n* it stops\n",
        "1. it rings\n2. it stops\n",
        "| Criterion | Who |\n|---|---|\n| it rings | Ann |\n| it stops | Bo |\n",
    ],
)
def test_criteria_are_found_under_every_usual_heading(
    heading: str, entries: str
) -> None:
    text = f"# Bell\n\nA bell at the door.\n\n{heading}\n\n{entries}"
    assert parse_issue(text).criteria == ("it rings", "it stops")


def test_criteria_of_their_own_win_over_everything_else() -> None:
    issue = parse_issue(
        "# T\n\nIt should shine.\n\n## Goals\n- a\n\n## Tasks\n- b\n\n## AC\n- c\n"
    )
    assert (issue.criteria, issue.has_criteria) == (("c",), True)
    issue = parse_issue("# T\n\n## Goals\n- a\n\n## Tasks\n- b\n")
    assert (issue.criteria, issue.has_criteria) == (("b",), False)


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        ("# T\n\nWe have to restart it daily. It should not.\n", ("It should not.",)),
        ("# T\n\nWhat should I do? I must be missing something.\n", ()),
        ("# T\n\nAs a user I want to see it, which I should not need.\n", ()),
        ("# T\n\nValueError: the value must be positive\n", ()),
        ("# T\n\n## Expected\nIt holds e.g. two. Then it ends.\n", None),
        ("# T\n\n## Tasks\n_No response_\n", ()),
        ("# T\n\n## Tasks\n![shot](a.png)\nhttps://x.example/1\n", ()),
    ],
)
def test_only_sentences_that_demand_something_are_criteria(
    text: str, criteria: tuple[str, ...] | None
) -> None:
    if criteria is None:
        criteria = ("It holds e.g. two.", "Then it ends.")
    assert parse_issue(text).criteria == criteria


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'Move it'\nlabels: a\n---\n\nNow.\n", "Move it"),
        ("---\nlabels: a\n---\n\nNow.\n", "Now"),
        ("Subject: Move it\n\nHi,\n\nplease.\n", "Move it"),
        ("Hi all,\n\nthe door is open\n\nThanks!\n", "the door is open"),
        ("# Bug report\n\n## The door is open\n\nAlways.\n", "The door is open"),
        ("### What happened?\n\nThe door was open. Again.\n", "The door was open"),
        ("Traceback (most recent call last):\n  File x\nKeyError: 1\n", ""),
        ("word " * 100, "word " * 29 + "word…"),
        ("- [ ] open\n- [ ] close\n", "open"),
        ("> Quoted from afar\n", "Quoted from afar"),
    ],
)
def test_the_title_is_found_where_people_put_it(text: str, title: str) -> None:
    assert parse_issue(text).title == title
    assert parse_brief(text).title == title


def test_what_is_quoted_or_folded_counts_where_nothing_else_is_said() -> None:
    quoted = "# T\n\n> - one\n> - two\n"
    folded = (
        "# T\n\n<details>\n<summary>Brief</summary>\n\n- one\n- two\n\n</details>\n"
    )
    copied = "# T\n\n## Original Brief\n\n- one\n- two\n"
    for text in (quoted, folded, copied):
        assert parse_issue(text).criteria == ("one", "two")
        assert parse_issue(f"{text}\n## Tasks\n- three\n").criteria == ("three",)


@pytest.mark.parametrize(
    "printed",
    [
        "Traceback (most recent call last):\n  File a\n    b\nStopIteration",
        "Traceback (most recent call last):\nx.Error: it should be 1",
        '  File "a.py", line 3, in should',
        "at com.acme.Should.must(Should.java:12)",
        "2024-03-04 11:00:01 it should be up",
        "[11:00:01] it should be up",
        "[ERROR] it should be up",
        "WARNING: it should be up",
        ">>> must(1)",
        "$ should --now",
        "Caused by: java.lang.Error, it should be up",
    ],
)
def test_what_a_machine_printed_is_neither_title_nor_criterion(printed: str) -> None:
    issue = parse_issue(f"{printed}\n")
    assert (issue.title, issue.criteria, issue.objective) == ("", (), "")
    assert parse_brief(f"{printed}\n").title == ""
    issue = parse_issue(f"It stops\n\n{printed}\n\nIt should go on.\n")
    assert (issue.title, issue.criteria) == ("It stops", ("It should go on.",))


def test_a_review_log_is_never_read() -> None:
    log = "## Appendix: Review Log\n\n- [ ] F1: the sender should be named\n"
    assert parse_issue(f"# T\n\n{log}").criteria == ()


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("42-broken-layout", "Broken layout"),
        ("42", ""),
        ("issue-42_crash on.start", "Crash on start"),
        ("audit-trail", "Audit trail"),
    ],
)
def test_the_name_of_a_file_is_its_last_title(name: str, title: str) -> None:
    assert title_of_file(name) == title


def test_a_title_is_given_to_a_text_without_one() -> None:
    assert with_title("- one\n", "Name") == "# Name\n\n- one\n"
    assert with_title("One line\n", "Name") == "One line\n"
    assert with_title("- one\n", "") == "- one\n"
    front = with_title("---\nlabels: a\n---\n- one\n", "Name")
    assert parse_issue(front).title == "Name"


@pytest.mark.parametrize("text", ["", " \n\t\n", "<!-- a\nb -->\n", "<!-- open"])
def test_a_text_without_a_word_is_blank(text: str) -> None:
    assert is_blank(text)
    assert not is_blank(f"x\n{text}")


@given(st.text(alphabet="# >-*_|`~:<>/!?.[]() \n\taAzZ019é", max_size=300))
def test_no_marks_break_the_readers(text: str) -> None:
    issue = parse_issue(text)
    brief = parse_brief(text)
    assert "\n" not in issue.title + brief.title
    assert all(issue.criteria)
    assert with_title(text, "") == text


HOSTILE = {
    "quotes": "> " * 400_000,
    "bold": "**a" * 300_000,
    "bold lines": "**a**\n" * 15_000,
    "labels": "Expected: a\n" * 19_000,
    "details": "<details>\n" * 19_000,
    "sentences": "It must. " * 100_000,
    "e.g.": "e.g. " * 200_000,
    "tracebacks": "Traceback (most recent call last):\n  x\n" * 9_000,
    "names": "a." * 490_000 + "!",
    "images": "![](" * 240_000,
    "links": "http://" * 140_000,
    "front": "---\n" + "a:\n" * 19_000,
    "boxes": "- [ ] a\n" * 19_000,
    "code": "```\n" + "# should should\n" * 19_000,
    "no sentence": "x " * 490_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_read_in_linear_time(name: str) -> None:
    text = HOSTILE[name][:1_000_000]
    started = time.process_time()
    parse_issue(text)
    parse_brief(text)
    assert time.process_time() - started < 40
