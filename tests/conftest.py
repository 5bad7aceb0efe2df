"""Fixtures for all tests: nothing here touches the real home."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

from tests.support import World, build_world

# Nothing is timed here: how long an example takes is a matter of what else the machine
# does.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_configure() -> None:
    """Hear signals again: where tests run in several processes, or under nohup,
    commands would inherit deafness.
    """
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what starts whole commands as slow, and what injects faults as such."""
    for item in items:
        if "commands" in item.path.parts:
            item.add_marker("slow")
        if "faults" in item.path.parts:
            item.add_marker("fault")


@pytest.fixture
def make_world(tmp_path: Path) -> Callable[..., World]:
    """Return a maker of repositories with numbered issues and briefs."""

    return partial(build_world, tmp_path)


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    """A repository with three issues."""
    return make_world()
