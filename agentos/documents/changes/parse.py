"""Read an implementer's answer into whole files, edits and deletions.

The line that names the file is the contract's and not the file's: it is taken out, with a `Reason:` line and one blank
line directly below it. A fence whose line ends with CR and LF belongs to an answer with such line ends, so its text
gets plain line feeds; below any other fence carriage returns are the file's own. Two words in a fence's info string
say what the text cannot: `no-final-newline`, and `whole` for a file that itself contains sections of edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from agentos.documents.changes.fences import MOST_FENCES, WHOLE, Block, Layout, lay_out, read_fences
from agentos.documents.changes.markers import (
    Verb,
    is_note_harmless,
    read_comment_marker,
    read_comment_reason,
    read_prose_marker,
    read_prose_reason,
)
from agentos.documents.changes.model import (
    MOST_BYTES,
    MOST_EDITS,
    MOST_FILE_BYTES,
    MOST_FILES,
    Change,
    Changes,
    Deletion,
    EditedFile,
    Problem,
    WholeFile,
)
from agentos.documents.changes.sections import SEARCH, SectionMap, is_mark, read_sections
from agentos.documents.undisturbed import undisturbed
from agentos.documents.wrapping import after_thinking

NO_FINAL_NEWLINE = "no-final-newline"
_MOST_PROBLEMS = 100
_MOST_UNNAMED = 1_000
_MOST_OUTSIDE = 2_000
"""How many lines outside all blocks may name a file: one more than can be used tells enough."""

_Found = Change | Problem


@undisturbed
def parse_changes(text: str) -> Changes:
    """Return what an answer changes, what is wrong with it, and which of its blocks name no file."""
    if len(text) > MOST_BYTES or size_of(text) > MOST_BYTES:
        return _refused(f"The answer is longer than {MOST_BYTES // 1_000_000} MB; send fewer files, or edits.")
    rows = text.removeprefix("\ufeff").split("\n")
    begin = _after_thoughts(rows)
    fenced = _find_rows(text, ("```", "~~~"), begin, MOST_FENCES)
    if len(fenced) > MOST_FENCES:
        return _refused(f"The answer has more than {MOST_FENCES:,} fences; send fewer blocks.")
    fences = read_fences(rows, fenced)
    layout = lay_out(rows, fences, SectionMap(rows, _find_rows(text, ("<<<<<<<", ">>>>>>>"), begin)))
    found = [(block.fence.row, one) for block in layout.blocks for one in _read_block(rows, block)]
    named = {one.path for _, one in found if not isinstance(one, Problem)}
    candidates = _find_rows(text.lower(), ("file", "edit", "delete"), begin)
    found += islice(_read_outside(rows, candidates, layout, named), _MOST_OUTSIDE)
    found.sort(key=lambda pair: pair[0])
    changes, problems = _combine([one for _, one in found])
    if len(problems) > _MOST_PROBLEMS:
        more = len(problems) - _MOST_PROBLEMS
        line = problems[_MOST_PROBLEMS].line
        problems = [*problems[:_MOST_PROBLEMS], Problem(line, f"Line {line}: {more} more problems from here on.")]
    return Changes(tuple(changes), tuple(problems), tuple(layout.unnamed[:_MOST_UNNAMED]))


def size_of(text: str) -> int:
    """Return how many bytes a text takes; one that no file can hold counts as well."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _after_thoughts(rows: Sequence[str]) -> int:
    """Return the row where the answer begins: blocks in thoughts before it are drafts."""
    first = next((n for n, row in enumerate(rows) if row.strip()), 0)
    begin = after_thinking(rows, first, len(rows))
    return begin if begin > first else 0


def _find_rows(text: str, needles: Iterable[str], begin: int, most: int = MOST_BYTES) -> list[int]:
    """Return the rows, from one on, that hold one of the needles, up to the first too many.

    Rows that hold none cost next to nothing.
    """
    found: set[int] = set()
    for needle in needles:
        row = last = 0
        place = text.find(needle)
        while place >= 0 and len(found) <= most:
            row += text.count("\n", last, place)
            found.add(row)
            end = text.find("\n", place)
            last = end if end >= 0 else len(text)
            place = text.find(needle, last)
    return sorted(row for row in found if row >= begin)


def _refused(text: str) -> Changes:
    return Changes((), (Problem(1, text),), ())


def _read_block(rows: Sequence[str], block: Block) -> Iterator[_Found]:
    name = block.name
    line = name.row + 1
    shown = _show(name.path)
    if name.other:
        text = f"Line {line}: the block names `{shown}` and `{_show(name.other)}`; name one file a block."
        yield Problem(line, text)
    elif not is_note_harmless(name.note):
        text = f"Line {line}: `{_show(name.note)}` stands behind the path `{shown}`; send the whole file or an edit."
        yield Problem(line, text)
    elif not (block.is_closed or block.is_last):
        line = block.fence.row + 1
        yield Problem(
            line, f"Line {line}: the block of `{shown}` is not closed before line {block.end + 1} opens another."
        )
    elif name.verb is Verb.DELETE:
        yield from _read_deletions(rows, block)
    else:
        yield _read_file(_text_rows(rows, block), block) if not _is_edit(rows, block) else _read_edit(rows, block)


def _text_rows(rows: Sequence[str], block: Block) -> list[str]:
    """Return the rows of a block's text, without the indentation and the line ends of the fence around it."""
    name, fence = block.name, block.fence
    inner = [*name.kept, *rows[name.start : block.end]]
    if not block.is_closed and inner and not inner[-1]:
        inner.pop()
    if rows[fence.row].endswith("\r"):
        inner = [row.removesuffix("\r") for row in inner]
    return [_outdent(row, fence.indent) for row in inner] if fence.indent else inner


def _outdent(row: str, width: int) -> str:
    blank = len(row) - len(row.lstrip(" "))
    return row[min(blank, width) :]


def _is_edit(rows: Sequence[str], block: Block) -> bool:
    if block.name.verb is Verb.EDIT:
        return True
    return WHOLE not in block.fence.info.split() and holds_section(_text_rows(rows, block))


def holds_section(rows: Sequence[str]) -> bool:
    """Tell whether a section of an edit begins in one of the rows."""
    return any(row.startswith("<<<<<<<") and is_mark(row, SEARCH) for row in rows)


def _read_file(inner: Sequence[str], block: Block) -> _Found:
    name = block.name
    text = "".join(f"{row}\n" for row in inner)
    if NO_FINAL_NEWLINE in block.fence.info.split():
        text = text.removesuffix("\n")
    if size_of(text) > MOST_FILE_BYTES:
        return _too_large(name.path, name.row + 1)
    return WholeFile(name.path, text, name.row + 1, name.reason, not block.is_closed)


def _read_edit(rows: Sequence[str], block: Block) -> _Found:
    name = block.name
    line = name.row + 1
    inner = _text_rows(rows, block)
    edits, problems = read_sections(inner, name.start + 1 - len(name.kept))
    if problems:
        return problems[0]
    if not edits:
        text = f"Line {line}: the edit of `{_show(name.path)}` has no section `<<<<<<< SEARCH`."
        return Problem(line, text)
    if sum(size_of(edit.replace) for edit in edits) > MOST_FILE_BYTES:
        return _too_large(name.path, line)
    return EditedFile(name.path, edits, line, name.reason, not block.is_closed)


def _too_large(path: str, line: int) -> Problem:
    text = f"Line {line}: `{_show(path)}` has more than {MOST_FILE_BYTES // 1_000_000} MB of text; split it up."
    return Problem(line, text)


def _read_deletions(rows: Sequence[str], block: Block) -> Iterator[_Found]:
    """Yield the deletions of a block in which nothing else may stand."""
    name = block.name
    found = [Deletion(name.path, name.row + 1, name.reason)]
    for number in range(name.start, block.end):
        row = rows[number]
        marker = read_comment_marker(row)
        reason = read_comment_reason(row)
        if marker is not None and marker.verb is Verb.DELETE:
            found.append(Deletion(marker.path, number + 1))
        elif reason is not None:
            found[-1] = replace(found[-1], reason=reason)
        elif row.strip():
            text = f"Line {number + 1}: a block that deletes `{_show(name.path)}` holds nothing else; take this out."
            yield Problem(number + 1, text)
            return
    yield from found


def _read_outside(
    rows: Sequence[str], candidates: Iterable[int], layout: Layout, named: set[str]
) -> Iterator[tuple[int, _Found]]:
    """Yield the deletions in lines of their own, and a complaint about every name that no block follows."""
    used = {block.name.above for block in layout.blocks}
    covered = layout.covered
    for number in candidates:
        marker = None if covered[number] or number in used else read_prose_marker(rows[number])
        if marker is None:
            continue
        if marker.verb is Verb.DELETE:
            below = rows[number + 1] if number + 1 < len(rows) and not covered[number + 1] else ""
            yield number, Deletion(marker.path, number + 1, read_prose_reason(below) or "")
        elif marker.path not in named:
            line = number + 1
            text = f"Line {line}: names `{_show(marker.path)}`, but no fenced block follows; send its text in one."
            yield number, Problem(line, text)


def _combine(found: Sequence[_Found]) -> tuple[list[Change], list[Problem]]:
    """Join what speaks of the same file: equal blocks once, edits one after the other, anything else is a problem."""
    changes: dict[str, Change] = {}
    problems: list[Problem] = []
    edits = 0
    for one in found:
        if isinstance(one, Problem):
            problems.append(one)
            continue
        edits += len(one.edits) if isinstance(one, EditedFile) else 0
        before = changes.get(one.path)
        if edits > MOST_EDITS:
            text = f"Line {one.line}: the answer has more than {MOST_EDITS} sections of edits; send the files whole."
            problems.append(Problem(one.line, text))
            break
        if before is None and len(changes) == MOST_FILES:
            text = f"Line {one.line}: the answer has more than {MOST_FILES} files; this one and the rest are left out."
            problems.append(Problem(one.line, text))
            break
        joined = one if before is None else _join(before, one)
        if joined is None:
            text = f"Line {one.line}: `{_show(one.path)}` is already in line {before.line if before else 0}, otherwise."
            problems.append(Problem(one.line, f"{text} Send one version of a file."))
        else:
            if isinstance(one, EditedFile) and one.is_cut:
                # What is cut off stays last, as it was in the answer.
                changes.pop(one.path, None)
            changes[one.path] = joined
    return list(changes.values()), problems


def _join(before: Change, after: Change) -> Change | None:
    reason = before.reason or after.reason
    if replace(before, reason=reason) == replace(after, reason=reason):
        return replace(before, reason=reason)
    if isinstance(before, EditedFile) and isinstance(after, EditedFile):
        is_cut = before.is_cut or after.is_cut
        return replace(before, edits=before.edits + after.edits, reason=reason, is_cut=is_cut)
    return None


def _show(text: str) -> str:
    flat = " ".join(text[:240].split())
    return flat if len(flat) <= 120 else flat[:119] + "…"
