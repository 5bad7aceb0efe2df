"""Keep the beginning and the end of an endless output."""

from __future__ import annotations


class HeadAndTail:
    """A bounded buffer of a stream: one half for the beginning, one for the end."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def take(self, data: bytes) -> None:
        """Add the next piece of output."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """Number of bytes that were dropped."""
        return max(0, self.total - 2 * self._half)

    def text(self) -> str:
        """Return the kept text, with a line in place of dropped bytes."""
        tail = self._tail[-self._half :]
        if not self.left_out:
            return (self._head + tail).decode("utf-8", "replace")
        gap = f"\n[... {self.left_out:,} bytes left out ...]\n"
        beginning = self._head.decode("utf-8", "replace")
        end = tail.decode("utf-8", "replace")
        return beginning + gap + end
