"""Recognize test files by their path."""

from __future__ import annotations

from fnmatch import fnmatchcase

from agentos.state.path_rules import fold_name

PYTEST_MODULES = ("test_*.py", "*_test.py")
"""The files in which pytest looks for tests."""
_NAMES = (
    "test_*.*",
    "*_test.*",
    "*.test.*",
    "*.spec.*",
    "*_spec.*",
    "tests.py",
    "conftest.py",
)
_FOLDERS = frozenset(
    {"test", "tests", "testing", "spec", "specs", "__tests__", "__snapshots__"}
)


def is_test(path: str) -> bool:
    """Tell whether a file is a test or lies in a folder of tests."""
    # Tests are read-only, so no spelling of a path may hide one.
    *folders, name = map(fold_name, path.split("/"))
    return not _FOLDERS.isdisjoint(folders) or is_named_as_test(name)


def is_named_as_test(path: str) -> bool:
    """Tell whether a file has the name of a test, in any language."""
    return _matches(path.casefold(), _NAMES)


def is_pytest_module(path: str) -> bool:
    """Tell whether pytest looks for tests in a file."""
    return _matches(path, PYTEST_MODULES)


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) for pattern in patterns)
