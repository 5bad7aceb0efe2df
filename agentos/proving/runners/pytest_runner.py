"""Run the tests of a repository with its own pytest.

The configuration of the repository applies, with these exceptions, all made inside
pytest after it has read the configuration: no stop at the first failure, no
distribution over processes, no random order, no reruns by option, no selection by
earlier results, no coverage or report files of its own, full assertion texts, and
collection continues after an error. Markers, `-k`, `-m`, ignored paths, plugins and
their options, import mode and warning filters stay. Configuration is looked for in the
folder and in its tests folder, never above.
"""

from __future__ import annotations

import json
import os
import secrets
import tomllib
from pathlib import Path
from typing import ClassVar

from agentos.documents.changes import PYTEST_MODULES
from agentos.errors import BadInput
from agentos.proving.runners.pytest_events import EVENTS, read_run
from agentos.proving.runners.requests import Invocation, RunnerExit, RunRequest
from agentos.proving.runners.runs import TestRun
from agentos.state.files import read_regular, remove_tree, write_new

INSIDE = Path(__file__).parent / "inside"
"""The folder with the modules that run in the repository's own interpreter, and nothing
else.
"""

REQUEST = "request.json"
CHILDREN = "children"
"""The folder with what the processes that tests start load and write."""
_CONFIGURATION_LIMIT = 1_000_000
_SECTIONS = {"tox.ini": "pytest", "setup.cfg": "tool:pytest"}


class PytestRunner:
    """pytest with a report of its own, independent of the terminal output."""

    __test__: ClassVar[bool] = False
    name = "pytest"

    def recognizes(self, folder: Path) -> bool:
        """Tell whether there is a configuration of pytest, or a file named like a
        test.
        """
        return find_configuration(folder) is not None or _has_test_file(folder)

    def prepare(self, request: RunRequest) -> Invocation:
        """Write the request into the results folder and return the command that reads
        it.
        """
        for name in request.selection:
            if not name or name.startswith("-") or "\0" in name:
                raise BadInput(f"{name!r}: is not a test; name a file or an id")
        python_files = {name for name in request.coverage_files if name.endswith(".py")}
        files = tuple(sorted(python_files))
        request.results.mkdir(parents=True, exist_ok=True)
        key = secrets.token_bytes(32)
        for name in (REQUEST, EVENTS):
            (request.results / name).unlink(missing_ok=True)
        body = json.dumps({"key": key.hex(), "files": files}).encode()
        write_new(request.results / REQUEST, body, is_durable=False)
        if files:
            _prepare_children(request.results / CHILDREN)
        return Invocation(
            command=self._command(request),
            environ=self._environ(request),
            readable=(INSIDE,),
            results=request.results,
            key=key,
            coverage_files=files,
        )

    def read(self, invocation: Invocation, ended: RunnerExit) -> TestRun:
        """Return the results of the report, checked against the exit code."""
        return read_run(invocation, ended)

    def _command(self, request: RunRequest) -> tuple[str, ...]:
        configuration = find_configuration(request.folder) or INSIDE / "empty.ini"
        return (
            request.python,
            str(INSIDE / "agentos_start.py"),
            "-c",
            str(configuration),
            "--rootdir",
            ".",
            "--color=no",
            "-o",
            f"cache_dir={request.results / 'cache'}",
            *request.selection,
        )

    def _environ(self, request: RunRequest) -> dict[str, str]:
        folders = [request.folder.resolve() / "src", *request.beside]
        existing = [str(folder) for folder in folders if folder.is_dir()]
        return {
            "AGENTOS_REPORT_FOLDER": str(request.results),
            "AGENTOS_PLACES": os.pathsep.join(existing),
            "PYTEST_ADDOPTS": "",
            # The bytecode of a file that is restored within the same second and with
            # the same size would still be used.
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONNOUSERSITE": "1",
            "PYTHONHASHSEED": "0",
        }


def _prepare_children(folder: Path) -> None:
    """Make the folder from which the processes that tests start record their lines."""
    remove_tree(folder)
    folder.mkdir()
    recorder = INSIDE / "agentos_child_lines.py"
    module = folder / "sitecustomize.py"
    module.write_bytes(recorder.read_bytes())


def find_configuration(folder: Path) -> Path | None:
    """Return the file that configures pytest, as pytest itself would choose it."""
    for place in (folder, folder / "tests", folder / "test"):
        for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
            if (place / name).is_file():
                return place / name
        if _configures_in_toml(place / "pyproject.toml"):
            return place / "pyproject.toml"
        for name, section in _SECTIONS.items():
            if _has_section(place / name, section):
                return place / name
    return None


def _configures_in_toml(path: Path) -> bool:
    tool = None
    text = _read(path)
    if text:
        try:
            tool = tomllib.loads(text).get("tool")
        except (tomllib.TOMLDecodeError, RecursionError):
            return False
    return isinstance(tool, dict) and isinstance(tool.get("pytest"), dict)


def _has_section(path: Path, section: str) -> bool:
    return any(line.strip() == f"[{section}]" for line in _read(path).splitlines())


def _read(path: Path) -> str:
    try:
        return read_regular(path, _CONFIGURATION_LIMIT).decode("utf-8", "replace")
    except BadInput:
        return ""


def _has_test_file(folder: Path) -> bool:
    """Look for files named like tests: in the tests folder, one level below it, or next
    to the code.
    """
    for pattern in (
        "",
        "tests/",
        "test/",
        "tests/*/",
        "test/*/",
        "*/tests/",
        "src/*/tests/",
        "*/",
        "*/*/",
        "*/*/*/",
    ):
        for name in PYTEST_MODULES:
            if next(folder.glob(pattern + name), None):
                return True
    return False
