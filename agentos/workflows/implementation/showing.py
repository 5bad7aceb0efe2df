"""What models and people are shown of an implementation. Pure, but for the files that a bench reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from agentos.confinement.folder import PathRefused
from agentos.documents.changes import WholeFile, render_changes
from agentos.documents.changes.model import Changes
from agentos.errors import BadInput
from agentos.pulling.body import neutralise
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState

ABSENT = "(does not exist yet)"
TOO_LONG = 200_000


class Reader(Protocol):
    """Something that knows the present text of files."""

    def read(self, path: str) -> str | None:
        """Return the text; None when there is no such text file."""

    def read_base(self, path: str) -> str | None:
        """Return the text before the item was begun; None when there was none."""


def check_texts(reader: Reader, paths: Iterable[str]) -> None:
    """Raise `BadInput` for a declared file that no answer could change, before anybody is paid for one."""
    for path in paths:
        try:
            reader.read(path)
        except PathRefused as error:
            raise BadInput(f"the design declares a file that cannot be built: {error}") from error


def show_files(reader: Reader, paths: Iterable[str]) -> str:
    """Show the present text of files, each as an answer would have to name it; absent ones are named."""
    texts: dict[str, str] = {}
    absent = []
    for path in paths:
        text = reader.read(path)
        if text is None:
            absent.append(f"{path} {ABSENT}")
        elif len(text) > TOO_LONG:
            absent.append(f"{path} (has {len(text):,} characters, too many to be shown)")
        else:
            texts[path] = text
    return "\n\n".join(part for part in ("\n".join(absent), show_texts(texts)) if part)


def show_texts(texts: Mapping[str, str]) -> str:
    """Show files as an answer would give them."""
    return render_changes(Changes(tuple(WholeFile(path, text) for path, text in texts.items()))) if texts else ""


def list_declared(blueprint: Blueprint) -> str:
    """List the files of the design that are no tests."""
    return "\n".join(f"{path}: {blueprint.declared[path]}" for path in blueprint.sources)


def commit_message(state: ImplementationState, blueprint: Blueprint) -> str:
    """Return the message of the item's one commit."""
    # A title that says "fixes #1" must not close anything when the commit is pushed.
    subject = f"{neutralise(' '.join(blueprint.title.split()))} (#{state['item']})"
    tests, iterations = len(state["scaffolds"][-1]["names"]), len(state["iterations"])
    return (
        f"{subject}\n\nBuilt from its approved design: {tests} tests were written first and proven red, "
        f"green in iteration {iterations}.\n"
    )
