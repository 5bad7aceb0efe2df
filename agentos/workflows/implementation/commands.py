"""Run a command of a role in its workspace, and show what it printed."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from agentos.documents.changes.contract import TESTS
from agentos.proving.run_command import Tools
from agentos.proving.sandbox import FinishedCommand
from agentos.repository.look.masking import withhold_masked
from agentos.settings import RunConfig
from agentos.workflows.implementation.phase import Phase
from agentos.workflows.prompts.rendering import enclose

SHOWN = 5_000
"""Characters of the output that a role sees, from its beginning and from its end."""
_LONGEST = 80


def describe_workspace(config: RunConfig) -> str:
    """Return what a role is told about its workspace."""
    package = files("agentos.workflows.implementation")
    path = package / "prompts" / "workspace.txt"
    text = path.read_text("utf-8")
    return text.strip().format(
        seconds=f"{config.command_timeout:g}",
        shown=f"{SHOWN:,}",
        turns=config.turns,
    )


def tools_for(phase: Phase, paths: Iterable[str]) -> Tools:
    """Return what `run-tests` needs; `paths` are the files that there were before."""
    protected = set(filter(phase.is_protected, paths))
    unchanged = sorted(protected.difference(phase.own_tests))
    accepted = {}
    for path, text in phase.own_tests.items():
        accepted[path] = text.encode()
    tests = phase.own_tests
    if phase.role == TESTS:
        tests = phase.declared
    return Tools(list(tests), accepted, unchanged)


def show_command(finished: FinishedCommand) -> str:
    """Show how a command ended and what it printed, cut in the middle."""
    ended = f"The command {finished.explain()} ({finished.seconds:.1f} s)."
    output = withhold_masked(finished.output)
    if not output.strip():
        return f"{ended} It printed nothing."
    cut = len(output) - 2 * SHOWN
    if cut > 0:
        missing = cut + finished.left_out
        parts = [
            output[:SHOWN],
            f"[... {missing:,} characters are left out ...]",
            output[-SHOWN:],
        ]
        output = "\n".join(parts)
    shown = enclose("output", output)
    return f"{ended}\n\n{shown}"


def name_command(command: str, finished: FinishedCommand) -> str:
    """Return a command and its end for the log, on one line."""
    words = command.split()
    flat = " ".join(words)
    shown = flat[:_LONGEST]
    ended = f"exit {finished.code}"
    if finished.is_stopped:
        ended = str(finished.reason)
    seconds = f"{finished.seconds:.1f} s"
    return f"ran `{shown}` ({ended}, {seconds})"
