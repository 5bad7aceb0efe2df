"""Select what a drafter needs of a repository: bounded, explained, and the same for the same repository and issue."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentos.codemap.conventions import describe_conventions, is_guide
from agentos.codemap.designs import describe_designs
from agentos.codemap.exclusion import is_left_out
from agentos.codemap.listing import Listing, list_files
from agentos.codemap.outline import count_lines, describe, headings, outline_python
from agentos.codemap.overview import describe_tree
from agentos.codemap.python import python_map
from agentos.codemap.query import read_query
from agentos.codemap.ranking import Choice, rank
from agentos.codemap.reading import FILE_LIMIT, Reader
from agentos.codemap.showing import CUT, cut_lines, fenced, mask_secrets, show_name, size, withhold_masked
from agentos.wording import count

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
"""What files that are not named in the issue may have in all to be parsed; beyond that they get plain outlines."""


@dataclass(frozen=True, slots=True)
class Material:
    """A selection from a repository, as Markdown for a prompt and as one line for the log."""

    text: str
    explanation: str


def select_material(repository: Path, source: str, limit_bytes: int = LIMIT) -> Material:
    """Return what is worth knowing of the repository to write about `source`, an issue or a brief."""
    query = read_query(source)
    listing = list_files(repository, query.bases)
    names = [name for name in listing.names if not is_left_out(name)]
    page = _Page(limit_bytes)
    try:
        reader = Reader(repository, max_files=MAX_FILES, max_bytes=MAX_BYTES)
    except OSError:
        return Material("", "no files shown: the repository cannot be read")
    with reader:
        page.add_part("Overview", [("", describe_tree(listing.names, listing.is_cut))], _TREE_SHARE)
        conventions = describe_conventions(names, reader, int(limit_bytes * _CONVENTIONS_SHARE))
        page.add_part("Conventions", conventions, _CONVENTIONS_SHARE)
        designs = describe_designs(query.items, reader, int(limit_bytes * _DESIGNS_SHARE))
        shown_designs = page.add_part("Designs that this builds on", designs, _DESIGNS_SHARE)
        choices = rank([name for name in names if not is_guide(name) or name in query.paths], query, reader)
        shown = _add_files(page, choices, reader, listing, _own_packages(names))
    text = page.text
    named = sum(choice.is_named for choice in shown)
    told = [f"{count(len(shown), 'file')} shown of {len(names)} considered", f"{named} named in the issue"]
    if shown_designs:
        told.append(count(shown_designs, "finished design"))
    return Material(text, "; ".join([*told, f"{round(size(text) / 1000)} kB"]))


class _Page:
    """Markdown that grows part by part and never beyond its limit."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._used = 0

    @property
    def left(self) -> int:
        """Return how many bytes there is room for."""
        return self._limit - self._used

    @property
    def text(self) -> str:
        """Return all of it."""
        return "\n\n".join(self._parts)

    def add(self, text: str) -> bool:
        """Add a text if there is room for all of it."""
        # A last look: two texts that are harmless apart may be put together to something that is not.
        shown = withhold_masked(text)
        needed = size(shown) + 2
        if needed > self.left:
            return False
        self._parts.append(shown)
        self._used += needed
        return True

    def add_part(self, title: str, entries: Iterable[tuple[str, str]], share: float) -> int:
        """Add entries under a heading while its share of the page lasts; return how many there is room for."""
        room = min(self.left, int(self._limit * share))
        added = 0
        for name, text in entries:
            head = "" if added else f"### {title}\n\n"
            head += f"#### {name}\n\n" if name else ""
            kept, is_cut = cut_lines(f"{text}\n", room - size(head) - 20)
            whole = f"{head}{kept.rstrip()}{CUT if is_cut else ''}"
            if not kept.strip() or not self.add(whole):
                break
            room -= size(whole) + 2
            added += 1
        return added


def _add_files(
    page: _Page, choices: Sequence[Choice], reader: Reader, listing: Listing, own: frozenset[str]
) -> list[Choice]:
    shown: list[Choice] = []
    to_map = _MAPPED_BYTES
    for choice in choices:
        head = "" if shown else "### Files\n\n"
        text = reader.read(choice.name)
        masked = mask_secrets(choice.name, text) if text is not None else None
        if masked is None:
            entry = _unread(choice, listing.sizes[choice.name]) if choice.is_named else ""
        else:
            may_parse = choice.is_named or to_map >= len(masked)
            to_map -= 0 if choice.is_named or not may_parse else len(masked)
            entry = _show_file(choice, masked, page.left - size(head) - 400, own if may_parse else None)
        if entry and page.add(head + entry):
            shown.append(choice)
    return shown


def _unread(choice: Choice, bytes_: int) -> str:
    why = "too large to be shown" if bytes_ > FILE_LIMIT else "not shown: it is no plain text, or holds a key"
    return f"#### `{show_name(choice.name)}` ({choice.reason})\n\n{bytes_:,} bytes, {why}"


def _show_file(choice: Choice, text: str, room: int, own: frozenset[str] | None) -> str:
    """Show a small file that the issue names in full, others by their map; `own` is None where none is to be made."""
    name = show_name(choice.name)
    lines = count(count_lines(text), "line")
    if choice.is_named and size(text) <= min(_SMALL_FILE, room) and (block := fenced(text, _language(choice.name))):
        return f"#### `{name}` ({choice.reason})\n\nFull text, {lines}:\n\n{block}"
    limit = min(_NAMED_MAP if choice.is_named else _OTHER_MAP, room)
    about = describe(choice.name, text)
    kept, is_cut = cut_lines(f"{_map_of(choice, text, own)}\n", limit)
    block = fenced(kept, _language(choice.name)) if kept.strip() else None
    head = f"#### `{name}` ({choice.reason})\n\n"
    if block is None:
        return f"{head}{lines}{f': {about}' if about else ''}"
    kind = "Outline" if choice.name.endswith((".py", ".pyi", ".md")) else "The beginning"
    return f"{head}{kind}, {lines}:\n\n{block}{CUT if is_cut else ''}"


def _map_of(choice: Choice, text: str, own: frozenset[str] | None) -> str:
    if choice.name.endswith((".py", ".pyi")):
        return outline_python(text) if own is None else python_map(text, own)
    if choice.name.endswith(".md"):
        return headings(text)
    return text if choice.is_named else ""


def _language(name: str) -> str:
    ending = name.rpartition(".")[2]
    known = {"py": "python", "pyi": "python", "js": "javascript", "ts": "typescript", "md": "markdown", "rs": "rust"}
    return known.get(ending, ending if ending.isascii() and ending.isalnum() and len(ending) <= 6 else "")


def _own_packages(names: Iterable[str]) -> frozenset[str]:
    """Return the names under which the repository's Python packages are imported."""
    tops = {name.removeprefix("src/").partition("/")[0] for name in names if name.endswith("/__init__.py")}
    return frozenset(tops)
