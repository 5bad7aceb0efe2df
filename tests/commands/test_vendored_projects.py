"""A project inside the repository that its requirements name is imported by the tests,
and never built.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.designs import BASE, CODE, Item, fill
from tests.support import PATIENCE, World, build_world

SET_UP = """\
from pathlib import Path
from setuptools import setup

Path({canary!r}).write_text("run as the user")
setup(name="vendored", version="1.0", py_modules=["helper"])
"""


def _build(world: World) -> dict[str, Any]:
    with world.start(
        "implement-workflow", "--all", "--max-iterations", "1", "--json"
    ) as running:
        finished = running.finish(patience=2 * PATIENCE)
    items: list[dict[str, Any]] = json.loads(finished.stdout)["items"]
    return items[0]


@pytest.mark.parametrize(
    "line", ["./vendored", "-e ./vendored", "vendored @ file:./vendored"]
)
def test_the_set_up_of_a_folder_is_not_run_and_its_code_can_be_imported(
    tmp_path: Path, line: str
) -> None:
    canary = tmp_path / "no-home" / "canary"
    canary.parent.mkdir()
    code = CODE.format(number=1).replace(
        "\n\n\ndef ", "\nfrom helper import NOTHING\n\n\ndef ", 1
    )
    files = {
        "requirements.txt": f"{line}\n",
        "vendored/setup.py": SET_UP.format(canary=str(canary)),
        "vendored/helper.py": "NOTHING = 0\n",
    }
    world = fill(
        build_world(tmp_path, issues=0), Item(1, code=[code]), base={**BASE, **files}
    )
    finished = _build(world)
    assert not canary.exists()
    assert finished["status"] == "implemented", json.dumps(finished)


def test_what_would_be_built_outside_of_the_sandbox_is_refused_in_words(
    tmp_path: Path,
) -> None:
    (tmp_path / "no-home").mkdir()
    canary = tmp_path / "no-home" / "canary"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "setup.py").write_text(SET_UP.format(canary=str(canary)), "utf-8")
    world = fill(
        build_world(tmp_path, issues=0),
        Item(1),
        base={**BASE, "requirements.txt": f"-e {outside}\n"},
    )
    finished = _build(world)
    assert not canary.exists()
    assert finished["status"] == "failed"
    assert "requirements.txt, line 1" in finished["message"]
    assert "built outside of the sandbox" in finished["message"]
