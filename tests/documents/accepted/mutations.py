"""Damage to a design that its own form shows; each is yielded with the design's tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agentos.documents.findings import blocks_approval
from agentos.documents.issue import Issue
from agentos.documents.lld import check_lld, parse_lld
from agentos.documents.lld.citations import split_id
from agentos.documents.lld.model import Lld, LldSection
from agentos.documents.lld.paths import Tree
from agentos.documents.tables import render_row, split_row
from tests.documents.accepted.styles import without_cell


@dataclass(frozen=True)
class Paths:
    """A tree made of paths; their folders exist too."""

    files: frozenset[str]

    def exists(self, path: str) -> bool:
        return path in self.files or self._is_folder(path)

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        inner = [
            path.removeprefix(start) for path in self.files if path.startswith(start)
        ]
        return sorted({path.partition("/")[0] for path in inner})

    def _is_folder(self, path: str) -> bool:
        return any(file.startswith(f"{path}/") for file in self.files)


@dataclass(frozen=True)
class Design:
    """A design that a reader would accept, with its issue and its repository."""

    name: str
    text: str
    issue: Issue
    tree: Tree

    def refusals(
        self, text: str, previous: str = "", tree: Tree | None = None
    ) -> list[str]:
        """Return the findings that send a text back."""
        before = parse_lld(previous) if previous else None
        found = check_lld(parse_lld(text), self.issue, before, tree or self.tree)
        return [f"{one.id}: {one.text}" for one in found if blocks_approval(one)]


@dataclass(frozen=True)
class Damage:
    """What was done to a design."""

    name: str
    text: str
    previous: str = ""
    tree: Tree | None = None


def damages(design: Design) -> Iterator[Damage]:
    """Yield everything that can be done to a design in its own form."""
    text = design.text.replace("\r", "")
    lld = parse_lld(text)
    yield Damage("empty", "")
    yield Damage("a secret", text + "\nThe key is sk-" + "a1B2" * 8 + ".\n")
    yield Damage(
        "a line of the template", _insert(text, lld, 5, "<fill in: where data is>")
    )
    yield from _lose_sections(text, lld)
    yield from _cut(text, lld)
    yield from _change_paths(text, lld, design)
    yield from _change_scenarios(text, lld)
    yield from _change_requirements(text, lld)


def _insert(text: str, lld: Lld, number: int, row: str) -> str:
    rows = text.split("\n")
    end = lld.sections[number].end
    rows[end:end] = ["", row, ""]
    return "\n".join(rows)


def _without(text: str, start: int, end: int) -> str:
    """Return a text without its lines from `start` to `end`."""
    rows = text.split("\n")
    del rows[start - 1 : end]
    return "\n".join(rows)


def _body(text: str, section: LldSection) -> int:
    """Return the first line below a heading."""
    rows = text.split("\n")
    first = section.line + 1
    is_underlined = (
        first <= len(rows) and rows[first - 1].strip("-=") == "" != rows[first - 1]
    )
    return first + is_underlined


def _lose_sections(text: str, lld: Lld) -> Iterator[Damage]:
    for number, section in lld.sections.items():
        lost = _without(text, section.line, section.end)
        yield Damage(f"section {number} lost", lost)
        empty = _without(text, _body(text, section), section.end)
        yield Damage(f"section {number} emptied", empty)
    for dotted, part in lld.subsections.items():
        lost = _without(text, part.line, part.end)
        yield Damage(f"{dotted} lost in a revision", lost, previous=text)


def _cut(text: str, lld: Lld) -> Iterator[Damage]:
    rows = text.split("\n")
    last = max(section.line for section in lld.sections.values())
    for number, section in lld.sections.items():
        if section.line == last:
            continue
        middle = (section.line + section.end) // 2
        half = len(rows[middle - 1]) // 2
        kept = "\n".join([*rows[: middle - 1], rows[middle - 1][:half]])
        yield Damage(f"cut in section {number}", kept)
    yield Damage("cut in a fence", text + "\n```python\ndef lend(item):\n    retu")
    table = "\n| Term | Meaning |\n|------|---------|\n| loan | lent | \n| desk | a pla"
    yield Damage("cut in a table", text + table)


def _change_paths(text: str, lld: Lld, design: Design) -> Iterator[Damage]:
    rows = text.split("\n")
    for file in lld.files[:3]:
        folder, slash, name = file.path.rpartition("/")
        index = file.line - 1
        changed = rows.copy()
        if file.change.casefold().startswith(("add", "new", "create")):
            assert isinstance(design.tree, Paths)
            there = Paths(design.tree.files | {file.path})
            yield Damage(f"{file.path} exists", text, tree=there)
            continue
        if not design.tree.exists(file.path):
            continue
        wrong = f"{folder}{slash}zz_{name}"
        changed[index] = changed[index].replace(file.path, wrong, 1)
        yield Damage(f"{wrong} does not exist", "\n".join(changed))
        changed[index] = rows[index].replace(file.path, f"../{file.path}", 1)
        yield Damage(f"../{file.path}", "\n".join(changed))


def _change_scenarios(text: str, lld: Lld) -> Iterator[Damage]:
    rows = text.split("\n")
    for scenario in lld.scenarios[:2]:
        index = scenario.line - 1
        cells = list(split_row(rows[index], len(split_row(rows[index]))))
        twice = rows.copy()
        twice.insert(index, rows[index])
        yield Damage(f"{scenario.id} twice", "\n".join(twice))
        if scenario.expected in cells and lld.row(scenario.line).count("`") % 2 == 0:
            blank = rows.copy()
            cells[cells.index(scenario.expected)] = ""
            blank[index] = render_row(cells)
            yield Damage(f"{scenario.id} expects nothing", "\n".join(blank))
        ragged = rows.copy()
        ragged[index] = without_cell(rows[index])
        yield Damage(f"{scenario.id} lacks a cell", "\n".join(ragged))
    everything = {scenario.line for scenario in lld.scenarios}
    kept = [row for number, row in enumerate(rows, 1) if number not in everything]
    yield Damage("no scenario", "\n".join(kept))


def _change_requirements(text: str, lld: Lld) -> Iterator[Damage]:
    rows = text.split("\n")
    has_matrix = "10.4" in lld.subsections
    for requirement in lld.requirements if lld.cites_requirements else ():
        if has_matrix:
            break
        citing = {
            one.line for one in lld.scenarios if requirement.id in one.requirements
        }
        kept = [row for number, row in enumerate(rows, 1) if number not in citing]
        yield Damage(f"{requirement.id} without a scenario", "\n".join(kept))
    for scenario in lld.scenarios[:1]:
        cited = [cell for cell in split_row(rows[scenario.line - 1]) if cell == "R1"]
        if cited:
            unknown = rows.copy()
            row = unknown[scenario.line - 1]
            unknown[scenario.line - 1] = row.replace("R1", "R99", 1)
            yield Damage("R99 cited", "\n".join(unknown))
    last = lld.requirements[-1]
    row = rows[last.line - 1]
    if split_id(row.lstrip("-*+ "))[0] == last.id:
        twice = rows.copy()
        twice[last.line - 1 : last.line - 1] = [row, ""]
        yield Damage(f"{last.id} twice", "\n".join(twice))
