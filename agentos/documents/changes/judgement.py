"""Decide which changes a design allows: what it declares, more only for a reason, tests never."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from agentos.documents.changes.model import Change, Deletion
from agentos.documents.changes.paths import check_path, fold_name
from agentos.documents.changes.sensitivity import is_record, is_sensitive, is_test
from agentos.documents.repository_paths import plain_path

_REMOVES = ("delete", "remove", "drop")
_MOVES = ("rename", "move")
_WRITES = ("add", "new", "create", "modify", "update", "change", "edit", "extend", "refactor", "fix")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that is not made; `text` says which, why, and what to do."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """What may be written, which of it the design did not declare, and what is refused."""

    allowed: tuple[Change, ...]
    """All that may be made, extras included."""
    extras: tuple[Change, ...]
    """What the design does not declare and a reason was stated for: to be reported."""
    refusals: tuple[Refusal, ...]


def judge(changes: Iterable[Change], *, declared: Mapping[str, str], protected: Collection[str] = ()) -> Judgement:
    """Sort changes by what the design declares (path to kind of change) and what is protected (paths or folders).

    A declared path that ends with a slash opens what lies below it, except what is sensitive.
    """
    rules = _Rules(declared, protected)
    allowed: list[Change] = []
    extras: list[Change] = []
    refusals: list[Refusal] = []
    seen: dict[str, str] = {}
    for change in changes:
        why = rules.refuse(change) or _collide(change.path, seen)
        if why:
            refusals.append(Refusal(change.path, change.line, f"Line {change.line}: `{_show(change.path)}` {why}."))
            continue
        allowed.append(change)
        if not rules.declares(change):
            extras.append(change)
    return Judgement(tuple(allowed), tuple(extras), tuple(refusals))


class _Rules:
    """What a design declares and protects."""

    def __init__(self, declared: Mapping[str, str], protected: Collection[str]) -> None:
        self.kinds = {plain_path(path): kind for path, kind in declared.items() if not _is_folder(path)}
        self.folders = tuple(f"{plain_path(path)}/" for path in declared if _is_folder(path) and plain_path(path))
        self.protected = frozenset(_fold(plain_path(path)) for path in protected)

    def declares(self, change: Change) -> bool:
        """Tell whether the design wants this change of this file."""
        kind = self.kinds.get(change.path)
        if kind is not None:
            return _fits(change, kind)
        return change.path.startswith(self.folders) and not is_sensitive(change.path) and not is_test(change.path)

    def refuse(self, change: Change) -> str:
        """Return why a change is refused and what to do, or an empty string."""
        path = change.path
        if why := check_path(path):
            return f"{why}; use a path inside the repository that the design declares"
        if is_record(path):
            return "is among the requests, designs and answers of people, which no answer may change; leave it out"
        if self._is_protected(path):
            return "belongs to the tests, which are read-only; change the code so that they pass"
        if self.declares(change):
            return ""
        if is_test(path):
            files = [known for known in self.kinds if is_test(known)]
            what_to_do = f"write the tests to {files[0]}" if files else "tests are read-only, change the code"
            return f"is a test that the design does not declare; {what_to_do}"
        if is_sensitive(path):
            return "is a file that only the design may open, and it does not declare this change; leave it as it is"
        if not change.reason:
            what = "deleted" if isinstance(change, Deletion) else "changed"
            kind = self.kinds.get(path)
            known = (
                f"declared as `{_show(kind)}`, not to be {what}" if kind is not None else "not declared in the design"
            )
            return f"is {known}; leave it, or state why it is needed in a line `Reason: ...` below its marker"
        return ""

    def _is_protected(self, path: str) -> bool:
        names = _fold(path).split("/")
        return any("/".join(names[:size]) in self.protected for size in range(1, len(names) + 1))


def _fits(change: Change, kind: str) -> bool:
    """Tell whether a change is of the declared kind; a kind that says nothing known allows to write."""
    words = kind.casefold()
    removes = any(verb in words for verb in _REMOVES)
    moves = any(verb in words for verb in _MOVES)
    if isinstance(change, Deletion):
        return removes or moves
    return moves or not removes or any(verb in words for verb in _WRITES)


def _collide(path: str, seen: dict[str, str]) -> str:
    """Return a complaint when a path is, on a system without letter case, one that was seen already."""
    other = seen.setdefault(_fold(path), path)
    return f"is the same file as `{_show(other)}` where letter case does not count; choose one" if other != path else ""


def _is_folder(path: str) -> bool:
    return path.strip().endswith(("/", "\\"))


def _fold(path: str) -> str:
    return "/".join(fold_name(name) for name in path.split("/"))


def _show(text: str) -> str:
    flat = " ".join("".join(letter if letter.isprintable() else "?" for letter in text[:240]).split())
    return flat if len(flat) <= 120 else flat[:119] + "…"
