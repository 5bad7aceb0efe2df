"""Run a command in bubblewrap, where only what is mounted exists.

It is an allow-list: the system's programs and libraries, the environment that the
caller names, a small /dev and /proc, an empty home and /tmp in memory, and the
worktree. The only network is a loopback of its own, and the only visible processes are
its own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from agentos.errors import BadInput, ItemError, UsageError
from agentos.proving.sandbox import FinishedCommand, Mounts
from agentos.proving.sandbox.environment import build_environ
from agentos.proving.sandbox.seccomp import write_filter
from agentos.proving.sandbox.supervising import SupervisorRequest, announced, supervise
from agentos.proving.sandbox.visible_folders import check_hidden, private_places
from agentos.state.files import is_inside
from agentos.state.programs import find_program

COMMAND = "bwrap"
HOME = "/tmp/home"
TEMPORARY = "/tmp"
SHARED_MEMORY = "/dev/shm"
PERSON = 1000
_TRIAL_SECONDS = 20

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "timezone",
)
_INVENTED = {
    "/etc/passwd": f"user:x:{PERSON}:{PERSON}:user:{HOME}:/bin/sh\n",
    "/etc/group": f"user:x:{PERSON}:\n",
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
}
_MASKED_FILES = (
    "/proc/kcore",
    "/proc/kallsyms",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kmsg",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
)
_MASKED_FOLDERS = ("/proc/acpi", "/proc/driver", "/proc/fs", "/proc/scsi")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """A sandbox that shows a command its worktree and environment, and nothing else."""

    program: str
    can_forbid_namespaces: bool
    """Whether this version can forbid user namespaces; the seccomp filter does so
    too.
    """
    private: tuple[Path, ...] = ()
    """Folders that it refuses to show."""
    name = "bubblewrap"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """None, except on a processor without a seccomp filter."""
        if write_filter():
            return ()
        return ("memory that belongs to no process is not counted on this processor",)

    async def run(self, command: Sequence[str], mounts: Mounts) -> FinishedCommand:
        """Run a command in bubblewrap."""
        watched = [str(mounts.folder.resolve())]
        if mounts.results:
            watched.append(str(mounts.results.resolve()))
        with _open_descriptors() as descriptors:
            request = SupervisorRequest(
                command=(*self.arguments(mounts, descriptors), *announced(command)),
                environ=build_environ(mounts.environ, HOME, TEMPORARY),
                folder="/",
                limits=mounts.limits,
                watched=tuple(watched),
                memory_file_systems=(TEMPORARY, SHARED_MEMORY),
                has_namespace=True,
                kept=tuple(descriptors.values()),
            )
            return await supervise(request)

    def arguments(self, mounts: Mounts, descriptors: Mapping[str, int]) -> list[str]:
        """Return the command line of bubblewrap up to the command."""
        given = [
            self.program,
            "--unshare-all",
            "--unshare-user",
            "--die-with-parent",
            "--new-session",
        ]
        if self.can_forbid_namespaces:
            given.append("--disable-userns")
        given += ["--cap-drop", "ALL", "--hostname", "sandbox"]
        given += ["--uid", str(PERSON), "--gid", str(PERSON)]
        given += _show_system(descriptors, mounts.limits.disk)
        planned = _plan_mounts(mounts)
        sources = [source for _, source in planned.values()]
        check_hidden([*map(Path, _SYSTEM), *sources], self.private)
        given += _show_mounts(planned)
        given += ["--remount-ro", "/", "--chdir", str(mounts.folder.resolve())]
        if "filter" in descriptors:
            given += ["--seccomp", str(descriptors["filter"])]
        return [*given, "--"]


def find_bubblewrap(environ: Mapping[str, str]) -> Bubblewrap:
    """Return bubblewrap; raise `UsageError` if it is not installed or the system
    forbids what it needs.
    """
    program = find_program(COMMAND, environ)
    if not program:
        raise UsageError("bubblewrap: not found; install the package `bubblewrap`")
    found, complaint = _try(program)
    if not found:
        raise UsageError(
            f"bubblewrap: does not work here ({complaint}); let this user make user"
            " namespaces, or install another version"
        )
    return replace(found, private=private_places(environ))


@cache
def _try(program: str) -> tuple[Bubblewrap | None, str]:
    """Run bubblewrap once to find out whether this user may do what it needs."""
    try:
        usage = subprocess.run(
            [program, "--help"],
            capture_output=True,
            timeout=_TRIAL_SECONDS,
            check=False,
            env={},
        )
        found = Bubblewrap(
            program,
            can_forbid_namespaces=b"--disable-userns" in usage.stdout + usage.stderr,
        )
        with _open_descriptors() as descriptors:
            command = found.arguments(Mounts(Path("/usr")), descriptors)
            trial = subprocess.run(
                [*command, "/bin/sh", "-c", "exit 0"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIAL_SECONDS,
                check=False,
                env={},
                pass_fds=tuple(descriptors.values()),
            )
    except subprocess.TimeoutExpired as error:
        raise ItemError(
            f"bubblewrap: its trial did not end within {_TRIAL_SECONDS} s; run again"
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if trial.returncode < 0:
        # A signal does not show that bubblewrap does not work, and must not lead to
        # less protection.
        raise ItemError(
            f"bubblewrap: its trial was ended by signal {-trial.returncode}; run again"
        )
    if trial.returncode == 0:
        return found, ""
    complaint = trial.stderr.decode("utf-8", "replace").strip()
    return None, complaint or f"exit code {trial.returncode}"


@contextmanager
def _open_descriptors() -> Iterator[dict[str, int]]:
    """Open what bubblewrap reads from descriptors: the invented files and the seccomp
    filter.
    """
    opened: dict[str, int] = {}
    try:
        for name, text in _INVENTED.items():
            opened[name] = _open_filled(text.encode())
        program = write_filter()
        if program:
            opened["filter"] = _open_filled(program)
        yield opened
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def _open_filled(data: bytes) -> int:
    """Return a descriptor with `data` to read, above those that a supervisor uses."""
    import fcntl

    low = os.memfd_create("agentos")
    try:
        os.write(low, data)
        os.lseek(low, 0, os.SEEK_SET)
        return fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 64)
    finally:
        os.close(low)


def _show_system(descriptors: Mapping[str, int], size: int) -> list[str]:
    given: list[str] = []
    for folder in map(Path, _SYSTEM):
        if folder.is_symlink():
            given += ["--symlink", str(folder.readlink()), str(folder)]
        elif folder.is_dir():
            given += ["--ro-bind", str(folder), str(folder)]
    for name in _SETTINGS:
        given += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for name in _INVENTED:
        given += ["--ro-bind-data", str(descriptors[name]), name]
    given += ["--proc", "/proc", "--dev", "/dev"]
    # A little more than the limit, so that the watch sees when it is exceeded.
    size += size // 8
    given += ["--size", str(size), "--tmpfs", SHARED_MEMORY, "--remount-ro", "/dev"]
    for path in _MASKED_FILES:
        if Path(path).exists():
            given += ["--ro-bind", "/dev/null", path]
    for path in _MASKED_FOLDERS:
        if Path(path).is_dir():
            given += ["--tmpfs", path, "--remount-ro", path]
    # Without this, code that root runs could change kernel settings, one of which names
    # a program that the kernel runs.
    given += ["--remount-ro", "/proc"]
    given += ["--size", str(size), "--tmpfs", TEMPORARY, "--dir", HOME]
    return given


def _plan_mounts(mounts: Mounts) -> dict[Path, tuple[str, Path]]:
    """Return for each path the kind of the mount and its source."""
    folder = mounts.folder.resolve()
    planned: dict[Path, tuple[str, Path]] = {}
    for path in mounts.readable:
        for place in (path.absolute(), path.resolve()):
            if not place.is_relative_to("/usr"):
                planned[place] = ("--ro-bind", path.resolve())
    planned[folder] = ("--bind", folder)
    if mounts.results:
        planned[mounts.results.resolve()] = ("--bind", mounts.results.resolve())
    for path in _protected(mounts, folder):
        for parent in path.parents:
            if parent.is_relative_to(folder) and parent not in planned:
                # A mount point cannot be renamed, so nothing can replace the protected
                # file in it.
                planned[parent] = ("--bind", parent)
        planned[path] = ("--ro-bind", path)
    return planned


def _show_mounts(planned: Mapping[Path, tuple[str, Path]]) -> list[str]:
    """Return the mounts as arguments, outer ones first, because a later mount hides
    what is below it.
    """
    given: list[str] = []
    for path in sorted(planned, key=lambda path: len(path.parts)):
        kind, source = planned[path]
        given += [kind, str(source), str(path)]
    return given


def _protected(mounts: Mounts, folder: Path) -> list[Path]:
    """Return the existing read-only paths; refuse a link, because mounting it would
    show its target.
    """
    found = []
    for given in (folder / ".git", *mounts.read_only):
        path = Path(os.path.normpath(folder / given))
        if not os.path.lexists(path):
            continue
        if (
            not path.is_relative_to(folder)
            or path == folder
            or path.is_symlink()
            or not is_inside(path, folder)
        ):
            raise BadInput(
                f"{given}: is a link or lies outside the worktree; remove it, then run"
                " the command again"
            )
        if path.resolve() != path:
            raise BadInput(
                f"{given}: a link is on the way to it; remove it, then run the command"
                " again"
            )
        found.append(path)
    return found
