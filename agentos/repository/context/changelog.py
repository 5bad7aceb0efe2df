"""Show how a repository notes its changes: the beginning of its change log."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from agentos.repository.context.bounded import BoundedFiles
from agentos.repository.look.asking import Range
from agentos.repository.look.masking import show_name
from agentos.repository.look.showing import fit, number_lines
from agentos.repository.look.texts import FileText
from agentos.state.wording import count

_STEMS = ("changelog", "changes", "history", "news", "releases", "release_notes")
_ENDS = ("", ".md", ".rst", ".txt", ".markdown", ".adoc")
_FOLDERS = ("", "docs/", "doc/")
_FRAGMENTS = ("newsfragments/", "changelog.d/", "changes/", ".changeset/", "news/")
_TITLES = ("changelog", "change log", "changes", "history", "release notes", "releases")
_LINES = 16
_LINES_OF_SECTION = 9


def describe_changelog(
    paths: Sequence[str],
    files: BoundedFiles,
    shown: Container[str],
    limit: int,
) -> Iterator[str]:
    """Yield the first lines of the change log, unless the README has it."""
    for path in paths:
        if path.startswith(_FRAGMENTS):
            yield f"Changes are noted in files of their own, such as `{show_name(path)}`."
            return
    found = find_changelog(paths)
    if found:
        text = files.read(found)
        if text is not None and found not in shown:
            yield _show(text, limit)
        return
    if not any(_is_in_readme(path, files) for path in paths):
        yield "No change log was found."


def _is_in_readme(
    path: str,
    files: BoundedFiles,
) -> bool:
    if "/" in path or not path.casefold().startswith("readme"):
        return False
    return bool(find_section(path, files))


def find_changelog(paths: Sequence[str]) -> str:
    """Return the path of the change log, empty if it is in no file of its own."""
    for folder in _FOLDERS:
        for path in paths:
            base = path.removeprefix(folder)
            stem, dot, ending = base.casefold().partition(".")
            if stem in _STEMS and dot + ending in _ENDS:
                return path
    return ""


def find_section(
    path: str,
    files: BoundedFiles,
) -> list[Range]:
    """Return the first lines of the section of a document that notes changes."""
    for definition in files.definitions(path):
        title = definition.name.strip(":*_ ").casefold()
        if title in _TITLES:
            first = definition.first
            last = min(definition.last, first + _LINES_OF_SECTION)
            return [(first, last)]
    return []


def _show(
    text: FileText,
    limit: int,
) -> str:
    size = count(len(text.lines), "line")
    name = show_name(text.path)
    head = f"#### `{name}` (how changes are noted; {size}{text.remark})"
    rows = [head, ""]
    for number, line in enumerate(text.lines[:_LINES], 1):
        # Empty lines at the beginning of a change log are many.
        if line.strip():
            place = (number, number)
            rows += number_lines(text.lines, [place])
    return fit(rows, limit)
