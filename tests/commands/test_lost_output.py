"""A command whose output cannot be written says so and does not end as if all were
well.
"""

from __future__ import annotations

import subprocess

import pytest

from tests.support import BIN, World

LINE = "the output cannot be written (No space left on device); free some space there and run again\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    "command",
    [
        "lld-workflow --ids 1 --json",
        "lld-workflow --ids 1",
        "lld-workflow --all --dry-run --json",
        "lld-workflow --help",
        "agentos status --json",
        "agentos config",
        "agentos version",
    ],
)
def test_a_full_disk_behind_standard_output_is_told(
    world: World, command: str, unbuffered: str
) -> None:
    program, *arguments = command.split()
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [BIN / program, *arguments],
            cwd=world.repo,
            env={**world.environ, "PYTHONUNBUFFERED": unbuffered},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert ended.returncode == 1, ended.stderr
    name = program
    if command.startswith(("agentos status", "agentos config")):
        name = " ".join(command.split()[:2])
    assert ended.stderr.endswith(f"{name}: {LINE}")
    assert "Traceback" not in ended.stderr
