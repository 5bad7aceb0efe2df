"""The fork server: a process that has imported everything and forks one worker for each
request.

It communicates over a Unix socket that preserves message boundaries:

    in   begin SCRATCH  first and once, with one descriptor: its log
    in   fork ID        with one descriptor: the worker's end of its channel
    in   kill ID SIGNAL
    out  ready MILLISECONDS
    out  exited ID STATUS CPU_SECONDS PEAK_BYTES

Workers are forked ahead of their work. A new worker warms up, sends one byte on its
channel, and waits there for the byte that comes with the descriptors of its work:
stdout, stderr and the item's lock.

The server has one thread, since a fork could copy a held lock. Each worker leads a
process group. When the socket closes because the coordinator has exited in any way,
every group is killed: a worker never outlives its coordinator. The standard library's
fork server is not used, because its children inherit the pipe that it watches for the
exit of its parent, and so keep each other alive.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from agentos.workers.process.linux import count_threads, die_with_parent, outlive_parent

MESSAGE_SIZE = 256
BEGIN_SIZE = 8192
EXIT_UNFORKED = 71 << 8
"""Wait status of a worker that could not be forked: exit code 71, a system error."""


@dataclass(slots=True)
class _Children:
    control: socket.socket
    wake: int
    scratch: Path
    by_pid: dict[int, str] = field(default_factory=dict)

    def kill(self, request: str, number: int) -> None:
        # A request to stop goes to the worker only: a child that does not yet have its
        # own group would die of it and count as failed.
        send = _signal_one if number == signal.SIGTERM else _signal_group
        for pid, known in self.by_pid.items():
            if known == request:
                send(pid, number)

    def kill_all(self) -> None:
        for pid in self.by_pid:
            _signal_group(pid, signal.SIGKILL)


def main() -> None:
    """Preload everything, report it, and serve until the coordinator exits."""
    started = time.monotonic()
    # Everything that is imported stays alive: collecting garbage would take a third of
    # the time and find nothing.
    gc.disable()
    control = socket.socket(fileno=int(sys.argv[1]))
    # During the imports the server does not read the socket, so the kernel has to tell
    # it that the coordinator exited.
    die_with_parent(int(sys.argv[2]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    scratch = _preload(control, sys.argv[3])
    if scratch is None:
        return
    _wait_for_one_thread()
    outlive_parent()
    if os.getppid() != int(sys.argv[2]):
        return
    # Hide all objects from the collector: it writes to their headers, so each worker
    # would copy the shared pages.
    gc.freeze()
    gc.enable()
    wake, wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake_writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    _send(control, f"ready {(time.monotonic() - started) * 1000:.0f}")
    children = _Children(control, wake, scratch)
    try:
        _serve(children)
    finally:
        children.kill_all()


def _preload(control: socket.socket, kind: str) -> Path | None:
    """Import and warm up everything that a worker uses; return the scratch path, or None
    if there will be no work.
    """
    from agentos.workers.process.deferral import UNUSED, defer

    for package in UNUSED:
        defer(package)
    from agentos.workers.process import body

    body.prepare(kind)
    data, descriptors, _, _ = socket.recv_fds(control, BEGIN_SIZE, 1)
    if not data:
        return None
    for standard in (1, 2):
        os.dup2(descriptors[0], standard)
    os.close(descriptors[0])
    scratch = Path(os.fsdecode(data.removeprefix(b"begin ")))
    body.warm_up(scratch)
    return scratch


def _wait_for_one_thread() -> None:
    """Wait for the threads of the warm-up to end, since another thread would make forking
    unsafe.
    """
    deadline = time.monotonic() + 5.0
    while count_threads() != 1:
        if time.monotonic() > deadline:
            raise RuntimeError(
                "the fork server must have one thread; something that it preloads keeps"
                " another"
            )
        time.sleep(0.001)


def _serve(children: _Children) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(children.control, selectors.EVENT_READ)
        selector.register(children.wake, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd == children.wake:
                    os.read(children.wake, 512)
                elif not _handle_request(children):
                    return
            _reap(children)


def _handle_request(children: _Children) -> bool:
    try:
        data, descriptors, _, _ = socket.recv_fds(children.control, MESSAGE_SIZE, 1)
    except ConnectionError:
        return False
    if not data:
        return False
    match data.decode().split():
        case ["fork", request]:
            _fork(children, request, descriptors)
        case ["kill", request, number]:
            children.kill(request, int(number))
    return True


def _fork(children: _Children, request: str, descriptors: list[int]) -> None:
    parent = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        # Out of processes or memory: report one lost worker and keep the others.
        for descriptor in descriptors:
            os.close(descriptor)
        _send(children.control, f"exited {request} {EXIT_UNFORKED} 0 0")
        return
    if pid == 0:
        _become_worker(children, descriptors, parent)
    for descriptor in descriptors:
        os.close(descriptor)
    # Parent and child both set the group, so that neither can act before it exists.
    try:
        os.setpgid(pid, pid)
    except (PermissionError, ProcessLookupError):
        pass
    children.by_pid[pid] = request


def _become_worker(
    children: _Children, descriptors: list[int], parent: int
) -> NoReturn:
    status = 1
    # Errors before the worker can report go to the server's log, not to the user's
    # terminal.
    server_log = os.dup(2)
    try:
        os.setpgid(0, 0)
        die_with_parent(parent)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        children.control.close()
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0, inheritable=True)
        os.close(null)
        from agentos.workers.process import body

        body.run(
            socket.socket(fileno=descriptors[0]),
            children.scratch.with_name(f"worker-{os.getpid()}"),
        )
        status = 0
    # The forked child must never return into the server's loop.
    except Exception:
        os.write(server_log, traceback.format_exc().encode())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _reap(children: _Children) -> None:
    """Reap exited workers and report each to the coordinator."""
    while children.by_pid:
        # Kill the group before reaping its leader: the id of the group cannot be reused
        # until then.
        seen = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if seen is None:
            return
        _signal_group(seen.si_pid, signal.SIGKILL)
        pid, status, usage = os.wait4(seen.si_pid, 0)
        request = children.by_pid.pop(pid, None)
        if request is not None:
            cpu = usage.ru_utime + usage.ru_stime
            _send(
                children.control,
                f"exited {request} {status} {cpu:.6f} {usage.ru_maxrss * 1024}",
            )


def _signal_one(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def _send(control: socket.socket, text: str) -> None:
    try:
        control.send(text.encode())
    except ConnectionError:
        pass


if __name__ == "__main__":
    main()
    # The coordinator waits for this process: a regular interpreter shutdown would take
    # longer than the rest of the exit.
    os._exit(0)
