"""Open the environment that some needs name: find it whole, or build it once while all others wait.

It is built at its final place, because a virtual environment does not survive a move, and under a lock that pip
holds too. A stamp is written last. A folder without a stamp was left by a builder that was killed: whoever has the lock
throws it away and begins anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agentos.environments.borrowing import Loan, describe, hand_over, plan_loan
from agentos.environments.bytecode import BYTECODE, link_bytecode
from agentos.environments.child import run_watched
from agentos.environments.guarded_pip import pip_for
from agentos.environments.installing import PipLog, index_redactor, install, make_venv, pip_environ
from agentos.environments.interpreters import Interpreter, ask_interpreter, choose_interpreter
from agentos.environments.needs import Needs
from agentos.errors import BadInput, ItemError
from agentos.files import make_private_directory, read_regular, remove_tree, sync_directory, write_atomically
from agentos.queueing import in_turn
from agentos.sandbox.showing import environment_folders, private_places

STAMP = "complete.json"
STAMP_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with all that a repository's tests need, but without the repository's own code."""

    python: Path
    folder: Path
    readable: tuple[Path, ...]
    """Folders that a sandbox must show."""
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether it is still there, built to its end; an interpreter of the settings was never built."""
        return self.python.exists() and (self.folder / STAMP).is_file()

    @property
    def bytecode(self) -> Path | None:
        """The only folder in which tests may look for compiled modules; None when nothing is compiled for them."""
        folder = self.folder / BYTECODE
        return folder if folder.is_dir() else None


async def open_environment(
    needs: Needs, root: Path, *, log: Callable[[str], None], environ: Mapping[str, str] | None = None
) -> Environment:
    """Return the environment for some needs; the first caller builds it, whoever comes meanwhile waits."""
    environ = os.environ if environ is None else environ
    if needs.python:
        return await _use_as_it_is(needs, environ)
    interpreter = await choose_interpreter(needs.requires_python, environ)
    installed = root / needs.digest(interpreter.identity, "pip")
    if found := _find_complete(installed, interpreter, environ):
        return found
    refusal = f"AgentOS runs on another Python than {interpreter.version}"
    loan = await asyncio.to_thread(plan_loan, needs) if interpreter.is_own else Loan(refusal=refusal)
    folder = installed if loan.refusal else root / needs.digest(interpreter.identity, "borrowed", *loan.pins)
    try:
        return await _find_or_build(folder, needs, loan, interpreter, log, environ)
    except OSError as error:
        where = error.filename or folder
        raise ItemError(f"environment: {where}: {error.strerror or error}; make room or access, then rerun") from error


async def _use_as_it_is(needs: Needs, environ: Mapping[str, str]) -> Environment:
    found = await ask_interpreter(needs.python, needs.folder, environ)
    if not found.has_pytest:
        raise ItemError(f"{needs.python[:200]}: has no pytest; install it there or name another interpreter")
    return Environment(
        found.path, found.prefix, _readable(found.prefix, found, environ), ("the interpreter of the settings",)
    )


async def _find_or_build(
    folder: Path,
    needs: Needs,
    loan: Loan,
    interpreter: Interpreter,
    log: Callable[[str], None],
    environ: Mapping[str, str],
) -> Environment:
    if found := _find_complete(folder, interpreter, environ):
        return found
    make_private_directory(folder.parent)

    def say_waiting() -> None:
        log("environment: waiting for another item that builds it")

    async with in_turn(folder.with_name(f".{folder.name}.lock"), say_waiting) as lock:
        if found := _find_complete(folder, interpreter, environ):
            return found
        await asyncio.to_thread(remove_tree, folder)
        try:
            return await _build(folder, needs, loan, interpreter, log, environ, lock.descriptor)
        except BaseException:
            remove_tree(folder)
            raise


async def _build(
    folder: Path,
    needs: Needs,
    loan: Loan,
    interpreter: Interpreter,
    log: Callable[[str], None],
    environ: Mapping[str, str],
    lock: int,
) -> Environment:
    kept = PipLog(folder.with_name(f"{folder.name}.log"), index_redactor(environ))
    kept.path.unlink(missing_ok=True)
    named = f" from {', '.join(needs.sources[:4])}" if needs.sources else ""
    if loan.refusal:
        log(f"environment: installing with pip{named} ({loan.refusal})")
        await make_venv(interpreter.path, folder, kept, environ, lock, with_pip=True)
        async with pip_for(needs, folder, interpreter) as pip:
            await install(needs, folder, pip, kept, log, environ, lock)
        notes = [f"installed with pip{named}"]
    else:
        log(f"environment: borrowing {describe(loan.pins)}")
        await make_venv(interpreter.path, folder, kept, environ, lock, with_pip=False)
        await _borrow(folder, loan, interpreter, kept, environ)
        notes = [f"borrowed from AgentOS's own environment: {describe(loan.pins)}"]
    await asyncio.to_thread(link_bytecode, folder, interpreter.base_prefix, interpreter.version)
    stamp = {"version": interpreter.version, "notes": notes, "requirements": needs.requirements, "lent": loan.pins}
    write_atomically(folder / STAMP, json.dumps(stamp, indent=1).encode())
    sync_directory(folder.parent)
    found = _find_complete(folder, interpreter, environ)
    if found is None:
        raise ItemError(f"environment: {folder} has no working interpreter after it was built; the log is {kept.path}")
    return found


async def _borrow(folder: Path, loan: Loan, interpreter: Interpreter, kept: PipLog, environ: Mapping[str, str]) -> None:
    python = folder / "bin" / "python"
    minor = ".".join(interpreter.version.split(".")[:2])
    site = folder / "lib" / f"python{minor}" / "site-packages"
    stop = threading.Event()
    copying = asyncio.create_task(asyncio.to_thread(hand_over, loan, site, folder / "bin", python, stop))
    try:
        await asyncio.shield(copying)
    except asyncio.CancelledError:
        stop.set()
        with suppress(Exception):
            await copying
        raise
    # A sandbox shows the environment read-only, so what is not compiled now would be compiled in every run.
    command = [str(interpreter.path), "-I", "-S", "-m", "compileall", "-q", str(site)]
    await run_watched(command, pip_environ(environ), folder, kept.take)


def _find_complete(folder: Path, interpreter: Interpreter, environ: Mapping[str, str]) -> Environment | None:
    """Return an environment that was built to its end and whose interpreter is still there."""
    python = folder / "bin" / "python"
    try:
        stamp = json.loads(read_regular(folder / STAMP, STAMP_LIMIT))
        notes = tuple(str(note) for note in stamp["notes"])
    except (BadInput, ValueError, KeyError, TypeError):
        return None
    if not python.exists():
        return None
    return Environment(python, folder, _readable(folder, interpreter, environ), notes)


def _readable(folder: Path, interpreter: Interpreter, environ: Mapping[str, str]) -> tuple[Path, ...]:
    return environment_folders(folder, interpreter.base_prefix, private_places(environ))
