from __future__ import annotations

from agentos.documents.brief import parse_brief
from agentos.documents.clarity import asserts_nothing, vague_words
from agentos.documents.hazards import has_secret
from agentos.documents.issue import parse_issue
from agentos.documents.issue_spec import check_issue_spec, finalize_issue, wish_coverage
from agentos.documents.ledger import Ledger
from agentos.documents.words import figures
from agentos.state.path_rules import unsafe_path

BRIEF = parse_brief(
    "# 9 - Labels\n\nNumbers are wrong.\n\n## Wishes\n- Print 24 labels on a sheet\n- Scan a label\n"
)
ISSUE = """# 9 - Labels

## User Story
As a volunteer, I want labels, so that numbers are right.

## Objective
Print and scan labels.

## Requirements
1. Print 24 labels on a sheet
2. Scan a label

## Acceptance Criteria
- [ ] A sheet has 24 labels
- [ ] Scanning a label selects its item
"""


LONG = (
    ISSUE
    + "\n## Testing Notes\n\n"
    + "".join(f"- Scan label {n} of a sheet\n" for n in range(1, 50))
)


def ids(text: str, previous: str | None = None) -> set[str]:
    before = parse_issue(previous) if previous is not None else None
    return {
        finding.id for finding in check_issue_spec(parse_issue(text), BRIEF, before)
    }


def test_a_complete_issue_passes() -> None:
    assert ids(ISSUE) == set()
    assert all(row.covered for row in wish_coverage(parse_issue(ISSUE), BRIEF))


def test_a_wish_that_nothing_takes_up_is_told() -> None:
    shorter = ISSUE.replace("2. Scan a label\n", "").replace(
        "- [ ] Scanning a label selects its item\n", ""
    )
    assert "hint-wish-W2" in ids(shorter)


def test_missing_parts_are_told() -> None:
    assert {"no-user-story", "no-criteria"} <= ids(
        "# 9 - Labels\n\n## Objective\nx\n\n## Requirements\n- Print TBD\n"
    )


def test_every_finding_names_a_line() -> None:
    broken = (
        ISSUE.replace("2. Scan a label\n", "2. TBD\n").replace(
            "## Objective", "## Nothing"
        )
        + "\n```\nopen"
    )
    found = check_issue_spec(parse_issue(broken), BRIEF, parse_issue(LONG))
    assert {"truncated", "lost-section-objective", "hint-shrunk"} <= {
        finding.id for finding in found
    }
    lines = [finding.text.partition(":")[0].removeprefix("Line ") for finding in found]
    assert all(1 <= int(line) <= broken.count("\n") + 1 for line in lines)


def test_a_revision_that_loses_a_section_is_told() -> None:
    assert ids(ISSUE, previous=ISSUE) == set()
    shorter = LONG.replace(
        "".join(f"- Scan label {n} of a sheet\n" for n in range(9, 50)), ""
    )
    assert ids(ISSUE, previous=LONG) == {"lost-section-testing-notes", "hint-shrunk"}
    assert ids(shorter, previous=LONG) == {
        "hint-shrunk-section-testing-notes",
        "hint-shrunk",
    }


def test_a_revision_that_swells_is_told() -> None:
    assert ids(ISSUE + "\n## Notes\n\n" + "word " * 5000, previous=ISSUE) == {
        "hint-grown"
    }


def test_an_echo_of_the_prompt_is_told() -> None:
    assert ids(ISSUE + "\n## Original Brief\n\nNumbers are wrong.\n") == {"hint-echo"}
    assert ids(ISSUE + "\nBRIEF>>>\n") == {"hint-echo"}


def test_a_part_called_instructions_is_no_echo_when_the_issue_goes_on() -> None:
    assert ids(
        "# 9 - T\n\n## Instructions\n\nPress once.\n\n" + ISSUE.split("\n", 1)[1]
    ) == ids(ISSUE)
    last = ISSUE.rindex("\n## ")
    assert ids(
        ISSUE[:last] + "\n## Instructions\n\nPress once.\n" + ISSUE[last:]
    ) == ids(ISSUE)


def test_a_placeholder_keeps_its_id_when_lines_move() -> None:
    flawed = ISSUE.rstrip() + "\n\n## Notes\n\nThe limit is TBD.\n"
    moved = flawed.replace("\n\n", "\n\n\n").replace(
        "The limit is", "Some words more.\n\nThe limit is"
    )
    assert ids(flawed) == ids(moved) == {"hint-placeholder-notes-tbd"}


def test_a_cut_off_issue_is_told() -> None:
    assert ids("```markdown\n" + ISSUE) == {"truncated"}
    assert ids(
        ISSUE + "\n## Files\n\n| File | Change |\n|---|---|\n| `a.py` | Add |\n| `b"
    ) == {"truncated"}


def test_an_issue_in_a_fence_is_read_as_one() -> None:
    assert ids(f"Here is the issue:\n\n```markdown\n{ISSUE}```\n") == set()


def test_a_final_issue_has_status_log_and_stamp() -> None:
    text = finalize_issue(
        ISSUE,
        item="9",
        status="approved",
        ledger=Ledger(),
        provenance="<!-- agentos x -->",
    )
    again = finalize_issue(
        text,
        item="9",
        status="approved",
        ledger=Ledger(),
        provenance="<!-- agentos x -->",
    )
    assert text == again
    assert "**Status:** approved" in text
    assert parse_issue(text).criteria == parse_issue(ISSUE).criteria
    assert text.endswith("<!-- agentos x -->\n")


def test_secrets_are_seen_and_cut_out() -> None:
    for secret in (
        "ghp_" + "a" * 36,
        "AKIA" + "A1B2" * 4,
        'password = "hunter22x"',
        "https://me:s3cr3tpw@host",
    ):
        assert has_secret(f"use {secret} here")
    for harmless in (
        "the token is read",
        "task-force",
        "password: {password}",
        "`AGENTOS_KEY`",
        "https://host/a:b",
    ):
        assert not has_secret(harmless)


def test_paths_outside_the_repository_are_refused() -> None:
    assert unsafe_path("src/a.py") is None
    for path in (
        "/etc/x",
        "../x",
        "a/../../x",
        "~/x",
        "C:\\x",
        "..\\x",
        "",
        ".git/config",
        "a/.GIT/x",
    ):
        assert unsafe_path(path)


def test_equal_figures_are_equal_in_any_unit() -> None:
    (minute,), (seconds,) = figures("within 1 minute"), figures("within 60 seconds")
    assert minute.value == seconds.value
    assert figures("LLD-42 and `R3` and #7") == ()


def test_vague_claims_are_told_from_measured_ones() -> None:
    assert vague_words("The page is fast and user-friendly") == (
        "fast",
        "user-friendly",
    )
    assert not vague_words("The page loads within 200 ms, so it is fast")
    assert not vague_words("Failed workflows do not affect other workflows")


def test_an_empty_assertion_is_seen() -> None:
    assert asserts_nothing("Works correctly as expected")
    assert not asserts_nothing("Exit code 0")
