"""Looks at real repositories."""

from __future__ import annotations

from pathlib import Path

from agentos.repository.look import Looker, record_snapshot


def test_an_outline_names_lines(tmp_path: Path) -> None:
    source = "def add(a, b):\n    return a + b\n"
    (tmp_path / "calc.py").write_text(source)
    looker = Looker(tmp_path, record_snapshot(tmp_path))
    answer = looker.answer(["outline calc.py"], 1)
    assert "1-2  def add(a, b):" in answer.text
