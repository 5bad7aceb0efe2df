from __future__ import annotations

import pytest

from agentos.documents.markdown import scan
from agentos.documents.tables import split_row, tables


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        ("| a | b |", ("a", "b")),
        ("a | b", ("a", "b")),
        ("| a \\| b | c |", ("a | b", "c")),
        ("| `a|b` | c |", ("`a|b`", "c")),
        ("| `a\\|b` | c |", ("`a|b`", "c")),
        ("| a | |", ("a", "")),
    ],
)
def test_a_row_of_two_cells_is_read_in_any_shape(
    row: str, cells: tuple[str, ...]
) -> None:
    assert split_row(row, 2) == cells


def test_an_odd_backtick_does_not_swallow_a_row_that_fits() -> None:
    assert split_row("| a ` b | c |", 2) == ("a ` b", "c")


@pytest.mark.parametrize(
    "rule", ["|---|---|", "|:--|--:|", "|:-:|:-:|", "--- | ---", "| - | - |"]
)
def test_every_alignment_makes_a_table(rule: str) -> None:
    assert tables(scan(f"| a | b |\n{rule}\n| 1 | 2 |"))[0].rows == (("1", "2"),)


@pytest.mark.parametrize("rule", ["|-:-|---|", "|   |", "| = |", "text"])
def test_another_line_makes_none(rule: str) -> None:
    assert tables(scan(f"| a | b |\n{rule}\n| 1 | 2 |")) == ()


def test_a_column_is_found_by_its_whole_name_first() -> None:
    grid = tables(scan("| Valid | Test ID | ID |\n|---|---|---|\n| 1 | 2 | 3 |"))[0]
    assert grid.cell(grid.rows[0], "id") == "3"
    assert grid.cell(grid.rows[0], "test") == "2"
    assert grid.cell(grid.rows[0], "absent") == ""


@pytest.mark.slow
def test_a_hostile_table_is_not_blown_up() -> None:
    text = "|a" * 50_000 + "|\n" + "|-" * 50_000 + "|\n" + "|\n" * 50_000
    grid = tables(scan(text))[0]
    assert len(grid.header) * len(grid.rows) <= 5_000_000
