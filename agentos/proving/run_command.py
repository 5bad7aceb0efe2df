"""Run a command of a model in the workspace of its item, in the same sandbox as tests."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.proving.environment import Environment, generated_files
from agentos.proving.run_tests import TestFolders, code_folder, search_path
from agentos.proving.runners.pytest_runner import INSIDE, find_configuration
from agentos.proving.sandbox import FinishedCommand, Sandbox
from agentos.state.files import make_private_directory, remove_tree

SHELL = "/bin/bash"
_RUN_TESTS = """\
#!/bin/sh
exec {python} {script} "$@"
"""


@dataclass(frozen=True, slots=True)
class Tools:
    """What `run-tests` needs."""

    tests: Sequence[str]
    """The test files of the item."""
    accepted: Mapping[str, bytes]
    """Files with the bytes that they get back before tests run."""
    unchanged: Sequence[str] = ()
    """Files that get back the bytes of the commit that the item builds on."""


async def run_command(
    sandbox: Sandbox,
    environment: Environment,
    setting: TestFolders,
    command: str,
    tools: Tools,
) -> FinishedCommand:
    """Run a shell command in the folder of the repository until it ends or exceeds a
    limit; none of its processes outlives it.
    """
    folder = setting.folder.resolve()
    make_private_directory(setting.scratch)
    scratch = Path(tempfile.mkdtemp(prefix="command-", dir=setting.scratch))
    try:
        shown = scratch / "tools"
        _lay_out(shown, folder, environment, tools)
        results = scratch / "results"
        results.mkdir()
        commands = search_path(environment, setting.metadata)
        imported = [code_folder(folder), *setting.beside]
        existing = [str(place) for place in imported if place.is_dir()]
        bytecode = environment.bytecode or results / "bytecode"
        mounts = setting.mounts(
            environment,
            (INSIDE, shown),
            results,
            {
                "PATH": os.pathsep.join([str(shown / "bin"), commands]),
                "PYTHONPATH": os.pathsep.join(existing),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONNOUSERSITE": "1",
                "PYTHONPYCACHEPREFIX": str(bytecode),
                "AGENTOS_TOOLS": str(shown),
                "GIT_OPTIONAL_LOCKS": "0",
                "GIT_PAGER": "cat",
                "PAGER": "cat",
            },
        )
        with generated_files(setting.folder, setting.generated):
            return await sandbox.run((SHELL, "-c", command), mounts)
    finally:
        remove_tree(scratch)


def _lay_out(shown: Path, folder: Path, environment: Environment, tools: Tools) -> None:
    """Write the folder with `run-tests` and the files that it puts back."""
    commands = shown / "bin"
    commands.mkdir(parents=True)
    script = commands / "run-tests"
    python = shlex.quote(str(environment.python))
    inside = shlex.quote(str(INSIDE / "agentos_run_tests.py"))
    script.write_text(_RUN_TESTS.format(python=python, script=inside), "utf-8")
    script.chmod(0o755)
    for path, data in tools.accepted.items():
        place = shown / "accepted" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    configuration = find_configuration(folder)
    settings = {
        "tests": list(tools.tests),
        "accepted": sorted(tools.accepted),
        "unchanged": list(tools.unchanged),
        "configuration": str(configuration) if configuration else "",
    }
    (shown / "settings.json").write_text(json.dumps(settings), "utf-8")
