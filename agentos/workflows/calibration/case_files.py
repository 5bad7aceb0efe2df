"""Read the calibration cases: clean designs, and small edits that each seed one defect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from agentos.errors import AgentOSError

CLEAN = "clean"
_FENCE = "~~~"


class CaseError(AgentOSError, ValueError):
    """A case that cannot be used."""


class DefectClass(StrEnum):
    """The class of a seeded defect."""

    MISSING_ERROR_PATH = "missing-error-path"
    UNTESTED_CRITERION = "untested-criterion"
    CONTRADICTS_ISSUE = "contradicts-issue"
    IMPOSSIBLE_API = "impossible-api"
    LEAKED_SECRET = "leaked-secret"


@dataclass(frozen=True, slots=True)
class Edit:
    """A passage of a design and its replacement; an empty replacement also removes the
    line break.
    """

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Defect:
    """A seeded defect, and the sections and terms by which a finding about it is
    recognized.
    """

    kind: DefectClass
    sections: tuple[str, ...]
    terms: tuple[str, ...]
    """Words and names that a finding about the defect uses; a term matches only with all
    of its words.
    """


@dataclass(frozen=True, slots=True)
class Case:
    """One design to review; a control has no defect."""

    name: str
    item: str
    """The id of the issue, the only name that the reviewer sees."""
    source: str
    draft: str
    why: str
    defect: Defect | None = None

    @property
    def kind(self) -> str:
        """The class of the defect; `clean` for a control."""
        return self.defect.kind if self.defect else CLEAN


@dataclass(frozen=True, slots=True)
class _Seed:
    kind: str
    name: str
    why: str
    sections: tuple[str, ...]
    terms: tuple[str, ...]
    edits: tuple[Edit, ...]


@cache
def load_cases() -> tuple[Case, ...]:
    """Return all built-in cases; for each issue the controls first, then the defects."""
    cases: list[Case] = []
    root = files(__package__) / "cases"
    for folder in sorted(root.iterdir(), key=lambda folder: folder.name):
        if folder.is_dir():
            cases += read_folder(folder)
    return tuple(cases)


def read_folder(folder: Traversable) -> Iterator[Case]:
    """Return the cases of one issue, or raise `CaseError`."""
    issue = (folder / "issue.md").read_text("utf-8")
    design = (folder / "design.md").read_text("utf-8")
    seeds = (folder / "seeds.md").read_text("utf-8")
    item = issue.removeprefix("# ").partition(" ")[0]
    yield Case(folder.name, item, issue, design, "The design as it should be.")
    controls_first = sorted(
        _read_seeds(seeds, folder.name),
        key=lambda seed: seed.kind != CLEAN,
    )
    for seed in controls_first:
        name = f"{folder.name}.{seed.name}"
        defect = None
        if seed.kind != CLEAN:
            defect = Defect(DefectClass(seed.kind), seed.sections, seed.terms)
        yield Case(
            name=name,
            item=item,
            source=issue,
            draft=apply_edits(design, seed.edits, name),
            why=seed.why,
            defect=defect,
        )


def apply_edits(design: str, edits: Sequence[Edit], name: str) -> str:
    """Replace each passage of a design, or raise `CaseError` if one does not occur
    exactly once.
    """
    for edit in edits:
        passage = edit.old if edit.new else f"{edit.old}\n"
        found = design.count(passage)
        if not edit.old.strip() or found != 1:
            raise CaseError(
                f"{name}: the passage {edit.old[:60]!r} is {found} times in the design,"
                " not once"
            )
        design = design.replace(passage, edit.new)
    return design


def _read_seeds(text: str, folder: str) -> Iterator[_Seed]:
    for part in f"\n{text}".split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        kind, _, name = map(str.strip, heading.partition(":"))
        if not name or kind not in (CLEAN, *DefectClass):
            raise CaseError(
                f"{folder}: {heading!r} must be a class and a name, as 'impossible-api:"
                " counted-rows'"
            )
        seed = _read_seed(kind, name, body)
        is_placed = seed.sections and seed.terms
        if not seed.edits or not (kind == CLEAN or is_placed):
            raise CaseError(
                f"{folder}: {name} needs edits, and a defect also sections and terms"
            )
        yield seed


def _read_seed(kind: str, name: str, body: str) -> _Seed:
    lines = body.split("\n")
    sections = ""
    terms = ""
    why = []
    for line in lines:
        if line.startswith(_FENCE):
            break
        if line.startswith("- sections:"):
            sections = line.removeprefix("- sections:")
        elif line.startswith("- terms:"):
            terms = line.removeprefix("- terms:")
        elif line.strip():
            why.append(line.strip())
    return _Seed(
        kind=kind,
        name=name,
        why=" ".join(why),
        sections=_split(sections, ","),
        terms=_split(terms, ";"),
        edits=tuple(_read_edits(lines, name)),
    )


def _split(text: str, separator: str) -> tuple[str, ...]:
    parts = map(str.strip, text.split(separator))
    return tuple(filter(None, parts))


def _read_edits(lines: Sequence[str], name: str) -> Iterator[Edit]:
    labels = []
    blocks: list[list[str]] = []
    is_open = False
    for line in lines:
        if line.startswith(_FENCE):
            is_open = not is_open
            if is_open:
                label = line.removeprefix(_FENCE)
                labels.append(label.strip())
                blocks.append([])
        elif is_open:
            blocks[-1].append(line)
    if is_open or labels != ["old", "new"] * (len(blocks) // 2):
        raise CaseError(
            f"{name}: passages must come as '~~~ old' and '~~~ new' by turns, each"
            " closed by '~~~'"
        )
    for old, new in zip(blocks[::2], blocks[1::2], strict=True):
        yield Edit("\n".join(old), "\n".join(new))
