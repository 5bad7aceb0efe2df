"""Start the process of the fork server, possibly before its run is known.

Its imports take longer than everything that a command does before its first item. So a
command starts it as soon as a run is certain, and reads and plans meanwhile. The process
writes no files until it gets its paths.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import agentos
from agentos.kinds import Kind
from agentos.state.variables import INSTALLING_WORKER, WORKER, inherit

FORK_SERVER_MAIN = "agentos.workers.process.fork_server_main"
_LONGEST_OUTPUT = 65_536


class ServerProcess:
    """A fork server that imports its modules and waits for its paths."""

    def __init__(self, environ: Mapping[str, str], kind: Kind) -> None:
        self.environ = worker_environment(environ, kind)
        self.kind = kind
        with ExitStack() as opened:
            self._output = opened.enter_context(
                os.fdopen(os.memfd_create("agentos"), "rb")
            )
            self.control, theirs = socket.socketpair(
                socket.AF_UNIX, socket.SOCK_SEQPACKET
            )
            opened.callback(self.control.close)
            with theirs:
                self.process = subprocess.Popen(
                    # -P: a module in the working directory must not replace a library.
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        FORK_SERVER_MAIN,
                        str(theirs.fileno()),
                        str(os.getpid()),
                        kind,
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    env=self.environ,
                    process_group=0,
                )
            opened.pop_all()

    def begin(self, log: Path, scratch: Path) -> None:
        """Send it its log and the scratch path for its warm-up."""
        # If it has exited, waiting for it raises an error.
        with open(log, "ab") as file, suppress(OSError):
            socket.send_fds(
                self.control, [b"begin " + os.fsencode(scratch)], [file.fileno()]
            )

    def read_output(self) -> str:
        """Return the end of its output before it got its log."""
        if self._output.closed:
            return ""
        descriptor = self._output.fileno()
        size = os.fstat(descriptor).st_size
        start = max(0, size - _LONGEST_OUTPUT)
        data = os.pread(descriptor, _LONGEST_OUTPUT, start)
        return data.decode("utf-8", "replace")

    def close(self) -> None:
        """Stop it and reap it."""
        self.control.close()
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()


_ahead: list[ServerProcess] = []


@contextmanager
def started_ahead(environ: Mapping[str, str], kind: Kind) -> Iterator[None]:
    """Start a server ahead if there is more than one processor; stop it at the end if it
    was not taken.
    """
    server = None
    if len(os.sched_getaffinity(0)) > 1:
        # If the start fails, `take` tries again and reports the error.
        with suppress(OSError):
            server = ServerProcess(environ, kind)
            _ahead.append(server)
    try:
        yield
    finally:
        if server in _ahead:
            _ahead.remove(server)
            server.process.kill()
            server.close()


def take(environ: Mapping[str, str], kind: Kind) -> ServerProcess:
    """Return the server that was started ahead, or a new one."""
    wanted = worker_environment(environ, kind)
    for server in _ahead:
        if server.kind is kind and server.environ == wanted:
            _ahead.remove(server)
            return server
    return ServerProcess(environ, kind)


def worker_environment(environ: Mapping[str, str], kind: Kind) -> dict[str, str]:
    """Return the environment variables of a worker, without keys."""
    names = WORKER
    if kind.record.builds:
        names = INSTALLING_WORKER
    package_root = str(Path(agentos.__file__).parent.parent)
    folders = [package_root]
    given = environ.get("PYTHONPATH", "").split(os.pathsep)
    if kind.search_path and kind.search_path in given:
        # The worker has no other way to the package of its kind.
        folders.append(kind.search_path)
    return inherit(names, environ) | {
        "PYTHONPATH": os.pathsep.join(folders),
        "PYTHONUTF8": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "LANGSMITH_TRACING": "false",
    }
