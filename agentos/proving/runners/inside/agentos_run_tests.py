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

_HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_MOST_FILES = 2_000


def main(arguments: list[str]) -> int:
    """Put back what has to stay as it is, and run the chosen tests."""
    tools = Path(os.environ["AGENTOS_TOOLS"])
    settings = json.loads((tools / "settings.json").read_text("utf-8"))
    wanted = {}
    for path in settings["accepted"]:
        wanted[path] = (tools / "accepted" / path).read_bytes()
    unchanged = set(settings["unchanged"])
    for path in _git("diff", "--name-only", "HEAD").splitlines():
        if path in unchanged and path not in wanted:
            wanted[path] = _read_committed(path)
    for path, data in wanted.items():
        line = put_back(path, data)
        if line:
            print(f"run-tests: {line}", flush=True)
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    chosen = arguments or ["item"]
    if chosen == ["item"]:
        chosen = [path for path in settings["tests"] if Path(path).exists()]
        if not chosen:
            print("the item has no tests yet; run-tests all runs the whole suite")
            return 0
    elif chosen == ["all"]:
        chosen = []
    elif chosen == ["touched"]:
        chosen = find_touched(changed_names())
        if not chosen:
            print(
                "no test mentions what the changed lines define; run-tests all runs the whole suite"
            )
            return 0
        print("run-tests:", *chosen, flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if settings["configuration"]:
        command += ["-c", settings["configuration"], "--rootdir", "."]
    return subprocess.call([*command, *chosen])


def put_back(path: str, data: bytes) -> str:
    """Restore the bytes of a file; say so if it differed."""
    place = Path(path)
    try:
        is_file = place.is_file() and not place.is_symlink()
        if is_file and place.read_bytes() == data:
            return ""
        if place.is_symlink() or place.exists():
            place.unlink()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    except OSError as error:
        return f"{path} could not be put back: {error}"
    return f"{path} was put back"


def changed_names() -> set[str]:
    """Return the names that changed or new code defines, and those of its modules."""
    names: set[str] = set()
    for path in _git("diff", "--name-only", "HEAD").splitlines():
        rows: set[int] = set()
        for first, count in _HUNK.findall(_git("diff", "-U0", "HEAD", "--", path)):
            start = int(first)
            rows.update(range(start, start + max(1, int(count or 1))))
        names |= names_at(path, rows)
    for path in _git("ls-files", "--others", "--exclude-standard").splitlines():
        names |= names_at(path, None)
    return names


def names_at(path: str, rows: set[int] | None) -> set[str]:
    """Return the names that the rows of a module define; of all rows without any."""
    if not path.endswith(".py"):
        return {Path(path).name}
    names = set()
    try:
        tree = ast.parse(Path(path).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return {Path(path).stem}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            lines = set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            if rows is None or lines & rows:
                names.add(node.name)
    if not names:
        names.add(Path(path).stem)
    return {name for name in names if not name.startswith("__")} or {Path(path).stem}


def find_touched(names: set[str]) -> list[str]:
    """Return the test files that mention one of the names as a word."""
    if not names:
        return []
    words = re.compile(r"\b(?:" + "|".join(map(re.escape, sorted(names))) + r")\b")
    listed = _git("ls-files", "--cached", "--others", "--exclude-standard")
    found = []
    for path in listed.splitlines()[:_MOST_FILES]:
        name = Path(path).name
        if not (name.startswith("test_") or name.endswith("_test.py")):
            continue
        if not name.endswith(".py"):
            continue
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, ValueError):
            continue
        if words.search(text):
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
