"""The kinds of work, with one record for each.

The built-in records are in `BUILT_IN`. An installed package adds its own by the entry
point group `agentos.workflows`, which is looked up only if a name is not built in or
all kinds are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import ClassVar

from agentos.entry_points import entry_points_of, load_record
from agentos.errors import UsageError

ENTRY_POINTS = "agentos.workflows"
_NAME = re.compile(r"[a-z][a-z0-9]{0,31}")
"""Without an underscore, which ends the name in `lld_42.json`."""
_SOURCE = re.compile(r"[a-z][a-z_]{0,31}")
DOCUMENT_INPUTS: Mapping[str, tuple[str, ...]] = {
    "draft": ("template", "material", "looking", "previous_draft", "findings"),
    "review": (
        "material",
        "looking",
        "draft",
        "earlier_findings",
        "changes",
        "hints",
    ),
}
"""What the prompts of a document may use beside the item and its own text."""
_OTHER_INPUTS = frozenset(
    {"item", *DOCUMENT_INPUTS["draft"], *DOCUMENT_INPUTS["review"]}
)


@dataclass(frozen=True, slots=True)
class KindRecord:
    """The properties of one kind: plain data."""

    name: str
    """Its name in files and JSON: `lld`."""
    label: str
    """Prefix of every output line of its items: `LLD` for `LLD-42`."""
    inputs: str
    """The folder of a repository that holds its inputs."""
    source: str
    """What an input is called in prompts and lineage files: `issue`, `brief`."""
    document: str
    """Path of the finished document; `{number}` is an id padded to three digits."""
    package: str
    """The package with its prompts, its templates and `make_flow`."""
    command: str = ""
    """The command that runs it, `agentos run NAME` if it has none of its own."""
    folders: tuple[str, ...] = ()
    """Folders of the other files: drafts, verdicts, reports."""
    prompts: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    """The inputs that the prompt of each role must use."""
    builds: bool = False
    """Whether it writes code to a branch, not a document."""

    def __post_init__(self) -> None:
        """Fill in what follows from the name and the source."""
        lineage = f"docs/lineage/active/{{id}}-{self.name}"
        prompts = {
            "draft": (self.source, "previous_draft", "findings"),
            "review": (self.source, "draft"),
        }
        object.__setattr__(self, "command", self.command or f"agentos run {self.name}")
        object.__setattr__(self, "folders", self.folders or (lineage,))
        object.__setattr__(self, "prompts", self.prompts or prompts)

    @property
    def takes_issues(self) -> bool:
        """Whether an input is an issue, which states requirements and criteria."""
        return self.source == "issue"

    @property
    def takes_briefs(self) -> bool:
        """Whether an input is a brief, which may come from any folder."""
        return self.source == "brief"

    @property
    def writes_issues(self) -> bool:
        """Whether its documents are issues, which have their ids among all issues."""
        return str(PurePosixPath(self.document).parent) == Kind.LLD.record.inputs

    def find_problem(self) -> str:
        """Return why the record cannot be used; empty if it can."""
        for name in ("name", "label", "inputs", "source", "document", "package"):
            value = getattr(self, name)
            if not isinstance(value, str):
                return f"its {name} must be text, not {value!r}"
        if not _NAME.fullmatch(self.name):
            return f"its name {self.name!r} must be lowercase letters and digits"
        if not _NAME.fullmatch(self.label.lower()) or self.label != self.label.upper():
            return f"its label {self.label!r} must be uppercase letters and digits"
        if not _SOURCE.fullmatch(self.source) or self.source in _OTHER_INPUTS:
            return f"its source {self.source!r} must be a word such as 'question'"
        for path in (self.inputs, self.document, *self.folders):
            parts = PurePosixPath(path).parts
            if not parts or parts[0] in ("/", ".git") or ".." in parts:
                return f"its path {path!r} must lead into the repository"
        if len(self.folders) > 1 and not self.builds:
            return "one folder is enough for a kind that writes a document"
        for folder in self.folders:
            plain = PurePosixPath(folder)
            if str(plain) != folder or len(plain.parts) < 2:
                return (
                    f"its folder {folder!r} must lie in another one, as 'docs/{{id}}'"
                )
            problem = _find_brace_problem(folder, "{id}")
            if problem:
                return problem
        return _find_brace_problem(self.document, "{id}", "{number}")

    def find_clash(self, other: KindRecord) -> str:
        """Return why it cannot be used beside another kind; empty if it can."""
        if self.label == other.label:
            return f"its label {self.label!r} is that of the kind {other.name}"
        for folder in self.folders:
            if folder in other.folders:
                return f"its folder {folder!r} is that of the kind {other.name}"
        place = PurePosixPath(self.document).parent
        if place == PurePosixPath(other.document).parent and not self.writes_issues:
            return f"its document would lie among those of {other.name}"
        return ""


def _find_brace_problem(path: str, *fields: str) -> str:
    """Return why a path cannot be filled in for an item; empty if it can."""
    rest = path
    for field_name in fields:
        rest = rest.replace(field_name, "")
    wanted = " or ".join(fields)
    if rest == path:
        return f"its path {path!r} needs {wanted}, or items share it"
    if "{" in rest or "}" in rest:
        return f"its path {path!r} may have {wanted} and no other braces"
    return ""


class Kind(str):
    """The name of a kind, by which its record is found; equal names are one object."""

    __slots__ = ()

    ISSUE: ClassVar[Kind]
    LLD: ClassVar[Kind]
    IMPLEMENTATION: ClassVar[Kind]

    def __new__(cls, name: str) -> Kind:
        """Return the kind of this name, or raise `UsageError` if no package has it."""
        known = _kinds.get(name)
        return known or _add(*_find(name))

    @property
    def record(self) -> KindRecord:
        """The properties of this kind."""
        return _records[self]

    @property
    def search_path(self) -> str:
        """The folder in which its package is installed; empty if it is built in."""
        return _folders.get(self, "")


BUILT_IN = (
    KindRecord(
        name="issue",
        label="ISSUE",
        command="issue-workflow",
        inputs="docs/briefs",
        source="brief",
        document="docs/issues/{id}.md",
        package="agentos.workflows.drafting.issue",
    ),
    KindRecord(
        name="lld",
        label="LLD",
        command="lld-workflow",
        inputs="docs/issues",
        source="issue",
        document="docs/lld/active/LLD-{number}.md",
        package="agentos.workflows.drafting.lld",
    ),
    KindRecord(
        name="implementation",
        label="IMPL",
        command="implement-workflow",
        inputs="docs/lld/active",
        source="design",
        document="docs/reports/{id}/implementation-report.md",
        folders=("docs/lineage/active/{id}-implementation", "docs/reports/{id}"),
        package="agentos.workflows.implementation",
        prompts={
            "review": ("design",),
            "tests": ("design", "test_files"),
            "tests-loop": ("design", "test_files", "answering"),
            "code": ("design", "declared", "tests", "files", "feedback"),
            "code-loop": ("design", "declared", "answering"),
            "contest": ("design", "tests", "code", "contested"),
            "diff": ("design", "diff", "earlier_findings"),
        },
        builds=True,
    ),
)

_records: dict[str, KindRecord] = {}
_kinds: dict[str, Kind] = {}
_folders: dict[str, str] = {}


def _add(record: KindRecord, folder: str = "") -> Kind:
    kind = str.__new__(Kind, record.name)
    _records[kind] = record
    _kinds[kind] = kind
    if folder:
        _folders[kind] = folder
    return kind


Kind.ISSUE, Kind.LLD, Kind.IMPLEMENTATION = map(_add, BUILT_IN)
DRAFTING = (Kind.ISSUE, Kind.LLD)
"""The built-in kinds that write a document and have it reviewed."""
BUILT_IN_KINDS = (*DRAFTING, Kind.IMPLEMENTATION)


def installed_kinds(warn: Callable[[str], None] = lambda _: None) -> tuple[Kind, ...]:
    """Return every kind, those of installed packages last; warn of unusable ones."""
    kinds = list(BUILT_IN_KINDS)
    for name in _added_names():
        try:
            kind = Kind(name)
        except UsageError as error:
            warn(str(error))
            continue
        if kind not in kinds:
            kinds.append(kind)
    return tuple(kinds)


def _added_names() -> list[str]:
    return sorted(entry_points_of(ENTRY_POINTS).keys() - set(BUILT_IN_KINDS))


def _added_records(without: str) -> Iterator[KindRecord]:
    """Yield the usable records of installed packages, except that of one name."""
    for name, entries in entry_points_of(ENTRY_POINTS).items():
        if name == without or name in BUILT_IN_KINDS:
            continue
        with suppress(UsageError):
            yield load_record(entries, "kind", KindRecord, KindRecord.find_problem)


def _find(name: str) -> tuple[KindRecord, str]:
    """Return the record of an installed package, and where the package is."""
    entries = entry_points_of(ENTRY_POINTS).get(name)
    if not entries:
        known = ", ".join((*BUILT_IN_KINDS, *_added_names()))
        raise UsageError(
            f"{name!r}: no such kind of work; known are {known}. A package adds one by"
            f" the entry point group {ENTRY_POINTS}"
        )

    def find_problem(record: KindRecord) -> str:
        if record.name != name:
            return f"its record is named {record.name!r}; give both the same name"
        problem = record.find_problem()
        for other in (*BUILT_IN, *_added_records(name)):
            problem = problem or record.find_clash(other)
        return problem

    record = load_record(entries, "kind", KindRecord, find_problem)
    package = entries[0].dist
    folder = "" if package is None else str(package.locate_file(""))
    return record, folder
