"""Read the cases: a clean design for an issue, and small edits that seed one defect each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

CLEAN = "clean"
_FENCE = "~~~"


class CaseError(ValueError):
    """A case that cannot be used; says which and why."""


class DefectClass(StrEnum):
    """What kind of defect was seeded."""

    MISSING_ERROR_PATH = "missing-error-path"
    UNTESTED_CRITERION = "untested-criterion"
    CONTRADICTS_ISSUE = "contradicts-issue"
    IMPOSSIBLE_API = "impossible-api"
    LEAKED_SECRET = "leaked-secret"


@dataclass(frozen=True, slots=True)
class Edit:
    """A passage of a design and what stands in its place; an empty one takes its line with it."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Defect:
    """What is wrong with a design, and by what one sees that a finding is about it."""

    kind: DefectClass
    sections: tuple[str, ...]
    terms: tuple[str, ...]
    """Words and names, of which a finding about the defect has some; all words of a term count together."""


@dataclass(frozen=True, slots=True)
class Case:
    """One design to be reviewed; a control has no defect."""

    name: str
    item: str
    """The issue's id: the only name that the reviewer sees."""
    source: str
    draft: str
    why: str
    defect: Defect | None = None

    @property
    def kind(self) -> str:
        """Return the class of the defect, `clean` for a control."""
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
    """Return all built-in cases: of each issue the controls first, then the defects."""
    folders = sorted((files(__package__) / "cases").iterdir(), key=lambda folder: folder.name)
    return tuple(case for folder in folders if folder.is_dir() for case in read_folder(folder))


def read_folder(folder: Traversable) -> Iterator[Case]:
    """Return the cases of one issue, or raise `CaseError`."""
    issue, design, seeds = ((folder / f"{name}.md").read_text("utf-8") for name in ("issue", "design", "seeds"))
    item = issue.removeprefix("# ").partition(" ")[0]
    yield Case(folder.name, item, issue, design, "The design as it should be.")
    for seed in sorted(_read_seeds(seeds, folder.name), key=lambda seed: seed.kind != CLEAN):
        name = f"{folder.name}.{seed.name}"
        defect = None if seed.kind == CLEAN else Defect(DefectClass(seed.kind), seed.sections, seed.terms)
        yield Case(name, item, issue, apply_edits(design, seed.edits, name), seed.why, defect)


def apply_edits(design: str, edits: Sequence[Edit], name: str) -> str:
    """Return the design with each passage replaced, or raise `CaseError` when one is not there exactly once."""
    for edit in edits:
        passage = edit.old if edit.new else f"{edit.old}\n"
        found = design.count(passage)
        if not edit.old.strip() or found != 1:
            raise CaseError(f"{name}: the passage {edit.old[:60]!r} is {found} times in the design, not once")
        design = design.replace(passage, edit.new)
    return design


def _read_seeds(text: str, folder: str) -> Iterator[_Seed]:
    for part in f"\n{text}".split("\n## ")[1:]:
        heading, _, body = part.partition("\n")
        kind, colon, name = (piece.strip() for piece in heading.partition(":"))
        if not colon or not name or (kind != CLEAN and kind not in list(DefectClass)):
            raise CaseError(f"{folder}: {heading!r} must be a class and a name, as 'impossible-api: counted-rows'")
        seed = _read_seed(kind, name, body)
        if not seed.edits or (kind != CLEAN and not (seed.sections and seed.terms)):
            raise CaseError(f"{folder}: {name} needs edits, and a defect also sections and terms")
        yield seed


def _read_seed(kind: str, name: str, body: str) -> _Seed:
    lines = body.split("\n")
    lists = {"sections": "", "terms": ""}
    why = []
    for line in lines[: next((at for at, line in enumerate(lines) if line.startswith(_FENCE)), len(lines))]:
        label, colon, value = line.removeprefix("- ").partition(":")
        if line.startswith("- ") and colon and label in lists:
            lists[label] = value
        elif line.strip():
            why.append(line.strip())
    terms = tuple(term.strip() for term in lists["terms"].split(";") if term.strip())
    sections = tuple(section.strip() for section in lists["sections"].split(",") if section.strip())
    return _Seed(kind, name, " ".join(why), sections, terms, tuple(_read_edits(lines, name)))


def _read_edits(lines: Sequence[str], name: str) -> Iterator[Edit]:
    blocks: list[tuple[str, list[str]]] = []
    is_open = False
    for line in lines:
        if line.startswith(_FENCE):
            is_open = not is_open
            if is_open:
                blocks.append((line.removeprefix(_FENCE).strip(), []))
        elif is_open:
            blocks[-1][1].append(line)
    if is_open or [label for label, _ in blocks] != ["old", "new"] * (len(blocks) // 2):
        raise CaseError(f"{name}: passages must come as '~~~ old' and '~~~ new' by turns, each closed by '~~~'")
    for (_, old), (_, new) in zip(blocks[::2], blocks[1::2], strict=True):
        yield Edit("\n".join(old), "\n".join(new))
