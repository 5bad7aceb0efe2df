"""Keep the beginning and the end of what somebody prints without end."""

from __future__ import annotations


class HeadAndTail:
    """A bounded memory of a stream: half of it for the beginning, half for the end."""

    def __init__(self, limit: int) -> None:
        self.total = 0
        self._half = max(1, limit // 2)
        self._head = bytearray()
        self._tail = bytearray()

    def take(self, data: bytes) -> None:
        """Take what was printed next."""
        self.total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]

    @property
    def left_out(self) -> int:
        """How many bytes are no longer there."""
        return max(0, self.total - 2 * self._half)

    def text(self) -> str:
        """Return what is kept, with a line where something is missing."""
        tail = self._tail[-self._half :]
        if not self.left_out:
            return (self._head + tail).decode("utf-8", "replace")
        gap = f"\n[... {self.left_out:,} bytes left out ...]\n"
        return self._head.decode("utf-8", "replace") + gap + tail.decode("utf-8", "replace")
