"""Fixtures for all tests: nothing here touches the real home."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support import BIN, BRIEF, ISSUE, World

KEPT = ("LANG", "LC_ALL", "TMPDIR", "TERM")


def pytest_configure() -> None:
    """Hear Ctrl+C again: where tests run in several processes it is ignored, and commands would inherit that."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
