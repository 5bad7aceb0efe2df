"""What of an approved issue goes to a tracker, and the line that says where it went."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.issue_filing import filed_as, note_filing, split_issue
from agentos.documents.ledger import Ledger
from agentos.documents.review_log import append_log

PROVENANCE = "<!-- agentos: workflow=issue/2 input=sha256:00ff -->"
DRAFT = """\
# 41 - Remind members

**Brief:** #41
**Status:** APPROVED

## Objective

Remind them.

```text
<!-- agentos: in code this stays -->
```

## Acceptance Criteria

- [ ] A mail is sent
"""
ISSUE = append_log(DRAFT, status="APPROVED", ledger=Ledger(), provenance=PROVENANCE)


def test_the_title_has_no_number_and_the_body_no_notes_and_no_log() -> None:
    filable = split_issue(ISSUE)
    assert filable.title == "Remind members"
    assert filable.body.startswith("## Objective\n")
    assert filable.body.endswith("- [ ] A mail is sent\n")
    assert "<!-- agentos: in code this stays -->" in filable.body


def test_the_line_is_put_below_the_notes_and_everything_else_stays() -> None:
    noted = note_filing(ISSUE, "acme/shop#7")
    assert (
        "**Brief:** #41\n**Status:** APPROVED\n**Filed:** acme/shop#7\n\n## Objective"
        in noted
    )
    assert noted.replace("**Filed:** acme/shop#7\n", "") == ISSUE
    assert noted.rstrip().endswith(PROVENANCE)
    assert split_issue(noted) == split_issue(ISSUE)


def test_a_later_line_replaces_an_earlier_one() -> None:
    twice = note_filing(note_filing(ISSUE, "acme/shop#7"), "acme/shop#8")
    assert filed_as(twice) == "acme/shop#8"
    assert twice.count("**Filed:**") == 1


def test_a_line_further_down_says_nothing() -> None:
    assert filed_as(ISSUE + "\n**Filed:** acme/shop#1\n") == ""


def test_an_issue_without_a_heading_has_no_title_and_can_be_noted_all_the_same() -> (
    None
):
    assert split_issue("Just text.\n").title == ""
    assert filed_as(note_filing("Just text.\n", "a/b#1")) == "a/b#1"


@given(st.text(alphabet=st.sampled_from("#*- \n\t`<>!:ab1\ufeff"), max_size=200))
def test_any_text_can_be_split_and_noted_and_noting_twice_is_noting_once(
    text: str,
) -> None:
    split_issue(text)
    once = note_filing(text, "a/b#1")
    assert filed_as(once) == "a/b#1"
    assert note_filing(once, "a/b#1") == once


@pytest.mark.slow
def test_a_huge_document_is_split_and_noted() -> None:
    text = "# 1 - T\n" + "**Status:** x\n" * 50_000 + "<!-- agentos: x\n" * 50_000
    assert split_issue(text).body == ""
    assert filed_as(note_filing(text, "a/b#1")) == "a/b#1"
