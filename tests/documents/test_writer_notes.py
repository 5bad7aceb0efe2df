"""What a writer says about findings stands in a block after its document."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentos.documents.findings import Quote
from agentos.documents.ledger import Contest
from agentos.documents.verdict import SourceError
from agentos.documents.writer_notes import WriterNotes, split_notes

DOCUMENT = "# 7 - Feature: Export\n\n```python\nx = 1\n```\n"


def notes_of(*lines: str) -> WriterNotes:
    block = "\n".join(["```notes", *lines, "```"])
    text, notes = split_notes(f"{DOCUMENT}\n{block}\n")
    assert text.strip() == DOCUMENT.strip()
    return notes


def test_a_line_for_each_finding_is_read() -> None:
    notes = notes_of(
        "F1: done, section 2.5",
        "F2: contested, src/export.py:120 `with open(path) as file:` - it is closed",
        "F3: declined, the issue gives this name",
        'issue: "sorted by name" - src/export.py:44 `sorted(x, key=ids)` - by id stays',
    )
    assert notes.done == ("F1: section 2.5",)
    quote = Quote("src/export.py", 120, "with open(path) as file:")
    assert notes.contests == (Contest("F2", "it is closed", quote),)
    assert notes.declined == (Contest("F3", "the issue gives this name"),)
    code = Quote("src/export.py", 44, "sorted(x, key=ids)")
    assert notes.source_errors == (SourceError("sorted by name", code, "by id stays"),)


@pytest.mark.parametrize(
    "line",
    [
        "- F2: contested, a.py:3 `x` - no",
        "**F2**: contested - a.py:3: `x`: no",
        "F2 - disputed: no; a.py:3 ``x``",
        "`F2`: Contested. a.py:3-5 `x` no",
    ],
)
def test_lines_may_be_written_in_the_usual_ways(line: str) -> None:
    (found,) = notes_of(line).contests
    assert found == Contest("F2", "no", Quote("a.py", 3, "x"))


def test_a_contest_without_a_line_of_code_is_one_all_the_same() -> None:
    assert notes_of("F2: contested, the issue says so").contests == (
        Contest("F2", "the issue says so"),
    )


@pytest.mark.parametrize(
    "line",
    ["", "F2", "F2: maybe", "Everything is done.", "issue: wrong", "issue: a.py:3 `x`"],
)
def test_what_says_nothing_is_nothing(line: str) -> None:
    assert notes_of(line) == WriterNotes()


@pytest.mark.parametrize(
    "answer",
    [
        DOCUMENT,
        f"{DOCUMENT}\n```notes\nF1: done",
        f"{DOCUMENT}\n```\nnotes\n```\n",
    ],
    ids=["none", "open", "other"],
)
def test_an_answer_without_a_whole_block_stays_as_it_is(answer: str) -> None:
    assert split_notes(answer) == (answer, WriterNotes())


@pytest.mark.parametrize(
    "rest",
    [
        "a" * 300 + ":1" + " " * 1_600 + "x",
        "a:1" + "`" * 1_000 + "x" * 900,
    ],
    ids=["space", "marks"],
)
def test_a_long_line_is_read_in_linear_time(rest: str) -> None:
    line = f"F1: contested, {rest}"
    started = time.process_time()
    notes = notes_of(*[line] * 100)
    assert len(notes.contests) == 100
    assert time.process_time() - started < 1


@given(st.text(alphabet="F1:` notes\n#acontested.py-", max_size=200))
def test_no_text_breaks_the_reader(text: str) -> None:
    split_notes(text)
    split_notes(f"{DOCUMENT}```notes\n{text}\n```")
