"""Run pip: log its output without passwords, and report a failure in one line."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agentos.errors import BadInput, ItemError
from agentos.proving.environment.child import run_command
from agentos.proving.environment.guarded_pip import Pip
from agentos.proving.environment.needs import TOOLS, Needs
from agentos.proving.environment.requirement_lines import requirement_name
from agentos.proving.environment.safe_requirements import is_plain
from agentos.state.files import (
    SHARED_FILE,
    make_private_directory,
    remove_tree,
    write_new,
)
from agentos.state.redaction import Redactor
from agentos.state.terminal_text import clean
from agentos.state.variables import PIP, inherit
from agentos.state.wording import describe_seconds

BuildSource = Callable[[Path, Path], Awaitable[Path]]
"""Builds the source of a package in one folder into a wheel in another."""
PROGRESS_SECONDS = 5.0
LOG_LIMIT = 20_000_000
LINE_SHOWN = 300
_DROPPED = ("Looking in indexes:", "Looking in links:")
_DOING = ("Collecting ", "Downloading ", "Building ", "Preparing ", "Installing ")
_INSTALLING = "Installing collected packages:"
_LOCKED = "locked.txt"
_NO_WHEEL = "No matching distribution found for "
_OFFLINE = (
    "NewConnectionError",
    "name resolution",
    "NameResolutionError",
    "Network is unreachable",
    "ProxyError",
)


@dataclass(slots=True)
class PipLog:
    """The log of pip's output; passwords are removed before it is written."""

    path: Path
    redactor: Redactor
    latest: str = ""
    doing: str = "starting"
    errors: list[str] = field(default_factory=list)
    is_offline: bool = False
    _written: int = 0

    def take(self, data: bytes) -> None:
        """Log a line of output."""
        redacted = clean(self.redactor.redact_bytes(data))
        text = mask_logins(redacted.decode("utf-8", "replace")).rstrip()
        if text.startswith(_DROPPED):
            return
        if any(sign in text for sign in _OFFLINE):
            self.is_offline = True
        stripped = text.strip()
        if stripped.lower().startswith("error:") and len(self.errors) < 1000:
            self.errors.append(stripped[6:].strip())
        if stripped and not text.startswith(("[notice]", "note:", "hint:")):
            self.latest = stripped
        if text.startswith(_INSTALLING):
            self.doing = f"Installing {text.count(',') + 1} packages"
        elif text.startswith(_DOING):
            self.doing = text.partition(" (from ")[0]
        line = f"{text}\n".encode()
        if self._written + len(line) <= LOG_LIMIT:
            self._written += len(line)
            with self.path.open("ab") as file:
                file.write(line)

    def begin(self) -> None:
        """Forget the errors of an earlier run of pip."""
        self.errors.clear()
        self.latest = ""

    def without_wheel(self) -> str:
        """Return the requirement that pip found no wheel for, or an empty text."""
        for error in self.errors:
            if not error.startswith(_NO_WHEEL):
                continue
            named = error.removeprefix(_NO_WHEEL)
            requirement = named.partition(" (from ")[0]
            if is_plain(requirement):
                return requirement
        return ""

    def telling_line(self) -> str:
        """Return the line that explains a failure best: which package, and why."""
        line = self.latest or "pip said nothing"
        if self.errors:
            line = self.errors[-1]
        for error in self.errors:
            if not error.startswith(("subprocess-exited", "Exception")):
                line = error
        return line[:LINE_SHOWN]


async def make_venv(
    python: Path,
    folder: Path,
    log: PipLog,
    environ: Mapping[str, str],
    lock: int,
    *,
    with_pip: bool,
) -> None:
    """Create an empty virtual environment."""
    command = [str(python), "-I", "-m", "venv", str(folder)]
    if not with_pip:
        command.insert(-1, "--without-pip")
    code = await run_command(
        command, pip_environ(environ), folder.parent, log.take, (lock,)
    )
    if code:
        raise ItemError(
            f"environment: a virtual environment cannot be made ({log.telling_line()});"
            f" check that Python's venv module is installed; the log is {log.path}"
        )


async def install(
    needs: Needs,
    folder: Path,
    pip: Pip,
    log: PipLog,
    say: Callable[[str], None],
    environ: Mapping[str, str],
    lock: int,
    build: BuildSource | None,
) -> None:
    """Install what the needs name into the virtual environment in `folder`; a package
    without a wheel is built with `build`.
    """
    wheels = pip.folder / "wheels"
    make_private_directory(wheels)

    async def run(command: list[str]) -> int:
        log.begin()
        progress = asyncio.create_task(_tell_progress(log, say))
        try:
            return await run_command(
                command, pip_environ(environ), pip.folder, log.take, (lock,)
            )
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)

    for arguments in _steps(needs, folder):
        tried: set[str] = set()
        command = pip.install("--find-links", str(wheels), *arguments)
        if needs.newest:
            command.append("--upgrade")
        while await run(command):
            wanted = log.without_wheel()
            if wanted in TOOLS:
                raise BadInput(_say_undeclared(wanted, log))
            if build is None or not wanted or wanted in tried:
                raise ItemError(_failure(log))
            tried.add(wanted)
            failure = _failure(log)
            say(f"environment: {wanted} has no wheel; building it in the sandbox")
            remove_tree(pip.source)
            name = requirement_name(wanted)
            await run(pip.fetch(_fetched(needs, wanted, folder / "fetched.txt")))
            if not pip.source.is_dir():
                raise ItemError(failure)
            try:
                wheel = await build(pip.source, wheels)
                _accept_hash(folder / _LOCKED, name, wheel)
            except (BadInput, ItemError) as error:
                raise ItemError(
                    f"environment: {wanted} has no wheel, and {error}; the log is"
                    f" {log.path}"
                ) from None


def _say_undeclared(tool: str, log: PipLog) -> str:
    """Say that the tests have nothing to run them."""
    cause = "no package index has it"
    if log.is_offline:
        cause = "no package index can be reached"
    return (
        f"the repository's tests cannot be run without {tool}: {cause}, and AgentOS has"
        f" no copy of it; declare a version of it as a test dependency, such as"
        f' [dependency-groups] test = ["{tool}>=8"], and make an index reachable; the'
        f" log is {log.path}"
    )


def _fetched(needs: Needs, wanted: str, path: Path) -> list[str]:
    """Return the arguments that name a package, with its hashes if it is locked."""
    for line in needs.locked:
        if requirement_name(line) == requirement_name(wanted):
            path.unlink(missing_ok=True)
            return _file_option("-r", path, [line])
    return [wanted]


def _accept_hash(path: Path, name: str, wheel: Path) -> None:
    """Add the hash of a wheel that was built from checked source to the lock."""
    if not path.is_file():
        return
    data = wheel.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    text = path.read_text("utf-8")
    lines = []
    for line in text.splitlines():
        if requirement_name(line) == name and " --hash" in line:
            line = f"{line} --hash=sha256:{digest}"
        lines.append(f"{line}\n")
    path.write_text("".join(lines), "utf-8")


def pip_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that pip may see: its own, proxies and certificates, but no
    keys.
    """
    # The repository must not shadow the modules that pip imports.
    return {
        **inherit(PIP, environ),
        "PYTHONNOUSERSITE": "1",
        "PIP_USER": "0",
        "PYTHONSAFEPATH": "1",
    }


def index_redactor(environ: Mapping[str, str]) -> Redactor:
    """Return a redactor for the addresses in pip's variables and their passwords."""
    secrets: set[str] = set()
    for key, value in environ.items():
        if key.startswith("PIP_") or key.lower().endswith("_proxy"):
            for word in value.split():
                secrets |= set(_secrets_of(word))
    return Redactor(frozenset(secret for secret in secrets if len(secret) >= 4))


def mask_logins(text: str) -> str:
    """Replace the login in every address of a text."""
    parts = text.split("://")
    for index, part in enumerate(parts[1:], 1):
        host = part.split("/", 1)[0].split(" ", 1)[0].split("'", 1)[0].split('"', 1)[0]
        login, at, _ = host.rpartition("@")
        if at:
            parts[index] = "[REDACTED]" + part[len(login) :]
    return "://".join(parts)


def _secrets_of(word: str) -> Iterator[str]:
    if "://" not in word:
        return
    yield word.rstrip("/")
    with suppress(ValueError):
        address = urlsplit(word)
        # A token is often given as the user name, without a password.
        secret = address.password or address.username
        if secret:
            yield secret
            yield unquote(secret)


def _steps(needs: Needs, folder: Path) -> Iterator[list[str]]:
    """Yield the arguments of each run of pip.

    One hash makes pip require hashes for everything, so a lock gets its own run.
    """
    if needs.locked:
        options = _file_option("-c", folder / "constraints.txt", needs.constraints)
        yield [*options, *_file_option("-r", folder / _LOCKED, needs.locked)]
    if needs.requirements:
        options = _file_option("-c", folder / "pins.txt", needs.constraint_lines)
        path = folder / "requirements.txt"
        yield [*options, *_file_option("-r", path, needs.requirements)]


def _file_option(option: str, path: Path, lines: Sequence[str]) -> list[str]:
    """Write the lines to a file and return the option that names it; nothing for no
    lines.
    """
    if not lines:
        return []
    data = "\n".join((*lines, "")).encode()
    write_new(path, data, mode=SHARED_FILE, is_durable=False)
    return [option, str(path)]


async def _tell_progress(log: PipLog, say: Callable[[str], None]) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed = describe_seconds(time.monotonic() - started)
        say(f"environment: installing for {elapsed}: {log.doing[:100]}")


def _failure(log: PipLog) -> str:
    advice = "correct the requirement"
    if log.without_wheel():
        advice += ", or put a wheel of it where pip's find-links looks"
    if log.is_offline:
        advice = "check the network or the package index"
    return (
        f"environment: pip failed: {log.telling_line()}; {advice}; the log is"
        f" {log.path}"
    )
