"""Read an implementer's answer into whole files, edits and deletions.

The marker that names a file is not part of the file: it is removed, with a `Reason:`
line and one blank line directly below it. If the line of a fence ends with CRLF, the
whole answer has such line ends, and the text gets plain line feeds; below any other
fence, carriage returns belong to the file. Two words in an info string say what the
text cannot: `no-final-newline`, and `whole` for a file that itself contains sections of
edits.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from html import unescape
from itertools import chain, islice
from operator import itemgetter

from agentos.documents.changes.contract import (
    LONGER_FENCE,
    NAME_EDIT,
    NAME_WHOLE,
    NAMELESS,
)
from agentos.documents.changes.diffs import is_diff, read_diff
from agentos.documents.changes.elisions import is_elision
from agentos.documents.changes.envelopes import open_envelope
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
    is_remark_in_code,
    is_sentence,
    read_comment_marker,
    read_comment_reason,
    read_prose_marker,
    read_prose_reason,
    split_paths,
)
from agentos.documents.changes.model import (
    MAX_BYTES,
    MAX_EDITS,
    MAX_FILE_BYTES,
    MAX_FILES,
    Change,
    Changes,
    Deletion,
    Edit,
    EditedFile,
    Problem,
    Rows,
    WholeFile,
    problem_at,
)
from agentos.documents.changes.patches import PATCH_SIGNS, read_patches
from agentos.documents.changes.sections import (
    REPLACE,
    SEARCH,
    SectionMap,
    holds_section,
    loose_length,
    read_sections,
)
from agentos.documents.changes.splitting import Splitter
from agentos.documents.changes.statements import (
    WORDS,
    Statements,
    read_statements,
)
from agentos.documents.without_gc import without_gc
from agentos.documents.wrapping import after_thinking

NO_FINAL_NEWLINE = "no-final-newline"
_ESCAPED = "&lt;" * 4
_MAX_PROBLEMS = 100
_MAX_UNNAMED = 1_000
_MAX_LISTED = 10
_MAX_OUTSIDE = 2_000
"""Maximum number of lines outside all blocks that name a file."""

_MARKER_WORDS = (
    "file",
    "edit",
    "delete",
    "path",
    "create",
    "modify",
    "update",
    "patch",
)
_Found = Change | Problem
_Placed = tuple[int, _Found]
"""A change or a problem with its row in the answer."""


@without_gc
def parse_changes(text: str, expected: Collection[str] = ()) -> Changes:
    """Return the changes of an answer, its problems, its statements, and its unnamed
    blocks.

    `expected` are the files that the answer may well mean: the path of one of them
    names a block also without the word `File` or `Edit`, and if there is only one, a
    single unnamed block is taken for it.
    """
    # The slice avoids encoding a text that is far too long.
    if _size_of(text[: MAX_BYTES + 1]) > MAX_BYTES:
        megabytes = MAX_BYTES // 1_000_000
        return _refuse(
            f"The answer is longer than {megabytes} MB; send fewer files, or edits."
        )
    text = open_envelope(text)
    rows = text.removeprefix("\ufeff").split("\n")
    begin = skip_thoughts(rows)
    fenced = _find_rows(text, ("```", "~~~"), begin, MAX_FENCES)
    if len(fenced) > MAX_FENCES:
        return _refuse(
            f"The answer has more than {MAX_FENCES:,} fences; send fewer blocks."
        )
    marked = _find_rows(text, ("<<<<", ">>>>"), begin)
    sections = SectionMap(rows, marked)
    fences = read_fences(rows, fenced)
    layout = Layout(rows, fences, sections, frozenset(expected))
    lowered = text.lower()
    spoken = _find_rows(lowered, WORDS, begin)
    statements = read_statements(rows, spoken, layout.covered)
    found: list[_Placed] = []
    named: set[str] = set()
    candidates = _find_rows(lowered, _MARKER_WORDS, begin)
    patched = _find_rows(text, PATCH_SIGNS, begin)
    found += read_patches(rows, patched, layout, expected)
    blocks = layout.blocks
    if not found:
        blocks = _blocks(layout, expected, statements)
    splitter = Splitter(rows, candidates, layout, sections, expected)
    for block in chain.from_iterable(map(splitter.split, blocks)):
        for one in _read_block(rows, block):
            found.append((block.fence.row, one))
            if not isinstance(one, Problem):
                named.add(one.path)
    found = _with_folders(found, expected)
    found = _without_guesses(found)
    outside = _read_outside(rows, candidates, layout, sections, named)
    found += islice(outside, _MAX_OUTSIDE)
    found += _find_nameless(layout, sections)
    found.sort(key=itemgetter(0))
    changes, problems = _combine(found)
    problems += statements.problems
    more = len(problems) - _MAX_PROBLEMS
    if more > 0:
        line = problems[_MAX_PROBLEMS].line
        last = problem_at(line, f"{more} more problems from here on.")
        problems[_MAX_PROBLEMS:] = [last]
    unnamed = layout.unnamed[:_MAX_UNNAMED]
    return Changes(
        tuple(changes),
        tuple(problems),
        tuple(unnamed),
        blocked=statements.blocked,
        contested=tuple(statements.contested),
        kept=tuple(statements.kept),
        unreachable=tuple(statements.unreachable),
    )


def _find_nameless(layout: Layout, sections: SectionMap) -> Iterator[_Placed]:
    """Yield a problem if there are sections that are in no file's edit."""
    unread = sections.unread(layout.taken)
    if not unread:
        return
    first, *others = unread
    listed = [f"line {row + 1}" for row in others[:_MAX_LISTED]]
    also = ""
    if listed:
        also = f" (also {', '.join(listed)})"
    name = NAME_EDIT.format(path="PATH")
    yield first, problem_at(first + 1, f"{NAMELESS}{also}; {name}.")


def _blocks(
    layout: Layout,
    expected: Collection[str],
    statements: Statements,
) -> list[Block]:
    """Return the named blocks, or the only unnamed one for the only expected file."""
    if layout.blocks or len(expected) != 1 or len(layout.lone) != 1:
        return layout.blocks
    if statements.blocked or statements.contested:
        return []
    path = next(iter(expected))
    block = layout.name_lone(path)
    return [block] if block else []


def _without_guesses(found: Iterable[_Placed]) -> list[_Placed]:
    """Leave out the texts that may be excerpts of a file which is given for certain."""
    listed = list(found)
    sure = set()
    for _, one in listed:
        if not isinstance(one, Problem) and not _is_guess(one):
            sure.add(one.path)
    kept = []
    for row, one in listed:
        if isinstance(one, Problem) or not _is_guess(one) or one.path not in sure:
            kept.append((row, one))
    return kept


def _with_folders(
    found: Iterable[_Placed],
    expected: Collection[str],
) -> list[_Placed]:
    """Take the name of a file for the only expected path that ends with it."""
    paths: dict[str, list[str]] = {}
    for path in expected:
        name = path.rpartition("/")[2]
        paths.setdefault(name, []).append(path)
    placed: list[_Placed] = []
    for row, one in found:
        change = one
        if not isinstance(one, Problem) and not one.reason:
            ending = f"/{one.path}"
            name = one.path.rpartition("/")[2]
            fitting = [path for path in paths.get(name, ()) if path.endswith(ending)]
            if len(fitting) == 1 and one.path not in expected:
                change = replace(one, path=fitting[0])
        placed.append((row, change))
    return placed


def _is_guess(change: Change) -> bool:
    return isinstance(change, WholeFile) and not change.is_sure


def _size_of(text: str) -> int:
    """Return the size of a text in bytes, even if it cannot be encoded."""
    if text.isascii():
        return len(text)
    encoded = text.encode("utf-8", "surrogatepass")
    return len(encoded)


def skip_thoughts(rows: Rows) -> int:
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


def _read_block(
    rows: Rows,
    block: Block,
) -> Iterable[_Found]:
    name = block.name
    line = name.row + 1
    shown = _show(name.path)
    if name.other:
        other = _show(name.other)
        text = f"the block names `{shown}` and `{other}`; name one file a block."
        return [problem_at(line, text)]
    if name.verb is not Verb.EDIT and not is_note_harmless(name.note):
        note = _show(name.note)
        text = (
            f"`{note}` stands behind the path `{shown}`; send the whole file or an"
            " edit."
        )
        return [problem_at(line, text)]
    if block.is_ambiguous:
        text = f"the block of `{shown}` could end at two places; {LONGER_FENCE}."
        return [problem_at(block.fence.row + 1, text)]
    if not (block.is_closed or block.is_last):
        text = (
            f"the block of `{shown}` is not closed before line {block.end + 1} opens"
            " another."
        )
        return [problem_at(block.fence.row + 1, text)]
    if name.verb is Verb.DELETE:
        return _read_deletions(rows, block)
    inner = _text_rows(rows, block)
    is_whole = WHOLE in block.fence.info.split() or _quotes_edit(inner, block)
    if name.verb is Verb.EDIT or (not is_whole and holds_section(inner)):
        return [_read_edit(inner, block)]
    if _is_diff(inner, block):
        return [_read_edit(inner, block)]
    return [_read_file(inner, block)]


def _quotes_edit(inner: Rows, block: Block) -> bool:
    """Tell whether a document has its first section in a fence of its own."""
    if not block.name.is_prose:
        return False
    is_open = has_text = False
    for row in inner:
        if row.startswith(("```", "~~~")):
            is_open = not is_open
        elif loose_length(row, SEARCH):
            return is_open and has_text
        elif row.strip() and not is_open:
            has_text = True
    return False


def _is_diff(inner: Rows, block: Block) -> bool:
    path = block.name.path
    if not is_diff(inner) or path.endswith((".diff", ".patch")):
        return False
    info = block.fence.info.partition(" ")[0].casefold()
    if info in ("diff", "patch", "udiff"):
        return True
    has_hunk = any(row.startswith("@@ ") for row in inner)
    is_edit = block.name.verb is Verb.EDIT
    return is_edit and (has_hunk or not block.name.is_prose)


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
        is_sure=name.is_sure and name.verb is Verb.FILE,
    )


def _read_edit(inner: Rows, block: Block) -> _Found:
    name = block.name
    line = name.row + 1
    first = name.start - len(name.preamble)
    has_text = any(row.strip() for row in inner)
    has_marks = any(map(_is_mark, inner)) or any(_ESCAPED in row for row in inner)
    if has_text and not has_marks and not _is_diff(inner, block):
        # It is the whole text, if the file is new or has nothing else.
        return _read_file(inner, block)
    edits = _read_parts(inner, block, first + 1)
    if isinstance(edits, Problem):
        return edits
    if not edits:
        shown = _show(name.path)
        text = (
            f"the edit of `{shown}` has no section `<<<<<<< SEARCH`; write one, or send"
            f" the file whole: {NAME_WHOLE.format(path=shown)}."
        )
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


def _read_parts(
    inner: Rows,
    block: Block,
    first_line: int,
) -> list[Edit] | Problem:
    """Return the sections or hunks of an edit."""
    if _is_diff(inner, block):
        return read_diff(inner, first_line)
    path = block.name.path

    def may_skip(row: str) -> bool:
        if not row.strip() or is_elision(row):
            return True
        marker = read_comment_marker(row)
        if marker:
            return marker.path == path
        if is_sentence(row) or read_prose_reason(row) is not None:
            return True
        return is_remark_in_code(row) and not block.name.is_prose

    if any(_ESCAPED in row for row in inner):
        inner = list(map(unescape, inner))
    return read_sections(
        inner,
        first_line,
        may_skip=may_skip,
        may_lack_end=block.is_closed and block.is_alone,
    )


def _is_mark(row: str) -> bool:
    return loose_length(row, SEARCH) > 0 or loose_length(row, REPLACE) > 0


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
    rows: Rows,
    candidates: Iterable[int],
    layout: Layout,
    sections: SectionMap,
    named: set[str],
) -> Iterator[_Placed]:
    """Yield the deletions and edits outside blocks, and a problem for each name without
    a block.
    """
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
            reason = marker.reason or _find_reason(rows, number, covered)
            for one in split_paths(path):
                yield number, Deletion(one, line, reason)
            continue
        edited = _read_bare_edit(rows, number, path, sections, layout)
        if edited:
            named.add(path)
            yield number, edited
        elif path not in named and marker.has_colon:
            shown = _show(path)
            text = (
                f"names `{shown}`, but no fenced block follows; send its text in one."
            )
            yield number, problem_at(line, text)


def _find_reason(
    rows: Rows,
    number: int,
    covered: bytes | bytearray,
) -> str:
    """Return the reason below a row or, with nothing else around, above it."""
    below = number + 1
    if not covered[below] and not rows[below].strip() and not covered[below + 1]:
        below += 1
    reason = None
    if not covered[below]:
        reason = read_prose_reason(rows[below])
    above = number - 1
    if reason is None and above >= 0 and not covered[above]:
        is_free = above == 0 or not (covered[above - 1] or rows[above - 1].strip())
        if is_free:
            reason = read_prose_reason(rows[above])
    return reason or ""


def _read_bare_edit(
    rows: Rows,
    number: int,
    path: str,
    sections: SectionMap,
    layout: Layout,
) -> EditedFile | None:
    """Return the sections that follow the name of a file without a fence around."""
    start = number + 1
    reason = ""
    while start < len(rows) and start <= number + 3:
        said = read_prose_reason(rows[start])
        if rows[start].strip() and said is None:
            break
        reason = said or reason
        start += 1
    end = start
    while end < len(rows):
        after = sections.end_of(end)
        if after:
            end = after
        elif end > start and not rows[end].strip():
            end += 1
        else:
            break
    if end == start or any(layout.taken[start:end]):
        return None
    edits = read_sections(rows[start:end], start + 1)
    if isinstance(edits, Problem) or not edits:
        return None
    layout.take(start, end)
    return EditedFile(path, tuple(edits), number + 1, reason)


def _combine(found: Iterable[_Placed]) -> tuple[list[Change], list[Problem]]:
    """Join the changes of each file.

    Equal blocks count once and edits follow each other; anything else is a problem.
    """
    changes: dict[str, Change] = {}
    problems: list[Problem] = []
    disputed: set[str] = set()
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
                    f"line {before.line} changes `{shown}` in another way, so neither is"
                    " taken; send each file once."
                )
                problems.append(problem_at(line, text))
                disputed.add(path)
                continue
            joined = both
        if isinstance(one, EditedFile) and one.is_cut:
            # A block that is cut off stays last, as in the answer.
            changes.pop(path, None)
        changes[path] = joined
    agreed = [change for path, change in changes.items() if path not in disputed]
    return agreed, problems


def _join(before: Change, after: Change) -> Change | None:
    reason = before.reason or after.reason
    before = replace(before, reason=reason)
    if before == replace(after, reason=reason):
        return before
    if not isinstance(after, EditedFile) or isinstance(before, Deletion):
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
