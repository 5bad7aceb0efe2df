"""The one place that runs git: argument lists, no shell, a cleaned environment, bounded time and output."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from agentos.errors import ItemError
from agentos.untrusted import clean_text
from agentos.worktrees.hardening import MOST_DRIVERS, as_variables, make_environment, make_settings
from agentos.worktrees.stamps import Stamps, configuration_files, stamp

TIMEOUT = 300.0
OUTPUT_LIMIT = 64_000_000
_SAID_LIMIT = 8_000
_LINE_LIMIT = 300

Data = bytes | Iterable[bytes]

_RECALLED_SIZE = 2_000_000
_MOST_RECALLED = 32
_recalled: dict[tuple[Path, tuple[str, ...]], bytes] = {}
_hardened: dict[Path, tuple[Stamps, dict[str, str]]] = {}


def one_line(message: str) -> str:
    """Return words that may quote anybody, also the name of a folder, as one line of text."""
    return clean_text(message).decode().replace("\n", "\\n")


class GitError(ItemError):
    """Git could not do what it was asked; `said` is what it gave as the reason."""

    def __init__(self, message: str, *, code: int = -1, said: str = "") -> None:
        super().__init__(one_line(message))
        self.code = code
        self.said = said


class WorktreeConflict(ItemError):
    """Something that is not ours is where a worktree, a branch or a file would be; it is left as it is."""

    failure = "conflict"

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))


@dataclass(frozen=True, slots=True)
class Git:
    """Git on one repository.

    The git directory is always named, so that a `.git` which generated code put into a worktree is never looked at.
    `held` are descriptors of locks, which a child keeps: a lock outlives a killed parent for as long as its git runs.
    """

    git_dir: Path
    work_tree: Path
    settings: Mapping[str, str] = field(default_factory=make_settings)
    held: tuple[int, ...] = ()
    extra: Mapping[str, str] = field(default_factory=dict)

    def run(
        self, *arguments: str, data: Data | None = None, limit: int = OUTPUT_LIMIT, descriptors: Iterable[int] = ()
    ) -> bytes:
        """Return what git printed; more than `limit` bytes are an error."""
        with self.start(*arguments, data=data, descriptors=descriptors) as output:
            printed = output.read(limit + 1)
            if len(printed) > limit:
                raise GitError(f"git {arguments[0]} in {self.work_tree}: gave more than {limit:,} bytes")
        return printed

    def recall(self, *arguments: str) -> bytes:
        """Return what git printed about commits named by their ids, which never change; asked once in a process."""
        key = (self.git_dir, arguments)
        printed = _recalled.pop(key, None)
        if printed is None:
            printed = self.run(*arguments)
        if len(printed) <= _RECALLED_SIZE:
            _recalled[key] = printed
            if len(_recalled) > _MOST_RECALLED:
                del _recalled[next(iter(_recalled))]
        return printed

    def line(self, *arguments: str, data: Data | None = None) -> str:
        """Return what git printed without its last line end, as text that stands for the very bytes."""
        return os.fsdecode(self.run(*arguments, data=data).removesuffix(b"\n"))

    def answers(self, *arguments: str, data: Data | None = None) -> bytes:
        """Return what git printed, nothing when it says that nothing was found."""
        try:
            return self.run(*arguments, data=data)
        except GitError as error:
            # A warning, such as one about rules for ignored files that are a link, is no failure.
            if error.code == 1 and not {"fatal", "error"} & {line.partition(":")[0] for line in error.said.split("\n")}:
                return b""
            raise

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether git says yes; what cannot be asked is an error."""
        try:
            self.run(*arguments)
        except GitError as error:
            if error.code == 1:
                return False
            raise
        return True

    @contextmanager
    def start(
        self, *arguments: str, data: Data | None = None, descriptors: Iterable[int] = (), timeout: float = TIMEOUT
    ) -> Iterator[IO[bytes]]:
        """Give git's output as it comes; when the body ends git must have succeeded, and it never outlives it."""
        environ = make_environment(os.environ) | as_variables(self.settings) | dict(self.extra)
        environ |= {"GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(self.work_tree)}
        with start_git(
            arguments, self.work_tree, environ, data=data, descriptors=(*self.held, *descriptors), timeout=timeout
        ) as output:
            yield output

    def holding(self, *descriptors: int) -> Git:
        """Return the same with locks that its children keep."""
        return replace(self, held=(*self.held, *descriptors))

    def with_variables(self, **variables: str) -> Git:
        """Return the same with more variables set."""
        return replace(self, extra={**self.extra, **variables})

    def at(self, git_dir: Path, work_tree: Path) -> Git:
        """Return git on a linked worktree of the same repository."""
        return replace(harden(git_dir, work_tree), held=self.held, extra=self.extra)

    def on(self, work_tree: Path) -> Git:
        """Return git with the same git directory and another folder as its tree."""
        return replace(self, work_tree=work_tree)


def harden(git_dir: Path, work_tree: Path) -> Git:
    """Return git on a repository with every filter and driver disarmed that its configuration names."""
    plain = Git(git_dir, work_tree)
    stamps = stamp(*configuration_files(git_dir))
    known = _hardened.get(git_dir)
    if known is not None and stamps is not None and known[0] == stamps:
        return replace(plain, settings=known[1])
    keys = plain.run("config", "--list", "--name-only", "-z", limit=4_000_000).split(b"\0")
    settings = make_settings(os.fsdecode(key) for key in keys if key)
    if len(settings) > MOST_DRIVERS:
        raise GitError(f"{git_dir}: its configuration names too many filters and drivers; remove what is not used")
    # What is included from elsewhere can change without a trace here.
    if stamps is not None and not any(key.lower().startswith(b"include") for key in keys):
        _hardened[git_dir] = (stamps, settings)
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
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(descriptors),
            # A group of its own: whoever asks this process to stop must not cut a change of the repository short.
            process_group=0,
        )
    except (FileNotFoundError, NotADirectoryError) as error:
        if not folder.is_dir():
            raise GitError(f"{folder}: is not a folder") from error
        raise GitError("git is not installed, or not on the PATH; install git 2.36 or newer") from error
    except ValueError as error:
        raise GitError(f"git {command[2]} in {folder}: was given a name that no program can be given") from error
    except OSError as error:
        raise GitError(f"git could not be started in {folder} ({error.strerror})") from error
    assert process.stdout is not None
    assert process.stderr is not None
    said = bytearray()
    is_late = threading.Event()
    alarm = threading.Timer(timeout, _stop_late, (process, is_late))
    threads = [threading.Thread(target=_drain, args=(process.stderr, said), daemon=True)]
    if data is not None and process.stdin is not None:
        threads.append(threading.Thread(target=_feed, args=(process.stdin, data), daemon=True))
    alarm.daemon = True
    alarm.start()
    for thread in threads:
        thread.start()
    try:
        yield process.stdout
        # What nobody wanted to read must not keep git from its end.
        while process.stdout.read(1_000_000):
            pass
        process.wait()
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
        alarm.cancel()
        for thread in threads:
            thread.join()
        process.stdout.close()
        process.stderr.close()
    if is_late.is_set():
        raise GitError(f"git {command[2]} in {folder}: did not end within {timeout:.0f} s")
    if process.returncode:
        raise _explain(command[2], folder, process.returncode, bytes(said))


def _stop_late(process: subprocess.Popen[bytes], is_late: threading.Event) -> None:
    is_late.set()
    process.kill()


def _feed(pipe: IO[bytes], data: Data) -> None:
    # Git that has ended says more with its exit code than a broken pipe does.
    with suppress(OSError):
        for part in (data,) if isinstance(data, bytes) else data:
            pipe.write(part)
    with suppress(OSError):
        pipe.close()


def _drain(pipe: IO[bytes], said: bytearray) -> None:
    with suppress(OSError, ValueError):
        while part := pipe.read1(65_536):  # type: ignore[attr-defined]
            said += part[: max(0, _SAID_LIMIT - len(said))]


def _explain(command: str, folder: Path, code: int, said: bytes) -> GitError:
    text = said.decode("utf-8", "replace").strip()
    lines = [line for line in text.split("\n") if line.startswith(("fatal:", "error:"))] or text.split("\n")
    reason = lines[0].partition(":")[2].strip() if ": " in lines[0][:8] else lines[0]
    if "index.lock" in text or "File exists" in text:
        reason += "; another git is at work there, or one was killed: end it, remove that file and start again"
    return GitError(f"git {command} in {folder}: {reason[:_LINE_LIMIT] or f'ended with {code}'}", code=code, said=text)
