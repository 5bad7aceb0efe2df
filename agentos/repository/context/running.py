"""Say how the tests are run where no file of the repository has a command for it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentos.documents.changes import is_named_as_test
from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.look.definitions import is_python

_MOST_FILES = 200
_PYTEST = re.compile(r"^(?:import pytest\b|from pytest\b|def test_)", re.MULTILINE)
_UNITTEST = re.compile(r"^class \w{1,100}\([^)\n]{0,200}TestCase\b", re.MULTILINE)
_CONFIGURED = re.compile(r"^\[tool\.pytest\b", re.MULTILINE)
_PROJECT = "pyproject.toml"


def infer_test_run(paths: Sequence[str], files: BoundedFiles) -> list[str]:
    """Return a row with the command that configuration or test files suggest."""
    project = files.read(_PROJECT)
    if project is not None and _CONFIGURED.search(project.source):
        return [f"- tests are run by: `pytest`, which {_PROJECT} configures"]
    tests = [path for path in paths if is_python(path) and is_named_as_test(path)]
    is_unittest = False
    for path in tests[:_MOST_FILES]:
        text = files.read(path)
        if text is None:
            continue
        if _PYTEST.search(text.source):
            return [_say("`pytest`")]
        if _UNITTEST.search(text.source):
            is_unittest = True
    if is_unittest:
        return [_say("`python -m unittest` or `pytest`")]
    return []


def _say(command: str) -> str:
    return f"- tests are run by: {command} (inferred from them; no file says it)"
