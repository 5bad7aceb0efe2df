"""Select the repository context of an issue: bounded, explained and reproducible."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.repository.context.conventions import describe_conventions, is_guide
from agentos.repository.context.designs import describe_designs
from agentos.repository.context.exclusion import is_left_out
from agentos.repository.context.listing import Listing, list_files
from agentos.repository.context.outline import (
    count_lines,
    describe,
    headings,
    outline_python,
)
from agentos.repository.context.overview import describe_tree
from agentos.repository.context.python import python_map
from agentos.repository.context.query import read_query
from agentos.repository.context.ranking import FileChoice, rank
from agentos.repository.context.reading import FILE_LIMIT, Reader
from agentos.repository.context.showing import (
    cut_lines,
    fenced,
    mask_secrets,
    show_name,
    size,
    withhold_masked,
)
from agentos.state.wording import count

LIMIT = 60_000
MAX_FILES = 1_000
MAX_BYTES = 8_000_000
_TREE_SHARE = 0.1
_CONVENTIONS_SHARE = 0.2
_DESIGNS_SHARE = 0.25
_SMALL_FILE = 16_000
_NAMED_MAP = 8_000
_OTHER_MAP = 4_000
_MAPPED_BYTES = 100_000
"""Limit of parsed source, not counting named files; the rest gets plain outlines."""
_ENTRY_MARGIN = 400
"""Room for the heading of a file and the fences of its code block."""
_LANGUAGES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "ts": "typescript",
    "md": "markdown",
    "rs": "rust",
}


@dataclass(frozen=True, slots=True)
class RepositoryContext:
    """Repository context as Markdown for a prompt, and a line about it for the log."""

    text: str
    explanation: str


def select_context(
    repository: Path,
    source: str,
    limit_bytes: int = LIMIT,
    known: Sequence[str] | None = None,
) -> RepositoryContext:
    """Return the repository context for `source`, the text of an issue or a brief.

    With `known`, these are its files, and git is not asked for them.
    """
    query = read_query(source)
    listing = list_files(repository, query.bases, known)
    names = [name for name in listing.names if not is_left_out(name)]
    page = _Page(limit_bytes)
    try:
        reader = Reader(repository, max_files=MAX_FILES, max_bytes=MAX_BYTES)
    except OSError:
        return RepositoryContext("", "no files shown: the repository cannot be read")
    with reader:
        tree = describe_tree(listing.names, listing.is_cut)
        page.add_part("Overview", [("", tree)], _TREE_SHARE)
        conventions = describe_conventions(
            names, reader, int(limit_bytes * _CONVENTIONS_SHARE)
        )
        page.add_part("Conventions", conventions, _CONVENTIONS_SHARE)
        designs = describe_designs(
            query.items, reader, int(limit_bytes * _DESIGNS_SHARE)
        )
        shown_designs = page.add_part(
            "Designs that this builds on", designs, _DESIGNS_SHARE
        )
        rest = [name for name in names if not is_guide(name) or name in query.paths]
        choices = rank(rest, query, reader)
        shown = _add_files(page, choices, reader, listing, _own_packages(names))
    named = sum(choice.is_named for choice in shown)
    explanation = (
        f"{count(len(shown), 'file')} shown of {len(names)} considered;"
        f" {named} named in the issue"
    )
    if shown_designs:
        explanation += f"; {count(shown_designs, 'finished design')}"
    explanation += f"; {round(size(page.text) / 1000)} kB"
    return RepositoryContext(page.text, explanation)


class _Page:
    """Markdown of limited size, written part by part."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._used = 0

    @property
    def left(self) -> int:
        """Number of bytes that still fit."""
        return self._limit - self._used

    @property
    def text(self) -> str:
        """The whole page."""
        return "\n\n".join(self._parts)

    def add(self, text: str) -> bool:
        """Add a text if all of it fits."""
        # Two harmless texts may form a credential together, so the whole is checked.
        shown = withhold_masked(text)
        needed = size(shown) + 2
        if needed > self.left:
            return False
        self._parts.append(shown)
        self._used += needed
        return True

    def add_part(
        self, title: str, entries: Iterable[tuple[str, str]], share: float
    ) -> int:
        """Add the entries that fit under a heading; return their number."""
        room = min(self.left, int(self._limit * share))
        added = 0
        for name, text in entries:
            head = "" if added else f"### {title}\n\n"
            if name:
                head += f"#### {name}\n\n"
            kept, remark = cut_lines(f"{text}\n", room - size(head) - 20)
            entry = f"{head}{kept.rstrip()}{remark}"
            if not kept.strip() or not self.add(entry):
                break
            room -= size(entry) + 2
            added += 1
        return added


def _add_files(
    page: _Page,
    choices: Sequence[FileChoice],
    reader: Reader,
    listing: Listing,
    own: frozenset[str],
) -> list[FileChoice]:
    shown: list[FileChoice] = []
    to_parse = _MAPPED_BYTES
    for choice in choices:
        head = "" if shown else "### Files\n\n"
        text = reader.read(choice.name)
        if text is not None:
            text = mask_secrets(choice.name, text)
        if text is None:
            if not choice.is_named:
                continue
            entry = _unread(choice, listing.sizes[choice.name])
        else:
            packages: frozenset[str] | None = own
            if not choice.is_named:
                if len(text) <= to_parse:
                    to_parse -= len(text)
                else:
                    packages = None
            room = page.left - size(head) - _ENTRY_MARGIN
            entry = _show_file(choice, text, room, packages)
        if page.add(head + entry):
            shown.append(choice)
    return shown


def _unread(choice: FileChoice, bytes_: int) -> str:
    why = "not shown: it is no plain text, or holds a key"
    if bytes_ > FILE_LIMIT:
        why = "too large to be shown"
    return f"{_heading(choice)}{bytes_:,} bytes, {why}"


def _heading(choice: FileChoice) -> str:
    return f"#### `{show_name(choice.name)}` ({choice.reason})\n\n"


def _show_file(
    choice: FileChoice, text: str, room: int, own: frozenset[str] | None
) -> str:
    """Show a small named file in full, another by its outline.

    If `own` is None, Python source is outlined without parsing.
    """
    head = _heading(choice)
    lines = count(count_lines(text), "line")
    language = _language(choice.name)
    if choice.is_named and size(text) <= min(_SMALL_FILE, room):
        block = fenced(text, language)
        if block:
            return f"{head}Full text, {lines}:\n\n{block}"
    limit = min(_NAMED_MAP if choice.is_named else _OTHER_MAP, room)
    kept, remark = cut_lines(f"{_map_of(choice, text, own)}\n", limit)
    block = fenced(kept, language) if kept.strip() else None
    if block is None:
        about = describe(choice.name, text)
        return f"{head}{lines}: {about}" if about else f"{head}{lines}"
    is_outline = choice.name.endswith((".py", ".pyi", ".md"))
    title = "Outline" if is_outline else "The beginning"
    return f"{head}{title}, {lines}:\n\n{block}{remark}"


def _map_of(choice: FileChoice, text: str, own: frozenset[str] | None) -> str:
    if choice.name.endswith((".py", ".pyi")):
        return outline_python(text) if own is None else python_map(text, own)
    if choice.name.endswith(".md"):
        return headings(text)
    return text if choice.is_named else ""


def _language(name: str) -> str:
    """Return the language of a code block by the ending of a file name."""
    ending = name.rpartition(".")[2]
    if ending in _LANGUAGES:
        return _LANGUAGES[ending]
    is_plain = ending.isascii() and ending.isalnum() and len(ending) <= 6
    return ending if is_plain else ""


def _own_packages(names: Iterable[str]) -> frozenset[str]:
    """Return the names by which the repository's Python packages are imported."""
    packages = set()
    for name in names:
        if name.endswith("/__init__.py"):
            packages.add(name.removeprefix("src/").partition("/")[0])
    return frozenset(packages)
