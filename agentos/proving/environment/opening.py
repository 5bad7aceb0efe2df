"""Find the environment for some needs, or build it once while all others wait.

It is built in its final folder, because a virtual environment cannot be moved, and
under a lock that pip inherits. A build marker is written last. A folder without a
marker was left by a killed builder: the next holder of the lock removes it and starts
again.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from agentos.errors import BadInput, ItemError
from agentos.proving.environment.borrowing import (
    CopyPlan,
    copy_distributions,
    describe,
    plan_copy,
)
from agentos.proving.environment.bytecode import BYTECODE, link_bytecode
from agentos.proving.environment.child import run_command
from agentos.proving.environment.guarded_pip import pip_for
from agentos.proving.environment.installing import (
    BuildSource,
    PipLog,
    index_redactor,
    install,
    make_venv,
    pip_environ,
)
from agentos.proving.environment.interpreters import (
    Interpreter,
    choose_interpreter,
)
from agentos.proving.environment.needs import Needs
from agentos.proving.sandbox.visible_folders import environment_folders, private_places
from agentos.state.files import (
    make_private_directory,
    read_regular,
    remove_tree,
    sync_directory,
    write_atomically,
)
from agentos.state.lock_queue import wait_for_lock
from agentos.state.variables import environment

_BUILD_MARKER = "complete.json"
_MARKER_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter with everything that a repository's tests need, except the
    repository's own code.
    """

    python: Path
    folder: Path
    readable: tuple[Path, ...]
    """Folders that a sandbox must show."""
    notes: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether its folder still exists and was built completely."""
        return self.python.exists() and (self.folder / _BUILD_MARKER).is_file()

    @property
    def bytecode(self) -> Path | None:
        """The only folder from which tests may load bytecode, if there is any."""
        folder = self.folder / BYTECODE
        if not folder.is_dir():
            return None
        return folder


async def open_environment(
    needs: Needs,
    root: Path,
    *,
    log: Callable[[str], None],
    environ: Mapping[str, str] | None = None,
    build: BuildSource | None = None,
) -> Environment:
    """Return the environment for some needs; the first caller builds it while others
    wait.

    Only wheels are installed, unless `build` can make one of a package's source.
    """
    if environ is None:
        environ = environment()
    interpreter = await choose_interpreter(needs.requires_python, environ)
    folder = root / needs.digest(interpreter.identity, "pip")
    found = _find_complete(folder, interpreter, environ)
    if found:
        return found
    if interpreter.is_own:
        loan = await asyncio.to_thread(plan_copy, needs)
    else:
        refusal = f"AgentOS runs on another Python than {interpreter.version}"
        loan = CopyPlan(refusal=refusal)
    if not loan.refusal:
        folder = root / needs.digest(interpreter.identity, "borrowed", *loan.pins)
    try:
        return await _find_or_build(
            folder, needs, loan, interpreter, log, environ, build
        )
    except OSError as error:
        where = error.filename or folder
        raise ItemError(
            f"environment: {where}: {error.strerror or error}; make room or access,"
            " then rerun"
        ) from error


async def _find_or_build(
    folder: Path,
    needs: Needs,
    loan: CopyPlan,
    interpreter: Interpreter,
    log: Callable[[str], None],
    environ: Mapping[str, str],
    build: BuildSource | None,
) -> Environment:
    found = _find_complete(folder, interpreter, environ)
    if found:
        return found
    make_private_directory(folder.parent)

    def say_waiting() -> None:
        log("environment: waiting for another item that builds it")

    async with wait_for_lock(
        folder.with_name(f".{folder.name}.lock"), say_waiting
    ) as lock:
        found = _find_complete(folder, interpreter, environ)
        if found:
            return found
        await asyncio.to_thread(remove_tree, folder)
        with ExitStack() as unless_complete:
            unless_complete.callback(remove_tree, folder)
            built = await _build(
                folder, needs, loan, interpreter, log, environ, build, lock.descriptor
            )
            unless_complete.pop_all()
            return built


async def _build(
    folder: Path,
    needs: Needs,
    loan: CopyPlan,
    interpreter: Interpreter,
    log: Callable[[str], None],
    environ: Mapping[str, str],
    build: BuildSource | None,
    lock: int,
) -> Environment:
    kept = PipLog(folder.with_name(f"{folder.name}.log"), index_redactor(environ))
    kept.path.unlink(missing_ok=True)
    named = ""
    if needs.sources:
        named = f" from {', '.join(needs.sources[:4])}"
    if loan.refusal:
        log(f"environment: installing with pip{named} ({loan.refusal})")
        await make_venv(interpreter.path, folder, kept, environ, lock, with_pip=True)
        async with pip_for(folder, interpreter) as pip:
            await install(needs, folder, pip, kept, log, environ, lock, build)
        notes = [f"installed with pip{named}"]
    else:
        if loan.pins:
            log(f"environment: borrowing {describe(loan.pins)}")
        await make_venv(interpreter.path, folder, kept, environ, lock, with_pip=False)
        await _borrow(folder, loan, interpreter, kept, environ)
        notes = [f"borrowed from AgentOS's own environment: {describe(loan.pins)}"]
    await asyncio.to_thread(
        link_bytecode, folder, interpreter.base_prefix, interpreter.version
    )
    marker = {
        "version": interpreter.version,
        "notes": notes,
        "requirements": needs.requirements,
        "lent": loan.pins,
    }
    write_atomically(folder / _BUILD_MARKER, json.dumps(marker, indent=1).encode())
    sync_directory(folder.parent)
    found = _find_complete(folder, interpreter, environ)
    if found is None:
        raise ItemError(
            f"environment: {folder} has no working interpreter after it was built; the"
            f" log is {kept.path}"
        )
    return found


async def _borrow(
    folder: Path,
    loan: CopyPlan,
    interpreter: Interpreter,
    kept: PipLog,
    environ: Mapping[str, str],
) -> None:
    python = folder / "bin" / "python"
    minor = ".".join(interpreter.version.split(".")[:2])
    site = folder / "lib" / f"python{minor}" / "site-packages"
    stop = threading.Event()
    copying = asyncio.create_task(
        asyncio.to_thread(copy_distributions, loan, site, folder / "bin", python, stop)
    )
    try:
        await asyncio.shield(copying)
    except asyncio.CancelledError:
        stop.set()
        with suppress(Exception):
            await copying
        raise
    # A sandbox mounts the environment read-only, so a module that is not compiled now
    # would be compiled in every run.
    command = [str(interpreter.path), "-I", "-S", "-m", "compileall", "-q", str(site)]
    await run_command(command, pip_environ(environ), folder, kept.take)


def _find_complete(
    folder: Path, interpreter: Interpreter, environ: Mapping[str, str]
) -> Environment | None:
    """Return an environment that was built completely and whose interpreter still
    exists.
    """
    python = folder / "bin" / "python"
    try:
        marker = json.loads(read_regular(folder / _BUILD_MARKER, _MARKER_LIMIT))
        notes = tuple(map(str, marker["notes"]))
    except (BadInput, ValueError, KeyError, TypeError):
        return None
    if not python.exists():
        return None
    return Environment(python, folder, _readable(folder, interpreter, environ), notes)


def _readable(
    folder: Path, interpreter: Interpreter, environ: Mapping[str, str]
) -> tuple[Path, ...]:
    return environment_folders(folder, interpreter.base_prefix, private_places(environ))
