"""Start the process of the fork server, also before it is known what it will be for.

What it imports takes longer than all that a command does before its first item. So a command starts it as soon as it
is clear that there will be a run, and goes on to read and plan meanwhile. Until it is told where, it writes nothing.
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
from agentos.programs import with_search_path
from agentos.task import Workflow

ZYGOTE = "agentos.workers.zygote"
PASSED_ON = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "VIRTUAL_ENV",
    "AGENTOS_HOME",
    "AGENTOS_XDG",
    "XDG_STATE_HOME",
    "AGENTOS_SANDBOX",
)
INSTALLING = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_", "REQUESTS_CA_BUNDLE")
"""How the names begin of what pip needs to find packages, for workers that build a repository's environment."""
_MOST_WORDS = 65_536


class Cradle:
    """A fork server that imports, and waits to be told where to work."""

    def __init__(self, environ: Mapping[str, str], workflow: Workflow) -> None:
        self.environ = worker_environment(environ, workflow)
        self.workflow = workflow
        with ExitStack() as opened:
            self._words = opened.enter_context(os.fdopen(os.memfd_create("agentos"), "rb"))
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            opened.callback(self.control.close)
            with theirs:
                self.process = subprocess.Popen(
                    # Safe path: what lies in the working directory must not be imported in the place of a library.
                    [sys.executable, "-P", "-m", ZYGOTE, str(theirs.fileno()), str(os.getpid()), workflow],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=self._words,
                    stderr=self._words,
                    env=self.environ,
                    process_group=0,
                )
            opened.pop_all()

    def settle(self, log: Path, scratch: Path) -> None:
        """Tell it where its messages go, and which path it may use to get ready."""
        # If it has ended by now, whoever waits for it will hear that.
        with open(log, "ab") as file, suppress(OSError):
            socket.send_fds(self.control, [b"begin " + os.fsencode(scratch)], [file.fileno()])

    def read_words(self) -> str:
        """Return what it said before it was told where to."""
        if self._words.closed:
            return ""
        size = os.fstat(self._words.fileno()).st_size
        return os.pread(self._words.fileno(), _MOST_WORDS, max(0, size - _MOST_WORDS)).decode("utf-8", "replace")

    def close(self) -> None:
        """End it and reap it."""
        self.control.close()
        try:
            self.process.wait(timeout=1.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._words.close()


_ahead: list[Cradle] = []


@contextmanager
def started_ahead(environ: Mapping[str, str], workflow: Workflow) -> Iterator[None]:
    """Have one started ahead, where that takes no processor away from anybody; end it if nobody has taken it."""
    cradle = None
    if len(os.sched_getaffinity(0)) > 1:
        # If it cannot be had now, whoever needs it will be told.
        with suppress(OSError):
            cradle = Cradle(environ, workflow)
            _ahead.append(cradle)
    try:
        yield
    finally:
        if cradle in _ahead:
            _ahead.remove(cradle)
            cradle.process.kill()
            cradle.close()


def take(environ: Mapping[str, str], workflow: Workflow) -> Cradle:
    """Return the one that was started ahead, or a new one."""
    for cradle in _ahead:
        if cradle.workflow is workflow and cradle.environ == worker_environment(environ, workflow):
            _ahead.remove(cradle)
            return cradle
    return Cradle(environ, workflow)


def worker_environment(environ: Mapping[str, str], workflow: Workflow) -> dict[str, str]:
    """Return what of the environment a worker may see: an allow-list, so that no key can be among it."""
    kept = {name: environ[name] for name in PASSED_ON if name in environ}
    kept |= {name: value for name, value in environ.items() if name.startswith("LC_")}
    if workflow is Workflow.IMPLEMENTATION:
        kept |= {name: value for name, value in environ.items() if name.upper().startswith(INSTALLING)}
    package_root = str(Path(agentos.__file__).parent.parent)
    return with_search_path(kept) | {
        "PYTHONPATH": package_root,
        "PYTHONUTF8": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
        "LANGSMITH_TRACING": "false",
    }
