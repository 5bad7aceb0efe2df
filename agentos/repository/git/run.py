"""Run git: the only module that does, with argument lists, a clean environment, and
limits of time and output.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from agentos.errors import ItemError
from agentos.repository.git.fingerprints import (
    Fingerprints,
    configuration_files,
    read_fingerprints,
)
from agentos.repository.git.hardening import (
    MOST_DRIVERS,
    as_variables,
    make_environment,
    make_settings,
)
from agentos.state.terminal_text import clean_text
from agentos.state.variables import environment

TIMEOUT = 300.0
OUTPUT_LIMIT = 64_000_000
_SAID_LIMIT = 8_000
_LINE_LIMIT = 300

Data = bytes | Iterable[bytes]

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
"""How git quotes a path in a list of object stores."""
_RECALLED_SIZE = 2_000_000
_MOST_RECALLED = 32
_recalled: dict[tuple[Path, tuple[str, ...]], bytes] = {}
_hardened: dict[Path, tuple[Fingerprints, dict[str, str]]] = {}


def one_line(message: str) -> str:
    """Return a message that may quote untrusted text as one printable line."""
    return clean_text(message).decode().replace("\n", "\\n")


class GitError(ItemError):
    """Git failed; `said` is what it wrote to stderr."""

    def __init__(self, message: str, *, code: int = -1, said: str = "") -> None:
        super().__init__(one_line(message))
        self.code = code
        self.said = said


class WorktreeConflict(ItemError):
    """Something that is not ours is in the way of a worktree, a branch or a file.

    It is left as it is.
    """

    failure = "conflict"

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one repository.

    The git directory is always named, so that git never uses a `.git` that generated code
    put into a worktree. `held` are descriptors of locks that children inherit: a lock
    outlives a killed parent as long as its git runs.
    """

    git_dir: Path
    work_tree: Path
    settings: Mapping[str, str] = field(default_factory=make_settings)
    held: tuple[int, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def run(
        self,
        *arguments: str,
        data: Data | None = None,
        limit: int = OUTPUT_LIMIT,
        descriptors: Iterable[int] = (),
    ) -> bytes:
        """Return git's output; raise `GitError` if it has more than `limit` bytes."""
        with self.start(*arguments, data=data, descriptors=descriptors) as output:
            printed = output.read(limit + 1)
            if len(printed) > limit:
                raise GitError(
                    f"git {arguments[0]} in {self.work_tree}: gave more than {limit:,}"
                    " bytes"
                )
        return printed

    def recall(self, *arguments: str) -> bytes:
        """Return git's output about commits named by id, which never changes; ask once in a
        process.
        """
        key = (self.git_dir, arguments)
        printed = _recalled.pop(key, None)
        if printed is None:
            printed = self.run(*arguments)
        if len(printed) <= _RECALLED_SIZE:
            # Putting it back at the end makes the first key the least recently used.
            _recalled[key] = printed
            if len(_recalled) > _MOST_RECALLED:
                del _recalled[next(iter(_recalled))]
        return printed

    def line(self, *arguments: str, data: Data | None = None) -> str:
        """Return git's output as text without the last line end; `os.fsencode` gives the same
        bytes back.
        """
        return os.fsdecode(self.run(*arguments, data=data).removesuffix(b"\n"))

    def answers(self, *arguments: str, data: Data | None = None) -> bytes:
        """Return git's output, empty if it says that nothing was found."""
        try:
            return self.run(*arguments, data=data)
        except GitError as error:
            # A warning, such as one about a link in place of `.gitignore`, is no failure.
            lines = error.said.split("\n")
            has_failed = any(map(_is_failure, lines))
            if error.code != 1 or has_failed:
                raise
            return b""

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether git answers yes; raise `GitError` if it cannot answer."""
        try:
            self.run(*arguments)
        except GitError as error:
            if error.code == 1:
                return False
            raise
        return True

    @contextmanager
    def start(
        self,
        *arguments: str,
        data: Data | None = None,
        descriptors: Iterable[int] = (),
        timeout: float = TIMEOUT,
    ) -> Iterator[IO[bytes]]:
        """Yield git's output as it comes; git must succeed, and never outlives the
        body.
        """
        environ = make_environment(environment())
        environ |= as_variables(self.settings)
        environ |= self.extra
        environ["GIT_DIR"] = str(self.git_dir)
        environ["GIT_WORK_TREE"] = str(self.work_tree)
        with start_git(
            arguments,
            self.work_tree,
            environ,
            data=data,
            descriptors=(*self.held, *descriptors),
            timeout=timeout,
        ) as output:
            yield output

    def holding(self, *descriptors: int) -> Git:
        """Return a copy whose children also hold these locks."""
        return replace(self, held=(*self.held, *descriptors))

    def with_variables(self, **variables: str) -> Git:
        """Return a copy with more variables set."""
        return replace(self, extra={**self.extra, **variables})

    def writing_to(self, objects: Path) -> Git:
        """Return git that reads the same objects and those of another folder, and writes
        new ones there.
        """
        store = str(self.git_dir / "objects").translate(_ESCAPES)
        return self.with_variables(
            GIT_OBJECT_DIRECTORY=str(objects),
            GIT_ALTERNATE_OBJECT_DIRECTORIES=f'"{store}"',
        )

    def on(self, work_tree: Path) -> Git:
        """Return git with the same git directory and another work tree."""
        return replace(self, work_tree=work_tree)


def harden(git_dir: Path, work_tree: Path) -> Git:
    """Return git on a repository, with every configured filter and driver disarmed."""
    plain = Git(git_dir, work_tree)
    fingerprints = read_fingerprints(*configuration_files(git_dir))
    if fingerprints is not None and git_dir in _hardened:
        known_fingerprints, settings = _hardened[git_dir]
        if fingerprints == known_fingerprints:
            return replace(plain, settings=settings)
    arguments = ("config", "--list", "--name-only", "-z")
    keys = plain.run(*arguments, limit=4_000_000).split(b"\0")[:-1]
    settings = make_settings(map(os.fsdecode, keys))
    if len(settings) > MOST_DRIVERS:
        raise GitError(
            f"{git_dir}: its configuration names too many filters and drivers; remove"
            " what is not used"
        )
    # An included file can change without a change of these files.
    has_include = any(key.lower().startswith(b"include") for key in keys)
    if fingerprints is not None and not has_include:
        _hardened[git_dir] = (fingerprints, settings)
    return replace(plain, settings=settings)


@contextmanager
def start_git(
    arguments: Iterable[str],
    folder: Path,
    environ: Mapping[str, str],
    *,
    data: Data | None = None,
    descriptors: Iterable[int] = (),
    timeout: float = TIMEOUT,
) -> Iterator[IO[bytes]]:
    """Run git with exactly these variables; see `Git.start`."""
    command = ["git", "--no-pager", *arguments]
    stdin = subprocess.DEVNULL
    if data is not None:
        stdin = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(descriptors),
            # In a group of its own, so that Ctrl-C does not interrupt a change of the
            # repository.
            process_group=0,
        )
    except (OSError, ValueError) as error:
        raise _explain_start(command[2], folder, error) from error
    assert process.stdout is not None
    assert process.stderr is not None
    said = bytearray()
    is_late = threading.Event()
    alarm = threading.Timer(timeout, _stop_late, (process, is_late))
    alarm.daemon = True
    alarm.start()
    # Threads, as git may block on one pipe while it fills another.
    threads = [_start_thread(_drain, process.stderr, said)]
    if data is not None and process.stdin is not None:
        threads.append(_start_thread(_feed, process.stdin, data))
    try:
        yield process.stdout
        # Git does not end before its output is read.
        while process.stdout.read(1_000_000):
            pass
        process.wait()
    finally:
        # It still runs only if the caller or the reading failed.
        _kill(process)
        process.wait()
        alarm.cancel()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()
    if is_late.is_set():
        raise GitError(
            f"git {command[2]} in {folder}: did not end within {timeout:.0f} s"
        )
    if process.returncode:
        raise _explain(command[2], folder, process.returncode, bytes(said))


def _explain_start(command: str, folder: Path, error: Exception) -> GitError:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        if not folder.is_dir():
            return GitError(f"{folder}: is not a folder")
        return GitError(
            "git is not installed, or not on the PATH; install git 2.36 or newer"
        )
    if isinstance(error, OSError):
        return GitError(f"git could not be started in {folder} ({error.strerror})")
    return GitError(
        f"git {command} in {folder}: an argument contains a NUL byte, or a character"
        " that cannot be encoded"
    )


def _start_thread(target: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _stop_late(process: subprocess.Popen[bytes], is_late: threading.Event) -> None:
    is_late.set()
    _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a git that has not ended, with the commands that it started: one that goes on
    would hold its end of our pipes.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _feed(pipe: IO[bytes], data: Data) -> None:
    if isinstance(data, bytes):
        data = (data,)
    # If git has ended, its exit code says more than a broken pipe.
    with suppress(OSError):
        for part in data:
            pipe.write(part)
    with suppress(OSError):
        pipe.close()


def _drain(pipe: IO[bytes], said: bytearray) -> None:
    with suppress(OSError, ValueError):
        while part := pipe.read1(65_536):  # type: ignore[attr-defined]
            said += part[: max(0, _SAID_LIMIT - len(said))]


def _is_failure(line: str) -> bool:
    return line.startswith(("fatal:", "error:"))


def _explain(command: str, folder: Path, code: int, said: bytes) -> GitError:
    text = said.decode("utf-8", "replace").strip()
    lines = text.split("\n")
    reason = next(filter(_is_failure, lines), lines[0])
    if ": " in reason[:8]:
        reason = reason.partition(":")[2].strip()
    if "index.lock" in text or "File exists" in text:
        reason += (
            "; another git is at work there, or one was killed: end it, remove that"
            " file and start again"
        )
    if not reason:
        reason = f"ended with {code}"
    shown = reason[:_LINE_LIMIT]
    return GitError(f"git {command} in {folder}: {shown}", code=code, said=text)
