"""The part of a document that a verdict is about, and its hash.

The status, the number of reviews, the review log and the last line, which names the
input, are written after a verdict; they are no part of what was judged. Lines are looked
at without parsing Markdown, because thousands of documents are compared in a dry run.
"""

from __future__ import annotations

import hashlib
import re

_LOG = re.compile(
    r"^(?:---[ \t]*\n\s*)?##[ \t]+(?:Appendix: )?Review Log[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_NEXT_SECTION = re.compile(r"^##?[ \t]", re.MULTILINE)
_WRITTEN_AFTERWARDS = re.compile(
    r"^(?:"
    r"[*-] \*\*(?:Issue|Status|Reviews):?\*\*.*"
    r"|\|[ \t]*\**(?:Issue|Status|Reviews)\**[ \t]*\|[^|]*\|[ \t]*"
    r"|\*\*(?:Brief|Status):\*\* .*"
    r"|---[ \t]*"
    r"|[ \t]*"
    r")$\n?",
    re.MULTILINE,
)
_STAMP = re.compile(r"<!-- agentos: [^\n]*-->")
_TEXT_HASH = re.compile(r"\btext=sha256:([0-9a-f]{64})\b")


def without_log(document: str) -> str:
    """Return a document without its review log and without its stamp."""
    text = document.replace("\r\n", "\n")
    log = None
    for log in _LOG.finditer(text):
        pass
    if log is not None:
        following = _NEXT_SECTION.search(text, log.end())
        rest = text[following.start() :] if following else ""
        text = f"{text[: log.start()]}\n{rest}"
    text = _STAMP.sub("", text)
    return f"{text.rstrip()}\n"


def text_hash(document: str) -> str:
    """Return the hash of what a verdict on this document is about."""
    judged = _WRITTEN_AFTERWARDS.sub("", without_log(document))
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
