from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.brief import parse_brief
from agentos.documents.issue import FileChange, Question, parse_issue
from agentos.documents.issue_filing import filed_as, note_filing, split_issue
from agentos.documents.issue_spec import finalize_issue
from agentos.documents.ledger import Ledger

FIXTURES = Path(__file__).parent / "fixtures"


def read(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def test_a_large_issue_is_read_part_by_part() -> None:
    issue = parse_issue(read("tide_issue.md"))
    assert issue.title == "Warn harbour masters before a flood tide"
    assert issue.number is None
    assert issue.user_story.startswith("As a harbour master, I want a warning")
    assert len(issue.criteria) == 3
    assert [(r.text, r.group) for r in issue.requirements][1] == (
        "At most 40 harbours are watched at once",
        "Watching",
    )
    assert [scenario.title for scenario in issue.scenarios] == [
        "A warning goes out",
        "The forecast cannot be fetched",
    ]
    assert issue.files[0] == FileChange("tide/watch.py", "Add", "New watcher")
    assert issue.files[1].change == "Modify"
    assert issue.files[2].change == "Add"
    assert issue.technical_approach[0].startswith("**Polling:**")
    assert issue.out_of_scope == ("**Text messages** — Mail is enough",)
    assert issue.testing_notes[0].group == "Forcing Error States"
    assert issue.definition_of_done[1].group == "Documentation"
    assert issue.other == ()


def test_a_small_issue_has_its_number_and_context() -> None:
    issue = parse_issue(read("cli_issue.md"))
    assert (issue.number, issue.title) == (
        137,
        "Wire the batch module into the command line",
    )
    assert len(issue.criteria) == 3
    assert issue.context[0].startswith("Issue #106")
    assert issue.dependencies[0].startswith("Depends on: #106")


@pytest.mark.parametrize(
    ("heading", "number", "title"),
    [
        ("# 42 - Export", 42, "Export"),
        ("# Issue #42: Export", 42, "Export"),
        ("# #42 Export", 42, "Export"),
        ("# [42] - Export", 42, "Export"),
        ("# 42: Export", 42, "Export"),
        ("# 3 ways to fail", None, "3 ways to fail"),
        ("# Export", None, "Export"),
        ("# Issue tracker", None, "Issue tracker"),
        ("# 99999999999999 - Big", None, "99999999999999 - Big"),
    ],
)
def test_the_number_is_read_from_the_heading(
    heading: str, number: int | None, title: str
) -> None:
    issue = parse_issue(f"{heading}\n\n## Goal\nx\n")
    assert (issue.number, issue.title) == (number, title)


@pytest.mark.parametrize(
    "heading",
    ["Acceptance Criteria", "AC", "Acceptance", "3. Acceptance criteria", "Criteria"],
)
def test_criteria_are_found_under_the_headings_people_write(heading: str) -> None:
    assert parse_issue(f"# T\n\n## {heading}\n- [ ] one\n- two\n").criteria == (
        "one",
        "two",
    )


@pytest.mark.parametrize(
    "heading", ["Files to Create/Modify", "Files Changed", "Affected files", "Files"]
)
def test_files_are_read_from_lists_and_tables(heading: str) -> None:
    listed = parse_issue(
        f"# T\n\n## {heading}\n- `a/b.py` (new) - does x\n- Delete: `c.py`\n"
    )
    assert [(f.path, f.change) for f in listed.files] == [
        ("a/b.py", "Add"),
        ("c.py", "Delete"),
    ]
    table = parse_issue(
        f"# T\n\n## {heading}\n| File | Change | Description |\n|--|--|--|\n| `a.py` | Modify | x |\n"
    )
    assert table.files == (FileChange("a.py", "Modify", "x"),)


@pytest.mark.parametrize(
    ("header", "row", "text"),
    [
        ("| Days | Fee |", "| 1 to 7 | 1 EUR |", "Days: 1 to 7; Fee: 1 EUR"),
        ("| **Days** | `Fee` |", "| 1 | 2 |", "Days: 1; Fee: 2"),
        ("| | CSV | JSON |", "| Dates | ISO | |", "Dates; CSV: ISO"),
        ("| Rule |", "| Dates are ISO |", "Dates are ISO"),
        ("| # | Requirement | Owner |", "| 1 | Dates are ISO | Ann |", "Dates are ISO"),
    ],
)
def test_a_row_is_read_whole_unless_a_column_is_known(
    header: str, row: str, text: str
) -> None:
    columns = header.count("|") - 1
    rule = "|---" * columns + "|"
    issue = parse_issue(f"# T\n\n## Requirements\n{header}\n{rule}\n{row}\n")
    assert [note.text for note in issue.requirements] == [text]


def test_answered_questions_carry_their_answer() -> None:
    issue = parse_issue(
        "# T\n\n## Open Questions\n- [x] Which? **Answer: this**\n- [ ] When?\n- Where? Default: here\n- None\n"
    )
    assert issue.open_questions == (
        Question("Which?", "this"),
        Question("When?"),
        Question("Where?", "here"),
    )


def test_a_heading_of_a_part_is_no_title() -> None:
    issue = parse_issue("## User Story\nAs a user, I want x")
    assert issue.title == "As a user, I want x"
    assert parse_issue("# Bug\n\n## Login fails\n\nAlways.").title == "Login fails"


def test_nothing_but_a_title_states_nothing_else() -> None:
    issue = parse_issue("# Title\n\n## Notes\n")
    assert (issue.title, issue.criteria, issue.objective) == ("Title", (), "")


def test_unknown_sections_are_kept_by_heading() -> None:
    assert parse_issue("# T\n\nwhy\n\n## Rollout Plan\nslowly\n").other == (
        ("Rollout Plan", "slowly"),
    )


def test_criteria_quoted_in_a_fence_do_not_count() -> None:
    assert parse_issue("# T\n## AC\n- real\n```\n- quoted\n```\n").criteria == ("real",)


@given(st.text(max_size=400))
def test_no_text_breaks_the_issue_reader(text: str) -> None:
    issue = parse_issue(text)
    assert len(issue.title) <= len(text) + 1
    assert "\n" not in issue.title


def test_a_brief_has_problem_wishes_constraints_and_failures() -> None:
    brief = parse_brief(
        "# 7 - Remind\n\nPeople forget.\n\n## What we want\n- mail\n\n## Constraints\n- one a day\n\n"
        "## What goes wrong today\n- lost mail\n"
    )
    assert (brief.title, brief.number) == ("Remind", 7)
    assert brief.problem == ("People forget.",)
    assert (brief.wishes, brief.constraints, brief.failures) == (
        ("mail",),
        ("one a day",),
        ("lost mail",),
    )


def test_bullets_below_the_title_of_a_brief_are_wishes() -> None:
    assert parse_brief("# Labels\n\n- print\n- scan\n").wishes == ("print", "scan")


@given(st.text(max_size=400))
def test_no_text_breaks_the_brief_reader(text: str) -> None:
    parse_brief(text)


UNDERLINED = """\
12 - Export the stock
=====================

<details>
<summary>Where this comes from</summary>
## Acceptance Criteria
- [ ] not one
</details>

Objective
---------

Auditors get the stock as CSV.

Acceptance Criteria
-------------------

- [ ] One row for each crate:

  ```csv
  ## Out of Scope
  id,crate
  ```

- [ ] An empty stock gives the header alone
<!-- - [ ] hidden -->

Out of Scope
---
- Excel
"""


def test_an_issue_with_underlined_headings_is_read() -> None:
    issue = parse_issue(UNDERLINED)
    assert (issue.title, issue.number) == ("Export the stock", 12)
    assert issue.objective == "Auditors get the stock as CSV."
    assert issue.criteria == (
        "One row for each crate:",
        "An empty stock gives the header alone",
    )
    assert issue.out_of_scope == ("Excel",)


def test_notes_are_written_below_an_underlined_title() -> None:
    text = finalize_issue(
        UNDERLINED,
        item="12",
        status="approved",
        ledger=Ledger(),
        provenance="<!-- agentos x -->",
    )
    assert text.split("\n")[:5] == [
        "12 - Export the stock",
        "=====================",
        "",
        "**Brief:** #12",
        "**Status:** approved",
    ]
    filed = note_filing(text, "owner/depot#7")
    assert filed_as(filed) == "owner/depot#7"
    assert split_issue(filed).title == "Export the stock"
    assert parse_issue(filed).criteria == parse_issue(UNDERLINED).criteria
