"""Run a command behind bubblewrap: what it is not shown does not exist.

The list is of what is there, not of what is hidden: the system's programs and libraries, the environment that the
caller names, a small /dev and /proc, an empty home and /tmp in memory, and the worktree. There is no network but a
loopback of its own, and no process but its own.
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
from agentos.files import is_inside
from agentos.programs import find_program
from agentos.sandbox import Finished, Scene
from agentos.sandbox.environment import build_environ
from agentos.sandbox.keeping import Wish, announced, keep
from agentos.sandbox.seccomp import write_filter
from agentos.sandbox.showing import check_hidden, private_places

COMMAND = "bwrap"
HOME = "/tmp/home"
TEMPORARY = "/tmp"
SHARED_MEMORY = "/dev/shm"
PERSON = 1000
_TRIAL_SECONDS = 20

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")
_SETTINGS = ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "timezone")
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
    """A sandbox that shows a command its worktree and the means to run, and nothing else."""

    program: str
    can_forbid_namespaces: bool
    """Whether this version can forbid user namespaces in the sandbox; the filter of system calls does as well."""
    private: tuple[Path, ...] = ()
    """Folders that it refuses to show."""
    name = "bubblewrap"

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """Nothing, but on a processor for which there is no filter of system calls."""
        return () if write_filter() else ("memory that belongs to no process is not counted on this processor",)

    async def run(self, command: Sequence[str], scene: Scene) -> Finished:
        """Run a command behind walls."""
        folder = scene.folder.resolve()
        with _open_descriptors() as descriptors:
            wish = Wish(
                command=(*self.arguments(scene, descriptors), *announced(command)),
                environ=build_environ(scene.environ, HOME, TEMPORARY),
                folder="/",
                limits=scene.limits,
                watched=(str(folder), *([str(scene.results.resolve())] if scene.results else [])),
                memory_file_systems=(TEMPORARY, SHARED_MEMORY),
                has_namespace=True,
                kept=tuple(descriptors.values()),
            )
            return await keep(wish)

    def arguments(self, scene: Scene, descriptors: Mapping[str, int]) -> list[str]:
        """Return the command line up to the command."""
        given = [self.program, "--unshare-all", "--unshare-user", "--die-with-parent", "--new-session"]
        given += ["--disable-userns"] if self.can_forbid_namespaces else []
        given += ["--cap-drop", "ALL", "--hostname", "sandbox", "--uid", str(PERSON), "--gid", str(PERSON)]
        given += _show_system(descriptors, scene.limits.disk)
        mounts = _plan_mounts(scene)
        sources = [source for _, source in mounts.values()]
        check_hidden([Path(folder) for folder in _SYSTEM] + sources, self.private)
        given += _show_scene(mounts)
        given += ["--remount-ro", "/", "--chdir", str(scene.folder.resolve())]
        given += ["--seccomp", str(descriptors["filter"])] if "filter" in descriptors else []
        return [*given, "--"]


def find_bubblewrap(environ: Mapping[str, str]) -> Bubblewrap:
    """Return bubblewrap, or say why it cannot be had: it is not installed, or the system forbids what it needs."""
    program = find_program(COMMAND, environ)
    if not program:
        raise UsageError("bubblewrap: not found; install the package `bubblewrap`, or set AGENTOS_SANDBOX=plain")
    found, complaint = _try(program)
    if not found:
        raise UsageError(f"bubblewrap: does not work here ({complaint}); set AGENTOS_SANDBOX=plain to do without")
    return replace(found, private=private_places(environ))


@cache
def _try(program: str) -> tuple[Bubblewrap | None, str]:
    """Try once whether this user may do what the sandbox does."""
    try:
        told = subprocess.run([program, "--help"], capture_output=True, timeout=_TRIAL_SECONDS, check=False, env={})
        found = Bubblewrap(program, can_forbid_namespaces=b"--disable-userns" in told.stdout + told.stderr)
        with _open_descriptors() as descriptors:
            trial = subprocess.run(
                [*found.arguments(Scene(Path("/usr")), descriptors), "/bin/sh", "-c", "exit 0"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TRIAL_SECONDS,
                check=False,
                env={},
                pass_fds=tuple(descriptors.values()),
            )
    except subprocess.TimeoutExpired as error:
        raise ItemError(f"bubblewrap: its trial did not end within {_TRIAL_SECONDS} s; run again") from error
    except (OSError, subprocess.SubprocessError) as error:
        return None, str(error)
    if trial.returncode < 0:
        # Whatever ended it says nothing about whether it works, and must not lead to less protection.
        raise ItemError(f"bubblewrap: its trial was ended by signal {-trial.returncode}; run again")
    complaint = trial.stderr.decode("utf-8", "replace").strip()
    return (found, "") if trial.returncode == 0 else (None, complaint or f"exit code {trial.returncode}")


@contextmanager
def _open_descriptors() -> Iterator[dict[str, int]]:
    """Open what bubblewrap reads from descriptors: the filter of system calls and the invented files."""
    contents = {name: text.encode() for name, text in _INVENTED.items()}
    if program := write_filter():
        contents["filter"] = program
    opened: dict[str, int] = {}
    try:
        for name, data in contents.items():
            opened[name] = _open_filled(data)
        yield opened
    finally:
        for descriptor in opened.values():
            os.close(descriptor)


def _open_filled(data: bytes) -> int:
    """Return a descriptor from which `data` can be read, above those that a keeper uses itself."""
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
    # A little more than allowed, so that the watch sees who goes too far.
    size += size // 8
    given += ["--size", str(size), "--tmpfs", SHARED_MEMORY, "--remount-ro", "/dev"]
    for path in _MASKED_FILES:
        given += ["--ro-bind", "/dev/null", path] if Path(path).exists() else []
    for path in _MASKED_FOLDERS:
        given += ["--tmpfs", path, "--remount-ro", path] if Path(path).is_dir() else []
    # Without this, code that root runs could write the kernel's settings, of which one names a program to be run.
    given += ["--remount-ro", "/proc"]
    given += ["--size", str(size), "--tmpfs", TEMPORARY, "--dir", HOME]
    return given


def _plan_mounts(scene: Scene) -> dict[Path, tuple[str, Path]]:
    """Return what is mounted where for a scene, and how."""
    folder = scene.folder.resolve()
    mounts: dict[Path, tuple[str, Path]] = {}
    for path in scene.readable:
        for place in (path.absolute(), path.resolve()):
            if not place.is_relative_to("/usr"):
                mounts[place] = ("--ro-bind", path.resolve())
    mounts[folder] = ("--bind", folder)
    if scene.results:
        mounts[scene.results.resolve()] = ("--bind", scene.results.resolve())
    for path in _protected(scene, folder):
        for parent in path.parents:
            if parent.is_relative_to(folder) and parent not in mounts:
                # A folder that is mounted on cannot be renamed, so nothing can be put in place of what is in it.
                mounts[parent] = ("--bind", parent)
        mounts[path] = ("--ro-bind", path)
    return mounts


def _show_scene(mounts: Mapping[Path, tuple[str, Path]]) -> list[str]:
    """Return the mounts as arguments, outer ones first, for an inner one lies on top of an outer one."""
    ordered = sorted(mounts.items(), key=lambda item: len(item[0].parts))
    return [word for place, (kind, source) in ordered for word in (kind, str(source), str(place))]


def _protected(scene: Scene, folder: Path) -> list[Path]:
    """Return what is to be read-only and is there; refuse a link, for that would show what it leads to."""
    found = []
    for given in (folder / ".git", *scene.read_only):
        path = Path(os.path.normpath(folder / given))
        if not os.path.lexists(path):
            continue
        if not path.is_relative_to(folder) or path == folder or path.is_symlink() or not is_inside(path, folder):
            raise BadInput(f"{given}: is a link or lies outside the worktree; remove it, then run the command again")
        if path.resolve() != path:
            raise BadInput(f"{given}: a link is on the way to it; remove it, then run the command again")
        found.append(path)
    return found
