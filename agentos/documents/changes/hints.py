"""Say why a SEARCH is not found in a file, and what is similar to it."""

from __future__ import annotations

from difflib import SequenceMatcher

from agentos.documents.changes.contract import (
    FOUND_ONCE,
    NAME_WHOLE,
    WHOLE_LINES,
    WRITTEN_OUT,
)
from agentos.documents.changes.elisions import is_elision
from agentos.documents.changes.matching import MAX_COUNTED, Source, without_blanks
from agentos.documents.changes.model import Rows

_MAX_SHOWN = 5
_MAX_COMPARED = 2_000
_MAX_LENGTH = 200
_MAX_STARTS = 200
_MIN_RATIO = 0.6


def say_absent(path: str) -> str:
    """Say what to do about an edit of a file that does not exist."""
    name = NAME_WHOLE.format(path=path)
    return f"the file is empty or does not exist; send it whole: {name}"


def say_found_often(found: list[int], how: str) -> str:
    """Say at which lines of the file a SEARCH is found."""
    count = str(len(found))
    if len(found) >= MAX_COUNTED:
        count = f"{MAX_COUNTED} or more"
    numbers = [str(row + 1) for row in found[:_MAX_SHOWN]]
    if len(found) > _MAX_SHOWN:
        numbers.append("...")
    listed = ", ".join(numbers)
    compared = f" {how}" if how else ""
    return (
        f"the SEARCH text is found {count} times{compared} (lines {listed} of the"
        f" file); {FOUND_ONCE}"
    )


def say_not_found(source: Source, wanted: Rows, replace: Rows) -> str:
    """Say where the text begins to differ, or which line is most similar."""
    text = "the SEARCH text is not found"
    for row in wanted:
        if is_elision(row):
            return f"{text}: it has `{_show(row)}`; {WRITTEN_OUT}"
    plain = source.plain
    part = _find_part(plain, wanted)
    if part:
        return (
            f"the SEARCH text is only a part of line {part} of the file:"
            f" `{_show(plain[part - 1])}`; {WHOLE_LINES}, so give the whole line"
        )
    made = _find_made(source, replace)
    if made:
        return (
            f"{text}, but what replaces it is there already, from line {made} of the"
            " file; leave this section out if that is enough"
        )
    return text + _hint(plain, wanted)


def _find_part(plain: Rows, wanted: Rows) -> int:
    """Return the number of the line that a SEARCH of one line is a part of, or 0."""
    written = [row.strip() for row in wanted if row.strip()]
    if len(written) != 1:
        return 0
    for number, row in enumerate(plain, 1):
        if written[0] in row:
            return number
    return 0


def _find_made(source: Source, replace: Rows) -> int:
    """Return the number of the line where a replacement stands already, or 0."""
    if not any(row.strip() for row in replace):
        return 0
    found = source.find(replace, without_blanks)
    if len(found) != 1:
        return 0
    return found[0] + 1


def _hint(plain: Rows, wanted: Rows) -> str:
    if wanted[0] in plain:
        return _hint_difference(plain, wanted)
    first = ""
    for row in wanted:
        first = row.strip()
        if first:
            break
    for number, row in enumerate(plain, 1):
        if first and row.strip() == first:
            return (
                f": its first line is line {number} of the file, `{_show(row)}`, but"
                " what follows differs"
            )
    near = _find_similar(plain, first)
    if not near:
        return f"; {WHOLE_LINES}, letter by letter"
    shown = _show(plain[near - 1])
    return f"; the nearest line is line {near} of the file: `{shown}`"


def _hint_difference(plain: Rows, wanted: Rows) -> str:
    """Say where the longest match of the first rows ends."""
    longest = begin = tried = 0
    for start, row in enumerate(plain):
        if row != wanted[0]:
            continue
        tried += 1
        if tried > _MAX_STARTS:
            break
        following = plain[start : start + _MAX_COMPARED]
        same = _count_same(following, wanted)
        if same > longest:
            longest = same
            begin = start
    end = begin + longest
    if end == len(plain):
        return f": it matches up to line {end} of the file, where the file ends"
    shown = _show(plain[end])
    return (
        f": it matches from line {begin + 1} of the file, until line {end + 1}"
        f" has `{shown}`"
    )


def _count_same(plain: Rows, wanted: Rows) -> int:
    same = 0
    for have, want in zip(plain, wanted, strict=False):
        if have != want:
            break
        same += 1
    return same


def _find_similar(plain: Rows, wanted: str) -> int:
    """Return the number of the line most similar to the wanted one, 0 if none is."""
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(wanted[:_MAX_LENGTH])
    best = _MIN_RATIO
    found = 0
    for number, row in enumerate(plain[:_MAX_COMPARED], 1):
        matcher.set_seq1(row.strip()[:_MAX_LENGTH])
        # The quick ratios are upper bounds, and far cheaper than the ratio itself.
        if matcher.real_quick_ratio() <= best:
            continue
        if matcher.quick_ratio() <= best:
            continue
        ratio = matcher.ratio()
        if ratio > best:
            best = ratio
            found = number
    return found


def _show(row: str) -> str:
    shown = row.strip()
    return shown[:100]
