"""Render the files and texts of an implementation for models and people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import unified_diff
from typing import Protocol

from agentos.documents.changes import WholeFile, render_changes
from agentos.documents.changes.model import Changes
from agentos.errors import BadInput
from agentos.repository.forge.pulls.body import neutralize
from agentos.state.confinement.folder import PathRefused
from agentos.state.wording import count
from agentos.workflows.implementation.blueprint import Blueprint, Change
from agentos.workflows.implementation.state import (
    ImplementationState,
    count_attempts,
)
from agentos.workflows.prompts.rendering import show_invisible

ABSENT = "(does not exist yet)"
_LINES_AROUND = 6


class Reader(Protocol):
    """Reads the current and the original text of files."""

    def read(self, path: str) -> str | None:
        """Return the current text; None if there is no such text file."""

    def read_base(self, path: str) -> str | None:
        """Return the text before the item began; None if there was none."""


def check_texts(reader: Reader, paths: Iterable[str]) -> None:
    """Raise `BadInput` for a declared file that no answer could change, before a model
    is paid for one.
    """
    for path in paths:
        try:
            reader.read(path)
        except PathRefused as error:
            raise BadInput(
                f"the design declares a file that cannot be built: {error}"
            ) from error


def list_files(reader: Reader, declared: Mapping[str, Change]) -> str:
    """List the files of a design with the kind of their change, and say which do not
    exist.
    """
    lines = []
    for path, change in declared.items():
        note = ""
        if reader.read_base(path) is None:
            note = f" {ABSENT}"
        lines.append(f"{path}: {change}{note}")
    return "\n".join(lines)


def show_changed(reader: Reader, paths: Iterable[str]) -> str:
    """Show the current text of the files that differ from those before the item."""
    texts = {}
    for path in paths:
        text = reader.read(path)
        if text is not None and text != reader.read_base(path):
            texts[path] = text
    return show_texts(texts)


def show_new_tests(reader: Reader, tests: Mapping[str, str]) -> str:
    """Show the item's tests: a new file whole, of another one what was added."""
    parts = []
    for path, text in tests.items():
        base = reader.read_base(path)
        if base is None:
            parts.append(show_texts({path: text}))
            continue
        rows = unified_diff(
            base.splitlines(),
            text.splitlines(),
            f"{path} before",
            path,
            n=_LINES_AROUND,
            lineterm="",
        )
        diff = "\n".join(rows)
        parts.append(diff)
    return "\n\n".join(parts)


def show_texts(texts: Mapping[str, str]) -> str:
    """Show files in the form of an answer."""
    if not texts:
        return ""
    files = [WholeFile(path, text) for path, text in texts.items()]
    return render_changes(Changes(tuple(files)))


def show_note(state: ImplementationState) -> str:
    """Return what a person says, for a prompt that follows it."""
    return show_invisible(state.get("note", "")) or "(nothing)"


def list_declared(blueprint: Blueprint) -> str:
    """List the files of the design that are not tests."""
    rows = []
    for path in blueprint.sources:
        change = blueprint.declared[path]
        rows.append(f"{path}: {change}")
    return "\n".join(rows)


def commit_message(state: ImplementationState, blueprint: Blueprint) -> str:
    """Return the message of the item's commit."""
    # A title that says "fixes #1" must not close anything when the commit is pushed.
    title = neutralize(" ".join(blueprint.title.split()))
    scaffold = state["scaffolds"][-1]
    tests = count(len(scaffold["names"]), "test")
    number = count_attempts(state["iterations"])
    when = f"green in iteration {number}" if number else "green as it was kept"
    return (
        f"{title} (#{state['item']})\n\nBuilt from its approved design: {tests} written first, red where"
        f" the behavior is new, {when}.\n"
    )
