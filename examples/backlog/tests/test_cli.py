"""The command as volunteers use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from shelf.cli import main


@pytest.fixture(autouse=True)
def database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A database with the item 1, a drill, and the member anna."""
    monkeypatch.setenv("SHELF_DB", str(tmp_path / "shelf.db"))
    for command in (["migrate"], ["add", "Cordless drill"], ["join", "anna"]):
        assert main(command) == 0
    assert capsys.readouterr().out.endswith("item 1: Cordless drill\nmember 1: anna\n")


def test_an_item_is_lent_and_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lend", "1", "anna"]) == 0
    assert capsys.readouterr().out.startswith("item 1 is lent to anna until ")
    assert main(["return", "1"]) == 0
    assert capsys.readouterr().out == "item 1 is back\n"


def test_items_are_found_by_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "drill"]) == 0
    assert main(["search", "tent"]) == 0
    assert capsys.readouterr().out == "1  Cordless drill\nnothing found\n"


def test_what_cannot_be_done_is_one_line_and_exit_code_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["return", "1"]) == 1
    assert capsys.readouterr() == ("", "item 1 is not lent\n")
