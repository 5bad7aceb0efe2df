"""Read one turn of a role that works in a loop: changes of files and one command, which
are carried out in the order in which they stand, or the word that the work is done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentos.documents.changes.contract import ONE_COMMAND
from agentos.documents.changes.fences import Fence, Layout, read_fences
from agentos.documents.changes.model import MAX_BYTES, Problem, Rows, problem_at
from agentos.documents.changes.parse import skip_thoughts
from agentos.documents.changes.sections import SectionMap

SHELLS = frozenset({"bash", "sh", "shell"})
MAX_COMMAND = 100_000
"""Characters of the longest command that is run."""
_MAX_FENCES = 2_000
_LONGEST_ROW = 2_000
_UNDECLARED = re.compile(
    r"[-*` ]{0,6}undeclared:[* ]*`?(?P<path>[^\s`]+?)`?:[ ]*(?P<reason>\S.*)",
    re.IGNORECASE,
)
_DONE = re.compile(r"[*_`]{0,3}done[*_`]{0,3}[.!]?[*_`]{0,3}", re.IGNORECASE)
_HERE = re.compile(
    r"(?<![<\d(])<<(-?)[ \t]*(?:\"([^\"]+)\"|'([^']+)'|\\?([A-Za-z_]\w*))"
)
"""The beginning of a here-document, with the word that ends it."""


_UNCLOSED = (
    "the end of the command is missing: close its block, and each of its"
    " here-documents. It was not run."
)
_AMBIGUOUS = (
    "the block of the command could end at two places; use a fence that is longer than"
    " any fence inside. It was not run."
)
_TOO_LONG = (
    f"the command has more than {MAX_COMMAND:,} characters; write files with blocks of"
    " their own. It was not run."
)
_SECOND = f"{ONE_COMMAND}; this one and all below it were not carried out."


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
    text = answer[:MAX_BYTES]
    rows = text.removeprefix("\ufeff").split("\n")
    rows = rows[skip_thoughts(rows) :]
    layout, fences = _lay_out(rows)
    commands = [fence for fence in fences if _opens_command(fence, layout)]
    if not commands:
        is_done = _says_done(rows, layout.covered)
        return Turn("\n".join(rows), is_done=is_done)
    opening = commands[0]
    above = rows[: opening.row]
    before = "\n".join(above)
    line = opening.row + 1
    end = _find_end(rows, fences, opening)
    if end is None:
        return Turn(before, problems=(problem_at(line, _UNCLOSED),))
    command = "\n".join(rows[line:end])
    below = rows[end + 1 :]
    problems = []
    second = _find_second(commands, end)
    if second:
        problems.append(problem_at(second + 1, _SECOND))
        below = rows[end + 1 : second]
    elif _has_loose_fence(below):
        return Turn(before, problems=(problem_at(line, _AMBIGUOUS),))
    if len(command) > MAX_COMMAND:
        return Turn(before, problems=(problem_at(line, _TOO_LONG),))
    return Turn(
        before,
        command.replace("\r", ""),
        "\n".join(below),
        is_done=_says_done(above) or _says_done(below),
        problems=tuple(problems),
    )


def _find_second(commands: Sequence[Fence], end: int) -> int:
    """Return the row of the first command below another one's end, 0 without one."""
    for fence in commands:
        if fence.row > end:
            return fence.row
    return 0


def read_undeclared(text: str) -> dict[str, str]:
    """Return the files outside the design that a turn gives a reason for."""
    found: dict[str, str] = {}
    for row in text.split("\n"):
        match = _UNDECLARED.match(row[:_LONGEST_ROW])
        if match is None:
            continue
        path = match["path"]
        reason = match["reason"]
        found[path] = reason.strip(" `*")
    return found


def _lay_out(rows: Rows) -> tuple[Layout, list[Fence]]:
    """Find the blocks of files, and all fences."""
    fenced = _rows_with(rows, "```", "~~~")
    marked = _rows_with(rows, "<<<<", ">>>>")
    fences = read_fences(rows, fenced[:_MAX_FENCES])
    sections = SectionMap(rows, marked)
    return Layout(rows, fences, sections), fences


def _rows_with(rows: Rows, *signs: str) -> list[int]:
    found = []
    for number, row in enumerate(rows):
        if any(sign in row for sign in signs):
            found.append(number)
    return found


def _opens_command(fence: Fence, layout: Layout) -> bool:
    """Tell whether a fence opens a command: a shell's block that is no file's."""
    language, _, _ = fence.info.partition(" ")
    if language.casefold() not in SHELLS:
        return False
    for block in layout.blocks:
        opened = block.fence.row
        if opened == fence.row:
            # A path in the sentence above does not make a command the text of a file.
            return not block.name.is_sure
        if opened < fence.row < block.end:
            return False
    return True


def _find_end(rows: Rows, fences: Sequence[Fence], opening: Fence) -> int | None:
    """Return the row of the fence that closes a command, None without one; what stands
    in a here-document closes nothing.
    """
    closing = set()
    for fence in fences:
        if not fence.info and fence.may_close(opening):
            closing.add(fence.row)
    # The word that ends each here-document, and whether it may be indented.
    open_documents: list[tuple[str, bool]] = []
    for number in range(opening.row + 1, len(rows)):
        row = rows[number]
        row = row.rstrip("\r")
        if not open_documents:
            if number in closing:
                return number
            open_documents += _here_documents(row)
            continue
        word, may_indent = open_documents[0]
        bare = row
        if may_indent:
            bare = row.lstrip("\t")
        if bare == word:
            del open_documents[0]
    return None


def _here_documents(row: str) -> Iterator[tuple[str, bool]]:
    for dash, *words in _HERE.findall(row):
        word = "".join(words)
        yield word, bool(dash)


def _has_loose_fence(rows: Rows) -> bool:
    """Tell whether a fence is left that no block accounts for."""
    layout, fences = _lay_out(rows)
    taken: set[int] = set()
    for block in layout.blocks:
        rows_of_block = range(block.fence.row, block.end + 1)
        taken.update(rows_of_block)
    depth = 0
    for fence in fences:
        if fence.row in taken:
            continue
        depth += 1 if fence.info else -1
        if depth < 0:
            return True
    return False


def _says_done(rows: Rows, covered: bytes | bytearray = b"") -> bool:
    for number, row in enumerate(rows):
        if covered[number : number + 1] == b"\x01":
            continue
        bare = row.strip()
        if _DONE.fullmatch(bare):
            return True
    return False
