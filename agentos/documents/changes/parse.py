"""Read an implementer's answer into whole files, edits and deletions.

The marker that names a file is not part of the file: it is removed, with a `Reason:`
line and one blank line directly below it. If the line of a fence ends with CRLF, the
whole answer has such line ends, and the text gets plain line feeds; below any other
fence, carriage returns belong to the file. Two words in an info string say what the
text cannot: `no-final-newline`, and `whole` for a file that itself contains sections of
edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter

from agentos.documents.changes.fences import (
    MAX_FENCES,
    WHOLE,
    Block,
    Layout,
    read_fences,
)
from agentos.documents.changes.markers import (
    Verb,
    is_note_harmless,
    read_comment_marker,
    read_comment_reason,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import (
    MAX_BYTES,
    MAX_EDITS,
    MAX_FILE_BYTES,
    MAX_FILES,
    Change,
    Changes,
    Deletion,
    EditedFile,
    Problem,
    Rows,
    WholeFile,
    problem_at,
)
from agentos.documents.changes.sections import (
    SEARCH,
    SectionMap,
    is_mark,
    read_sections,
)
from agentos.documents.without_gc import without_gc
from agentos.documents.wrapping import after_thinking

NO_FINAL_NEWLINE = "no-final-newline"
_MAX_PROBLEMS = 100
_MAX_UNNAMED = 1_000
_MAX_OUTSIDE = 2_000
"""Maximum number of lines outside all blocks that name a file."""

_Found = Change | Problem
_Placed = tuple[int, _Found]
"""A change or a problem with its row in the answer."""


@without_gc
def parse_changes(text: str) -> Changes:
    """Return the changes of an answer, its problems, and its unnamed blocks."""
    # The slice avoids encoding a text that is far too long.
    if _size_of(text[: MAX_BYTES + 1]) > MAX_BYTES:
        megabytes = MAX_BYTES // 1_000_000
        return _refuse(
            f"The answer is longer than {megabytes} MB; send fewer files, or edits."
        )
    rows = text.removeprefix("\ufeff").split("\n")
    begin = _skip_thoughts(rows)
    fenced = _find_rows(text, ("```", "~~~"), begin, MAX_FENCES)
    if len(fenced) > MAX_FENCES:
        return _refuse(
            f"The answer has more than {MAX_FENCES:,} fences; send fewer blocks."
        )
    marked = _find_rows(text, ("<<<<<<<", ">>>>>>>"), begin)
    sections = SectionMap(rows, marked)
    fences = read_fences(rows, fenced)
    layout = Layout(rows, fences, sections)
    found: list[_Placed] = []
    named: set[str] = set()
    for block in layout.blocks:
        for one in _read_block(rows, block):
            found.append((block.fence.row, one))
            if not isinstance(one, Problem):
                named.add(one.path)
    candidates = _find_rows(text.lower(), ("file", "edit", "delete"), begin)
    outside = _read_outside(rows, candidates, layout, named)
    found += islice(outside, _MAX_OUTSIDE)
    found.sort(key=itemgetter(0))
    changes, problems = _combine(found)
    more = len(problems) - _MAX_PROBLEMS
    if more > 0:
        line = problems[_MAX_PROBLEMS].line
        last = problem_at(line, f"{more} more problems from here on.")
        problems[_MAX_PROBLEMS:] = [last]
    unnamed = layout.unnamed[:_MAX_UNNAMED]
    return Changes(tuple(changes), tuple(problems), tuple(unnamed))


def _size_of(text: str) -> int:
    """Return the size of a text in bytes, even if it cannot be encoded."""
    if text.isascii():
        return len(text)
    encoded = text.encode("utf-8", "surrogatepass")
    return len(encoded)


def _skip_thoughts(rows: Rows) -> int:
    """Return the row where the answer begins: blocks in a model's thoughts are drafts.

    It is 0 if there are no thoughts.
    """
    first = next((row for row, text in enumerate(rows) if text.strip()), 0)
    begin = after_thinking(rows, first, len(rows))
    if begin == first:
        return 0
    return begin


def _find_rows(
    text: str, needles: Iterable[str], begin: int, limit: int = MAX_BYTES
) -> list[int]:
    """Return the rows from `begin` on that hold one of the needles.

    The search stops at the first row over the limit. It looks for the needles in the
    whole text, so that rows without any cost next to nothing.
    """
    found: set[int] = set()
    for needle in needles:
        row = last = 0
        place = text.find(needle)
        while place >= 0 and len(found) <= limit:
            row += text.count("\n", last, place)
            found.add(row)
            last = text.find("\n", place)
            if last < 0:
                break
            place = text.find(needle, last)
    return sorted(row for row in found if row >= begin)


def _refuse(text: str) -> Changes:
    problem = Problem(1, text)
    return Changes(problems=(problem,))


def _read_block(rows: Rows, block: Block) -> Iterable[_Found]:
    name = block.name
    line = name.row + 1
    shown = _show(name.path)
    if name.other:
        other = _show(name.other)
        text = f"the block names `{shown}` and `{other}`; name one file a block."
        return [problem_at(line, text)]
    if not is_note_harmless(name.note):
        note = _show(name.note)
        text = (
            f"`{note}` stands behind the path `{shown}`; send the whole file or an"
            " edit."
        )
        return [problem_at(line, text)]
    if not (block.is_closed or block.is_last):
        text = (
            f"the block of `{shown}` is not closed before line {block.end + 1} opens"
            " another."
        )
        return [problem_at(block.fence.row + 1, text)]
    if name.verb is Verb.DELETE:
        return _read_deletions(rows, block)
    inner = _text_rows(rows, block)
    is_whole = WHOLE in block.fence.info.split()
    if name.verb is Verb.EDIT or (not is_whole and holds_section(inner)):
        return [_read_edit(inner, block)]
    return [_read_file(inner, block)]


def _text_rows(rows: Rows, block: Block) -> list[str]:
    """Return the text of a block without the indentation and line ends of its fence."""
    name = block.name
    inner = list(name.preamble)
    inner += rows[name.start : block.end]
    if not block.is_closed and inner and not inner[-1]:
        inner.pop()
    if rows[block.fence.row].endswith("\r"):
        inner = [row.removesuffix("\r") for row in inner]
    indent = block.fence.indent
    if indent:
        inner = [_outdent(row, indent) for row in inner]
    return inner


def _outdent(row: str, width: int) -> str:
    bare = row.lstrip(" ")
    blank = len(row) - len(bare)
    return row[min(blank, width) :]


def holds_section(rows: Rows) -> bool:
    """Tell whether a section of an edit begins in one of the rows."""
    return any(row.startswith("<<<<<<<") and is_mark(row, SEARCH) for row in rows)


def _read_file(inner: Rows, block: Block) -> _Found:
    name = block.name
    line = name.row + 1
    text = "".join(f"{row}\n" for row in inner)
    if NO_FINAL_NEWLINE in block.fence.info.split():
        text = text.removesuffix("\n")
    if _size_of(text) > MAX_FILE_BYTES:
        return _too_large(name.path, line)
    return WholeFile(
        name.path,
        text,
        line,
        name.reason,
        is_cut=not block.is_closed,
    )


def _read_edit(inner: Rows, block: Block) -> _Found:
    name = block.name
    line = name.row + 1
    first = name.start - len(name.preamble)
    edits = read_sections(inner, first + 1)
    if isinstance(edits, Problem):
        return edits
    if not edits:
        shown = _show(name.path)
        text = f"the edit of `{shown}` has no section `<<<<<<< SEARCH`."
        return problem_at(line, text)
    size = sum(_size_of(edit.replace) for edit in edits)
    if size > MAX_FILE_BYTES:
        return _too_large(name.path, line)
    return EditedFile(
        name.path,
        tuple(edits),
        line,
        name.reason,
        is_cut=not block.is_closed,
    )


def _too_large(path: str, line: int) -> Problem:
    megabytes = MAX_FILE_BYTES // 1_000_000
    shown = _show(path)
    return problem_at(
        line, f"`{shown}` has more than {megabytes} MB of text; split it up."
    )


def _read_deletions(rows: Rows, block: Block) -> Sequence[_Found]:
    """Return the deletions of a block that may hold nothing else."""
    name = block.name
    first = Deletion(name.path, name.row + 1, name.reason)
    found = [first]
    for number in range(name.start, block.end):
        row = rows[number]
        line = number + 1
        marker = read_comment_marker(row)
        reason = read_comment_reason(row)
        if marker is not None and marker.verb is Verb.DELETE:
            found.append(Deletion(marker.path, line))
        elif reason is not None:
            last = found.pop()
            found.append(replace(last, reason=reason))
        elif row.strip():
            shown = _show(name.path)
            text = f"a block that deletes `{shown}` holds nothing else; take this out."
            return [problem_at(line, text)]
    return found


def _read_outside(
    rows: Rows, candidates: Iterable[int], layout: Layout, named: set[str]
) -> Iterator[_Placed]:
    """Yield the deletions outside blocks, and a problem for each name without a block."""
    used = {block.name.above for block in layout.blocks}
    # One more row, so that the last one has a row below it.
    covered = layout.covered + b"\x01"
    for number in candidates:
        if covered[number] or number in used:
            continue
        marker = read_prose_marker(rows[number])
        if marker is None:
            continue
        line = number + 1
        path = marker.path
        if marker.verb is Verb.DELETE:
            reason = None
            if not covered[number + 1]:
                reason = read_prose_reason(rows[number + 1])
            yield number, Deletion(path, line, reason or "")
        elif path not in named:
            shown = _show(path)
            text = (
                f"names `{shown}`, but no fenced block follows; send its text in one."
            )
            yield number, problem_at(line, text)


def _combine(found: Iterable[_Placed]) -> tuple[list[Change], list[Problem]]:
    """Join the changes of each file.

    Equal blocks count once and edits follow each other; anything else is a problem.
    """
    changes: dict[str, Change] = {}
    problems: list[Problem] = []
    edits = 0
    for _, one in found:
        if isinstance(one, Problem):
            problems.append(one)
            continue
        path = one.path
        line = one.line
        if isinstance(one, EditedFile):
            edits += len(one.edits)
        if edits > MAX_EDITS:
            text = (
                f"the answer has more than {MAX_EDITS} sections of edits; send the"
                " files whole."
            )
            problems.append(problem_at(line, text))
            break
        before = changes.get(path)
        if before is None and len(changes) == MAX_FILES:
            text = (
                f"the answer has more than {MAX_FILES} files; this one and the rest"
                " are left out."
            )
            problems.append(problem_at(line, text))
            break
        joined: Change = one
        if before is not None:
            both = _join(before, one)
            if both is None:
                shown = _show(path)
                text = (
                    f"line {before.line} changes `{shown}` in another way; send each"
                    " file once."
                )
                problems.append(problem_at(line, text))
                continue
            joined = both
        if isinstance(one, EditedFile) and one.is_cut:
            # A block that is cut off stays last, as in the answer.
            changes.pop(path, None)
        changes[path] = joined
    return list(changes.values()), problems


def _join(before: Change, after: Change) -> Change | None:
    reason = before.reason or after.reason
    before = replace(before, reason=reason)
    if before == replace(after, reason=reason):
        return before
    if not isinstance(before, EditedFile):
        return None
    if not isinstance(after, EditedFile):
        return None
    return replace(
        before,
        edits=before.edits + after.edits,
        is_cut=before.is_cut or after.is_cut,
    )


def _show(text: str) -> str:
    words = text[:240].split()
    flat = " ".join(words)
    if len(flat) > 120:
        flat = flat[:119] + "…"
    return flat
