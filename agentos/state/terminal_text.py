"""Make untrusted bytes safe to show on a terminal."""

from __future__ import annotations

import re
import sys
from typing import TextIO

from agentos.state.redaction import redact

SAFE = bytes(range(0x20, 0x7F)) + b"\n\t"
"""Bytes that a terminal shows as they are."""

RESET = "\x1b[0m"

_CONTROLS = (
    *range(0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F),
    *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_SGR = re.compile("\x1b(\\[[0-9;]{0,64}m)")

# The decoder never produces a lone surrogate, so one can stand for an ESC that may
# pass.
_KEPT_ESC = "\udc1b"
_VISIBLE = {ord(_KEPT_ESC): "\x1b"}
for _code in _CONTROLS:
    _escape = f"\\x{_code:02x}"
    if _code >= 0x100:
        _escape = f"\\u{_code:04x}"
    _VISIBLE[_code] = _escape

# Anchored, and up to the first escape: otherwise a long line without one would be
# searched again from each of its characters.
_LINE_WITH_COLOR = re.compile("^[^\n\x1b]*\x1b[^\n]*", re.MULTILINE)
_LONGEST_UTF8 = 4
_LONGEST_SGR = 70
_UNFINISHED_SGR = re.compile(rb"\x1b(?:\[[0-9;]{0,64})?\Z")


def clean(data: bytes, *, keep_sgr: bool = False, encoding: str = "utf-8") -> bytes:
    """Return whole lines with everything but text made harmless.

    LF and tab pass, CRLF becomes LF, color sequences pass (and are reset at the end of
    the line) or are removed, and every other control or bidirectional character is
    shown as an escape such as `\\x1b`. It uses bulk operations only, because a flood of
    control bytes must cost about as much as a flood of text.
    """
    if not data.translate(None, SAFE):
        return data
    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
    if "\x1b" in text:
        kept = ""
        if keep_sgr:
            kept = f"{_KEPT_ESC}\\1"
        text = _SGR.sub(kept, text)
    if _CONTROL.search(text) or _KEPT_ESC in text:
        text = text.translate(_VISIBLE)
    if keep_sgr and "\x1b" in text:
        text = _LINE_WITH_COLOR.sub(rf"\g<0>{RESET}", text)
    return text.encode(encoding, "backslashreplace")


def clean_text(text: str, encoding: str = "utf-8") -> bytes:
    """Return a message of AgentOS, which may quote untrusted text, without control
    characters.
    """
    return clean(text.encode("utf-8", "backslashreplace"), encoding=encoding)


def print_clean(text: str, stream: TextIO | None = None) -> None:
    """Write text to a stream of any encoding, without keys or control characters."""
    stream = stream or sys.stdout
    data = clean_text(redact(text), stream.encoding or "utf-8")
    stream.flush()
    stream.buffer.write(data)
    stream.flush()


def trim_unfinished(data: bytes) -> bytes:
    """Return `data` without an incomplete character or color sequence at its end."""
    tail = max(0, len(data) - _LONGEST_SGR)
    unfinished = _UNFINISHED_SGR.search(data, tail)
    if unfinished:
        return data[: unfinished.start()]
    # Go back to the byte that begins the last character; it tells the length.
    for back in range(1, min(_LONGEST_UTF8, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            break
        if byte < 0xC0:
            continue
        length = 4
        if byte < 0xE0:
            length = 2
        elif byte < 0xF0:
            length = 3
        if length > back:
            return data[:-back]
        break
    return data
