"""A verdict is about the text, not about what is written after it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.issue_spec import finalize_issue
from agentos.documents.judged_text import (
    STAMP_START,
    has_log,
    is_edited,
    source_hash,
    stamp_text,
    stamped_hash,
    text_hash,
    without_log,
)
from agentos.documents.ledger import Ledger, Said, record_review
from agentos.documents.lld import finalize_lld
from agentos.documents.verdict import Decision, Verdict

DRAFT = """\
# 7 - Feature: Export

## 1. Context & Goal
* **Issue:** 7
* **Objective:** Members are exported.
* **Status:** Draft

## 3. Requirements
1. `export` writes a file.
"""
STAMP = f"<!-- agentos: workflow=lld/1 input=sha256:{'a' * 64} -->"
LEDGER, _ = record_review(
    Ledger(), Verdict(Decision.APPROVED, "Good."), Said("a model", "today"), "t", "s"
)


def finish(draft: str = DRAFT) -> str:
    text = finalize_lld(
        draft, item="7", status="APPROVED", ledger=LEDGER, provenance=STAMP
    )
    return stamp_text(text)


def test_a_finished_design_has_the_hash_of_its_draft() -> None:
    final = finish()
    assert stamped_hash(final) == text_hash(DRAFT) == text_hash(final)
    assert not is_edited(final)
    assert final.endswith(f" input=sha256:{'a' * 64} -->\n")
    assert without_log(final).strip().endswith("1. `export` writes a file.")


def test_a_finished_issue_has_the_hash_of_its_draft() -> None:
    draft = "# Issue #7: Export\n\n## Objective\nExport.\n"
    text = finalize_issue(
        draft, item="7", status="APPROVED", ledger=LEDGER, provenance=STAMP
    )
    assert text_hash(text) == text_hash(draft)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("writes a file", "writes two files"),
        ("Members are", "All members are"),
        ("## 3. Requirements", "## 3. Requirements\n\nText."),
    ],
)
def test_an_edit_of_the_text_is_noticed(old: str, new: str) -> None:
    assert is_edited(finish().replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("**Status:** APPROVED", "**Status:** Approved"),
        ("* **Reviews:** 1\n", ""),
        ("Good.", "Very good."),
        ("\n\n## 3.", "\n\n\n## 3."),
        ("\n", "\r\n"),
    ],
)
def test_what_was_written_after_the_verdict_may_change(old: str, new: str) -> None:
    final = finish()
    assert old in final
    assert not is_edited(final.replace(old, new))


def test_a_document_without_a_hash_is_not_called_edited() -> None:
    assert not is_edited(DRAFT)
    assert not is_edited(f"{DRAFT}\n{STAMP}\n")


@pytest.mark.parametrize("document", [DRAFT, finish(), f"{DRAFT}\n{STAMP}\n"])
def test_a_stamp_is_put_once(document: str) -> None:
    once = stamp_text(document)
    assert stamp_text(once) == once
    assert once.count("text=sha256:") == 1
    assert not is_edited(once)
    assert is_edited(once.replace("writes a file", "writes none"))


def test_a_log_that_speaks_of_review_logs_is_no_part_of_the_text() -> None:
    log = "\n".join(["The review log is long."] * 30)
    assert text_hash(f"{DRAFT}\n## Appendix: Review Log\n\n{log}\n") == text_hash(DRAFT)


def test_a_line_full_of_stamps_is_read_in_linear_time() -> None:
    text = STAMP_START * 28_000
    started = time.process_time()
    assert not is_edited(text)
    assert text_hash(text) != text_hash(DRAFT)
    assert time.process_time() - started < 1


@given(st.text(max_size=300))
def test_no_text_breaks_the_hash(text: str) -> None:
    assert not is_edited(stamp_text(text))
    assert source_hash(text) == source_hash(f"{text}\n \n")


def test_a_log_or_a_stamp_is_recognized() -> None:
    assert not has_log(DRAFT)
    assert has_log(finish())
    assert has_log(f"{DRAFT}\n{STAMP}\n")
