"""Messages between the coordinator and a worker: JSON objects, each behind its length."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from typing import Any

Message = dict[str, Any]

_LENGTH = struct.Struct("!I")
_CHUNK = 64 * 1024
MESSAGE_LIMIT = 64 * 1024 * 1024

_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Channel:
    """One end of a socket on an event loop; calls back for each message, and once when the other side is gone.

    It talks to the socket itself: the streams of asyncio would cost a coordinator of thousands of short conversations
    more than all that is said in them.
    """

    def __init__(
        self, end: socket.socket, on_message: Callable[[Message], None], on_closed: Callable[[], None]
    ) -> None:
        end.setblocking(False)
        self.on_message = on_message
        self._on_closed = on_closed
        self._socket = end
        # By number: of one that it does not know, the loop would write the whole description into an error.
        self._number = end.fileno()
        self._loop = asyncio.get_running_loop()
        self._incoming = bytearray()
        self._outgoing = bytearray()
        self._is_open = True
        self._loop.add_reader(self._number, self._read)

    def send(self, message: Message) -> None:
        """Send a message; to one who is gone it is lost."""
        body = _to_json(message).encode("utf-8", "surrogatepass")
        if len(body) > MESSAGE_LIMIT:
            raise ValueError(f"a message of {len(body)} bytes is over the limit of {MESSAGE_LIMIT}")
        if not self._is_open:
            return
        is_writing = bool(self._outgoing)
        self._outgoing += _LENGTH.pack(len(body))
        self._outgoing += body
        if not is_writing:
            self._write()
            if self._outgoing and self._is_open:
                self._loop.add_writer(self._number, self._go_on_writing)

    def flush(self) -> None:
        """Block until everything is sent, or the other side is gone."""
        if self._is_open and self._outgoing:
            self._socket.setblocking(True)
            try:
                self._socket.sendall(self._outgoing)
            except OSError:
                pass
            self._outgoing.clear()

    def close(self) -> None:
        """Hear and say nothing more."""
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
        """Return the next message that is there whole; one that makes no sense ends the channel."""
        if len(self._incoming) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._incoming)
        end = _LENGTH.size + length
        if length > MESSAGE_LIMIT:
            self._give_up()
            return None
        if len(self._incoming) < end:
            return None
        try:
            message = json.loads(self._incoming[_LENGTH.size : end].decode("utf-8", "surrogatepass"))
        except ValueError:
            message = None
        del self._incoming[:end]
        if not isinstance(message, dict):
            self._give_up()
            return None
        return message

    def _write(self) -> None:
        try:
            sent = self._socket.send(self._outgoing)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # Whoever is gone is noticed by the reader, after what was said last has been heard.
            sent = len(self._outgoing)
        del self._outgoing[:sent]

    def _go_on_writing(self) -> None:
        self._write()
        if not self._outgoing:
            self._loop.remove_writer(self._number)

    def _give_up(self) -> None:
        self.close()
        self._on_closed()
