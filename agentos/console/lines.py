"""Turn byte chunks into whole lines, and whole lines into marked console lines (pure)."""

from __future__ import annotations

from collections.abc import Callable

from agentos.untrusted import clean, trim_unfinished

LIMIT = 64 * 1024
"""Bytes of one line that are held in memory and shown on the console."""

MORE = b"..."
"""Ends a console line that goes on in a later one, and begins that later one."""

_OVERLAP = 4096


class LineHolder:
    """Hold the unfinished end of a byte stream until its newline comes.

    What comes out, joined, is what went in (after `redact`). It is always whole lines, except that a line
    longer than `LIMIT` is passed on in parts, so that an endless line needs no endless memory.
    """

    def __init__(self, redact: Callable[[bytes], bytes] | None = None) -> None:
        self._redact = redact
        self._held = bytearray()

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk and return what may go on."""
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            self._held += chunk
            return self._spill() if len(self._held) > LIMIT else b""
        ready = chunk if cut == len(chunk) else chunk[:cut]
        if self._held:
            ready = bytes(self._held) + ready
            self._held.clear()
        if self._redact is not None:
            ready = self._redact(ready)
        if cut < len(chunk):
            self._held += chunk[cut:]
            if len(self._held) > LIMIT:
                ready += self._spill()
        return ready

    def peek(self) -> bytes:
        """Return the unfinished line, which stays held."""
        held = bytes(self._held)
        return self._redact(held) if held and self._redact is not None else held

    def release(self) -> bytes:
        """Return the unfinished line and hold nothing."""
        held = bytes(self._held)
        self._held.clear()
        return self._redact(held) if held and self._redact is not None else held

    def _spill(self) -> bytes:
        """Pass on the part of a long line in which no secret can be cut in two.

        The last `_OVERLAP` bytes stay, as a secret may have begun there; a cut is good when redacting both
        sides gives the same as redacting the whole.
        """
        if self._redact is None:
            return self.release()
        held = bytes(self._held)
        whole = self._redact(held)
        for back in range(_OVERLAP, LIMIT, 1021):
            head, tail = held[:-back], held[-back:]
            shown = self._redact(head)
            if shown + self._redact(tail) == whole:
                self._held[:] = tail
                return shown
        self._held.clear()
        return whole


def prefix_lines(body: bytes, prefix: bytes) -> bytes:
    """Put `prefix` before every line of `body`, which ends with a newline, but not before blank lines."""
    if not prefix:
        return body
    marked = b"".join((prefix, body[:-1].replace(b"\n", b"\n" + prefix), b"\n"))
    # Looking for the long needle is faster than looking for two newlines before.
    if not marked.startswith(prefix + b"\n") and b"\n" + prefix + b"\n" not in marked:
        return marked
    return _prefix_but_blank(body, prefix)


def _prefix_but_blank(body: bytes, prefix: bytes) -> bytes:
    """Prefix lines of which some are blank; NUL, which cleaned text has not, stands for a blank line."""
    marked = b"\n" + body
    for _ in range(2):  # Once is not enough, as matches do not overlap.
        marked = marked.replace(b"\n\n", b"\n\0\n")
    return marked[:-1].replace(b"\n", b"\n" + prefix)[1:].replace(prefix + b"\0", b"") + b"\n"


def has_long_line(body: bytes) -> bool:
    """Say whether some line of `body` is longer than `LIMIT`, without looking at every line."""
    start = 0
    while len(body) - start > LIMIT + 1:
        newline = body.rfind(b"\n", start, start + LIMIT + 1)
        if newline < 0:
            return True
        start = newline + 1
    return False


class LineRenderer:
    """Turn the lines of one stream of one worker into what its console shows."""

    def __init__(self, prefix: bytes, *, log: str, keep_sgr: bool = False, encoding: str = "utf-8") -> None:
        self._prefix = prefix
        self._log = log
        self._keep_sgr = keep_sgr
        self._encoding = encoding
        self._head = bytearray()
        self._beyond = 0
        self._shown = b""

    def feed(self, data: bytes) -> bytes:
        """Return the console lines that `data` completes."""
        done: list[bytes] = []
        if self._head or self._shown:
            newline = data.find(b"\n")
            if newline < 0:
                self._keep(data)
                return b""
            self._keep(data[:newline])
            done.append(self._finish_line())
            data = data[newline + 1 :]
        cut = data.rfind(b"\n") + 1
        if cut:
            done.append(self._render(data if cut == len(data) else data[:cut]))
        if cut < len(data):
            self._keep(data[cut:])
        return done[0] if len(done) == 1 else b"".join(done)

    def preview(self, held: bytes) -> bytes:
        """Show an unfinished line that has come to rest, as far as it has not been shown."""
        line = trim_unfinished((bytes(self._head) + held)[:LIMIT])
        fresh = self._unshown(line)
        if not fresh:
            return b""
        mark = MORE + b" " if self._shown else b""
        self._shown = line
        return self._mark(mark + self._clean(fresh) + b" " + MORE)

    def end(self) -> bytes:
        """Finish the last line if its newline never came."""
        return self._finish_line() if self._head or self._shown else b""

    def _render(self, body: bytes) -> bytes:
        if not has_long_line(body):
            return prefix_lines(clean(body, keep_sgr=self._keep_sgr, encoding=self._encoding), self._prefix)
        done = []
        for line in body[:-1].split(b"\n"):
            self._keep(line)
            done.append(self._finish_line())
        return b"".join(done)

    def _keep(self, part: bytes) -> None:
        room = LIMIT - len(self._head)
        self._head += part[:room]
        self._beyond += max(0, len(part) - room)

    def _finish_line(self) -> bytes:
        line, beyond, shown = bytes(self._head), self._beyond, self._shown
        if beyond:
            whole = trim_unfinished(line)
            beyond += len(line) - len(whole)
            line = whole
        rest = self._unshown(line)
        self._head.clear()
        self._beyond, self._shown = 0, b""
        text = self._clean(rest)
        if beyond:
            text += f"... (+{beyond} bytes, see {self._log})".encode(self._encoding, "backslashreplace")
        if not shown:
            return self._mark(text)
        return self._mark(MORE + b" " + text) if text else b""

    def _unshown(self, line: bytes) -> bytes:
        """Return what no preview has shown of `line`: all of it, when redaction has changed its beginning."""
        return line[len(self._shown) :] if line.startswith(self._shown) else line

    def _clean(self, line: bytes) -> bytes:
        return clean(line + b"\n", keep_sgr=self._keep_sgr, encoding=self._encoding)[:-1]

    def _mark(self, line: bytes) -> bytes:
        return prefix_lines(line + b"\n", self._prefix)
