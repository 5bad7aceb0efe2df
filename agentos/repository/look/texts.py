"""Turn the bytes of a file into the text that may be shown."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agentos.repository.look.masking import MASK, mask_secrets, withhold_masked
from agentos.repository.look.opening import READ_LIMIT, FileData, FileRefused
from agentos.state.redaction import redact

_LONGEST_CHARACTER = 4
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
_LINE_BREAKS = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What ends a line for some readers, though not for git, Python and us."""


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, and what a reader has to know about it."""

    path: str
    source: str
    """The text for a parser: of each secret only a mask is left."""
    lines: tuple[str, ...]
    """The lines to show: those with a mask are withheld."""
    notes: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """The notes in brackets, to be put after a path."""
        if not self.notes:
            return ""
        joined = "; ".join(self.notes)
        return f" ({joined})"


def read_text(path: str, data: FileData) -> FileText:
    """Decode a file and hide its secrets; raise `FileRefused` if it is not text."""
    notes = []
    if not data.is_whole:
        read = len(data.data)
        notes.append(
            f"a large file, of which only the first {read:,} of {data.size:,} bytes"
            " are read"
        )
    text, encoding = _decode(data.data)
    if encoding:
        notes.append(encoding)
    plain = text.replace("\r\n", "\n")
    source = _hide_secrets(path, plain)
    return restore_text(
        path,
        source,
        tuple(notes),
    )


def restore_text(path: str, source: str, notes: tuple[str, ...]) -> FileText:
    """Return the text of a file from its source without secrets."""
    shown = withhold_masked(source)
    shown = _LINE_BREAKS.sub(" ", shown)
    lines = shown.split("\n")
    if lines[-1] == "":
        lines.pop()
    return FileText(
        path,
        source,
        tuple(lines),
        notes,
    )


def _hide_secrets(path: str, text: str) -> str:
    """Return a text with a mask in each line that has a secret, and as many lines."""
    masked = mask_secrets(path, text)
    if masked is None:
        # It has a private key, whose lines cannot be told from others.
        rows = text.removesuffix("\n").split("\n")
        return "\n".join(MASK for _ in rows)
    ended = f"{masked}\n"
    if redact(ended) == ended:
        return masked
    rows = masked.split("\n")
    for index, row in enumerate(rows):
        # Without a line end, the beginning of a secret would count too.
        ended = f"{row}\n"
        if redact(ended) != ended:
            rows[index] = MASK
    return "\n".join(rows)


def _decode(data: bytes) -> tuple[str, str]:
    """Return a text and a note on its encoding."""
    encoding = _UTF_16.get(data[:2])
    if encoding:
        text = data[2:].decode(encoding, "replace")
        if "\0" not in text:
            return text, f"decoded from {encoding}"
    if b"\0" in data:
        raise FileRefused("a binary file, which is not shown")
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", "replace")
        is_cut = len(data) == READ_LIMIT
        if is_cut and error.start > READ_LIMIT - _LONGEST_CHARACTER:
            return text, ""
        return text, "not UTF-8; what cannot be decoded is shown as \ufffd"
