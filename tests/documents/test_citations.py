"""Requirements are cited in many forms; all of them count."""

from __future__ import annotations

import pytest

from agentos.documents.lld import parse_lld
from agentos.documents.lld.citations import KnownIds, find_named, read_cited, split_id

KNOWN = KnownIds(["R1", "R2", "R3", "R4"])


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("R3", "R3"),
        ("r3", "R3"),
        ("REQ-3", "R3"),
        ("REQ-003", "R3"),
        ("Req 3", "R3"),
        ("requirement 3", "R3"),
        ("Requirements 1 and 3", "R1 R3"),
        ("#3", "R3"),
        ("3", "R3"),
        ("3.3", "R3"),
        ("§3.3", "R3"),
        ("Section 3.3", "R3"),
        ("AC-3", "R3"),
        ("AC3", "R3"),
        ("criterion 3", "R3"),
        ("[R3]", "R3"),
        ("**R3**", "R3"),
        ("`R3`", "R3"),
        ("R1-R3", "R1 R2 R3"),
        ("R1\u2013R3", "R1 R2 R3"),
        ("R1..R3", "R1 R2 R3"),
        ("R1 to R3", "R1 R2 R3"),
        ("R1-3", "R1 R2 R3"),
        ("1-3", "R1 R2 R3"),
        ("R1, R2 and R4", "R1 R2 R4"),
        ("R1/R2", "R1 R2"),
        ("R1 R2", "R1 R2"),
        ("R1 & R2", "R1 R2"),
        ("R1<br>R2", "R1 R2"),
        ("1, 2; 4", "R1 R2 R4"),
        ("R1, 2", "R1 R2"),
        ("R1 (12 items), R2", "R1 R2"),
        ("3 (see above)", "R3"),
        ("R1: in time; R3", "R1 R3"),
        ("All", "R1 R2 R3 R4"),
        ("R2, speed", "R2"),
        ("R9", "R9"),
        ("9", "R9"),
        ("", ""),
        ("-", ""),
        ("n/a", ""),
        ("Labels within 3 seconds", ""),
        ("AC-9", ""),
        ("HTTP 404", ""),
        ("version 1.3", ""),
    ],
)
def test_a_cell_of_citations_is_read(cell: str, expected: str) -> None:
    assert sorted(read_cited(cell, KNOWN)) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Label in time (REQ-3)", "R3"),
        ("Label in time (R1, R3)", "R1 R3"),
        ("Label in time [R1-R2]", "R1 R2"),
        ("covers requirement 2", "R2"),
        ("answers 404 within 3 s", ""),
        ("a PR2 or R2D2", ""),
        ("Label in time (R9)", "R9"),
        ("resistor R9 of 3 ohm", ""),
    ],
)
def test_a_citation_in_other_words_is_read(text: str, expected: str) -> None:
    assert sorted(find_named(text, KNOWN)) == expected.split()


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("R2: `apply` adds 1", ("R2", "`apply` adds 1")),
        ("**R2**: `apply` adds 1", ("R2", "`apply` adds 1")),
        ("**R2:** `apply` adds 1", ("R2", "`apply` adds 1")),
        ("**R2**:`apply` adds 1", ("R2", "`apply` adds 1")),
        ("`R2`: `apply` adds 1", ("R2", "`apply` adds 1")),
        ("[R2] `apply` adds 1", ("R2", "`apply` adds 1")),
        ("**R2** `apply` adds 1", ("R2", "`apply` adds 1")),
        ("R2 - *all* of it", ("R2", "*all* of it")),
        ("R2: -5 is refused", ("R2", "-5 is refused")),
        ("R2 \u2014 .gitignore is read", ("R2", ".gitignore is read")),
        ("** R2 **: text", ("R2", "text")),
        ("**`R2`:** text", ("R2", "text")),
        ("(REQ-2) text", ("R2", "text")),
        ("REQ-2. text", ("R2", "text")),
        ("R2", ("", "R2")),
        ("text", ("", "text")),
    ],
)
def test_an_item_is_split_from_its_own_id(item: str, expected: tuple[str, str]) -> None:
    assert split_id(item) == expected


def test_another_numbering_is_found_by_its_number() -> None:
    known = KnownIds(["FR1", "FR2", "NFR3"])
    assert read_cited("R1, 2, REQ-3", known) == ("FR1", "FR2", "NFR3")
    assert read_cited("L-2b", KnownIds(["L-2b"])) == ("L-2b",)
    assert read_cited("AC-9", KnownIds(["AC1"])) == ("AC9",)


def test_a_long_cell_is_read_in_a_moment() -> None:
    for text in ("(" * 100_000, "(a" * 50_000, "R1-" * 50_000, "R1-R9999999 " * 9_000):
        assert len(read_cited(text, KNOWN)) <= 500
        find_named(text, KNOWN)


def test_a_matrix_of_one_column_or_without_end_is_read() -> None:
    head = "# 1 - T\n\n## 3. Requirements\n\n1. x\n\n## 10. Testing\n\n"
    plan = "| ID | Expected |\n|---|---|\n| T1 | 1 |\n\n"
    alone = "| Test of requirement |\n|---|\n| R1 |\n"
    assert not parse_lld(head + plan + alone).cites_requirements
    rows = "| All | T1, T1 |\n" * 20_000
    many = f"| Requirement | Scenarios |\n|---|---|\n{rows}"
    assert parse_lld(head + plan + many).scenarios[0].requirements == ("R1",)
