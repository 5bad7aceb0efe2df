"""Render the files and texts of an implementation for models and people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from agentos.documents.changes import WholeFile, render_changes
from agentos.documents.changes.model import Changes
from agentos.errors import BadInput
from agentos.repository.forge.pulls.body import neutralize
from agentos.state.confinement.folder import PathRefused
from agentos.state.wording import count
from agentos.workflows.implementation.blueprint import Blueprint
from agentos.workflows.implementation.state import ImplementationState

ABSENT = "(does not exist yet)"
TOO_LONG = 200_000


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


def show_files(reader: Reader, paths: Iterable[str]) -> str:
    """Show the current text of files in the form of an answer; absent files are only
    named.
    """
    texts: dict[str, str] = {}
    absent = []
    for path in paths:
        text = reader.read(path)
        if text is None:
            absent.append(f"{path} {ABSENT}")
        elif len(text) > TOO_LONG:
            absent.append(
                f"{path} (has {len(text):,} characters, too many to be shown)"
            )
        else:
            texts[path] = text
    parts = ["\n".join(absent), show_texts(texts)]
    return "\n\n".join(filter(None, parts))


def show_texts(texts: Mapping[str, str]) -> str:
    """Show files in the form of an answer."""
    if not texts:
        return ""
    files = [WholeFile(path, text) for path, text in texts.items()]
    return render_changes(Changes(tuple(files)))


def list_declared(blueprint: Blueprint) -> str:
    """List the files of the design that are not tests."""
    return "\n".join(
        f"{path}: {blueprint.declared[path]}" for path in blueprint.sources
    )


def commit_message(state: ImplementationState, blueprint: Blueprint) -> str:
    """Return the message of the item's commit."""
    # A title that says "fixes #1" must not close anything when the commit is pushed.
    title = neutralize(" ".join(blueprint.title.split()))
    tests = count(len(state["scaffolds"][-1]["names"]), "test")
    iterations = len(state["iterations"])
    return (
        f"{title} (#{state['item']})\n\nBuilt from its approved design: {tests} written first, red where"
        f" the behavior is new, green in iteration {iterations}.\n"
    )
