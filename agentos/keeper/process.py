"""Keep one command: start it under its limits, watch what it uses, and end it with everything that it started.

The keeper is a process of its own between the program that wants the command run and the command. Its standard input
is a lifeline: the first line says what to run, and the end of file, which comes also when the program was killed with
-9, means "end it". It is a subreaper: a process whose parent has ended becomes its child, in whatever session or group
it hides, so the keeper has no children left only when nothing is left. Its last act is to say how it went.

A keeper is started for every run of tests: it imports little, for that is most of what it costs.
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

from agentos.keeper.processor import processor_seconds
from agentos.keeper.tree import count_tasks_of_user, list_descendants
from agentos.keeper.watch import THREADS_PER_PROCESS, Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STARTED = 3
"""The descriptor on which the command says that it has come as far as to be started."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_NICENESS = 5
_PATIENCE = 5.0
_LEAP = 512 * 1024**2
_MARGIN = 64
"""Room above a limit, so that who goes beyond is seen and named before the kernel refuses more."""
_SIGNAL_REASONS = {signal.SIGXFSZ: "too-much-disk", signal.SIGXCPU: "out-of-processor-time", signal.SIGKILL: "killed"}

_libc = ctypes.CDLL(None)


def main(report: int) -> None:
    """Read what to run, keep it, and report to a descriptor."""
    os.set_inheritable(report, False)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    line = _read_line()
    if not line:
        return
    wish = marshal.loads(bytes.fromhex(line.decode()))
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    _take_precedence()
    try:
        os.write(report, _keep(wish).encode())
    finally:
        _end_all(0)
        _give_up_precedence()
        if wish["private"]:
            _remove_hostile(wish["private"])


def _keep(wish: dict[str, Any]) -> str:
    """Keep the command to its end; return whether it was started, its exit code and the reason, as words."""
    watch = Watch(wish)
    started, starting = os.pipe()
    child = _start(wish, starting)
    os.close(starting)
    process = os.pidfd_open(child)
    poll = select.poll()
    for descriptor in (0, started, process):
        poll.register(descriptor, select.POLLIN)
    is_started, reason, status = False, "", None
    while not reason and status is None:
        for descriptor, _ in poll.poll(max(1, watch.pause * 1000)):
            if descriptor == 0 and not os.read(0, 1):
                reason = "killed"
            if descriptor == started:
                is_started = os.read(started, 1) != b"" or is_started
                poll.unregister(started)
        status = _reap(child)
        reason = reason or ("" if status is not None else watch.look(child, is_started))
    if status is None:
        _kill(watch.init, child)
        status = _end_all(child)
    else:
        _end_all(child)
        is_started = is_started or bool(select.select([started], [], [], 0)[0] and os.read(started, 1))
    code = 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return f"{int(is_started)} {code} {reason or watch.judge_end() or _judge_code(code)}"


def _take_precedence() -> None:
    """Be served before the command, however many processes it has; only root may, and only root's are not counted."""
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def _give_up_precedence() -> None:
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def _judge_code(code: int) -> str:
    return next((reason for number, reason in _SIGNAL_REASONS.items() if code == 128 + number), "ended")


def _start(wish: dict[str, Any], starting: int) -> int:
    """Fork; the child never returns from here."""
    keeper = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        _become(wish, starting, keeper)
    except BaseException as error:
        os.write(2, f"{wish['command'][0]}: cannot be started ({error})\n".encode("utf-8", "replace"))
    os._exit(126)


def _become(wish: dict[str, Any], starting: int, keeper: int) -> None:
    os.setsid()
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != keeper:
        os._exit(126)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + _NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        # Should the machine run out of memory, this is what the kernel is to end first.
        file.write("1000")
    _arrange_descriptors(starting, wish["kept"])
    _limit(wish["limits"])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(wish["folder"])
    os.execve(wish["command"][0], wish["command"], wish["environ"])


def _arrange_descriptors(starting: int, kept: list[int]) -> None:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if starting != STARTED:
        # What has the wanted number is the report, or nothing that the command may have.
        os.dup2(starting, STARTED)
    os.set_inheritable(STARTED, True)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > STARTED and int(name) not in kept:
            with suppress(OSError):
                os.close(int(name))


def _limit(limits: dict[str, Any]) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: processor_seconds(limits["seconds"], limits["cpu_seconds"]),
        resource.RLIMIT_FSIZE: limits["file_size"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        # Not the address space: many programs reserve far more of that than they use. This one, of one process, is
        # there for a leap that is too quick for the watch.
        resource.RLIMIT_DATA: 2 * limits["memory"] + _LEAP,
        # Counted by the kernel over all that this user runs, and not at all for root: the watch counts exactly.
        resource.RLIMIT_NPROC: count_tasks_of_user() + limits["processes"] * THREADS_PER_PROCESS + _MARGIN,
    }
    for kind, value in wanted.items():
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        # At the hard limit of processor time the kernel kills without a word; at the soft one the signal says why.
        resource.setrlimit(kind, (value, value if kind != resource.RLIMIT_CPU or value == hard else value + 1))


def _reap(child: int) -> int | None:
    """Take leave of all that has ended; return the status of the child if it is among them."""
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
    """Kill everything below until there is nothing; return the status of the child, if it was killed here."""
    status = signal.SIGKILL.value
    give_up = time.monotonic() + _PATIENCE
    while time.monotonic() < give_up:
        _kill(*(member.pid for member in list_descendants(os.getpid())))
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == child:
                    status = ended[1]
        except ChildProcessError:
            return status
        time.sleep(0.002)
    return status


def _remove_hostile(place: str) -> None:
    """Remove a folder although somebody may have locked the folders in it."""
    from pathlib import Path

    from agentos.files import remove_tree

    folder = Path(place)
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink():
                with suppress(OSError):
                    inner.chmod(0o700)
    remove_tree(folder)


def _read_line() -> bytes:
    """Read one line from the lifeline, empty when it ends before."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 65536)
        if not piece:
            return b""
        line += piece
    return bytes(line)


if __name__ == "__main__":
    main(int(sys.argv[1]))
