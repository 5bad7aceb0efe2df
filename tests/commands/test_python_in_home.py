"""A Python that is installed in the user's home does not open that home to generated
code.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.designs import CODE, Item, fill
from tests.proving.sandbox.stage import open_sandbox
from tests.support import PATIENCE, ROOT, World, build_world

MARK = "canary-of-the-home"
MINOR = f"python3.{sys.version_info.minor}"
START = "import sys; from agentos.cli.main import implement_workflow; sys.exit(implement_workflow())"
READING = """\
    import pathlib
    for place in {places}:
        try:
            pathlib.Path(place).read_text()
        except OSError:
            continue
        raise RuntimeError("it was read")
"""


@pytest.mark.parametrize("prefix", ["", ".local", ".pyenv/versions/3"])
def test_generated_code_cannot_read_the_home_in_which_its_python_lies(
    tmp_path: Path, prefix: str
) -> None:
    open_sandbox("bubblewrap")
    home = tmp_path / "no-home"
    state = f"no-home/{prefix}/state" if prefix == ".local" else "no-home/.agentos"
    secrets = (
        tmp_path / state / "keys.toml",
        home / ".ssh/id_test",
        home / "documents/letter.txt",
    )
    for secret in secrets:
        secret.parent.mkdir(parents=True, exist_ok=True)
        secret.write_text(f"# {MARK}\n", "utf-8")
    (tmp_path / state).chmod(0o700)
    (tmp_path / state / "keys.toml").chmod(0o600)
    python = _install_python(home / prefix, tmp_path / "tools")
    reading = READING.format(places=[str(secret) for secret in secrets])
    item = Item(
        1, code=[CODE.format(number=1).replace('more."""\n', f'more."""\n{reading}')]
    )
    world = fill(build_world(tmp_path, issues=0, home=state), item)
    finished = _build(world, python)
    assert finished["status"] == "implemented", json.dumps(finished)
    for path in [*world.repo.rglob("*"), *world.home.rglob("*")]:
        if path.is_file() and path not in secrets:
            assert MARK.encode() not in path.read_bytes(), path


def _install_python(prefix: Path, venv: Path) -> Path:
    """Put a Python below a prefix and AgentOS into a virtual environment on it; return
    the latter's program.
    """
    base = Path(sys.base_prefix)
    for folder in ("bin", "lib"):
        (prefix / folder).mkdir(parents=True, exist_ok=True)
    program = Path(sys.executable).resolve().read_bytes()
    searched = os.fsencode(base / "lib") + b"\0"
    # The copy must load the library beside it, not the one of the original.
    program = program.replace(searched, b"$ORIGIN/../lib".ljust(len(searched), b"\0"))
    (prefix / "bin" / MINOR).write_bytes(program)
    (prefix / "bin" / MINOR).chmod(0o755)
    for library in base.glob("lib/libpython*.so*"):
        shutil.copy(library, prefix / "lib")
    unused = shutil.ignore_patterns(
        "site-packages", "test", "idlelib", "lib2to3", "config-*"
    )
    shutil.copytree(
        base / "lib" / MINOR, prefix / "lib" / MINOR, ignore=unused, symlinks=True
    )
    subprocess.run(
        [prefix / "bin" / MINOR, "-m", "venv", "--without-pip", venv], check=True
    )
    packages = f"{sysconfig.get_path('purelib')}\n{ROOT}\n"
    (venv / "lib" / MINOR / "site-packages/agentos.pth").write_text(packages, "utf-8")
    said = subprocess.check_output(
        [venv / "bin/python", "-c", "import sys; print(sys.base_prefix)"], text=True
    )
    assert said.strip() == str(prefix)
    return venv / "bin/python"


def _build(world: World, python: Path) -> dict[str, str]:
    command = (
        str(python),
        "-c",
        START,
        "--all",
        "--max-iterations",
        "1",
        "--coverage-target",
        "80",
        "--json",
        "--drafter",
        f"offline:answers={quote(str(world.repo / '.agentos/recorded'))}",
    )
    with world.start(*command) as running:
        finished = running.finish(patience=2 * PATIENCE)
    items: list[dict[str, str]] = json.loads(finished.stdout)["items"]
    return items[0]
