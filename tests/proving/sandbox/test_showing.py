"""What a sandbox shows: a Python wherever it is installed, and never the home that it
may be installed in.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agentos.errors import BadInput
from agentos.proving.sandbox import Mounts, find_sandbox
from agentos.proving.sandbox.visible_folders import (
    check_hidden,
    environment_folders,
    private_places,
)
from tests.proving.sandbox.stage import open_sandbox


def _install(prefix: Path, *more: str) -> Path:
    """Lay out a Python and a virtual environment on it; return the latter."""
    for folder in ("bin", "lib/python3.11", *more):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    for file in ("bin/python3", "bin/other", "lib/libpython3.11.so.1.0"):
        (prefix / file).touch()
    venv = prefix.parent / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "lib/python3.11").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin/python").symlink_to(prefix / "bin/python3")
    return venv


def test_an_environment_needs_its_own_folder_and_the_python_behind_its_links() -> None:
    folders = environment_folders(
        Path(sys.prefix), Path(sys.base_prefix), private_places(os.environ)
    )
    assert folders[0] == Path(sys.prefix)
    library = Path(sys.base_prefix, "lib").resolve()
    assert any(folder.resolve() in (library, *library.parents) for folder in folders)


@pytest.mark.parametrize("private", ["home", "home/state", "home/state/agentos"])
def test_of_a_prefix_that_holds_a_private_folder_only_what_python_needs_is_shown(
    tmp_path: Path, private: str
) -> None:
    prefix = tmp_path / "home"
    venv = _install(prefix, ".ssh", "state/agentos")
    shown = environment_folders(venv, prefix, [tmp_path / private])
    parts = {
        prefix / "lib/python3.11",
        prefix / "lib/libpython3.11.so.1.0",
        prefix / "bin/python3",
    }
    assert set(shown) == {venv, *parts}


@pytest.mark.parametrize(
    ("place", "more", "is_own"),
    [
        ("miniconda3", ("conda-meta", "envs"), True),
        (".pyenv/versions/3.11.7", ("include", "share/man"), True),
        (".local/share/uv/python/cpython-3.11", ("include",), True),
        (".local", ("share/man",), False),
        ("tools", ("documents",), False),
        ("tools", ("share/keyrings",), False),
    ],
)
def test_a_prefix_in_the_home_is_shown_when_it_is_pythons_own(
    tmp_path: Path, place: str, more: tuple[str, ...], is_own: bool
) -> None:
    prefix = tmp_path / "home" / place
    shown = environment_folders(_install(prefix, *more), prefix, [tmp_path / "home"])
    assert (prefix in shown) == is_own
    assert (prefix / "lib/python3.11" in shown) != is_own
    assert prefix / "bin" not in shown


def test_a_link_to_the_home_is_not_shown(tmp_path: Path) -> None:
    venv = _install(tmp_path / "home", ".ssh")
    (tmp_path / "python").symlink_to(tmp_path / "home")
    shown = environment_folders(venv, tmp_path / "python", [tmp_path / "home"])
    assert tmp_path / "python" not in shown
    assert tmp_path / "python/lib/python3.11" in shown


def test_links_that_go_round_end(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/python").symlink_to("python3")
    (tmp_path / "bin/python3").symlink_to("python")
    assert tmp_path in environment_folders(tmp_path, tmp_path, [])


def test_a_folder_above_a_private_one_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"generated code would see .*AGENTOS_HOME"):
        check_hidden([tmp_path], [tmp_path / "home"])
    check_hidden([tmp_path / "home/venv"], [tmp_path / "home"])


def test_a_sandbox_refuses_to_show_the_home_whoever_asks(tmp_path: Path) -> None:
    open_sandbox("bubblewrap")
    (tmp_path / "home").mkdir()
    (tmp_path / "worktree").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    sandbox = find_sandbox(
        {
            "AGENTOS_SANDBOX": "bubblewrap",
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
        }
    )
    for shown in (tmp_path, tmp_path / "home", tmp_path / "link"):
        with pytest.raises(BadInput, match="would see"):
            asyncio.run(
                sandbox.run(["true"], Mounts(tmp_path / "worktree", readable=(shown,)))
            )


def test_the_homes_of_the_user_and_of_agentos_are_private(tmp_path: Path) -> None:
    found = private_places(
        {"HOME": str(tmp_path / "user"), "AGENTOS_HOME": str(tmp_path / "state")}
    )
    assert {tmp_path / "user", tmp_path / "state"} <= set(found)
    assert Path("/") not in private_places({"HOME": "/"})
