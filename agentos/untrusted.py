"""What of hostile bytes may reach a terminal."""

from __future__ import annotations

import re
import sys
from typing import TextIO

from agentos.redaction import redact

SAFE = bytes(range(0x20, 0x7F)) + b"\n\t"
"""Bytes that a terminal shows as they are."""

RESET = "\x1b[0m"

_CONTROLS = (
    [code for code in range(0x20) if chr(code) not in "\n\t"]
    + list(range(0x7F, 0xA0))
    + [0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
)
_CONTROL = re.compile(f"[{''.join(re.escape(chr(code)) for code in _CONTROLS)}]")
_SGR = re.compile("\x1b(\\[[0-9;]{0,64}m)")

# A lone surrogate cannot come out of the decoder, so it can stand for an ESC that was let through.
_KEPT_ESC = "\udc1b"
_VISIBLE: dict[int, str] = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS} | {
    ord(_KEPT_ESC): "\x1b"
}

_LONGEST_UTF8 = 4
_UNFINISHED_SGR = re.compile(rb"\x1b(?:\[[0-9;]{0,64})?\Z")


def clean(data: bytes, *, keep_sgr: bool = False, encoding: str = "utf-8") -> bytes:
    """Return whole lines with everything but text made harmless.

    LF and tab pass, CRLF becomes LF, colour sequences pass (closed at the line's end) or vanish, and every
    other control or bidirectional character is shown as an escape such as `\\x1b`. Bulk operations only:
    a flood of control bytes must cost about as much as a flood of text.
    """
    if not data.translate(None, SAFE):
        return data
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if "\x1b" in text:
        text = _SGR.sub(f"{_KEPT_ESC}\\1" if keep_sgr else "", text)
    if _CONTROL.search(text) or _KEPT_ESC in text:
        text = text.translate(_VISIBLE)
    if keep_sgr and "\x1b" in text:
        text = "\n".join(line + RESET if "\x1b" in line else line for line in text.split("\n"))
    return text.encode(encoding, "backslashreplace")


def clean_text(text: str, encoding: str = "utf-8") -> bytes:
    """Return the coordinator's own words, which may quote anybody, without control characters."""
    return clean(text.encode("utf-8", "backslashreplace"), encoding=encoding)


def print_clean(text: str, stream: TextIO | None = None) -> None:
    """Write words that may quote anybody to a stream, without keys or control characters, whatever its encoding."""
    stream = stream or sys.stdout
    data = clean(redact(text).encode("utf-8", "backslashreplace"), encoding=stream.encoding or "utf-8")
    stream.flush()
    stream.buffer.write(data)
    stream.flush()


def trim_unfinished(data: bytes) -> bytes:
    """Return `data` without a character or colour sequence that its end cuts in two."""
    unfinished = _UNFINISHED_SGR.search(data, max(0, len(data) - 70))
    if unfinished:
        return data[: unfinished.start()]
    for back in range(1, min(_LONGEST_UTF8, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte >= 0xC0:
            needs = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if needs > back else data
    return data
