"""Turn exceptions into plain data of limited size.

Runs inside the interpreter of the repository, with the standard library only.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

TEXT_LIMIT = 20_000
LINE_LIMIT = 4_000
NAME_LIMIT = 2_000
ALL_TEXTS_LIMIT = 4_000_000
TRACEBACK_LIMIT = 2_000

# Python 3.8 cannot evaluate these.
if TYPE_CHECKING:
    Place = tuple[str, int]
    """A file and a line."""
    Entries = list[Place]


def bound_text(text: str, limit: int = TEXT_LIMIT) -> str:
    """Return the text within a limit; a line says how many lines in the middle are left
    out.
    """
    lines = text.split("\n")
    lines = list(map(bound_line, lines))
    whole = "\n".join(lines)
    if len(whole) < limit:
        return whole
    quarter = limit // 4
    head = fitting(lines, quarter)
    rest = lines[len(head) :]
    rest.reverse()
    tail = fitting(rest, quarter * 3)
    tail.reverse()
    left_out = len(rest) - len(tail)
    note = f"[{left_out} lines left out]"
    kept = [*head, note, *tail]
    return "\n".join(kept)


def fitting(lines: list[str], room: int) -> list[str]:
    """Return the first lines, as many as fit into `room` characters."""
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept


def bound_line(line: str) -> str:
    """Return a line; of one that is far too long, the two ends only."""
    if len(line) <= LINE_LIMIT:
        return line
    kept = LINE_LIMIT // 4
    start = line[:kept]
    end = line[-kept:]
    left_out = len(line) - 2 * kept
    return f"{start} [{left_out} characters left out] {end}"


class Describer:
    """Turns exceptions into plain data."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.prefix = folder + os.sep
        self.texts_left = ALL_TEXTS_LIMIT

    def bound(self, text: str) -> str:
        """Return the text within the limits of one test and of all tests together."""
        text = text.replace(self.prefix, "")
        text = bound_text(text)
        self.texts_left -= len(text)
        if self.texts_left <= 0:
            return ""
        return text

    def relative(self, path: str) -> str:
        """Return a path relative to the folder, or unchanged when it is outside."""
        path = str(Path(self.folder, path))
        if not path.startswith(self.prefix):
            return path
        start = len(self.prefix)
        inner = path[start:]
        return inner.replace(os.sep, "/")

    def describe(self, error: BaseException) -> dict[str, Any]:
        """Return type, message, place and the module that an exception is about."""
        name = name_of(error)
        entries = self.entries(error)
        file, line = self.place(entries)
        if isinstance(error, SyntaxError) and error.filename:
            file = self.relative(error.filename)
            line = error.lineno or 0
        shown = []
        innermost = entries[-20:]
        for path, number in innermost:
            relative = self.relative(path)
            relative = relative[:NAME_LIMIT]
            shown.append(f"{relative}:{number}")
        message = words_of(error)
        module = self.subject(error)
        return {
            "exception": name[:NAME_LIMIT],
            "message": bound_text(message, NAME_LIMIT * 2),
            "module": module[:NAME_LIMIT],
            "file": file[:NAME_LIMIT],
            "line": line,
            "entries": shown,
        }

    def entries(self, error: BaseException) -> Entries:
        """Return the files and lines of the traceback, outermost first."""
        found: Entries = []
        trace = error.__traceback__
        while trace is not None:
            if len(found) >= TRACEBACK_LIMIT:
                break
            code = trace.tb_frame.f_code
            line = trace.tb_lineno or 0
            place = (code.co_filename, line)
            found.append(place)
            trace = trace.tb_next
        return found

    def place(self, entries: Entries) -> Place:
        """Return the innermost line of the repository's own code, if there is one."""
        for path, line in reversed(entries):
            if not path.startswith(os.sep):
                continue
            relative = self.relative(path)
            if relative == path:
                continue
            if "site-packages/" not in relative:
                return relative, line
        return "", 0

    def subject(self, error: BaseException) -> str:
        """Return the module that could not be imported, lacks a name, or whose function
        was called with wrong arguments.
        """
        if isinstance(error, ImportError):
            return str(error.name or "")
        if isinstance(error, AttributeError):
            value = getattr(error, "obj", None)
            return module_of(value)
        if isinstance(error, TypeError):
            message = words_of(error)
            function, _, _ = message.partition("() ")
            return self.owner(function)
        return ""

    def owner(self, name: str) -> str:
        """Return the module inside the folder that defines a function of this qualified
        name.
        """
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            return ""
        # Copied, because another thread may import at the same time.
        modules = list(sys.modules.values())
        for module in modules:
            path = getattr(module, "__file__", None)
            if not isinstance(path, str):
                continue
            if self.relative(path) == path:
                continue
            value: Any = module
            for part in parts:
                value = getattr(value, part, None)
            if callable(value):
                owner = getattr(value, "__module__", "")
                if not owner:
                    owner = module.__name__
                return str(owner)
        return ""


def name_of(error: BaseException) -> str:
    """Return the name of an exception's class, with its module unless it is built
    in.
    """
    kind = type(error)
    module = kind.__module__
    if module == "builtins":
        return kind.__name__
    return f"{module}.{kind.__qualname__}"


def module_of(value: Any) -> str:
    """Return the name of a module itself, or of the module of a class or value."""
    kind = type(value)
    if kind is ModuleType:
        return str(value.__name__)
    if isinstance(value, type):
        kind = value
    return str(kind.__module__)


def words_of(error: BaseException) -> str:
    """Return the message of an exception, empty when its class fails to give one."""
    try:
        if type(error).__name__ != "FixtureLookupError":
            return str(error)
        message = getattr(error, "msg", None)
        if message:
            return str(message)
        fixture = getattr(error, "argname", "")
        return f"fixture {fixture!r} not found"
    # `__str__` of the tested code may raise anything.
    except Exception:
        return ""


def cause_of(error: BaseException) -> BaseException:
    """Return the exception that prevented the collection of a file, without pytest's
    own wrapping.
    """
    kind = type(error).__name__
    inner: Any = None
    if kind == "ConftestImportFailure":
        inner = getattr(error, "cause", None)
        # Older versions of pytest keep an `exc_info` in the arguments instead.
        arguments = error.args
        if inner is None and len(arguments) > 1:
            info = arguments[1]
            if isinstance(info, tuple):
                inner = info[1]
    elif kind == "CollectError":
        inner = error.__cause__
    if isinstance(inner, BaseException):
        return inner
    return error
