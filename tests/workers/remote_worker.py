"""The machine of a remote worker: `python -m tests.workers.remote_worker` speaks with its
coordinator over its standard input, which is a socket, and runs one assignment.

It gets the repository as a tar file and starts the worker as a process of its own. It
passes on what the worker says and prints, and sends it the signals that the coordinator
asks for. It has no path of the coordinator.
"""

from __future__ import annotations

import asyncio
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

from agentos.state.home import Home
from agentos.workers.process.channel import Channel, Message
from agentos.workers.process.pipes import PipeReader
from tests.support import ROOT

BODY = """\
import asyncio, socket, sys
from agentos.workers.process import body
body.prepare(sys.argv[2])
asyncio.run(body.serve(socket.socket(fileno=int(sys.argv[1]))))
"""


class Machine:
    """One assignment on this machine; also the `Output` of its worker."""

    is_congested = False

    def __init__(self, end: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader = PipeReader()
        self._worker: subprocess.Popen[bytes] | None = None
        self._down: Channel | None = None
        self.over = self._loop.create_future()
        self._up = Channel(end, self._take, self._die)

    def feed(self, chunk: bytes, *, is_error: bool) -> None:
        """Send what the worker prints."""
        message = {"op": "output", "is_error": is_error, "blobs": [chunk]}
        self._loop.call_soon_threadsafe(self._up.send, message)

    def _take(self, message: Message) -> None:
        if self._down is None:
            self._begin(message)
        elif message.get("op") == "signal":
            self._signal(message["number"])
        else:
            self._down.send(message)

    def _begin(self, work: Message) -> None:
        root = Path.cwd() / "clone"
        with tarfile.open(fileobj=io.BytesIO(work["blobs"][0])) as archive:
            archive.extractall(root, filter="data")
        kind = work["assignment"]["item"]["kind"]
        ours, theirs = socket.socketpair()
        pipes = self._reader.open(self)
        with theirs:
            self._worker = subprocess.Popen(
                [sys.executable, "-P", "-c", BODY, str(theirs.fileno()), kind],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=pipes.stdout,
                stderr=pipes.stderr,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                process_group=0,
            )
        pipes.close_write_ends()
        self._down = Channel(ours, self._up.send, lambda: None)
        assignment = work["assignment"]
        if assignment["build"] is not None:
            assignment["build"] |= _own_places(assignment)
        self._down.send({"assignment": assignment, "root": str(root)})
        self._loop.run_in_executor(None, self._wait, self._worker, pipes.wait_drained)

    def _wait(self, worker: subprocess.Popen[bytes], drain: object) -> None:
        status = worker.wait()
        # Also what it has started, which may hold the pipes.
        with suppress(ProcessLookupError):
            os.killpg(worker.pid, signal.SIGKILL)
        assert callable(drain)
        drain()
        self._loop.call_soon_threadsafe(self._report, status)

    def _report(self, status: int) -> None:
        self._up.send({"op": "exited", "status": status})
        self._up.flush()
        self.over.set_result(None)

    def _signal(self, number: int) -> None:
        if self._worker is None or self._worker.poll() is not None:
            return
        if number == signal.SIGTERM:
            self._worker.send_signal(number)
        else:
            os.killpg(self._worker.pid, number)

    def _die(self) -> None:
        """End with the coordinator."""
        self._signal(signal.SIGKILL)
        os._exit(1)


def _own_places(assignment: Message) -> Message:
    """Return where this machine builds an item: the coordinator's places are not here."""
    home = Home(Path(os.environ["AGENTOS_HOME"]))
    folder = home.worktree(assignment["repository"], assignment["item"]["id"])
    return {"worktree": str(folder), "environments": str(home.root / "environments")}


async def main() -> None:
    """Run the one assignment that arrives."""
    end = socket.socket(fileno=os.dup(0))
    await Machine(end).over


if __name__ == "__main__":
    asyncio.run(main())
    # Nothing is left to do, and the reader's thread need not be waited for.
    os._exit(0)
