"""Messages between the coordinator and a worker: JSON objects, which may carry bytes.

A message is the length of its JSON text, the length of its bytes, the text, the bytes. The
key `blobs` of a message is a list of bytes; the text has their lengths in its place.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

_LENGTHS = struct.Struct("!II")
_CHUNK = 64 * 1024
MESSAGE_LIMIT = 64 * 1024 * 1024

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Channel:
    """One end of a socket on an event loop; calls back for each message, and once when
    the other end is closed.

    It uses the socket directly: for thousands of short conversations, asyncio's streams
    would cost the coordinator more time than the messages themselves.
    """

    def __init__(
        self,
        end: socket.socket,
        on_message: Callable[[Message], None],
        on_closed: Callable[[], None],
    ) -> None:
        end.setblocking(False)
        self.on_message = on_message
        self._on_closed = on_closed
        self._socket = end
        # The number, not the socket: for an unknown one, the loop would put the whole
        # repr of the socket into its error.
        self._number = end.fileno()
        self._loop = asyncio.get_running_loop()
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._is_open = True
        self._loop.add_reader(self._number, self._read)

    def send(self, message: Message) -> None:
        """Send a message; it is lost if the other end is closed."""
        blobs: list[bytes] = message.get("blobs", [])
        if blobs:
            message = {**message, "blobs": [len(blob) for blob in blobs]}
        body = _to_json(message).encode("utf-8", "surrogatepass")
        attached = b"".join(blobs)
        size = len(body) + len(attached)
        if size > MESSAGE_LIMIT:
            raise ValueError(
                f"a message of {size} bytes is over the limit of {MESSAGE_LIMIT}"
            )
        if not self._is_open:
            return
        is_writing = bool(self._outgoing)
        self._outgoing += _LENGTHS.pack(len(body), len(attached))
        self._outgoing += body
        self._outgoing += attached
        if not is_writing:
            self._write()
            if self._outgoing and self._is_open:
                self._loop.add_writer(self._number, self._continue_writing)

    def flush(self) -> None:
        """Block until everything is sent or the other end is closed."""
        if self._is_open and self._outgoing:
            self._socket.setblocking(True)
            try:
                self._socket.sendall(self._outgoing)
            except OSError:
                pass
            self._outgoing.clear()

    def close(self) -> None:
        """Close the socket and drop unsent messages."""
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._number)
            if self._outgoing:
                self._loop.remove_writer(self._number)
            self._socket.close()

    def _read(self) -> None:
        try:
            chunk = self._socket.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            chunk = b""
        if not chunk:
            self._give_up()
            return
        self._incoming += chunk
        while self._is_open and (message := self._take()) is not None:
            self.on_message(message)

    def _take(self) -> Message | None:
        """Return the next complete message; close the channel if it is malformed."""
        if len(self._incoming) < _LENGTHS.size:
            return None
        length, attached = _LENGTHS.unpack_from(self._incoming)
        begin = _LENGTHS.size + length
        end = begin + attached
        if length + attached > MESSAGE_LIMIT:
            self._give_up()
            return None
        if len(self._incoming) < end:
            return None
        try:
            text = self._incoming[_LENGTHS.size : begin].decode(
                "utf-8", "surrogatepass"
            )
            message = _with_blobs(json.loads(text), bytes(self._incoming[begin:end]))
        except (ValueError, TypeError):
            message = None
        del self._incoming[:end]
        if message is None:
            self._give_up()
        return message

    def _write(self) -> None:
        try:
            sent = self._socket.send(self._outgoing)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # The reader notices a closed end, after it has read the last messages.
            sent = len(self._outgoing)
        del self._outgoing[:sent]

    def _continue_writing(self) -> None:
        self._write()
        if not self._outgoing:
            self._loop.remove_writer(self._number)

    def _give_up(self) -> None:
        self.close()
        self._on_closed()


def _with_blobs(message: Any, attached: bytes) -> Message:
    """Return the message with its bytes in place of their lengths."""
    if not isinstance(message, dict):
        raise ValueError("not an object")
    lengths = message.get("blobs", [])
    if sum(lengths) != len(attached):
        raise ValueError("the bytes are not those that were announced")
    if not lengths:
        return message
    blobs = []
    start = 0
    for length in lengths:
        blobs.append(attached[start : start + length])
        start += length
    return {**message, "blobs": blobs}
