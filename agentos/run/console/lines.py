"""Split byte streams into whole lines and render them for the console (pure)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from agentos.state.terminal_text import clean, trim_unfinished

LIMIT = 64 * 1024
"""Maximum number of bytes of one line that are kept in memory and shown."""

MORE = b"..."
"""Ends a console line that is continued later, and begins the continuation."""
_BEFORE_REST = MORE + b" "
_AFTER_START = b" " + MORE

_OVERLAP = 4096
_STEP = 1021

Redact = Callable[[bytes], bytes]


class LineHolder:
    """Hold the unfinished end of a byte stream until its newline arrives.

    The output is the input after `redact`, in whole lines. Only a line longer than
    `LIMIT` is passed on in parts, so that memory stays bounded.
    """

    def __init__(self, redact: Redact | None = None) -> None:
        self._redact = redact
        self._held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk and return the lines that it completes."""
        cut = chunk.rfind(b"\n") + 1
        ready = b""
        if cut:
            held = bytes(self._held)
            self._held.clear()
            lines = held + chunk[:cut]
            ready = self._redacted(lines)
        if cut < len(chunk):
            self._held += chunk[cut:]
            if len(self._held) > LIMIT:
                ready += self._spill()
        return ready

    def peek(self) -> bytes:
        """Return the unfinished line and keep it."""
        held = bytes(self._held)
        return self._redacted(held)

    def release(self) -> bytes:
        """Return the unfinished line and forget it."""
        held = bytes(self._held)
        self._held.clear()
        return self._redacted(held)

    def _redacted(self, data: bytes) -> bytes:
        if not data:
            return data
        if self._redact is None:
            return data
        return self._redact(data)

    def _spill(self) -> bytes:
        """Pass on the part of a long line in which no secret can be cut in two.

        At least the last `_OVERLAP` bytes stay, as a secret may have begun there. A cut
        is safe if redacting both sides gives the same as redacting the whole.
        """
        if self._redact is None:
            return self.release()
        held = bytes(self._held)
        whole = self._redact(held)
        for back in range(_OVERLAP, LIMIT, _STEP):
            head = held[:-back]
            tail = held[-back:]
            shown = self._redact(head)
            rest = self._redact(tail)
            if shown + rest == whole:
                self._held[:] = tail
                return shown
        self._held.clear()
        return whole


def prefix_lines(body: bytes, prefix: bytes) -> bytes:
    """Put `prefix` before every line of `body` that is not blank; `body` ends with a
    newline.
    """
    if not prefix:
        return body
    line_start = b"\n" + prefix
    rest = body[:-1].replace(b"\n", line_start)
    prefixed = b"".join((prefix, rest, b"\n"))
    # Searching for a prefix alone on a line, which is long, is faster than searching
    # for two newlines in the text.
    blank = prefix + b"\n"
    if prefixed.startswith(blank) or line_start + b"\n" in prefixed:
        return _prefix_all_but_blank(body, prefix)
    return prefixed


def _prefix_all_but_blank(body: bytes, prefix: bytes) -> bytes:
    """Prefix lines of which some are blank.

    NUL, which cleaned text does not contain, stands for a blank line meanwhile.
    """
    text = b"\n" + body
    for _ in range(2):  # Once is not enough, as matches do not overlap.
        text = text.replace(b"\n\n", b"\n\0\n")
    line_start = b"\n" + prefix
    blank = prefix + b"\0"
    lines = text[:-1].replace(b"\n", line_start)
    lines = lines[1:].replace(blank, b"")
    return lines + b"\n"


def has_long_line(body: bytes) -> bool:
    """Return whether a line of `body` is longer than `LIMIT`, without searching for
    every newline.
    """
    start = 0
    end = LIMIT + 1
    while end < len(body):
        newline = body.rfind(b"\n", start, end)
        if newline < 0:
            return True
        start = newline + 1
        end = start + LIMIT + 1
    return False


class LineRenderer:
    """Render the lines of one stream of a worker for the console."""

    def __init__(
        self,
        prefix: bytes,
        *,
        log: str,
        keep_sgr: bool = False,
        encoding: str = "utf-8",
    ) -> None:
        self._prefix = prefix
        self._log = log
        self._encoding = encoding
        self._clean = partial(clean, keep_sgr=keep_sgr, encoding=encoding)
        self._head = bytearray()
        """The beginning of a line that is not complete, at most `LIMIT` bytes."""
        self._excess = 0
        """Number of bytes of that line beyond the limit."""
        self._shown = b""
        """What a preview has shown of that line."""

    def feed(self, data: bytes) -> bytes:
        """Return the console lines that `data` completes."""
        first = b""
        if self._head or self._shown:
            newline = data.find(b"\n")
            if newline < 0:
                self._keep(data)
                return b""
            self._keep(data[:newline])
            first = self._finish_line()
            data = data[newline + 1 :]
        rendered = b""
        cut = data.rfind(b"\n") + 1
        if cut:
            rendered = self._render(data[:cut])
        if cut < len(data):
            self._keep(data[cut:])
        return first + rendered

    def preview(self, held: bytes) -> bytes:
        """Return the part of an unfinished line that has not been shown yet."""
        whole = bytes(self._head) + held
        beginning = whole[:LIMIT]
        line = trim_unfinished(beginning)
        fresh = self._remove_shown(line)
        if not fresh:
            return b""
        text = self._clean_line(fresh)
        text += _AFTER_START
        if self._shown:
            text = _BEFORE_REST + text
        self._shown = line
        return self._add_prefix(text)

    def end(self) -> bytes:
        """Finish the last line if its newline never came."""
        if self._head or self._shown:
            return self._finish_line()
        return b""

    def _render(self, body: bytes) -> bytes:
        if not has_long_line(body):
            text = self._clean(body)
            return prefix_lines(text, self._prefix)
        done = []
        for line in body[:-1].split(b"\n"):
            self._keep(line)
            rendered = self._finish_line()
            done.append(rendered)
        return b"".join(done)

    def _keep(self, part: bytes) -> None:
        room = LIMIT - len(self._head)
        self._head += part[:room]
        excess = len(part) - room
        if excess > 0:
            self._excess += excess

    def _finish_line(self) -> bytes:
        line = bytes(self._head)
        excess = self._excess
        was_shown = bool(self._shown)
        if excess:
            whole = trim_unfinished(line)
            trimmed = len(line) - len(whole)
            excess += trimmed
            line = whole
        rest = self._remove_shown(line)
        self._head.clear()
        self._excess = 0
        self._shown = b""
        text = self._clean_line(rest)
        if excess:
            note = f"... (+{excess} bytes, see {self._log})"
            encoded = note.encode(self._encoding, "backslashreplace")
            text += encoded
        if was_shown:
            if not text:
                return b""
            text = _BEFORE_REST + text
        return self._add_prefix(text)

    def _remove_shown(self, line: bytes) -> bytes:
        """Remove what a preview has shown, unless redaction has changed it since."""
        return line.removeprefix(self._shown)

    def _clean_line(self, line: bytes) -> bytes:
        terminated = line + b"\n"
        text = self._clean(terminated)
        return text[:-1]

    def _add_prefix(self, line: bytes) -> bytes:
        terminated = line + b"\n"
        return prefix_lines(terminated, self._prefix)
