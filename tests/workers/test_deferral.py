"""A package that is loaded only when something is asked of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agentos.workers.process.deferral import UNUSED, defer

COUNTING = """
import sys

from deferred_package.part import ONE

sys.loaded += 1
TWO = 2
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "deferred_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(COUNTING, "utf-8")
    (folder / "part.py").write_text("ONE = 1\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "loaded", 0, raising=False)
    for name in ("deferred_package", "deferred_package.part"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return folder.name


def loaded() -> int:
    return int(getattr(sys, "loaded", 0))


def test_a_part_is_imported_without_the_rest(package: str) -> None:
    defer(package)
    from deferred_package.part import ONE  # type: ignore[import-not-found]

    assert ONE == 1
    assert loaded() == 0


def test_whatever_is_asked_of_it_is_there_and_loaded_once(package: str) -> None:
    defer(package)
    import deferred_package  # type: ignore[import-not-found]

    assert deferred_package.TWO == 2
    assert deferred_package.ONE == 1
    with pytest.raises(AttributeError):
        _ = deferred_package.THREE
    assert loaded() == 1


def test_what_is_loaded_already_or_not_installed_is_left_alone(package: str) -> None:
    __import__(package)
    before = sys.modules[package]
    defer(package)
    assert sys.modules[package] is before
    defer("no_such_package_anywhere")
    assert "no_such_package_anywhere" not in sys.modules


def test_the_graph_library_asks_nothing_of_what_is_put_off() -> None:
    """If it did, nothing would break, and nothing would be gained."""
    code = (
        "import sys\nfrom agentos.workers.process.deferral import UNUSED, defer\n"
        "for name in UNUSED: defer(name)\n"
        "from agentos.workers.process import body\nbody.prepare('implementation')\nbody.prepare('lld')\n"
        "print([name for name in UNUSED if '__getattr__' not in vars(sys.modules[name])])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == "[]"
    assert UNUSED
