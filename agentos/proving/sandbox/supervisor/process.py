"""Supervise one command: start it with limits, watch what it uses, and end it with all
its descendants.

The supervisor is a process between AgentOS and the command. Its standard input is a
lifeline: the first line says what to run, and the end of file means "end it", even if
AgentOS was killed with -9. It is a subreaper: a process whose parent has exited becomes
its child, whatever its session or group, so once the supervisor has no children, no
process of the command is left. Finally it reports the result.

Every run of tests starts a supervisor, so it imports little: imports are most of its
cost.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress

from agentos.proving.sandbox.supervisor.processor import processor_seconds
from agentos.proving.sandbox.supervisor.tree import (
    count_tasks_of_user,
    list_descendants,
)
from agentos.proving.sandbox.supervisor.watch import THREADS_PER_PROCESS, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Table = dict[str, Any]

STARTED = 3
"""The descriptor on which the command reports its start."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NICENESS = 5
_PATIENCE = 5.0
_LEAP = 512 * 1024**2
_MARGIN = 64
"""Room above a limit, so that the watch sees that it is exceeded before the kernel
refuses more.
"""
_SIGNAL_REASONS: dict[int, str] = {
    signal.SIGXFSZ: "too-much-disk",
    signal.SIGXCPU: "out-of-processor-time",
    signal.SIGKILL: "killed",
}

_libc = ctypes.CDLL(None)


def main(report: int) -> None:
    """Read the request, supervise its command, and report to a descriptor."""
    os.set_inheritable(report, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = _read_line()
    if not line:
        return
    data = bytes.fromhex(line.decode())
    request = marshal.loads(data)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _take_precedence()
    try:
        os.write(report, _supervise(request).encode())
    finally:
        _end_all(0)
        _give_up_precedence()
        if request["private"]:
            _remove_hostile(request["private"])


def _supervise(request: Table) -> str:
    """Supervise the command until it ends; return whether it was started, its exit code
    and the reason, separated by spaces.
    """
    watch = Watch(request)
    started, starting = os.pipe()
    child = _start(request, starting)
    os.close(starting)
    process = os.pidfd_open(child)
    poll = select.poll()
    for descriptor in (0, started, process):
        poll.register(descriptor, select.POLLIN)
    is_started = False
    reason = ""
    status = None
    while not reason and status is None:
        for descriptor, _ in poll.poll(max(1, watch.pause * 1000)):
            if descriptor == 0 and not os.read(0, 1):
                reason = "killed"
            if descriptor == started:
                is_started = os.read(started, 1) != b""
                poll.unregister(started)
        status = _reap(child)
        if not reason and status is None:
            reason = watch.look(child, is_started)
    if status is None:
        _kill(watch.init, child)
        status = _end_all(child)
    else:
        _end_all(child)
        # A short command may have reported its start since the last poll.
        if not is_started and select.select([started], [], [], 0)[0]:
            is_started = os.read(started, 1) != b""
    if os.WIFSIGNALED(status):
        code = 128 + os.WTERMSIG(status)
    else:
        code = os.WEXITSTATUS(status)
    reason = reason or watch.judge_end() or _judge_code(code)
    return f"{int(is_started)} {code} {reason}"


def _take_precedence() -> None:
    """Get a higher priority than the command.

    Only root may, and only root needs it: the kernel limits everybody else's processes.
    """
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(
            0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1)
        )


def _give_up_precedence() -> None:
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _judge_code(code: int) -> str:
    return _SIGNAL_REASONS.get(code - 128, "ended")


def _start(request: Table, starting: int) -> int:
    """Fork; the child never returns from here."""
    supervisor = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _become(request, starting, supervisor)
    # The forked child must not return into its parent's code, whatever happens.
    except BaseException as error:
        message = f"{request['command'][0]}: cannot be started ({error})\n"
        os.write(2, message.encode("utf-8", "replace"))
    os._exit(126)


def _become(request: Table, starting: int, supervisor: int) -> None:
    os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != supervisor:
        os._exit(126)
    with suppress(OSError):
        priority = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, priority + _NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        # If the machine runs out of memory, the kernel ends this process first.
        file.write("1000")
    _arrange_descriptors(starting, request["kept"])
    _limit(request["limits"])
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGPIPE,
        signal.SIGXFSZ,
    ):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(request["folder"])
    command = request["command"]
    os.execve(command[0], command, request["environ"])


def _arrange_descriptors(starting: int, kept: list[int]) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    if starting != STARTED:
        # A descriptor with that number is the report, or one that the command must not
        # have.
        os.dup2(starting, STARTED)
    os.set_inheritable(STARTED, True)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        descriptor = int(name)
        if descriptor > STARTED and descriptor not in kept:
            with suppress(OSError):
                os.close(descriptor)


def _limit(limits: Table) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: processor_seconds(
            limits["seconds"], limits["cpu_seconds"]
        ),
        resource.RLIMIT_FSIZE: limits["file_size"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        # Not the address space, of which many programs reserve far more than they use.
        # This limit of one process is for growth that is too fast for the watch.
        resource.RLIMIT_DATA: 2 * limits["memory"] + _LEAP,
        # The kernel counts all processes of this user, and does not limit root; the
        # watch counts exactly.
        resource.RLIMIT_NPROC: (
            count_tasks_of_user() + limits["processes"] * THREADS_PER_PROCESS + _MARGIN
        ),
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        soft = value
        if hard != resource.RLIM_INFINITY:
            soft = min(value, hard)
        # At the hard limit of processor time the kernel kills with SIGKILL; at the soft
        # one the signal names the reason.
        if kind == resource.RLIMIT_CPU and soft != hard:
            resource.setrlimit(kind, (soft, soft + 1))
        else:
            resource.setrlimit(kind, (soft, soft))


def _reap(child: int) -> int | None:
    """Reap exited children; return the status of `child` if it is among them."""
    status = None
    with suppress(ChildProcessError):
        while True:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            if pid == child:
                status = ended
    return status


def _kill(*pids: int) -> None:
    for pid in filter(None, pids):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _end_all(child: int) -> int:
    """Kill all descendants until none is left; return the status of the child if it was
    killed here.
    """
    status = signal.SIGKILL.value
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        # Repeated, because a process can fork between listing and kill. Its children
        # become ours, so the next listing finds them.
        for member in list_descendants(os.getpid()):
            _kill(member.pid)
        try:
            pid, ended = os.waitpid(-1, os.WNOHANG)
            while pid:
                if pid == child:
                    status = ended
                pid, ended = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        time.sleep(0.002)
    return status


def _remove_hostile(place: str) -> None:
    """Remove a folder even if the command removed permissions of folders in it."""
    from pathlib import Path

    from agentos.state.files import remove_tree

    folder = Path(place)
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink():
                with suppress(OSError):
                    inner.chmod(0o700)
    remove_tree(folder)


def _read_line() -> bytes:
    """Read one line from the lifeline; empty if it ends first."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            return b""
        line += piece
    return bytes(line)


if __name__ == "__main__":
    main(int(sys.argv[1]))
