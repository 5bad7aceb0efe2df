"""The part of a document that a verdict is about, and its hash.

The status, the number of reviews, the review log and the last line, which names the
input, are written after a verdict; they are no part of what was judged. Lines are looked
at without parsing Markdown, because thousands of documents are compared in a dry run.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from itertools import filterfalse

_LOG = re.compile(r"##[ \t]+(?:Appendix: )?Review Log[ \t]*", re.IGNORECASE)
_NEXT_SECTION = re.compile(r"^##?[ \t]", re.MULTILINE)
_WRITTEN_AFTERWARDS = re.compile(
    r"[*-] \*\*(?:Issue|Status|Reviews):?\*\*.*"
    r"|\|[ \t]*\**(?:Issue|Status|Reviews)\**[ \t]*\|[^|]*\|[ \t]*"
    r"|\*\*(?:Brief|Status):\*\* .*"
    r"|---[ \t]*"
)
_MARKS = ("*", "-", "|")
"""What a line begins with that may have been written afterwards."""
STAMP_START = "<!-- agentos: "
_STAMP_END = "-->"
TEXT_HASH = re.compile(rb" text=sha256:[0-9a-f]{64}\b")
"""The hash in a stamp, in the bytes of a document."""
_TEXT_HASH = re.compile(r"\btext=sha256:([0-9a-f]{64})\b")


def has_log(document: str) -> bool:
    """Tell whether a document has a review log or a stamp."""
    return STAMP_START in document or _find_log(document) is not None


def without_log(document: str) -> str:
    """Return a document without its review log and without its stamp."""
    text = document.replace("\r\n", "\n")
    log = _find_log(text)
    if log is not None:
        start = log.start
        before = text[:start]
        before = before.rstrip()
        # The rule was written above the log.
        before = before.removesuffix("---")
        before = before.rstrip()
        rest = ""
        end = log.stop
        following = _NEXT_SECTION.search(text, end)
        if following is not None:
            start = following.start()
            rest = text[start:]
        text = f"{before}\n\n{rest}"
    text = _without_stamps(text)
    text = text.rstrip()
    return f"{text}\n"


def _find_log(text: str) -> slice | None:
    """Return where the heading of the last review log is."""
    start = len(text)
    # From heading to heading backwards, so that no part of the text is read twice.
    while start:
        line_end = text.rfind("\n##", 0, start)
        start = line_end + 1
        end = _end_of_line(text, start)
        if _LOG.fullmatch(text, start, end):
            return slice(start, end)
    return None


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    if end < 0:
        return len(text)
    return end


def _find_stamps(text: str) -> Iterator[slice]:
    """Yield where each stamp is: from its start to the last end of a comment on its
    line.

    A regular expression would read the rest of a line again for every start on it.
    """
    start = text.find(STAMP_START)
    while start >= 0:
        length = len(STAMP_START)
        first_field = start + length
        end_of_line = _end_of_line(text, start)
        end = text.rfind(_STAMP_END, first_field, end_of_line)
        if end >= 0:
            end += len(_STAMP_END)
            yield slice(start, end)
        start = text.find(STAMP_START, end_of_line)


def _without_stamps(text: str) -> str:
    parts = []
    position = 0
    for stamp in _find_stamps(text):
        start = stamp.start
        part = text[position:start]
        parts.append(part)
        position = stamp.stop
    rest = text[position:]
    parts.append(rest)
    return "".join(parts)


def text_hash(document: str) -> str:
    """Return the hash of what a verdict on this document is about."""
    bare = without_log(document)
    rows = bare.split("\n")
    kept = filter(_is_judged, rows)
    judged = "\n".join(kept)
    return _sha256(judged)


def _is_judged(row: str) -> bool:
    """Tell whether a row says something, and was there when the verdict was given."""
    if not row or row.isspace():
        return False
    # Most rows begin otherwise, and need no regular expression.
    if not row.startswith(_MARKS):
        return True
    return _WRITTEN_AFTERWARDS.fullmatch(row) is None


def source_hash(source: str) -> str:
    """Return the hash of a source, which does not depend on blank space at its end."""
    bare = source.rstrip()
    return _sha256(bare)


def _sha256(text: str) -> str:
    data = text.encode("utf-8", "replace")
    return hashlib.sha256(data).hexdigest()


def stamped_hash(document: str) -> str:
    """Return the hash in the document's last stamp, empty if it names none."""
    place = _last_stamp(document)
    if place is None:
        return ""
    stamp = document[place]
    found = _TEXT_HASH.search(stamp)
    if found is None:
        return ""
    return found[1]


def _last_stamp(document: str) -> slice | None:
    stamps = list(_find_stamps(document))
    if not stamps:
        return None
    return stamps[-1]


def last_stamp(document: str) -> str:
    """Return the line that names the document's input, empty if it has none."""
    place = _last_stamp(document)
    if place is None:
        return ""
    return document[place]


def is_edited(document: str) -> bool:
    """Tell whether a document is no longer what its verdict was about."""
    stamped = stamped_hash(document)
    if not stamped:
        return False
    return stamped != text_hash(document)


def stamp_text(document: str) -> str:
    """Return a finished document whose stamp names the hash of its text."""
    digest = text_hash(document)
    place = _last_stamp(document)
    if place is None:
        body = document.rstrip()
        stamp = _name_hash(STAMP_START, digest)
        return f"{body}\n\n{stamp}\n"
    stamped = document[place]
    stamp = _name_hash(stamped, digest)
    before = document[: place.start]
    after = document[place.stop :]
    return f"{before}{stamp}{after}"


def _is_hash(field: str) -> bool:
    return field.startswith("text=")


def _name_hash(stamp: str, digest: str) -> str:
    """Return a stamp that names this hash of the text and no other."""
    inside = stamp.removesuffix(_STAMP_END)
    given = inside.split()
    fields = list(filterfalse(_is_hash, given))
    # The hash of the input stays the last field, where every version looks for it.
    last = len(fields) - 1
    place = max(2, last)
    named = f"text=sha256:{digest}"
    fields.insert(place, named)
    stamp = " ".join(fields)
    return f"{stamp} {_STAMP_END}"
