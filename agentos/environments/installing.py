"""Have pip install what is needed: watched, its output kept without anybody's password, its failure in one line."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from agentos.environments.child import run_watched
from agentos.environments.guarded_pip import Pip
from agentos.environments.needs import Needs
from agentos.errors import ItemError
from agentos.files import SHARED_FILE, write_new
from agentos.programs import with_search_path
from agentos.redaction import Redactor
from agentos.untrusted import clean
from agentos.wording import describe_seconds

PROGRESS_SECONDS = 5.0
LOG_LIMIT = 20_000_000
LINE_SHOWN = 300
_PASSED_ON = """
PATH HOME USER LANG LC_ALL LC_CTYPE TMPDIR XDG_CACHE_HOME XDG_CONFIG_HOME XDG_CONFIG_DIRS NETRC SSL_CERT_FILE
SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy
all_proxy no_proxy CC CXX CFLAGS CPPFLAGS LDFLAGS PKG_CONFIG_PATH LD_LIBRARY_PATH SOURCE_DATE_EPOCH
"""
_PASSED_ON_NAMES = frozenset(_PASSED_ON.split())
_DROPPED = ("Looking in indexes:", "Looking in links:")
_DOING = ("Collecting ", "Downloading ", "Building ", "Preparing ", "Installing ")
_INSTALLING = "Installing collected packages:"
_OFFLINE = ("NewConnectionError", "name resolution", "NameResolutionError", "Network is unreachable", "ProxyError")


@dataclass(slots=True)
class PipLog:
    """The kept output of pip; what could be a password is taken out before it is written."""

    path: Path
    redactor: Redactor
    latest: str = ""
    doing: str = "starting"
    errors: list[str] = field(default_factory=list)
    is_offline: bool = False
    _written: int = 0

    def take(self, data: bytes) -> None:
        """Keep a line of output."""
        text = mask_logins(clean(self.redactor.redact_bytes(data)).decode("utf-8", "replace")).rstrip()
        if text.startswith(_DROPPED):
            return
        self.is_offline = self.is_offline or any(sign in text for sign in _OFFLINE)
        if text.lower().lstrip().startswith("error:") and len(self.errors) < 1000:
            self.errors.append(text.lstrip()[6:].strip())
        if text.strip() and not text.startswith(("[notice]", "note:", "hint:")):
            self.latest = text.strip()
        if text.startswith(_INSTALLING):
            self.doing = f"Installing {text.count(',') + 1} packages"
        elif text.startswith(_DOING):
            self.doing = text.partition(" (from ")[0]
        line = f"{text}\n".encode()
        if self._written + len(line) <= LOG_LIMIT:
            self._written += len(line)
            with self.path.open("ab") as file:
                file.write(line)

    def telling_line(self) -> str:
        """Return the line that says most about a failure: which package, and why."""
        preferred = [line for line in self.errors if not line.startswith(("subprocess-exited", "Exception"))]
        line = (preferred or self.errors or [self.latest or "pip said nothing"])[-1]
        return line[:LINE_SHOWN]


async def make_venv(
    python: Path, folder: Path, log: PipLog, environ: Mapping[str, str], lock: int, *, with_pip: bool
) -> None:
    """Make an empty virtual environment."""
    command = [str(python), "-I", "-m", "venv", *([] if with_pip else ["--without-pip"]), str(folder)]
    code = await run_watched(command, pip_environ(environ), folder.parent, log.take, (lock,))
    if code:
        raise ItemError(
            f"environment: a virtual environment cannot be made ({log.telling_line()}); "
            f"check that Python's venv module is installed; the log is {log.path}"
        )


async def install(
    needs: Needs, folder: Path, pip: Pip, log: PipLog, say: Callable[[str], None], environ: Mapping[str, str], lock: int
) -> None:
    """Install what the needs name into the virtual environment in `folder`."""
    for arguments in _steps(needs, folder):
        command = [*pip.command, "install", "--no-input", "--disable-pip-version-check"]
        command += ["--progress-bar", "off", *(["--only-binary", ":all:"] if needs.only_wheels else []), *arguments]
        progress = asyncio.create_task(_tell_progress(log, say))
        try:
            code = await run_watched(command, pip_environ(environ), pip.folder, log.take, (lock,))
        finally:
            progress.cancel()
            await asyncio.gather(progress, return_exceptions=True)
        if code:
            raise ItemError(_failure(log))


def pip_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the part of the environment that pip may see: its own variables, proxies, certificates, no keys."""
    kept = {key: value for key, value in environ.items() if key in _PASSED_ON_NAMES or key.startswith("PIP_")}
    # A repository cannot be allowed to be shadowed by, or to shadow, what pip itself imports.
    return {**with_search_path(kept), "PYTHONNOUSERSITE": "1", "PIP_USER": "0", "PYTHONSAFEPATH": "1"}


def index_redactor(environ: Mapping[str, str]) -> Redactor:
    """Return a redactor for the addresses in pip's variables, as wholes and their passwords alone."""
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
        for secret in (address.password, address.username if not address.password else None):
            if secret:
                yield from (secret, unquote(secret))


def _steps(needs: Needs, folder: Path) -> Iterator[list[str]]:
    """Yield the arguments of each run of pip: hashes are all or nothing, so a lock is installed alone."""
    if needs.install:
        yield list(needs.install)
        return
    if needs.locked:
        options = ["-c", _write(folder / "constraints.txt", needs.constraints)] if needs.constraints else []
        yield [*options, "-r", _write(folder / "locked.txt", needs.locked)]
    if needs.requirements:
        limits = needs.constraint_lines
        options = ["-c", _write(folder / "pins.txt", limits)] if limits else []
        yield [*options, "-r", _write(folder / "requirements.txt", needs.requirements)]


def _write(path: Path, lines: Sequence[str]) -> str:
    write_new(path, "".join(f"{line}\n" for line in lines).encode(), mode=SHARED_FILE, is_durable=False)
    return str(path)


async def _tell_progress(log: PipLog, say: Callable[[str], None]) -> None:
    started = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        say(f"environment: installing for {describe_seconds(time.monotonic() - started)}: {log.doing[:100]}")


def _failure(log: PipLog) -> str:
    advice = "check the network or the package index" if log.is_offline else "correct the requirement"
    return f"environment: pip failed: {log.telling_line()}; {advice}; the log is {log.path}"
