"""Run tests of the repository: what a model calls as `run-tests` in its workspace.

    run-tests             the tests of the item
    run-tests touched     the test files that mention what the changed lines define
    run-tests all         the whole suite
    run-tests NAME...     files, or tests such as tests/test_cart.py::test_010_empty

Files that are not the model's to change (to the coder the tests and settings, to the test
writer the code) are put back first. What is printed here decides nothing: the work is
judged outside, with a runner that this process cannot reach.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_MOST_FILES = 20_000


def main(arguments: list[str]) -> int:
    """Put back what has to stay as it is, and run the chosen tests."""
    if "--help" in arguments:
        print(__doc__)
        return 0
    settings = read_settings()
    restore(settings)
    chosen = choose(arguments, settings)
    if chosen is None:
        return 0
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short"]
    command += ["-p", "no:cacheprovider"]
    configuration = settings["configuration"]
    if configuration:
        command += ["-c", configuration, "--rootdir", "."]
    command += chosen
    return subprocess.call(command)


def read_settings() -> dict[str, Any]:
    """Return what is known of the item."""
    folder = tools()
    path = folder / "settings.json"
    text = path.read_text("utf-8")
    settings: dict[str, Any] = json.loads(text)
    return settings


def tools() -> Path:
    """Return the folder with the settings and the accepted files."""
    folder = os.environ["AGENTOS_TOOLS"]
    return Path(folder)


def choose(arguments: list[str], settings: dict[str, Any]) -> list[str] | None:
    """Return the tests to run, an empty list for all, None if there are none."""
    if arguments == ["all"]:
        return []
    if arguments == ["touched"]:
        missing = "no test mentions what the changed lines define"
        names = changed_names()
        found = find_touched(names)
        print("run-tests:", *found, flush=True)
    elif arguments in ([], ["item"]):
        missing = "the item has no tests yet"
        tests = settings["tests"]
        found = list(filter(os.path.exists, tests))
    else:
        return arguments
    if not found:
        print(f"{missing}; run-tests all runs the whole suite")
        return None
    return found


def restore(settings: dict[str, Any]) -> None:
    """Give the files that are not the model's to change their bytes back, and say which
    differed.
    """
    wanted = {}
    accepted = tools() / "accepted"
    for path in settings["accepted"]:
        place = accepted / path
        wanted[path] = place.read_bytes()
    unchanged = set(settings["unchanged"])
    changed = _git("diff", "--name-only", "HEAD")
    for path in changed.splitlines():
        if path in unchanged and path not in wanted:
            wanted[path] = _read_committed(path)
    for path, data in wanted.items():
        line = put_back(path, data)
        if line:
            print(f"run-tests: {line}", flush=True)


def put_back(path: str, data: bytes) -> str:
    """Restore the bytes of a file; say so if it differed."""
    place = Path(path)
    if _reads(place) == data:
        return ""
    try:
        place.unlink(missing_ok=True)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    except OSError as error:
        return f"{path} could not be put back: {error}"
    return f"{path} was put back"


def _reads(place: Path) -> bytes | None:
    """Return the bytes of an ordinary file."""
    if place.is_symlink() or not place.is_file():
        return None
    return place.read_bytes()


def changed_names() -> set[str]:
    """Return the names that changed or new code defines, and those of its modules."""
    names: set[str] = set()
    changed = _git("diff", "--name-only", "HEAD")
    paths = changed.splitlines()
    for path in paths:
        diff = _git("diff", "-U0", "HEAD", "--", path)
        rows = changed_rows(diff)
        names |= names_at(path, rows)
    new = _git("ls-files", "--others", "--exclude-standard")
    paths = new.splitlines()
    for path in paths:
        names |= names_at(path, None)
    return names


def changed_rows(diff: str) -> set[int]:
    """Return the lines of the present file that a diff without context changes."""
    rows: set[int] = set()
    for start, length in _HUNK.findall(diff):
        first = int(start)
        # Lines that are only taken out touch what stands there now.
        number = int(length or 1) or 1
        changed = range(first, first + number)
        rows.update(changed)
    return rows


def names_at(path: str, rows: set[int] | None) -> set[str]:
    """Return the names that the rows of a module define; of all rows without any."""
    place = Path(path)
    if place.suffix != ".py":
        return {place.name}
    try:
        text = place.read_text("utf-8")
        tree = ast.parse(text)
    except (OSError, ValueError, SyntaxError):
        return {place.stem}
    names = set()
    for node in ast.walk(tree):
        if not isinstance(node, _DEFINITIONS):
            continue
        if node.name.startswith("__"):
            continue
        first = node.lineno
        last = node.end_lineno or first
        lines = range(first, last + 1)
        if rows is None or not rows.isdisjoint(lines):
            names.add(node.name)
    return names or {place.stem}


def find_touched(names: set[str]) -> list[str]:
    """Return the test files that mention one of the names as a word."""
    ordered = sorted(names)
    either = "|".join(map(re.escape, ordered))
    words = re.compile(rf"\b(?:{either})\b")
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard")
    paths = listed.splitlines()
    considered = paths[:_MOST_FILES]
    found = []
    for path in considered:
        if not _TEST_FILE.search(path):
            continue
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, ValueError):
            continue
        if names and words.search(text):
            found.append(path)
    return found


def _read_committed(path: str) -> bytes:
    shown = subprocess.run(
        ["git", "cat-file", "blob", f"HEAD:{path}"], capture_output=True, check=False
    )
    return shown.stdout


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", "-c", "core.quotepath=off", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
