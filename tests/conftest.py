"""Fixtures for all tests: nothing here touches the real home."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import BIN, BRIEF, ISSUE, World

KEPT = ("LANG", "LC_ALL", "TMPDIR", "TERM")


@pytest.fixture
def make_world(tmp_path: Path) -> Callable[..., World]:
    """Return a maker of repositories with numbered issues and briefs."""

    def make(issues: int = 3, briefs: int = 0, name: str = "repo", home: str = "home") -> World:
        repo = tmp_path / name
        for folder, count, template in (("issues", issues, ISSUE), ("briefs", briefs, BRIEF)):
            (repo / "docs" / folder).mkdir(parents=True, exist_ok=True)
            for number in range(1, count + 1):
                path = repo / "docs" / folder / f"{number}-export.md"
                path.write_text(template.format(number=number), "utf-8")
        environ = {name: os.environ[name] for name in KEPT if name in os.environ}
        environ |= {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(tmp_path / "no-home"),
            "AGENTOS_HOME": str(tmp_path / home),
        }
        return World(repo, tmp_path / home, environ)

    return make


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A repository with three issues."""
    return make_world()
