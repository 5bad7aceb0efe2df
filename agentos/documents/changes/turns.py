"""Read one turn of a role that works in a loop: changes of files and one command, which
are carried out in the order in which they stand, or the word that the work is done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agentos.documents.changes.contract import DONE, ONE_COMMAND
from agentos.documents.changes.fences import Fence, Layout, read_fences
from agentos.documents.changes.model import MAX_BYTES, Problem, Rows, problem_at
from agentos.documents.changes.sections import SectionMap
from agentos.documents.wrapping import after_thinking

SHELLS = frozenset({"bash", "sh", "shell"})
MAX_COMMAND = 100_000
"""Characters of the longest command that is run."""
_MAX_FENCES = 2_000
_LONGEST_ROW = 2_000
_MOST_UNDECLARED = 50
_UNDECLARED = re.compile(
    r"[-*` ]{0,6}undeclared:[* ]*`?(?P<path>[^\s`]+?)`?:[ ]*(?P<reason>\S.*)",
    re.IGNORECASE,
)
_DONE = re.compile(r"[*_`]{0,3}done[*_`]{0,3}[.!]?[*_`]{0,3}", re.IGNORECASE)
_HERE = re.compile(
    r"(?<![<\d(])<<(-?)[ \t]*(?:\"([^\"]+)\"|'([^']+)'|\\?([A-Za-z_]\w*))"
)
"""The beginning of a here-document, with the word that ends it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the changes above its command, the command, the changes below it."""

    before: str
    command: str = ""
    after: str = ""
    is_done: bool = False
    """Whether the role says that its work is done."""
    problems: tuple[Problem, ...] = ()


def read_turn(answer: str) -> Turn:
    """Split an answer at its command; the two parts are read as changes of files."""
    if len(answer) > MAX_BYTES:
        return Turn(answer[:MAX_BYTES])
    rows = _without_thoughts(answer.removeprefix("\ufeff").split("\n"))
    fences = _fences_of(rows)
    layout = _lay_out(rows, fences)
    commands = [fence for fence in fences if _opens_command(fence, layout)]
    if not commands:
        return Turn("\n".join(rows), is_done=_says_done(rows, layout.covered))
    first = commands[0]
    before = rows[: first.row]
    end, is_closed = _find_end(rows, fences, first)
    if not is_closed:
        problem = problem_at(
            first.row + 1,
            "the end of the command is missing: close its block, and each of its"
            " here-documents. It was not run.",
        )
        return Turn("\n".join(before), problems=(problem,))
    command = "\n".join(rows[first.row + 1 : end]).replace("\r", "")
    below = rows[end + 1 :]
    problems = []
    later = [fence.row for fence in commands if fence.row > end]
    if later:
        line = later[0] + 1
        text = f"{ONE_COMMAND}; this one and all below it were not carried out."
        problems.append(problem_at(line, text))
        below = rows[end + 1 : later[0]]
    elif _has_loose_fence(below):
        text = (
            "the block of the command could end at two places; use a fence that is"
            " longer than any fence inside. It was not run."
        )
        problem = problem_at(first.row + 1, text)
        return Turn("\n".join(before), problems=(problem,))
    if len(command) > MAX_COMMAND:
        text = (
            f"the command has more than {MAX_COMMAND:,} characters; write files with"
            " blocks of their own. It was not run."
        )
        problem = problem_at(first.row + 1, text)
        return Turn("\n".join(before), problems=(problem,))
    if _says_done(before) or _says_done(below):
        text = (
            f"`{DONE}` beside a command does not count: say it in a turn of its own,"
            " when you have seen what the command prints."
        )
        problems.append(problem_at(first.row + 1, text))
    return Turn("\n".join(before), command, "\n".join(below), problems=tuple(problems))


def read_undeclared(text: str) -> dict[str, str]:
    """Return the files outside the design that a turn gives a reason for."""
    found: dict[str, str] = {}
    for row in text.split("\n"):
        match = _UNDECLARED.match(row[:_LONGEST_ROW])
        if match is not None and len(found) < _MOST_UNDECLARED:
            found[match["path"]] = match["reason"].strip(" `*")
    return found


def _without_thoughts(rows: list[str]) -> list[str]:
    first = next((number for number, row in enumerate(rows) if row.strip()), 0)
    begin = after_thinking(rows, first, len(rows))
    return rows if begin == first else rows[begin:]


def _fences_of(rows: Rows) -> list[Fence]:
    candidates = []
    for number, row in enumerate(rows):
        if "```" in row or "~~~" in row:
            candidates.append(number)
    return read_fences(rows, candidates[:_MAX_FENCES])


def _lay_out(rows: Rows, fences: list[Fence]) -> Layout:
    marked = [
        number for number, row in enumerate(rows) if "<<<<" in row or ">>>>" in row
    ]
    return Layout(rows, fences, SectionMap(rows, marked))


def _opens_command(fence: Fence, layout: Layout) -> bool:
    """Tell whether a fence opens a command: a shell's block that is no file's."""
    language = fence.info.partition(" ")[0].casefold()
    if language not in SHELLS:
        return False
    for block in layout.blocks:
        if block.fence.row == fence.row:
            # A path in the sentence above does not make a command the text of a file.
            return not block.name.is_sure
        if block.fence.row < fence.row < block.end:
            return False
    return True


def _find_end(rows: Rows, fences: Sequence[Fence], opening: Fence) -> tuple[int, bool]:
    """Return the row of the fence that closes a command, and whether there is one; what
    stands in a here-document closes nothing.
    """
    closing = {
        fence.row
        for fence in fences
        if fence.row > opening.row and not fence.info and fence.may_close(opening)
    }
    delimiters: list[tuple[str, bool]] = []
    for number in range(opening.row + 1, len(rows)):
        row = rows[number].rstrip("\r")
        if delimiters:
            word, may_indent = delimiters[0]
            if (row.lstrip("\t") if may_indent else row) == word:
                del delimiters[0]
            continue
        if number in closing:
            return number, True
        for dash, double, single, bare in _HERE.findall(row):
            delimiters.append((double or single or bare, bool(dash)))
    return len(rows), False


def _has_loose_fence(rows: Rows) -> bool:
    """Tell whether a fence is left that no block accounts for."""
    fences = _fences_of(rows)
    layout = _lay_out(rows, fences)
    open_blocks = 0
    for fence in fences:
        if any(block.fence.row <= fence.row <= block.end for block in layout.blocks):
            continue
        if fence.info:
            open_blocks += 1
        elif open_blocks:
            open_blocks -= 1
        else:
            return True
    return False


def _says_done(rows: Rows, covered: bytes | bytearray = b"") -> bool:
    for number, row in enumerate(rows):
        if number < len(covered) and covered[number]:
            continue
        if _DONE.fullmatch(row.strip()):
            return True
    return False
