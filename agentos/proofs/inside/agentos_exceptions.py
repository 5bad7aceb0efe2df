"""Turn exceptions into plain, bounded data; runs inside the target's own interpreter, standard library only."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

TEXT_LIMIT = 20_000
LINE_LIMIT = 4_000
NAME_LIMIT = 2_000
ALL_TEXTS_LIMIT = 4_000_000


def bound_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text within a limit, its middle lines left out, and a word on how many."""
    lines = [bound_line(line) for line in text.split("\n")]
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    head: list[str] = []
    tail: list[str] = []
    room = limit // 4
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        head.append(line)
    room = limit // 4 * 3
    for line in reversed(lines[len(head) :]):
        room -= len(line) + 1
        if room < 0:
            break
        tail.append(line)
    left_out = len(lines) - len(head) - len(tail)
    return "\n".join([*head, f"[{left_out} lines left out]", *reversed(tail)])


def bound_line(line: str) -> str:
    """Return a line that can be shown: of one that is far too long the two ends, and a word on what is between."""
    if len(line) <= LINE_LIMIT:
        return line
    kept = LINE_LIMIT // 4
    return f"{line[:kept]} [{len(line) - 2 * kept} characters left out] {line[-kept:]}"


class Describer:
    """Turns exceptions into plain data."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.texts_left = ALL_TEXTS_LIMIT

    def bound(self, text: str) -> str:
        """Return the text within what one test and all of them together may say."""
        text = bound_text(text.replace(self.folder + os.sep, ""))
        self.texts_left -= len(text)
        return text if self.texts_left > 0 else ""

    def relative(self, path: str) -> str:
        """Return a path as seen from the folder, or as it is when it lies outside."""
        path = str(Path(self.folder, path))
        inside = path.startswith(self.folder + os.sep)
        return path[len(self.folder) + 1 :].replace(os.sep, "/") if inside else path

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Return type, message, place and the module that an exception is about."""
        kind = type(error)
        name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        entries = self.entries(error)
        file, line = self.place(entries)
        if isinstance(error, SyntaxError) and error.filename:
            file, line = self.relative(error.filename), error.lineno or 0
        return {
            "exception": name[:NAME_LIMIT],
            "message": bound_text(words_of(error), NAME_LIMIT * 2),
            "module": self.subject(error)[:NAME_LIMIT],
            "file": file[:NAME_LIMIT],
            "line": line,
            "entries": [f"{self.relative(path)[:NAME_LIMIT]}:{number}" for path, number in entries[-20:]],
        }

    def entries(self, error: BaseException) -> list[tuple[str, int]]:
        """Return the files and lines of the traceback, outermost first."""
        found: list[tuple[str, int]] = []
        trace = error.__traceback__
        while trace is not None and len(found) < 2000:
            found.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno or 0))
            trace = trace.tb_next
        return found

    def place(self, entries: list[tuple[str, int]]) -> tuple[str, int]:
        """Return the innermost line of the repository's own code, nothing when there is none."""
        for path, line in reversed(entries):
            relative = self.relative(path)
            if relative != path and "site-packages/" not in relative and path.startswith(os.sep):
                return relative, line
        return "", 0

    def subject(self, error: BaseException) -> str:
        """Return the module that could not be imported, lacks a name, or whose function was called wrongly."""
        if isinstance(error, ImportError):
            return str(error.name or "")
        if isinstance(error, AttributeError):
            thing = getattr(error, "obj", None)
            if type(thing) is type(sys):
                return str(thing.__name__)
            return str((thing if isinstance(thing, type) else type(thing)).__module__)
        if isinstance(error, TypeError):
            return self.owner(words_of(error).partition("() ")[0])
        return ""

    def owner(self, name: str) -> str:
        """Return the module inside the folder that defines a function of this qualified name."""
        if not all(part.isidentifier() for part in name.split(".")):
            return ""
        for module in list(sys.modules.values()):
            path = getattr(module, "__file__", None)
            if not isinstance(path, str) or self.relative(path) == path:
                continue
            thing: Any = module
            for part in name.split("."):
                thing = getattr(thing, part, None)
            if callable(thing):
                return str(getattr(thing, "__module__", "") or module.__name__)
        return ""


def words_of(error: BaseException) -> str:
    """Return what an exception says, whatever its class does when asked."""
    try:
        if type(error).__name__ == "FixtureLookupError":
            return str(getattr(error, "msg", None) or f"fixture {getattr(error, 'argname', '')!r} not found")
        return str(error)
    except Exception:
        return ""


def cause_of(error: BaseException) -> BaseException:
    """Return what made a file impossible to collect, without pytest's own wrapping."""
    inner = getattr(error, "cause", None)
    if type(error).__name__ == "ConftestImportFailure":
        if inner is None and len(error.args) > 1 and isinstance(error.args[1], tuple):
            inner = error.args[1][1]
        return inner if isinstance(inner, BaseException) else error
    if type(error).__name__ == "CollectError" and error.__cause__ is not None:
        return error.__cause__
    return error
