"""The part of a document that a verdict is about, and its hash.

The status, the number of reviews, the review log and the last line, which names the
input, are written after a verdict; they are no part of what was judged. Lines are looked
at without parsing Markdown, because thousands of documents are compared in a dry run.
"""

from __future__ import annotations

import hashlib
import re

_LOG = re.compile(r"##[ \t]+(?:Appendix: )?Review Log[ \t]*", re.IGNORECASE)
_LOG_WORDS = ("Review Log", "Review log", "review log", "REVIEW LOG")
_MOST_MENTIONS = 20
"""How often the words may stand behind the log's own heading."""
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
_STAMP = re.compile(r"<!-- agentos: [^\n]*-->")
TEXT_HASH = re.compile(rb" text=sha256:[0-9a-f]{64}\b")
"""The hash in a stamp, in the bytes of a document."""
_TEXT_HASH = re.compile(r"\btext=sha256:([0-9a-f]{64})\b")


def has_log(document: str) -> bool:
    """Tell whether a document has a review log or a stamp."""
    return STAMP_START in document or _find_log(document) != (0, 0)


def without_log(document: str) -> str:
    """Return a document without its review log and without its stamp."""
    text = document.replace("\r\n", "\n")
    start, end = _find_log(text)
    if end:
        following = _NEXT_SECTION.search(text, end)
        rest = text[following.start() :] if following else ""
        before = text[:start].rstrip().removesuffix("---").rstrip()
        text = f"{before}\n\n{rest}"
    if STAMP_START in text:
        text = _STAMP.sub("", text)
    return f"{text.rstrip()}\n"


def _find_log(text: str) -> tuple[int, int]:
    """Return where the heading of the last review log begins and ends; (0, 0) without
    one.
    """
    last = max(text.rfind(words) for words in _LOG_WORDS)
    for _ in range(_MOST_MENTIONS):
        if last < 0:
            break
        start = text.rfind("\n", 0, last) + 1
        end = text.find("\n", last)
        if end < 0:
            end = len(text)
        if _LOG.fullmatch(text, start, end):
            return start, end
        last = max(text.rfind(words, 0, start) for words in _LOG_WORDS)
    return 0, 0


def text_hash(document: str) -> str:
    """Return the hash of what a verdict on this document is about."""
    kept = []
    for row in without_log(document).split("\n"):
        if not row or row.isspace():
            continue
        if row.startswith(_MARKS) and _WRITTEN_AFTERWARDS.fullmatch(row):
            continue
        kept.append(row)
    judged = "\n".join(kept)
    return hashlib.sha256(judged.encode("utf-8", "replace")).hexdigest()


def source_hash(source: str) -> str:
    """Return the hash of a source, which does not depend on blank space at its end."""
    return hashlib.sha256(source.rstrip().encode("utf-8", "replace")).hexdigest()


def stamped_hash(document: str) -> str:
    """Return the hash in the document's last stamp, empty if it names none."""
    stamps = _STAMP.findall(document)
    if not stamps:
        return ""
    found = _TEXT_HASH.search(stamps[-1])
    return found[1] if found else ""


def is_edited(document: str) -> bool:
    """Tell whether a document is no longer what its verdict was about."""
    stamped = stamped_hash(document)
    return bool(stamped) and stamped != text_hash(document)


def stamp_text(document: str) -> str:
    """Return a finished document whose stamp names the hash of its text."""
    stamps = list(_STAMP.finditer(document))
    if not stamps:
        return f"{document.rstrip()}\n\n<!-- agentos: text=sha256:{text_hash(document)} -->\n"
    last = stamps[-1]
    fields = [
        field
        for field in last[0].removesuffix("-->").split()
        if not field.startswith("text=")
    ]
    # The hash of the input stays the last field, where every version looks for it.
    fields.insert(max(2, len(fields) - 1), f"text=sha256:{text_hash(document)}")
    stamp = " ".join(fields) + " -->"
    return document[: last.start()] + stamp + document[last.end() :]
